// Computed torque: the arm goes to a pose as if every joint were a damped spring of its own.
#include <array>
#include <cmath>
#include <cstdio>

#include "spacearm.h"

using Configuration = std::array<double, SPACEARM_NQ>;
using Velocity = std::array<double, SPACEARM_NV>;

int main() {
  // Room for intermediate values: once, before the loop. The functions themselves allocate nothing.
  static double id_room[SPACEARM_INVERSE_DYNAMICS_WORKSPACE];
  static double step_room[SPACEARM_STEP_RK4_WORKSPACE];
  static double pose_room[SPACEARM_FRAME_POSE_HAND_WORKSPACE];

  Configuration q{}, q_next{};
  Velocity nu{}, nu_next{}, dnu{}, tau{};
  const Configuration goal{0.4, -0.6, 0.3, 0.9, -0.2, 0.5, 0.1};
  const double stiffness = 100.0, damping = 20.0, dt = 1e-3;

  for (int k = 0; k < 2000; k++) {
    for (int i = 0; i < SPACEARM_NV; i++) dnu[i] = stiffness * (goal[i] - q[i]) - damping * nu[i];
    spacearm_inverse_dynamics(q.data(), nu.data(), dnu.data(), tau.data(), id_room);
    // On a robot, tau goes to the motors here, and q and nu come from the encoders.
    spacearm_step_rk4(q.data(), nu.data(), tau.data(), &dt, q_next.data(), nu_next.data(), step_room);
    q = q_next;
    nu = nu_next;
  }

  double worst = 0.0;
  for (int i = 0; i < SPACEARM_NQ; i++) worst = std::fmax(worst, std::fabs(goal[i] - q[i]));
  double pose[16];
  spacearm_frame_pose_hand(q.data(), pose, pose_room);
  std::printf("joints are within %.1e rad of the goal; the hand is at (%.3f, %.3f, %.3f)\n", worst, pose[3], pose[7], pose[11]);
  return worst < 1e-6 ? 0 : 1;
}
