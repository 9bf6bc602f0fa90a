"""Your own function of a robot, compiled like the library's: for one state, for batches, and for several threads."""

import numpy as np

import fallingcat as fc


def height(r, q):
    """How high the centre of mass is. `r` has the robot's functions, here run on symbols."""
    return r.center_of_mass(q)[2]


def power(r, q, nu, dnu):
    """The power that the motion takes: forces along velocities."""
    return r.inverse_dynamics(q, nu, dnu) @ nu


def main() -> None:
    cat = fc.load("cat")
    rng = np.random.default_rng(0)

    f = fc.compile(height, cat)
    q = cat.random_configuration(rng)
    print(f)
    print(f"height of one cat      {f(q):.6f} m    (the robot's own function: {cat.center_of_mass(q)[2]:.6f} m)")

    p = fc.compile(power, cat)
    Q = np.array([cat.random_configuration(rng) for _ in range(1000)])
    V = rng.normal(size=(1000, cat.nv))
    A = rng.normal(size=(1000, cat.nv))
    tau = cat.inverse_dynamics(Q, V, A)
    difference = np.abs(p(Q, V, A) - (tau * V).sum(axis=-1)).max()
    print(p)
    print(f"power of 1000 motions  {p(Q, V, A).mean():.3f} W on average, {difference:.1e} W from tau . nu")

    # The program that was traced: readable, and the same for one state and for many.
    print(*str(f.kernel.program).splitlines()[:4], "  ...", sep="\n")


if __name__ == "__main__":
    main()
