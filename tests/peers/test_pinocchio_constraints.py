"""Constraints against Pinocchio: contact dynamics, its derivatives, impacts and closed loops."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from test_pinocchio import Peer, peer

import fallingcat as fc
from trees import Array, relative_error

FEET = {
    "hyq": ("lf_foot", "rf_foot", "lh_foot", "rh_foot"),
    "solo12": ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"),
    "talos": ("left_sole_link", "right_sole_link"),
}


class Theirs:
    """Pinocchio's rigid constraints at frames of a robot."""

    def __init__(self, p: Peer, kind: Any, pairs: list[tuple[str | None, str]], pose: Array | None = None) -> None:
        self.p, self.data = p, p.model.createData()
        self.models, self.datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for a, b in pairs:
            places = [(f.parentJoint, f.placement) for f in (p.model.frames[p.model.getFrameId(x)] for x in (b, a) if x)]
            if pose is not None:  # of b in a, where the constraint holds
                places[1] = (places[1][0], places[1][1] * pin.SE3(pose))
            # the force acts on their first frame, seen from there
            model = pin.RigidConstraintModel(kind, p.model, *(x for place in places for x in place), pin.ReferenceFrame.LOCAL)
            self.models.append(model)
            self.datas.append(model.createData())
        pin.initConstraintDynamics(p.model, self.data, self.models, self.datas)
        self.settings = pin.ProximalSettings(1e-14, 0.0, 1)

    def accelerations(self, q: Array, nu: Array, tau: Array) -> Array:
        p = self.p
        a = pin.constraintDynamics(p.model, self.data, p.q_pin(q), p.G @ nu, p.G @ tau, self.models, self.datas, self.settings)
        return p.G.T @ np.array(a)

    def derivatives(self) -> tuple[Array, ...]:
        pin.computeConstraintDynamicsDerivatives(self.p.model, self.data, self.models, self.datas, self.settings)
        d, G = self.data, self.p.G
        return (
            G.T @ d.ddq_dq @ G, G.T @ d.ddq_dv @ G, G.T @ d.ddq_dtau @ G,
            d.dlambda_dq @ G, d.dlambda_dv @ G, d.dlambda_dtau @ G,
        )  # fmt: skip


@cache
def on_feet(name: str) -> tuple[Peer, fc.Constraints, Theirs]:
    p = peer(name, True)
    flat = name == "talos"
    c = p.robot.constraints(*[(fc.surface if flat else fc.point)(f) for f in FEET[name]])
    kind = pin.ContactType.CONTACT_6D if flat else pin.ContactType.CONTACT_3D
    return p, c, Theirs(p, kind, [(None, f) for f in FEET[name]])


def state(p: Peer, seed: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    return p.robot.random_configuration(rng), rng.normal(size=p.robot.nv), rng.normal(size=p.robot.nv)


def in_their_axes(p: Peer, c: fc.Constraints, q: Array, frames: tuple[str, ...]) -> Array:
    """The matrix from forces in the world's axes to forces in those of the feet."""
    turn = np.zeros((c.m, c.m))
    for at, frame in zip(c.slices, frames, strict=True):
        R = p.robot.frame_pose(q, frame)[:3, :3]
        for k in range(at.start, at.stop, 3):
            turn[k : k + 3, k : k + 3] = R.T
    return turn


@pytest.mark.parametrize("name", FEET)
def test_contact_dynamics(name: str) -> None:
    p, c, theirs = on_feet(name)
    for seed in range(3):
        q, nu, tau = state(p, seed)
        dnu, forces = c.forward_dynamics(q, nu, tau)
        # on a surface Pinocchio holds the spatial acceleration, not that of the points: the same where the feet rest
        if name == "talos":
            nu = c.impulse(q, nu).nu
            dnu, forces = c.forward_dynamics(q, nu, tau)
        assert relative_error(dnu, theirs.accelerations(q, nu, tau)) < 1e-9
        turned = in_their_axes(p, c, q, FEET[name]) @ forces
        assert relative_error(turned, np.array(theirs.data.lambda_c)) < 1e-9


@pytest.mark.parametrize("name", FEET)
def test_derivatives_of_contact_dynamics(name: str) -> None:
    p, c, theirs = on_feet(name)
    q, nu, tau = state(p, 5)
    nu = c.impulse(q, nu).nu
    theirs.accelerations(q, nu, tau)
    D = c.forward_dynamics_derivatives(q, nu, tau)
    expected = theirs.derivatives()
    for k, field in enumerate(("ddnu_dq", "ddnu_dnu", "ddnu_dtau")):
        assert relative_error(getattr(D, field), expected[k]) < 1e-8, field
    turn = in_their_axes(p, c, q, FEET[name])
    for k, field in enumerate(("dforces_dnu", "dforces_dtau")):
        assert relative_error(turn @ getattr(D, field), expected[4 + k]) < 1e-8, field


@pytest.mark.parametrize("name", ["hyq", "talos"])
@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_impacts(name: str, restitution: float) -> None:
    p, c, _ = on_feet(name)
    q, nu, _ = state(p, 2)
    J = c.jacobian(q) @ p.G.T
    after = pin.impulseDynamics(p.model, p.data, p.q_pin(q), p.G @ nu, J, restitution, 0.0)
    found = c.impulse(q, nu, restitution)
    assert relative_error(found.nu, p.G.T @ np.array(after)) < 1e-9
    assert relative_error(found.impulses, np.array(p.data.impulse_c)) < 1e-9


@pytest.mark.parametrize(("kind", "make"), [("CONTACT_3D", fc.point_to_point), ("CONTACT_6D", fc.weld)])
def test_closed_loops(kind: str, make: Any) -> None:
    """Two feet of a quadruped held together."""
    p = peer("hyq", True)
    q, nu, tau = state(p, 1)
    pose = np.linalg.inv(p.robot.frame_pose(q, "lf_foot")) @ p.robot.frame_pose(q, "rh_foot") if make is fc.weld else np.eye(4)
    c = p.robot.constraints(fc.weld("lf_foot", "rh_foot", pose) if make is fc.weld else make("lf_foot", "rh_foot"))
    q, nu = c.project(q, nu)
    theirs = Theirs(p, getattr(pin.ContactType, kind), [("lf_foot", "rh_foot")], pose)
    assert relative_error(c.forward_dynamics(q, nu, tau).dnu, theirs.accelerations(q, nu, tau)) < 1e-8
    D, expected = c.forward_dynamics_derivatives(q, nu, tau), theirs.derivatives()
    # away from the constraints the two take the points of a loop that has come apart differently
    basis = c.linearize(q, nu, tau).basis
    both = np.hstack([D.ddnu_dq, D.ddnu_dnu]) @ basis
    assert relative_error(both, np.hstack(expected[:2]) @ basis) < 1e-8
    assert relative_error(D.ddnu_dtau, expected[2]) < 1e-8
