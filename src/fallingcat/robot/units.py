"""The units of what goes in and comes out, as xarray objects and files of results carry them.

Linear parts come before angular ones. "A per B" is a matrix or an array of derivatives: rows in units of A, columns of B.
"""

from __future__ import annotations

PLACE, JOINT_RATE = "m, rad", "rad/s, m/s"
TWIST, ACCELERATION, WRENCH, IMPULSE = "m/s, rad/s", "m/s2, rad/s2", "N, N m", "N s, N m s"
INERTIA, DAMPING = "kg, kg m, kg m2", f"{WRENCH} per {TWIST}"
STATE, STATE_RATE = f"{PLACE}, {TWIST}", f"{TWIST}, {ACCELERATION}"
MATRIX, MATRIX_RATE = f"{TWIST} per {TWIST}", f"{ACCELERATION} per {TWIST}"

UNITS = {
    # where things are
    "q": "m, 1, rad", "q0": "m, 1, rad", "q1": "m, 1, rad", "s": "rad, m",
    "H": "1, m", "pose": "1, m", "poses": "1, m", "c": "m", "dt": "s",
    "dx": PLACE, "violation": PLACE, "z": STATE,
    # how fast
    "nu": TWIST, "nu0": TWIST, "nu1": TWIST, "v": TWIST, "v_G": TWIST, "mu": TWIST, "w": TWIST, "r": JOINT_RATE,
    "vertical": TWIST, "horizontal": TWIST, "dnu": ACCELERATION, "ddr": "rad/s2, m/s2", "a": ACCELERATION,
    "mu_rate": ACCELERATION, "drift": ACCELERATION, "residual": ACCELERATION,
    # forces, momenta, energies
    "tau": WRENCH, "tau0": WRENCH, "h": WRENCH, "g": WRENCH, "Cw": WRENCH, "CTw": WRENCH, "h_x": WRENCH, "h_rate": WRENCH,
    "reduced": WRENCH, "transformed": WRENCH, "complete": WRENCH, "forces": WRENCH, "impulses": IMPULSE, "T": "J", "V": "J",
    # inertias, and what multiplies velocities
    "M": INERTIA, "I_G": INERTIA, "Lambda_b": INERTIA, "Lambda_q": INERTIA, "Lambda_x": INERTIA, "inertia": INERTIA,
    "A_G": f"{IMPULSE} per {TWIST}", "Minv": f"{ACCELERATION} per {WRENCH}", "dM": f"{INERTIA} per {PLACE}",
    "C": DAMPING, "M_rate": DAMPING, "A_G_rate": DAMPING, "P": DAMPING, "S": DAMPING, "C_b": DAMPING, "D_shape": DAMPING,
    "D_locked": DAMPING, "Gamma_q": DAMPING, "Gamma_b": DAMPING, "Gamma_bq": DAMPING, "Gamma_qb": DAMPING, "Gamma_x": DAMPING,
    "B_1": DAMPING, "B_2": DAMPING, "G": f"{WRENCH} per ({TWIST})2",
    # from one velocity to another
    "J": MATRIX, "A_l": f"{TWIST} per {JOINT_RATE}", "Jbar": f"{JOINT_RATE} per {TWIST}", "inverse": MATRIX,
    "J_rate": MATRIX_RATE, "T_rate": MATRIX_RATE, "B_l": f"{ACCELERATION} per {JOINT_RATE}",
    "projector": f"{WRENCH} per {WRENCH}", "Y": f"{WRENCH} per {INERTIA}",
}  # fmt: skip

OF_ONE_FUNCTION = {
    ("centroidal_momentum", "h"): IMPULSE, ("momentum_map", "J"): IMPULSE,
    ("right_jacobian_inverse", "J"): f"{PLACE} per {PLACE}",
    ("base_change", "T"): MATRIX, ("representation_change", "T"): MATRIX, ("spatial_connection", "A"): MATRIX,
    ("linearize", "A"): f"{STATE_RATE} per {STATE}", ("linearize", "B"): f"{STATE_RATE} per input",
    ("discretize", "A"): f"{STATE} per {STATE}", ("discretize", "B"): f"{STATE} per input",
    ("tangent", "A"): f"{STATE_RATE} per {STATE}", ("tangent", "B"): f"{STATE_RATE} per {WRENCH}",
    ("curvature", "B"): f"{PLACE} per (rad, m)2", ("actuation_matrix", "S"): f"{WRENCH} per input",
    ("christoffel_symbols_second_kind", "G"): f"{ACCELERATION} per ({TWIST})2",
    ("inverse_dynamics_second_derivatives", "dq_dq"): f"{WRENCH} per ({PLACE})2",
    ("inverse_dynamics_second_derivatives", "dq_dnu"): f"{WRENCH} per {PLACE} and {TWIST}",
    ("inverse_dynamics_second_derivatives", "dnu_dnu"): f"{WRENCH} per ({TWIST})2",
}  # fmt: skip
"""Units of symbols that have another meaning in one function: (function, symbol) -> units."""

OF_DERIVATIVES = {
    "q": PLACE, "pose": PLACE, "geometry": PLACE, "parameters": INERTIA, "Jnu": TWIST, "h": IMPULSE, "input": "input",
}  # fmt: skip
"""Units of what is differentiated, or differentiated by, where the symbol alone does not tell."""


def units(name: str, function: str = "") -> dict[str, str]:
    """The attribute `units` of an array of a function; empty where they are not known."""
    found = OF_ONE_FUNCTION.get((function, name)) or UNITS.get(name) or _of_a_derivative(name)
    return {"units": found} if found else {}


def _of_a_derivative(name: str) -> str:
    """The units of dX_dY: those of X per those of Y."""
    above, between, below = name.rpartition("_d")
    if not between or not above.startswith("d"):
        return ""
    numerator, denominator = (OF_DERIVATIVES.get(x) or UNITS.get(x) for x in (above[1:], below))
    return f"{numerator} per {denominator}" if numerator and denominator else ""
