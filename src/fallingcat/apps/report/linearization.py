"""The linearization of a robot at a state, with its modes and controllability, for `fallingcat linearize` and the report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fallingcat.apps.console import number
from fallingcat.apps.report.states import State
from fallingcat.errors import InputError
from fallingcat.model.joints import Representation
from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]

ZERO = float(np.finfo(float).eps) ** 0.25
"""Eigenvalues below this are called zero: rounding splits the fourfold zero of a free base (turning, turned, falling, fallen)
to about this size."""
NEGLIGIBLE = 1e-13
"""Entries below this share of the largest are rounding."""
RANK_TOLERANCE = 1e-9
MOST_EIGENVALUES = 14


@dataclass(frozen=True)
class Result:
    """The linearization at a state, its eigenvalues and its controllability."""

    robot: Robot
    state: State
    representation: Representation
    tau: Array
    dnu: Array
    A: Array
    B: Array
    eigenvalues: NDArray[np.complex128]
    """Eigenvalues of A by real part, then imaginary part, largest first."""
    eigenvector_condition: float
    rank: int
    mass_condition: float

    @property
    def parts(self) -> list[tuple[str, int]]:
        """Names and sizes of the blocks of z."""
        return blocks_of_state(self.robot)

    @property
    def filled(self) -> NDArray[np.bool_]:
        """Entries of [A, B] that are larger than rounding."""
        sizes = (np.abs(M) for M in (self.A, self.B))
        return np.concatenate([size > NEGLIGIBLE * max(float(size.max(initial=0.0)), 1.0) for size in sizes], axis=1)

    @property
    def fill(self) -> float:
        """The share of A that is larger than rounding."""
        return int(self.filled[:, : len(self.A)].sum()) / self.A.size

    @property
    def equilibrium(self) -> bool:
        """Is the state an equilibrium, where the robot stays at rest?"""
        return bool(np.abs(self.state.nu).max(initial=0.0) == 0.0 and np.abs(self.dnu).max(initial=0.0) < 1e-9)


def measure(robot: Robot, state: State, representation: Representation = "body", held: bool = False) -> Result:
    """Linearize around the torques for which the joints, and the base if it is held, do not accelerate."""
    q, nu = state.q, state.nu
    body = _body_velocity(robot, q, nu, representation)
    dnu = np.zeros(robot.nv)
    if robot.floating and not held:
        dnu[:6] = robot.base_acceleration(q, body, np.zeros(robot.n))
    tau = np.array(robot.inverse_dynamics(q, body, dnu))
    if robot.floating and not held:
        tau[:6] = 0.0  # rounding
    found = robot.linearize(q, nu, tau, representation=representation)
    A: Array = np.array(found.A)
    B: Array = np.array(found.B)
    if not (np.isfinite(A).all() and np.isfinite(B).all()):
        raise InputError("the linearization is not finite at this state", hint="'fallingcat doctor' may say why")
    values, vectors = np.linalg.eig(A)
    M = robot.mass_matrix(q)
    d = np.sqrt(np.abs(np.diag(M)))
    order = np.lexsort((-values.imag, -values.real.round(9)))
    with np.errstate(over="ignore"):
        spread = float(np.linalg.cond(vectors))
    return Result(
        robot, state, representation, tau, dnu, A, B, values[order].astype(np.complex128), spread, controllable(A, B),
        condition(np.linalg.eigvalsh(M / np.outer(d, d))),
    )  # fmt: skip


def _body_velocity(robot: Robot, q: Array, nu: Array, representation: Representation) -> Array:
    if not robot.floating or representation == "body":
        return nu
    H, _ = robot.split(q)
    R, p, v, w = H[:3, :3], H[:3, 3], nu[:3], nu[3:6]
    if representation == "inertial":
        v = v + np.cross(w, p)
    return np.concatenate([R.T @ v, R.T @ w, nu[6:]])


def controllable(A: Array, B: Array, tolerance: float = RANK_TOLERANCE) -> int:
    """The rank of [B, A B, A^2 B, ...], built direction by direction so that no power of A is ever formed."""
    size = max(float(np.linalg.norm(A, 2)), 1e-300)
    basis = np.zeros((len(A), 0))
    new = B / (float(np.linalg.norm(B, 2)) or 1.0) if B.size else B
    while new.shape[1] and basis.shape[1] < len(A):
        for _ in range(2):  # orthogonalized twice, against rounding
            new = new - basis @ (basis.T @ new)
        U, s, _ = np.linalg.svd(new, full_matrices=False)
        directions = U[:, s > tolerance]
        basis = np.concatenate([basis, directions], axis=1)
        new = A @ directions / size
    return min(basis.shape[1], len(A))


@dataclass(frozen=True)
class Mode:
    """Eigenvalues that are nearly equal; a conjugate pair counts as one mode."""

    real: float
    imag: float
    count: int

    @property
    def words(self) -> str:
        if self.imag == 0.0 and self.real == 0.0:
            return "neutral: drifts, slides or falls at a steady rate"
        if self.imag == 0.0:
            how = "grows" if self.real > 0 else "decays"
            return f"{how} by e in {number(1 / abs(self.real), 3)} s"
        how = "oscillates" if self.real == 0.0 else "oscillates and grows" if self.real > 0 else "oscillates and decays"
        return f"{how}, {number(self.imag / (2 * np.pi), 3)} Hz"


def modes(eigenvalues: NDArray[np.complex128]) -> list[Mode]:
    """Distinct modes, the most unstable first."""
    found: dict[tuple[float, float], int] = {}
    for x in eigenvalues:
        size = max(abs(x), 1.0)
        re = 0.0 if abs(x.real) < ZERO * size else float(f"{x.real:.4g}")
        im = 0.0 if abs(x.imag) < ZERO * size else float(f"{x.imag:.4g}")
        if im >= 0.0:
            found[re, im] = found.get((re, im), 0) + 1
    return [Mode(re, im, count) for (re, im), count in sorted(found.items(), reverse=True)]


def condition(eigenvalues: Array) -> float:
    """The condition number of a symmetric positive matrix; infinite when it is singular."""
    return float(eigenvalues[-1] / eigenvalues[0]) if len(eigenvalues) and eigenvalues[0] > 0.0 else float("inf")


def blocks_of_state(robot: Robot) -> list[tuple[str, int]]:
    """Names and sizes of the parts of a perturbation z (paper 000, eq. 17)."""
    base = 6 if robot.floating else 0
    parts = [("z_H", base), ("z_s", robot.n), ("z_v", base), ("z_r", robot.n)]
    return [(name, size) for name, size in parts if size]
