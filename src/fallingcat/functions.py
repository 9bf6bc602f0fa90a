"""The table of a robot's functions: inputs, outputs, and the algorithm behind each.

`task(model, name, **options)` makes the task that the eager runner, the tracer and the compiler share.
Options (a frame's name, a representation, the axes of external wrenches) are fixed per task.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fallingcat.algorithms import (
    aba,
    aba_derivatives,
    actuation,
    base_change,
    centroidal,
    centroidal_derivatives,
    christoffel,
    configuration,
    coriolis,
    crba,
    curvature,
    energy,
    frame_derivatives,
    frames,
    kinematics,
    linearization,
    minverse,
    reduced,
    regressor,
    rnea,
    rnea_derivatives,
)
from fallingcat.algorithms.actuation import Actuation, add_wrenches, driven
from fallingcat.algorithms.held_wrenches import SIZES, on_bodies
from fallingcat.algorithms.posed import NO_FORCES
from fallingcat.algorithms.singular import is_singular
from fallingcat.choices import check_choice
from fallingcat.errors import InputError
from fallingcat.lazy import lazy
from fallingcat.model.model import Model
from fallingcat.origin import is_own
from fallingcat.task import Input, Output, Task

Size = str | int
"""nq, nv, n, or a number."""


@dataclass(frozen=True)
class Function:
    """One row of the table."""

    algorithm: Callable[..., Any]
    """Takes the model, one vector per input, then the options by name."""
    inputs: tuple[tuple[str, Size], ...]
    outputs: tuple[tuple[str, tuple[Size, ...]], ...]
    options: tuple[str, ...] = ()
    """Names of the options the algorithm takes."""
    wrenches: bool = False
    """Does it take external wrenches?"""
    results: type | None = None
    """The named tuple of a function with several results."""
    any_representation: bool = False
    """Does it take the base twist in any representation? The model is made for one, the algorithm does not know."""
    floating_only: bool = False
    """Does it refuse a fixed base?"""
    needs_mass: bool = False
    """Does it refuse a robot of which nothing moves?"""
    actuated: bool = False
    """Does it take what inputs do, as the option `actuation`?"""
    method: str = ""
    """The method it stands behind, if that has another name."""
    inverts: bool = False
    """Does it invert the mass matrix, and refuse a robot whose is singular?"""


Q = ("q", "nq")
NU = ("nu", "nv")
DNU = ("dnu", "nv")
TAU = ("tau", "nv")
W = ("w", "nv")
SQUARE: tuple[Size, ...] = ("nv", "nv")
TWISTS: tuple[Size, ...] = (6, "nv")
SHAPE: tuple[Size, ...] = ("n", "n")
CUBE: tuple[Size, ...] = ("nv", "nv", "nv")
FRAME = ("frame", "representation")

FUNCTIONS: dict[str, Function] = {
    # configurations
    "integrate": Function(configuration.integrate, (Q, ("dx", "nv")), (("q", ("nq",)),)),
    "difference": Function(configuration.difference, (("q0", "nq"), ("q1", "nq")), (("dx", ("nv",)),)),
    # kinematics
    "frame_pose": Function(kinematics.frame_pose, (Q,), (("pose", (4, 4)),), ("frame",)),
    "frame_poses": Function(frames.frame_poses, (Q,), (("poses", ("frames", 4, 4)),)),
    "frame_velocities": Function(frames.frame_velocities, (Q, NU), (("v", ("frames", 6)),), ("representation",)),
    "frame_jacobians": Function(frames.frame_jacobians, (Q,), (("J", ("frames", 6, "nv")),), ("representation",)),
    "frame_jacobian": Function(kinematics.frame_jacobian, (Q,), (("J", (6, "nv")),), FRAME),
    "frame_jacobian_rate": Function(kinematics.frame_jacobian_rate, (Q, NU), (("J_rate", (6, "nv")),), FRAME),
    "frame_velocity": Function(kinematics.frame_velocity, (Q, NU), (("v", (6,)),), FRAME),
    "frame_acceleration": Function(kinematics.frame_acceleration, (Q, NU, DNU), (("a", (6,)),), FRAME),
    "center_of_mass": Function(kinematics.center_of_mass, (Q,), (("c", (3,)),)),
    "center_of_mass_jacobian": Function(kinematics.center_of_mass_jacobian, (Q,), (("J", (3, "nv")),)),
    # dynamics
    "inverse_dynamics": Function(
        rnea.inverse_dynamics, (Q, NU, DNU), (("tau", ("nv",)),), wrenches=True, any_representation=True
    ),
    "forward_dynamics": Function(
        aba.forward_dynamics, (Q, NU, TAU), (("dnu", ("nv",)),), wrenches=True, any_representation=True, inverts=True
    ),
    "mass_matrix": Function(crba.mass_matrix, (Q,), (("M", ("nv", "nv")),), any_representation=True),
    "bias": Function(rnea.bias, (Q, NU), (("h", ("nv",)),), any_representation=True),
    "gravity_torque": Function(rnea.gravity_torque, (Q,), (("g", ("nv",)),), any_representation=True),
    "base_acceleration": Function(rnea.base_acceleration, (Q, NU, ("ddr", "n")), (("a", (6,)),), floating_only=True),
    # derivatives
    "inverse_dynamics_derivatives": Function(
        rnea_derivatives.inverse_dynamics_derivatives,
        (Q, NU, DNU),
        (("dtau_dq", SQUARE), ("dtau_dnu", SQUARE), ("M", SQUARE)),
        wrenches=True,
        results=rnea_derivatives.InverseDynamicsDerivatives,
    ),
    "forward_dynamics_derivatives": Function(
        aba_derivatives.forward_dynamics_derivatives,
        (Q, NU, TAU),
        (("ddnu_dq", SQUARE), ("ddnu_dnu", SQUARE), ("Minv", SQUARE)),
        wrenches=True,
        results=aba_derivatives.ForwardDynamicsDerivatives,
        inverts=True,
    ),
    "gravity_torque_derivatives": Function(
        rnea_derivatives.gravity_torque_derivatives, (Q,), (("dg_dq", SQUARE),), wrenches=True
    ),
    "frame_velocity_derivatives": Function(
        frame_derivatives.frame_velocity_derivatives,
        (Q, NU),
        (("dv_dq", (6, "nv")), ("dv_dnu", (6, "nv"))),
        ("frame",),
        results=frame_derivatives.FrameVelocityDerivatives,
    ),
    "frame_acceleration_derivatives": Function(
        frame_derivatives.frame_acceleration_derivatives,
        (Q, NU, DNU),
        (("da_dq", (6, "nv")), ("da_dnu", (6, "nv")), ("da_ddnu", (6, "nv"))),
        ("frame",),
        results=frame_derivatives.FrameAccelerationDerivatives,
    ),
    "inverse_dynamics_regressor": Function(regressor.inverse_dynamics_regressor, (Q, NU, DNU), (("Y", ("nv", "parameters")),)),
    "forward_dynamics_parameter_derivatives": Function(
        regressor.forward_dynamics_parameter_derivatives,
        (Q, NU, TAU),
        (("ddnu_dparameters", ("nv", "parameters")),),
        wrenches=True,
        inverts=True,
    ),
    "integrate_derivatives": Function(
        configuration.integrate_derivatives,
        (("dx", "nv"),),
        (("dq_dq", SQUARE), ("dq_ddx", SQUARE)),
        results=configuration.IntegrateDerivatives,
    ),
    "linearize": Function(
        linearization.linearize,
        (Q, NU, TAU),
        (("A", ("2nv", "2nv")), ("B", ("2nv", "m"))),
        ("representation",),
        wrenches=True,
        actuated=True,
        results=linearization.Linearization,
        inverts=True,
    ),
    "inverse_mass_matrix": Function(minverse.inverse_mass_matrix, (Q,), (("Minv", SQUARE),), inverts=True),
    # Coriolis
    "coriolis_matrix": Function(coriolis.coriolis_matrix, (Q, NU), (("C", SQUARE),), ("factorization",), any_representation=True),
    "coriolis_terms": Function(
        coriolis.coriolis_terms,
        (Q, NU),
        (("C", SQUARE), ("M", SQUARE), ("M_rate", SQUARE)),
        ("factorization",),
        results=coriolis.CoriolisTerms,
        any_representation=True,
    ),
    "mass_matrix_rate": Function(coriolis.mass_matrix_rate, (Q, NU), (("M_rate", SQUARE),), any_representation=True),
    "coriolis_product": Function(coriolis.coriolis_product, (Q, NU, W), (("Cw", ("nv",)),)),
    "coriolis_transpose_product": Function(coriolis.coriolis_transpose_product, (Q, NU, W), (("CTw", ("nv",)),)),
    "christoffel_symbols": Function(christoffel.christoffel_symbols, (Q,), (("G", CUBE),)),
    "mass_matrix_derivatives": Function(christoffel.mass_matrix_derivatives, (Q,), (("dM", CUBE),)),
    # base
    "base_change": Function(
        base_change.base_change,
        (Q, NU),
        (("T", SQUARE), ("T_rate", SQUARE)),
        ("base", "representation"),
        results=base_change.BaseChangeMatrices,
        floating_only=True,
    ),
    "equations_of_motion": Function(
        base_change.equations_of_motion,
        (Q, NU),
        (("M", SQUARE), ("C", SQUARE), ("g", ("nv",))),
        ("base", "representation"),
        results=base_change.EquationsOfMotion,
        floating_only=True,
    ),
    # centroid
    "centroidal_momentum_matrix": Function(
        centroidal.centroidal_momentum_matrix, (Q,), (("A_G", TWISTS),), any_representation=True
    ),
    "centroidal_momentum_matrix_rate": Function(
        centroidal.centroidal_momentum_matrix_rate, (Q, NU), (("A_G_rate", TWISTS),), any_representation=True
    ),
    "centroidal_inertia": Function(centroidal.centroidal_inertia, (Q,), (("I_G", (6, 6)),)),
    "centroidal_momentum": Function(centroidal.centroidal_momentum, (Q, NU), (("h", (6,)),), any_representation=True),
    "average_velocity": Function(
        centroidal.average_velocity, (Q, NU), (("v_G", (6,)),), any_representation=True, needs_mass=True
    ),
    "centroidal_momentum_rate": Function(
        centroidal.centroidal_momentum_rate, (Q, NU, DNU), (("h_rate", (6,)),), any_representation=True
    ),
    "centroidal_momentum_derivatives": Function(
        centroidal_derivatives.centroidal_momentum_derivatives,
        (Q, NU),
        (("dh_dq", TWISTS), ("dh_dnu", TWISTS)),
        results=centroidal_derivatives.CentroidalMomentumDerivatives,
    ),
    "centroidal_momentum_rate_derivatives": Function(
        centroidal_derivatives.centroidal_momentum_rate_derivatives,
        (Q, NU, DNU),
        (("dh_rate_dq", TWISTS), ("dh_rate_dnu", TWISTS), ("dh_rate_ddnu", TWISTS)),
        results=centroidal_derivatives.CentroidalMomentumRateDerivatives,
    ),
    # reduced
    "locked_inertia": Function(reduced.locked_inertia, (Q,), (("Lambda_b", (6, 6)),), floating_only=True),
    "mechanical_connection": Function(reduced.mechanical_connection, (Q,), (("A_l", (6, "n")),), floating_only=True),
    "shape_inertia": Function(reduced.shape_inertia, (Q,), (("Lambda_q", SHAPE),), floating_only=True),
    "locked_velocity": Function(reduced.locked_velocity, (Q, NU), (("mu", (6,)),), floating_only=True),
    "momentum_map": Function(reduced.momentum_map, (Q, NU), (("J", (6,)),), floating_only=True),
    "split_velocity": Function(
        reduced.split_velocity,
        (Q, NU),
        (("vertical", ("nv",)), ("horizontal", ("nv",))),
        results=reduced.VelocitySplit,
        floating_only=True,
    ),
    "generalized_jacobian": Function(reduced.generalized_jacobian, (Q,), (("J", (6, "n")),), ("frame",), floating_only=True),
    "base_velocity": Function(reduced.base_velocity, (Q, ("r", "n"), ("mu", 6)), (("v", (6,)),), floating_only=True),
    "reduced_dynamics": Function(
        reduced.reduced_dynamics,
        (Q, NU),
        (
            ("Lambda_b", (6, 6)),
            ("Lambda_q", SHAPE),
            ("A_l", (6, "n")),
            ("P", (6, 6)),
            ("S", (6, "n")),
            ("Gamma_q", SHAPE),
            ("B_2", SHAPE),
            ("C_b", (6, 6)),
            ("D_shape", SQUARE),
            ("D_locked", SQUARE),
            ("mu", (6,)),
        ),
        results=reduced.ReducedDynamics,
        floating_only=True,
    ),
    "reduced_forward_dynamics": Function(
        reduced.reduced_forward_dynamics,
        (Q, NU, TAU),
        (("mu_rate", (6,)), ("ddr", ("n",))),
        results=reduced.ReducedAccelerations,
        floating_only=True,
        inverts=True,
    ),
    "curvature": Function(curvature.curvature, (Q,), (("B", (6, "n", "n")),), floating_only=True),
    # energies
    "kinetic_energy": Function(energy.kinetic_energy, (Q, NU), (("T", ()),)),
    "potential_energy": Function(energy.potential_energy, (Q,), (("V", ()),)),
}


BEHIND: dict[str, Function] = {
    "pose_of_place": Function(frames.pose_of_place, (Q, ("place", frames.PLACE)), (("pose", (4, 4)),), method="frame_pose"),
    "actuation_matrix": Function(actuation.actuation_matrix, (Q,), (("S", ("nv", "m")),), actuated=True),
}
"""Functions that stand behind methods of another name, or that depend on the inputs of a robot."""


def task(
    model: Model, name: str, wrenches: str = "", inputs: str = "tau", actuation: Actuation | None = None, **options: Any
) -> Task:
    """The task for one function of one robot with its options fixed.

    wrenches: the axes of one more input, wrenches on all bodies (`algorithms.held_wrenches`); empty for none.
    actuation: what m inputs do, if they are not the joint torques. inputs: "u" if they stand in place of tau.
    """
    function = FUNCTIONS.get(name) or BEHIND[name]
    _check_model(name, function, model, options)
    _check_wrenches(name, function, wrenches)
    if function.any_representation:
        model = model.in_representation(options.pop("representation", "body"))
    sizes = {"nq": model.nq, "nv": model.nv, "n": model.n, "2nv": 2 * model.nv, "parameters": 10 * len(model.bodies)}
    sizes |= {"frames": len(model.frames), "m": model.n if actuation is None else actuation.m}

    def size(s: Size) -> int:
        return sizes[s] if isinstance(s, str) else s

    taken = [("u", "m") if n == "tau" and inputs == "u" else (n, s) for n, s in function.inputs]
    vectors = [Input(n, size(s), quaternions(model) if s == "nq" else ()) for n, s in taken]
    if wrenches:
        vectors.append(Input("wrenches", SIZES[wrenches] * len(model.bodies)))
    outputs = tuple(Output(n, tuple(size(s) for s in shape)) for n, shape in function.outputs)
    if "frame" in options:
        model.frame(options["frame"])

    evaluate = Evaluate(model, name, wrenches, inputs, actuation, tuple(sorted(options.items())))
    # Somebody's own algorithm or joint may change while its name stays: there the traced program is the key.
    own = is_own(function.algorithm, model)
    key = f"{name} {wrenches} {inputs} {actuation} {evaluate.options} {model.digest}" if own else ""
    return Task(function.method or name, tuple(vectors), outputs, evaluate, key, function.results)


def _check_model(name: str, function: Function, model: Model, options: Mapping[str, Any]) -> None:
    """Refuse a robot for which the function has no meaning; its own base (`base=None`) every robot has."""
    if function.floating_only and not model.floating and options.get("base", "") is not None:
        raise InputError(f"{name} needs a floating base", got="a fixed base", hint="load with floating=True")
    if function.needs_mass and model.mass == 0.0:
        raise InputError(f"{name} has no meaning where nothing moves", got="a robot without moving mass")


def _check_wrenches(name: str, function: Function, axes: Any) -> None:
    if axes and not function.wrenches:
        takes = ", ".join(k for k, f in FUNCTIONS.items() if f.wrenches)
        raise InputError(f"{name} takes no wrenches", expected=f"one of {takes}")
    if axes:
        check_choice("axes of wrenches", axes, tuple(SIZES))


@dataclass(frozen=True)
class Evaluate:
    """The algorithm behind a task with everything but its input vectors filled in; can be pickled."""

    model: Model
    name: str
    wrenches: str = ""
    inputs: str = "tau"
    actuation: Actuation | None = None
    options: tuple[tuple[str, Any], ...] = ()

    @lazy
    def _singular(self) -> bool:
        return is_singular(self.model)

    def __call__(self, *vectors: Any) -> Any:
        function = FUNCTIONS.get(self.name) or BEHIND[self.name]
        if function.inverts and self._singular:
            raise ZeroDivisionError  # whether a pivot is zero but for rounding depends on the function and the representation
        own = list(vectors[: len(function.inputs)])
        options = dict(self.options)
        if self.actuation is not None and function.actuated:
            options["actuation"] = self.actuation
        forces = on_bodies(self.model, own[0], vectors[-1], self.wrenches) if self.wrenches else NO_FORCES
        if self.actuation is not None and self.inputs == "u":
            own[-1], thrust = driven(self.model, own[-1], self.actuation)
            forces = add_wrenches(forces, thrust)
        return function.algorithm(self.model, *own, *([forces] if forces else []), **options)


def quaternions(model: Model) -> tuple[int, ...]:
    """Where unit quaternions start in q."""
    at = []
    for body in model.bodies:
        start = body.joint.quaternion_at
        if start is not None:
            at.append(body.q_at + start)
    return tuple(sorted(at))
