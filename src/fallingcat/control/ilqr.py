"""Optimal control along a motion: the iterative linear-quadratic regulator, on the group of states, with limits of the controls.

Li and Todorov (2004), *Iterative linear quadratic regulator design for nonlinear biological movement systems*; limits of the
controls, the schedule of the regularisation and the line search as in Tassa, Mansard and Todorov (2014), *Control-limited
differential dynamic programming*. A backward pass solves the linear-quadratic problem around a motion, a forward pass takes
a step towards its solution along the true motion. Perturbations dx of a state are those of `Robot.state_plus`, so that no
chart of rotations enters: the motion has the exact derivatives of `Robot.discretize`, and the error z of a state has

    dz = D dx,   D = diag(Jr(z_q)^-1, 1),   with the right Jacobian Jr of the group.

Second derivatives of the dynamics and of z are neglected (Gauss-Newton), so that each step minimises a convex function.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.control.bounded import bounded_newton
from fallingcat.control.ilqr_problem import Problem, problem_of
from fallingcat.control.numbers import positive, whole
from fallingcat.errors import InputError

if TYPE_CHECKING:
    from fallingcat.motion import Trajectory
    from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]

STEP_LENGTHS = 0.5 ** np.arange(12.0)
"""Step lengths of the line search; all of them are tried at once."""
LEAST_GAIN = 1e-4
"""The share of the decrease predicted by the quadratic model that a step has to reach to be accepted."""
SOFTEST, STIFFEST, FACTOR = 0.1, 1e15, 2.0
"""Regularisation in units of R: below SOFTEST it is zero, above STIFFEST the search ends; FACTOR sets how fast it changes."""
ROUNDING = 1e-14
"""Relative rounding error of the cost; also the size of state errors, in m and rad, below which they are ignored."""

CONVERGED = "converged: what a step can gain is within the tolerance"
STUCK = "not converged: no step makes the cost smaller"
USED_UP = "not converged: max_iterations are used up"


@dataclass(frozen=True, eq=False)
class OptimalControl:
    """A motion of least cost, and the feedback that is optimal for small deviations from it."""

    trajectory: Trajectory
    """The motion, T + 1 states: `robot.rollout` under the controls."""
    controls: Array
    """(T, m): within the limits to the last bit."""
    gains: Array
    """(T, m, 2nv): u = controls[k] + gains[k] @ state_minus(q[k], nu[k], q_now, nu_now), with q and nu of the trajectory; -K in
    the sign of `fc.dlqr`. Rows of controls that are held at a limit are zero."""
    cost: float
    costs: Array
    """(steps + 1,): the cost of the first motion and after every accepted step, decreasing."""
    iterations: int
    """Number of backward passes with a line search, including those whose line search found no step."""
    converged: bool
    reason: str
    """Why the iteration ended, in words."""


def ilqr(
    robot: Robot, q: ArrayLike, nu: ArrayLike, controls: ArrayLike, dt: float, target: Any, *, Q: ArrayLike, R: ArrayLike,
    Q_final: ArrayLike | None = None, method: str = "euler", limits: Any = None, reference: ArrayLike | None = None,
    tolerance: float = 1e-8, max_iterations: int = 100,
) -> OptimalControl:  # fmt: skip
    """Controls of least cost from a state on, and the best feedback along their motion: .trajectory .controls .gains .cost.

    It minimises, with x_k+1 = step(x_k, u_k) and z = state_minus(target, x), the sum

        over k < T of z_k^T Q z_k / 2 + (u_k - reference)^T R (u_k - reference) / 2,   and z_T^T Q_final z_T / 2 at the end.

    z (2nv) is the way from the target to the state x = (q, nu) along the group, body-fixed, in m and rad, and then the difference
    of the velocities. The sum has no factor dt: for half the step, Q and R are to be halved.

    q, nu: the first state, (nq,) and (nv,).
    controls: where to start, (T, m), joint torques or the inputs of `with_actuation`; or (T, nv), generalized forces.
    dt: length of a step in seconds.
    target: a state (q, nu), or one for each of the T + 1 times: arrays (T + 1, nq) and (T + 1, nv), or an `fc.Trajectory`.
    Q: (2nv, 2nv), symmetric and not negative. R: (m, m), symmetric and positive. Q_final: as Q, and Q itself if None.
    method: as in `step`.
    limits: (lower, upper) of the controls, each a number, (m,) or (T, m); infinite where there is none.
    reference: the controls that cost nothing, (m,) or (T, m); zero if None.
    tolerance: of what a step can still gain, relative to the cost. max_iterations: of both passes together.

    The method is local: it makes the first motion better, never worse. Where it ends before it is within the tolerance,
    `converged` is False, and `reason` says why. `gains` have the opposite sign of the K of `dlqr`, and limits are yours to keep
    where they act.

    >>> best = fc.ilqr(robot, q, nu, np.zeros((100, robot.m)), 0.02, (goal, still), Q=Q, R=R, limits=(-5.0, 5.0))
    >>> dx = robot.state_minus(best.trajectory.q[k], best.trajectory.nu[k], q_now, nu_now)
    >>> u = best.controls[k] + best.gains[k] @ dx
    """
    least, most = max(positive("ilqr", "tolerance", tolerance), ROUNDING), whole("ilqr", "max_iterations", max_iterations)
    problem = problem_of(robot, q, nu, controls, dt, target, Q, R, Q_final, method, limits, reference)
    motion = _first(problem)
    near, costs, mu, growth = _around(problem, motion), [motion.cost], 0.0, 1.0
    nothing = ROUNDING**2 * float(np.trace(problem.Q, axis1=1, axis2=2).sum())
    for iterations in range(most + 1):
        policy, little = _backward(problem, motion, near, mu), least * motion.cost + nothing
        if policy.gain(1.0) <= little:
            exact = _backward(problem, motion, near, 0.0) if mu else policy  # a regularised step gains little anywhere
            if exact.gain(1.0) <= little:
                reason = CONVERGED
                break
        if iterations == most or mu > STIFFEST:
            reason = STUCK if mu > STIFFEST else USED_UP
            break
        better = _forward(problem, motion, policy)
        if better is None:
            growth = max(FACTOR, growth * FACTOR)
            mu = max(SOFTEST, mu * growth)
            continue
        growth = min(1.0 / FACTOR, growth / FACTOR)
        mu = mu * growth if mu * growth >= SOFTEST else 0.0
        motion, near = better, _around(problem, better)
        costs.append(motion.cost)
    gains = _backward(problem, motion, near, 0.0).K  # feedback along the last motion, without regularisation
    trajectory = robot.rollout(problem.q, problem.nu, motion.u, problem.dt, method)
    return OptimalControl(trajectory, motion.u, gains, motion.cost, np.array(costs), iterations, reason == CONVERGED, reason)


# ---------------------------------------------------------------------------------------------------------------------
# The method


class _Motion(NamedTuple):
    """States (T + 1, ...), controls (T, m), and their cost."""

    q: Array
    nu: Array
    u: Array
    cost: float


class _Expansion(NamedTuple):
    """The expansion around a motion at all steps: dx+ = A dx + B du, and the first and second derivatives of the cost l."""

    A: Array
    B: Array
    l_x: Array
    l_xx: Array
    l_u: Array


class _Policy(NamedTuple):
    """du = length k + K dx, and the first and second derivative of the model's cost by the step length."""

    k: Array
    K: Array
    slope: float
    curvature: float

    def gain(self, length: Any) -> Any:
        """The decrease of the cost that the quadratic model predicts for a step length."""
        return -(length * self.slope + length**2 * self.curvature / 2.0)


def _first(problem: Problem) -> _Motion:
    u = problem.controls
    made = problem.robot.rollout(problem.q, problem.nu, u, problem.dt, problem.method)
    with np.errstate(over="ignore", invalid="ignore"):
        cost = float(problem.costs(made.q[:, None], made.nu[:, None], u[:, None])[0])
    if not np.isfinite(cost):
        hint = "start with controls whose motion stays near the target"
        raise InputError("ilqr: the cost of the first motion is not finite", got=str(cost), hint=hint)
    return _Motion(made.q, made.nu, u, cost)


def _around(problem: Problem, motion: _Motion) -> _Expansion:
    robot, nv, (q, nu, u, _) = problem.robot, problem.robot.nv, motion
    A, B = robot.discretize(q[:-1], nu[:-1], u, problem.dt, problem.method)
    z = robot.state_minus(problem.goal_q, problem.goal_nu, q, nu)
    D = np.tile(np.eye(2 * nv), (len(z), 1, 1))
    D[:, :nv, :nv] = robot._run("right_jacobian_inverse", (np.ascontiguousarray(z[:, :nv]),), None)
    DQ = np.swapaxes(D, -1, -2) @ problem.Q
    return _Expansion(A, B, (DQ @ z[..., None])[..., 0], DQ @ D, (u - problem.reference) @ problem.R)


def _backward(problem: Problem, motion: _Motion, near: _Expansion, mu: float) -> _Policy:
    """The backward pass. V is the cost-to-go of a state, Q the cost of a step and all that follows, as functions of dx and du.

    The regularisation is measured in R, so that units of inputs do not matter. It makes k and K small; V is what they cost
    in the model as it is (Tassa et al., eq. 7).
    """
    R, T = problem.R, len(motion.u)
    lower, upper = problem.lower - motion.u, problem.upper - motion.u
    k, K = np.zeros_like(motion.u), np.zeros((*motion.u.shape, 2 * problem.robot.nv))
    V_x, V_xx, slope, curvature = near.l_x[T], near.l_xx[T], 0.0, 0.0
    for i in reversed(range(T)):
        A, B = near.A[i], near.B[i]
        Q_x = near.l_x[i] + A.T @ V_x
        Q_u = near.l_u[i] + B.T @ V_x
        Q_xx = near.l_xx[i] + A.T @ V_xx @ A
        Q_ux = B.T @ V_xx @ A
        Q_uu = R + B.T @ V_xx @ B
        H = Q_uu + mu * R
        k[i], free = bounded_newton(H, Q_u, lower[i], upper[i])
        K[i, free] = -np.linalg.solve(H[np.ix_(free, free)], Q_ux[free])
        slope += k[i] @ Q_u
        curvature += k[i] @ Q_uu @ k[i]
        V_x = Q_x + K[i].T @ (Q_uu @ k[i] + Q_u) + Q_ux.T @ k[i]
        V_xx = Q_xx + K[i].T @ Q_uu @ K[i] + K[i].T @ Q_ux + Q_ux.T @ K[i]
        V_xx = (V_xx + V_xx.T) / 2.0
    return _Policy(k, K, float(slope), float(curvature))


def _forward(problem: Problem, motion: _Motion, policy: _Policy) -> _Motion | None:
    """The best of the motions with all step lengths, computed as a batch of robots; None if no step gains enough."""
    robot, lengths = problem.robot, STEP_LENGTHS[:, None]
    q, nu, u = (np.empty((len(x), len(lengths), x.shape[-1])) for x in motion[:3])
    q[0], nu[0] = problem.q, problem.nu
    with np.errstate(over="ignore", invalid="ignore"):  # long steps may give states that are not finite; those are not accepted
        for i in range(len(u)):
            dx = robot.state_minus(motion.q[i], motion.nu[i], q[i], nu[i])
            u[i] = motion.u[i] + lengths * policy.k[i] + dx @ policy.K[i].T
            u[i] = np.clip(u[i], problem.lower[i], problem.upper[i])
            q[i + 1], nu[i + 1] = robot.step(q[i], nu[i], u[i], problem.dt, problem.method)
        costs = problem.costs(q, nu, u)
        enough = motion.cost - costs > LEAST_GAIN * policy.gain(STEP_LENGTHS)  # False for NaN
    if not enough.any():
        return None
    best = int(np.argmin(np.where(enough, costs, np.inf)))
    return _Motion(q[:, best].copy(), nu[:, best].copy(), u[:, best].copy(), float(costs[best]))
