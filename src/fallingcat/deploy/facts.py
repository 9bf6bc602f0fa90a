"""Units and frames of results, as `docs/tools/functions.toml` has them for the reference; a header says them, too."""

FACTS: dict[str, tuple[str, str]] = {
    "integrate": ("m, rad", "The displacement is body-fixed: the base's own axes and origin."),
    "difference": ("m, rad", "Body-fixed in the base of q0."),
    "frame_pose": ("m", "The frame in the world: columns of R are its axes, o its origin."),
    "frame_poses": ("m", "Each frame in the world."),
    "frame_velocities": ("m/s, rad/s", "As for frame_velocity."),
    "frame_jacobians": ("1, m", "As for frame_jacobian."),
    "frame_jacobian": (
        "1, m",
        "Of the frame's origin; its own axes (body), the world's (mixed), or the world's about its origin (inertial). The"
        " base twist in nu is in the same representation.",
    ),
    "frame_jacobian_rate": ("1/s, m/s", "As for frame_jacobian: the rate of its numbers along nu."),
    "frame_velocity": (
        "m/s, rad/s",
        "Of the frame's origin, in its own axes (body), the world's (mixed); or of the point at the world's origin (inertial).",
    ),
    "frame_acceleration": (
        "m/s^2, rad/s^2",
        "The rate of the numbers of frame_velocity. For body this is the spatial acceleration; for mixed, the "
        "acceleration of the origin.",
    ),
    "center_of_mass": ("m", "In the world."),
    "center_of_mass_jacobian": ("1, m", "World's axes; the base twist in nu is body-fixed."),
    "inverse_dynamics": (
        "N, N m",
        "The first six entries are the wrench on the base, about its origin and in its axes (body); in the representation"
        " of nu otherwise.",
    ),
    "forward_dynamics": (
        "m/s^2, rad/s^2",
        "The base's part is the rate of the numbers of its twist, not the acceleration of its origin.",
    ),
    "mass_matrix": ("kg, kg m, kg m^2", "For the velocities nu: the base about its origin, in its axes."),
    "bias": ("N, N m", "As inverse_dynamics."),
    "gravity_torque": ("N, N m", "As inverse_dynamics."),
    "base_acceleration": ("m/s^2, rad/s^2", "Rate of the body-fixed twist of the base."),
    "inverse_dynamics_derivatives": (
        "those of tau per m, rad, m/s, ...",
        "Columns by q are along body-fixed unit velocities, the numbers of nu and dnu held; wrenches are held in their frames.",
    ),
    "forward_dynamics_derivatives": ("those of dnu per m, rad, m/s, N, ...", "As inverse_dynamics_derivatives."),
    "inverse_dynamics_second_derivatives": (
        "those of tau per product of two",
        "As inverse_dynamics_derivatives; the last index is that of the second derivative, which is taken of the first.",
    ),
    "gravity_torque_derivatives": ("N/m, N m/rad, ...", "As inverse_dynamics_derivatives."),
    "frame_velocity_derivatives": (
        "1/s, m/s",
        "The twist of the frame as frame_velocity has it; columns along body-fixed unit velocities, with the base twist "
        "in nu held in its representation.",
    ),
    "frame_acceleration_derivatives": (
        "1/s^2, m/s^2",
        "The rate of the twist as frame_acceleration has it; columns as for frame_velocity_derivatives.",
    ),
    "inverse_dynamics_regressor": (
        "those of tau per kg, kg m, kg m^2",
        "Parameters of each body: mass, first moments, rotational inertia, about the body's origin and in its axes.",
    ),
    "forward_dynamics_parameter_derivatives": ("those of dnu per kg, kg m, kg m^2", "As inverse_dynamics_regressor."),
    "inverse_dynamics_geometric_derivatives": (
        "those of tau per m, rad",
        "Six columns for each body: a twist of where its joint sits in the parent, at the joint's origin, in the axes of "
        "the moved link at position zero.",
    ),
    "forward_dynamics_geometric_derivatives": ("those of dnu per m, rad", "As inverse_dynamics_geometric_derivatives."),
    "frame_pose_geometric_derivatives": (
        "1, m",
        "The displacement of the frame, in its own axes (body), the world's (mixed), or the world's about its origin "
        "(inertial); columns as for inverse_dynamics_geometric_derivatives.",
    ),
    "integrate_derivatives": ("1, m", "Both sides body-fixed."),
    "linearize": (
        "1/s, and those of the inputs",
        "Perturbations of the pose are body-fixed; those of the velocity are in the representation of nu, and body-fixed "
        "with group='tangent'.",
    ),
    "inverse_mass_matrix": ("1/kg, 1/(kg m), 1/(kg m^2)", "As mass_matrix."),
    "coriolis_matrix": ("kg/s, kg m/s, kg m^2/s", "As mass_matrix."),
    "coriolis_terms": ("as those", "As mass_matrix."),
    "mass_matrix_rate": ("kg/s, kg m/s, kg m^2/s", "As mass_matrix, along nu."),
    "coriolis_product": ("N, N m", "As inverse_dynamics."),
    "coriolis_transpose_product": ("N, N m", "As inverse_dynamics."),
    "christoffel_symbols": (
        "kg, kg m, kg m^2",
        "In the velocities nu, all three indices, the base twist in the representation; the second formula holds for "
        "joints on R.",
    ),
    "christoffel_symbols_second_kind": ("1, 1/m, m", "As christoffel_symbols."),
    "mass_matrix_derivatives": (
        "kg, kg m, kg m^2 per m or rad",
        "Of the M of a representation, along the unit velocities nu = e_k of that representation: body-fixed ones when "
        "nothing is said.",
    ),
    "base_change": (
        "1, m",
        "From the velocity of the robot's base to that of the new one, both in the representation, unless "
        "target_representation names another for the new one.",
    ),
    "representation_change": (
        "1, m",
        "The twist of the robot's base from the source representation to the target; the joints' velocities stay.",
    ),
    "equations_of_motion": ("as mass_matrix, coriolis_matrix, gravity_torque", "For the velocity of the chosen base."),
    "centroidal_momentum_matrix": (
        "kg, kg m, kg m^2",
        "About the centre of mass, in the world's axes; the base twist in nu in the representation.",
    ),
    "centroidal_momentum_matrix_rate": ("kg/s, kg m/s, kg m^2/s", "As centroidal_momentum_matrix."),
    "centroidal_inertia": ("kg, kg m^2", "About the centre of mass, in the world's axes."),
    "centroidal_momentum": ("kg m/s, kg m^2/s", "About the centre of mass, in the world's axes."),
    "average_velocity": ("m/s, rad/s", "Of the centre of mass, in the world's axes."),
    "centroidal_momentum_rate": ("N, N m", "About the centre of mass, in the world's axes: the sum of all forces on the robot."),
    "centroidal_momentum_derivatives": ("kg/s, kg m/s, ...", "As centroidal_momentum; columns along body-fixed unit velocities."),
    "centroidal_momentum_rate_derivatives": ("N/m, N m/rad, ...", "As centroidal_momentum_rate."),
    "locked_inertia": ("kg, kg m, kg m^2", "About the base's origin, in its axes."),
    "mechanical_connection": ("1, m", "The base's origin and axes."),
    "shape_inertia": ("kg m^2, kg", "None: of the joints."),
    "locked_velocity": ("m/s, rad/s", "Of the base's origin, in its axes."),
    "momentum_map": ("kg m/s, kg m^2/s", "About the world's origin, in its axes: constant in free flight."),
    "split_velocity": ("m/s, rad/s", "The base's origin and axes."),
    "generalized_jacobian": ("1, m", "The body-fixed twist of the frame."),
    "base_velocity": ("m/s, rad/s", "Of the base's origin, in its axes."),
    "reduced_dynamics": ("as mass_matrix and coriolis_matrix", "The base's origin and axes; without gravity."),
    "reduced_forward_dynamics": ("m/s^2, rad/s^2", "The base's origin and axes; with gravity."),
    "curvature": ("1/rad, m/rad^2, ...", "The base's origin and axes."),
    "inertia_velocity_matrix": ("kg m/s, kg m^2/s", "The base's origin and axes."),
    "inertia_derivative_matrix": ("kg m/s, kg m^2/s", "The base's origin and axes."),
    "spatial_connection": ("1, m", "From the body-fixed velocity to a twist of the world: its origin and axes."),
    "curvature_maps": ("1/s, m/s; kg m^2/s", "The base's origin and axes."),
    "transformed_coriolis": ("as coriolis_matrix", "The base's origin and axes; without gravity."),
    "decoupling_torques": ("N m, N", "None: of the joints."),
    "task_space_dynamics": ("kg, kg m, kg m^2; N, N m", "Of the frame's origin, in its axes."),
    "task_space_torque": ("N m, N", "Accelerations of the frame's origin, in its axes: rates of its body-fixed twist."),
    "kinetic_energy": ("J", "None: a number."),
    "potential_energy": ("J", "Zero where the centre of mass is at the world's origin; gamma is robot.gravity."),
    "actuation_matrix": ("those of tau per input", "Rows as tau; an input on a link turns with it."),
    "step": ("dt in s", "As forward_dynamics. Simulation in time: call it again and again; euler, midpoint or rk4."),
}
"""(units, frames) of the results of every function."""
