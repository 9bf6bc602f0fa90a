// The second derivatives of inverse dynamics by Pinocchio, for a robot that is described on standard input: joints depth-first,
// each with its parent, type, placement, axis, and the inertia of what it moves; then gravity and a state. Prints four tensors.
#include <pinocchio/algorithm/rnea-second-order-derivatives.hpp>

#include <iostream>
#include <unsupported/Eigen/CXX11/Tensor>

using Tensor = Eigen::Tensor<double, 3>;

static double number() {
  double x;
  if (!(std::cin >> x)) throw std::runtime_error("a number is missing");
  return x;
}

static Eigen::VectorXd vector(int n) {
  Eigen::VectorXd x(n);
  for (int i = 0; i < n; ++i) x[i] = number();
  return x;
}

static Eigen::Matrix3d matrix() {
  Eigen::Matrix3d M;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) M(i, j) = number();
  return M;
}

static void print(const Tensor &T) {
  for (int i = 0; i < T.dimension(0); ++i)
    for (int j = 0; j < T.dimension(1); ++j)
      for (int k = 0; k < T.dimension(2); ++k) std::cout << T(i, j, k) << "\n";
}

int main() {
  std::cout.precision(17);
  pinocchio::Model model;
  const int joints = int(number());
  for (int i = 1; i <= joints; ++i) {
    const int parent = int(number()), type = int(number());
    const Eigen::Matrix3d R = matrix();
    const pinocchio::SE3 placement(R, Eigen::Vector3d(vector(3)));
    const Eigen::Vector3d axis = vector(3);
    const std::string name = "joint" + std::to_string(i);
    pinocchio::JointModel joint;
    if (type == 0) joint = pinocchio::JointModelRevoluteUnaligned(axis);
    if (type == 1) joint = pinocchio::JointModelPrismaticUnaligned(axis);
    if (type == 2) joint = pinocchio::JointModelFreeFlyer();
    model.addJoint(parent, joint, placement, name);
    const double mass = number();
    const Eigen::Vector3d com = vector(3);
    const Eigen::Matrix3d moments = matrix();
    model.appendBodyToJoint(i, pinocchio::Inertia(mass, com, moments), pinocchio::SE3::Identity());
  }
  model.gravity.linear() = Eigen::Vector3d(vector(3));
  pinocchio::Data data(model);
  const Eigen::VectorXd q = vector(model.nq), v = vector(model.nv), a = vector(model.nv);
  const int n = model.nv;
  Tensor qq(n, n, n), vv(n, n, n), qv(n, n, n), aq(n, n, n);
  for (Tensor *T : {&qq, &vv, &qv, &aq}) T->setZero();
  pinocchio::ComputeRNEASecondOrderDerivatives(model, data, q, v, a, qq, vv, qv, aq);
  for (const Tensor *T : {&qq, &vv, &qv, &aq}) print(*T);
}
