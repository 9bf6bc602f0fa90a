"""The integration methods of `steps`, in place, for loops in time: all memory is allocated before the first step.

The rows of K are the rates k = (nu, FD) of the stages; coordinates of a stage move by w[0] along their group, velocities by
w[1]. Sums are taken over whole arrays in a fixed order, so that results have the same bits for one robot and for a batch, for one
step and for a rollout.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from fallingcat.control.steps import Motion

Array = NDArray[np.float64]


class March:
    """Steps of one motion by one method. States are rows: (rows, nq) and (rows, nv), or one state without that axis."""

    def __init__(self, motion: Motion, method: str) -> None:
        robot, shape = motion.robot, motion.nu.shape[:-1]
        self.rows: tuple[int, ...] = (math.prod(shape),) if shape else ()
        self.tau = motion.tau.reshape(*self.rows, motion.tau.shape[-1])
        """The torques, constant during a step; a loop writes those of the next step here."""
        self._robot, self._inputs = robot, motion.inputs
        self._by_inputs = motion.inputs.get("inputs") == "u"
        self._forces = _flat_forces(motion.forces, self.rows)
        stages, self._method = METHODS[method]
        self._K = np.zeros((stages, 2, *self.rows, robot.nv))
        self._nu: tuple[Array, ...] = tuple(self._K[:, 0])
        self._a: tuple[Array, ...] = tuple(self._K[:, 1])
        self._q = [np.empty((*self.rows, robot.nq)) for _ in range(stages)]
        self._w, self._term = np.empty((2, 2, *self.rows, robot.nv))
        self._h = {c: _factor(c * motion.dt, shape, self.rows) for c in FACTORS}

    @property
    def acceleration(self) -> Array:
        """The acceleration at the state of the last `start`, or at which the last step began; the next step overwrites it."""
        return self._a[0]

    def start(self, q: Array, nu: Array) -> None:
        """Compute the first stage of a step: k1 = (nu, FD)."""
        self._nu[0][...] = nu
        self._rate(0, q)

    def step(self, q: Array, nu: Array, to_q: Array, to_nu: Array) -> None:
        """Write the state after one step; the arrays must not overlap those of the state before."""
        self.start(q, nu)
        self._method(self, q, to_q, to_nu)

    def in_rows(self, *arrays: Array) -> tuple[Array, ...]:
        """Arrays of states, (..., nq) or (..., nv), as rows; not copied."""
        return tuple(a.reshape(*self.rows, a.shape[-1]) for a in arrays)

    # -----------------------------------------------------------------------------------------------------------------
    # Operations of the methods

    def _rate(self, stage: int, q: Array) -> None:
        """Compute FD of a stage, whose velocity is already in place, for k = (nu, FD)."""
        nu, a = self._nu[stage], self._a[stage]
        if self._by_inputs:
            self._robot._run("forward_dynamics", (q, nu, self.tau), a, self._forces.get("wrenches"), **self._inputs)
        else:
            self._robot.forward_dynamics(q, nu, self.tau, out=a, **self._forces)

    def _sum(self, stages: Sequence[int], factors: Sequence[float]) -> None:
        """w = dt (c1 k1 + c2 k2 + ...)."""
        np.multiply(self._K[stages[0]], self._h[factors[0]], out=self._w)
        for stage, factor in zip(stages[1:], factors[1:], strict=True):
            np.multiply(self._K[stage], self._h[factor], out=self._term)
            np.add(self._w, self._term, out=self._w)

    def _plus(self, q: Array, nu: Array, to_q: Array, to_nu: Array) -> None:
        """Write the state (q, nu) moved along w."""
        self._robot.integrate(q, self._w[0], out=to_q)
        np.add(nu, self._w[1], out=to_nu)


def _euler(march: March, q: Array, to_q: Array, to_nu: Array) -> None:
    """Semi-implicit Euler: nu+ = nu + dt FD, q+ = integrate(q, dt nu+). First order."""
    h, w = march._h[1.0], march._w
    np.multiply(march._a[0], h, out=w[1])
    np.add(march._nu[0], w[1], out=to_nu)
    np.multiply(to_nu, h, out=w[0])
    march._robot.integrate(q, w[0], out=to_q)


def _midpoint(march: March, q: Array, to_q: Array, to_nu: Array) -> None:
    """The explicit midpoint rule: x+ = x + dt k(x + dt/2 k(x)). Second order."""
    nu, Y = march._nu, march._q
    march._sum((0,), (1 / 2,))
    march._plus(q, nu[0], Y[1], nu[1])
    march._rate(1, Y[1])
    march._sum((1,), (1.0,))
    march._plus(q, nu[0], to_q, to_nu)


def _rk4(march: March, q: Array, to_q: Array, to_nu: Array) -> None:
    """The commutator-free method of Celledoni, Marthinsen and Owren (2003), for left-trivialized velocities. Fourth order."""
    nu, Y = march._nu, march._q
    march._sum((0,), (1 / 2,))
    march._plus(q, nu[0], Y[1], nu[1])
    march._rate(1, Y[1])
    march._sum((1,), (1 / 2,))
    march._plus(q, nu[0], Y[2], nu[2])
    march._rate(2, Y[2])
    march._sum((2, 0), (1.0, -1 / 2))
    march._plus(Y[1], nu[1], Y[3], nu[3])
    march._rate(3, Y[3])
    march._sum((0, 1, 2, 3), (1 / 4, 1 / 6, 1 / 6, -1 / 12))
    march._plus(q, nu[0], Y[0], to_nu)
    march._sum((0, 1, 2, 3), (-1 / 12, 1 / 6, 1 / 6, 1 / 4))
    march._plus(Y[0], to_nu, to_q, to_nu)


METHODS: dict[str, tuple[int, Callable[[March, Array, Array, Array], None]]] = {
    "euler": (1, _euler), "midpoint": (2, _midpoint), "rk4": (4, _rk4),
}  # fmt: skip
"""Name -> the number of stages, and the function that completes a step after its first stage."""
FACTORS = (1.0, 1 / 2, -1 / 2, 1 / 4, 1 / 6, -1 / 12)


def _factor(value: Array, shape: tuple[int, ...], rows: tuple[int, ...]) -> Array:
    """A multiple of dt, (..., 1), as rows; a single number if it is the same for all."""
    if value.size == 1:
        return np.array(value.item())
    return np.ascontiguousarray(np.broadcast_to(value, (*shape, 1)).reshape(*rows, 1))


def _flat_forces(forces: dict[str, Any], rows: tuple[int, ...]) -> dict[str, Any]:
    if not forces:
        return {}
    found = forces["wrenches"]
    return {"wrenches": found._replace(values=found.values.reshape(*rows, found.values.shape[-1]))}
