"""What paper 001 gets wrong: its formulas as printed and corrected, against the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.apps.console import Step
from fallingcat.apps.papers.paper001_numbers import BRANCHED, largest
from fallingcat.apps.papers.slips import Slip
from fallingcat.model.builder import Builder
from fallingcat.reference import paper001 as printed
from fallingcat.robot.robot import Robot, load

Array = NDArray[np.float64]


def measured_slips(step: Step) -> list[Slip]:
    """Every erratum that can be run."""
    step("errata")
    robot = BRANCHED.robot(9)
    rng = np.random.default_rng(0)
    q, nu = rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    tree = printed.Tree.of(robot.model, q.tolist())
    terms, symbols = robot.coriolis_terms(q, nu), robot.christoffel_symbols(q)
    matrix: Array = np.array(terms.C)

    def off(x: Any, y: Any) -> float:
        return largest(np.asarray(x) - np.asarray(y)) / largest(y)

    def alg1(erratum: str, part: str, of: Callable[..., Any] = printed.algorithm1) -> tuple[float, float]:
        ours = {"H": terms.M, "C": terms.C}[part]
        left, right = (off(getattr(of(tree, nu, printed=e), part), ours) for e in ({erratum}, ()))
        return left, right

    free = load(robot.description, floating=False, gravity=(0.0, 0.0, 0.0))
    d = free.inverse_dynamics_derivatives(q, nu, np.zeros(robot.nv))
    joint = _universal()
    turning = printed.Tree.of(joint.model, [0.4, 0.9, -0.6])
    speed = np.array([1.0, -2.0, 1.5])
    moving = [
        off(printed.algorithm1(turning, speed, printed=e).C, joint.coriolis_matrix(turning.q, speed)) for e in ({"1.4"}, ())
    ]
    order = _orders(tree, symbols)
    dnu = rng.normal(size=robot.nv)
    pushed = [off(printed.torques(tree, nu, dnu, e), free.inverse_dynamics(q, nu, dnu)) for e in ({"1.12"}, ())]
    garbled = [off(of(tree), symbols) for of in (printed.algorithm2_as_printed, printed.algorithm2)]
    return [
        Slip("1.1", "Alg. 1, line 15", *alg1("1.1", "C"), "F₃ is not transformed to the parent."),
        Slip("1.2", "Alg. 1, line 12", *alg1("1.2", "H"), "The diagonal blocks of H and Ḣ are never assigned."),
        Slip("1.4", "Alg. 1, line 4", moving[0], moving[1], "The ring is lost: axes that move in the body (a universal joint)."),
        Slip("1.5", "(22), (23)", *alg1("1.5", "C", printed.closed_form), "Composites are those of the body nearer to the tips."),
        Slip("1.5", "Alg. 1, lines 9-11", *alg1("1.5", "C"), "The same in the algorithm: i where j belongs."),
        Slip("1.6", "before (46)", *order, "Γᵢⱼₖ = Φᵢᵀ B(Φₖ, I) Φⱼ needs k nearer to the tips than j, not j ⪰ k."),
        Slip("1.7", "Alg. 2, lines 9-22", garbled[0], garbled[1],
             "j where our copy has i, Φᵢ where it has Φ₁; j = p(j) after line 22."),
        Slip("1.9", "Remark 2", off(d.dtau_dq, 2.0 * matrix), off(d.dtau_dnu, 2.0 * matrix),
             "2 C* is the derivative of ID by q̇, not q."),
        Slip("1.12", "(16)", pushed[0], pushed[1], "The sum is over j ⪯ i: a body moves with its own joint."),
        Slip("1.13", "(47), (51), (53)", *_middle(tree, symbols), "Φⱼ where our copy has Φᵢ."),
    ]  # fmt: skip


def _universal() -> Robot:
    builder = Builder("universal")
    for k in range(3):
        builder.link(f"l{k}", mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.3, 0.01, 0.02, 0.4, 0.03, 0.5))
    builder.joint("cardan", "universal", "l0", "l1", axis=(1, 0, 0), axis2=(0, 1, 0), xyz=(0.1, 0.2, 0.3))
    builder.joint("hinge", "continuous", "l1", "l2", axis=(0, 0, 1), xyz=(0.3, 0.0, 0.2))
    return load(builder, floating=False)


def _orders(tree: printed.Tree, symbols: Array) -> tuple[float, float]:
    """Errors of the formula before (46): in the order that is printed, and in the right one."""
    wrong, right = 0.0, 0.0
    bodies, at = range(len(tree.parent)), [tree.at(i).start for i in range(len(tree.parent))]
    for i in bodies:
        for j in bodies:
            for k in bodies:
                off = float(abs(printed.symbol(tree, i, j, k) - symbols[at[i], at[j], at[k]]) / largest(symbols))
                if tree.below(j, k):
                    right = max(right, off)
                elif tree.below(k, j):
                    wrong = max(wrong, off)
    return wrong, right


def _middle(tree: printed.Tree, symbols: Array) -> tuple[float, float]:
    """(47), (51), (53) with the axis of joint i, as our copy has it, and with that of joint j."""
    worst, at = [0.0, 0.0], [tree.at(i).start for i in range(len(tree.parent))]
    for k in range(len(at)):
        for j in tree.path(k):
            for i in tree.path(j):
                a, b, c = at[i], at[j], at[k]
                right = np.array([symbols[a, b, c], symbols[b, a, c], symbols[c, a, b]])
                for way, e in enumerate(({"1.13"}, ())):
                    x = np.array(printed.three_cases(tree, i, j, k, e))
                    worst[way] = max(worst[way], largest(x - right) / largest(symbols))
    return worst[0], worst[1]
