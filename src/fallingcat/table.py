"""The table of a robot's functions: inputs, outputs, and the algorithm behind each."""

from __future__ import annotations

from collections.abc import Callable
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
    geometric_derivatives,
    kinematics,
    linearization,
    minverse,
    reduced,
    reduced_parts,
    regressor,
    rnea,
    rnea_derivatives,
    rnea_second_derivatives,
    second_derivatives_in_view,
    task_space,
)

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
    """Does it take the base twist in any representation? The model handles this, not the algorithm."""
    floating_only: bool = False
    """Does it refuse a fixed base?"""
    constant_axes: bool = False
    """Does it refuse joints whose axes move in the body?"""
    needs_mass: bool = False
    """Does it refuse a robot without moving mass?"""
    actuated: bool = False
    """Does it have the option `actuation`, which says what the inputs of a robot do?"""
    method: str = ""
    """The method that calls it, if that has another name."""
    inverts: bool = False
    """Does it invert the mass matrix, and refuse a robot whose mass matrix is singular?"""


Q = ("q", "nq")
NU = ("nu", "nv")
DNU = ("dnu", "nv")
TAU = ("tau", "nv")
W = ("w", "nv")
R = ("r", "n")
MU = ("mu", 6)
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
        ("representation",),
        wrenches=True,
        results=rnea_derivatives.InverseDynamicsDerivatives,
    ),
    "forward_dynamics_derivatives": Function(
        aba_derivatives.forward_dynamics_derivatives,
        (Q, NU, TAU),
        (("ddnu_dq", SQUARE), ("ddnu_dnu", SQUARE), ("Minv", SQUARE)),
        ("representation",),
        wrenches=True,
        results=aba_derivatives.ForwardDynamicsDerivatives,
        inverts=True,
    ),
    "inverse_dynamics_second_derivatives": Function(
        second_derivatives_in_view.inverse_dynamics_second_derivatives,
        (Q, NU, DNU),
        (("dq_dq", CUBE), ("dq_dnu", CUBE), ("dnu_dnu", CUBE), ("dM_dq", CUBE)),
        ("representation",),
        results=rnea_second_derivatives.InverseDynamicsSecondDerivatives,
        constant_axes=True,
    ),
    "gravity_torque_derivatives": Function(
        rnea_derivatives.gravity_torque_derivatives, (Q,), (("dg_dq", SQUARE),), ("representation",), wrenches=True
    ),
    "frame_velocity_derivatives": Function(
        frame_derivatives.frame_velocity_derivatives,
        (Q, NU),
        (("dv_dq", (6, "nv")), ("dv_dnu", (6, "nv"))),
        FRAME,
        results=frame_derivatives.FrameVelocityDerivatives,
    ),
    "frame_acceleration_derivatives": Function(
        frame_derivatives.frame_acceleration_derivatives,
        (Q, NU, DNU),
        (("da_dq", (6, "nv")), ("da_dnu", (6, "nv")), ("da_ddnu", (6, "nv"))),
        FRAME,
        results=frame_derivatives.FrameAccelerationDerivatives,
    ),
    "inverse_dynamics_regressor": Function(
        regressor.inverse_dynamics_regressor, (Q, NU, DNU), (("Y", ("nv", "parameters")),), any_representation=True
    ),
    "forward_dynamics_parameter_derivatives": Function(
        regressor.forward_dynamics_parameter_derivatives,
        (Q, NU, TAU),
        (("ddnu_dparameters", ("nv", "parameters")),),
        wrenches=True,
        any_representation=True,
        inverts=True,
    ),
    "inverse_dynamics_geometric_derivatives": Function(
        geometric_derivatives.inverse_dynamics_geometric_derivatives,
        (Q, NU, DNU),
        (("dtau_dgeometry", ("nv", "geometry")),),
        wrenches=True,
        any_representation=True,
    ),
    "forward_dynamics_geometric_derivatives": Function(
        geometric_derivatives.forward_dynamics_geometric_derivatives,
        (Q, NU, TAU),
        (("ddnu_dgeometry", ("nv", "geometry")),),
        wrenches=True,
        any_representation=True,
        inverts=True,
    ),
    "frame_pose_geometric_derivatives": Function(
        geometric_derivatives.frame_pose_geometric_derivatives, (Q,), (("dpose_dgeometry", (6, "geometry")),), FRAME
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
        ("representation", "group"),
        wrenches=True,
        actuated=True,
        results=linearization.Linearization,
        inverts=True,
    ),
    "inverse_mass_matrix": Function(
        minverse.inverse_mass_matrix, (Q,), (("Minv", SQUARE),), any_representation=True, inverts=True
    ),
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
    "coriolis_product": Function(coriolis.coriolis_product, (Q, NU, W), (("Cw", ("nv",)),), any_representation=True),
    "coriolis_transpose_product": Function(
        coriolis.coriolis_transpose_product, (Q, NU, W), (("CTw", ("nv",)),), any_representation=True
    ),
    "christoffel_symbols": Function(christoffel.christoffel_symbols, (Q,), (("G", CUBE),), any_representation=True),
    "christoffel_symbols_second_kind": Function(
        christoffel.christoffel_symbols_second_kind, (Q,), (("G", CUBE),), any_representation=True, inverts=True
    ),
    "mass_matrix_derivatives": Function(christoffel.mass_matrix_derivatives, (Q,), (("dM", CUBE),), any_representation=True),
    # base
    "base_change": Function(
        base_change.base_change,
        (Q, NU),
        (("T", SQUARE), ("T_rate", SQUARE)),
        ("base", "representation", "target_representation"),
        results=base_change.BaseChangeMatrices,
        floating_only=True,
    ),
    "representation_change": Function(
        base_change.representation_change,
        (Q, NU),
        (("T", SQUARE), ("T_rate", SQUARE)),
        ("source", "target"),
        results=base_change.BaseChangeMatrices,
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
        ("representation",),
        results=centroidal_derivatives.CentroidalMomentumDerivatives,
    ),
    "centroidal_momentum_rate_derivatives": Function(
        centroidal_derivatives.centroidal_momentum_rate_derivatives,
        (Q, NU, DNU),
        (("dh_rate_dq", TWISTS), ("dh_rate_dnu", TWISTS), ("dh_rate_ddnu", TWISTS)),
        ("representation",),
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
    "base_velocity": Function(reduced.base_velocity, (Q, R, MU), (("v", (6,)),), floating_only=True),
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
    "inertia_velocity_matrix": Function(reduced_parts.inertia_velocity_matrix, (Q, R), (("P", (6, 6)),), floating_only=True),
    "inertia_derivative_matrix": Function(
        reduced_parts.inertia_derivative_matrix, (Q, MU), (("S", (6, "n")),), floating_only=True
    ),
    "spatial_connection": Function(reduced_parts.spatial_connection, (Q,), (("A", TWISTS),), floating_only=True),
    "curvature_maps": Function(
        reduced_parts.curvature_maps,
        (Q, R, MU),
        (("B_l", (6, "n")), ("B_1", ("n", 6)), ("B_2", SHAPE)),
        results=reduced_parts.CurvatureMaps,
        floating_only=True,
    ),
    "transformed_coriolis": Function(
        reduced_parts.transformed_coriolis,
        (Q, NU),
        (("Gamma_b", (6, 6)), ("Gamma_bq", (6, "n")), ("Gamma_qb", ("n", 6)), ("Gamma_q", SHAPE)),
        results=reduced_parts.TransformedCoriolis,
        floating_only=True,
    ),
    "decoupling_torques": Function(
        reduced_parts.decoupling_torques,
        (Q, NU),
        (("reduced", ("n",)), ("transformed", ("n",)), ("complete", ("n",))),
        results=reduced_parts.DecouplingTorques,
        floating_only=True,
    ),
    "task_space_dynamics": Function(
        task_space.task_space_dynamics,
        (Q, NU),
        (
            ("J", (6, "n")),
            ("J_rate", (6, "n")),
            ("Lambda_x", (6, 6)),
            ("Gamma_x", (6, 6)),
            ("h_x", (6,)),
            ("Jbar", ("n", 6)),
        ),
        ("frame",),
        results=task_space.TaskSpaceDynamics,
        floating_only=True,
        inverts=True,
    ),
    "task_space_torque": Function(
        task_space.task_space_torque,
        (Q, NU, ("a", 6), ("tau0", "n")),
        (("tau", ("n",)),),
        ("frame",),
        floating_only=True,
        inverts=True,
    ),
    # energies
    "kinetic_energy": Function(energy.kinetic_energy, (Q, NU), (("T", ()),)),
    "potential_energy": Function(energy.potential_energy, (Q,), (("V", ()),)),
}


BEHIND: dict[str, Function] = {
    "pose_of_place": Function(frames.pose_of_place, (Q, ("place", frames.PLACE)), (("pose", (4, 4)),), method="frame_pose"),
    "actuation_matrix": Function(actuation.actuation_matrix, (Q,), (("S", ("nv", "m")),), actuated=True),
    "right_jacobian_inverse": Function(
        configuration.right_jacobian_inverse, (("dx", "nv"),), (("J", SQUARE),), method="state_minus"
    ),
}
"""Functions that are called by methods of another name, or that depend on the inputs of a robot."""
