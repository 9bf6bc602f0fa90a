"""The falling cat: no angular momentum, nothing to push against, and still it turns over (paper 003, Sec. V-3).

A closed loop of shapes leaves a free robot turned: that is the curvature of its mechanical connection. First a small loop of
the waist, beside the area integral of the curvature; then a whole gait that turns the cat over, and the fall itself.
"""

from pathlib import Path

import numpy as np

import fallingcat as fc
from fallingcat.apps import cat, view
from fallingcat.apps.cat.holonomy import area_integral, holonomy, log

OUT = Path("out")


def main() -> None:
    robot = fc.load("cat")

    print("The waist goes around once, with the legs tucked. The cat turns about its long axis by")
    for radius in (0.1, 0.2, 0.4, 0.8):
        path = cat.circle(robot, radius).at
        exact = np.degrees(log(holonomy(robot, path, 200)[:3, :3]))[0]
        area = np.degrees(area_integral(robot, path, "rear"))[0]
        print(f"  {exact:8.3f} degrees at a bend of {radius:.1f} rad; {area:8.3f} by the area integral of the curvature")

    found = cat.plan(robot)  # the gait of least effort that leaves a half turn
    bends = np.degrees(found.gait.at(np.linspace(0.0, 1.0, 200)).s[:, robot.joint_names.index("waist_bend")])
    print(f"A half turn takes bends from {bends.min():.0f} to {bends.max():.0f} degrees, found in {len(found.costs)} steps.")

    fall = cat.drop(robot, found.gait, height=1.25)  # with the full dynamics, torques from a controller
    result = cat.summarize(found, fall)
    print(f"Dropped upside down, it has turned by {result.turn:.2f} degrees after {result.seconds:.2f} s.")
    print(f"Largest angular momentum: {result.momentum:.0e} kg m^2/s, of one half alone {result.front_momentum:.2f}, about x.")
    assert result.lands_on_its_feet
    assert result.momentum < 1e-10

    OUT.mkdir(exist_ok=True)
    page = view.animation_page(robot, fall.q[::25], fall.t[::25], title="The falling cat", ground=0.0, follow=True, speed=0.1)
    print(f"wrote {view.write(OUT / 'falling_cat.html', page)}: open it in a browser")


if __name__ == "__main__":
    main()
