"""The viewer: a state that sliders, code and motions change, and a picture that follows it."""

from __future__ import annotations

import io
import sys
import threading
import time
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat import files
from fallingcat.apps import view as pages
from fallingcat.apps.view.scene import bodies_in_links
from fallingcat.apps.viewer.arrows import Arrows
from fallingcat.apps.viewer.panel import Panel
from fallingcat.apps.viewer.solids import Solids
from fallingcat.errors import FallingCatError, InputError
from fallingcat.model.report import printable
from fallingcat.motion import Trajectory
from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]

MISSING = "the viewer needs viser: pip install 'fallingcat[view]'; without it, fallingcat view ROBOT --html FILE writes a page"
RATE = 60.0
"""Pictures a second of a motion that is played."""
MOST_FRAMES = 20_000
"""Frames of a recording at most; then every second one is dropped."""


def view(
    robot: Robot,
    q: ArrayLike | None = None,
    nu: ArrayLike | None = None,
    *,
    port: int = 8080,
    host: str = "127.0.0.1",
    open_browser: bool = True,
    dark: bool = False,
) -> Viewer:
    """Show a robot in the browser; the returned viewer can be told what to show."""
    viewer = Viewer(robot, q, nu, port=port, host=host, dark=dark)
    if open_browser and not _in_notebook():
        webbrowser.open(viewer.url)
    return viewer


class Viewer:
    """A robot in the browser. Every attribute that can be set takes what the robot's functions take."""

    def __init__(
        self,
        robot: Robot,
        q: ArrayLike | None = None,
        nu: ArrayLike | None = None,
        *,
        port: int = 8080,
        host: str = "127.0.0.1",
        dark: bool = False,
        progress: Any = lambda what: None,
    ) -> None:
        """Start the server; `view` also opens the browser.

        port: where the page is; the next free one if it is taken. host: "0.0.0.0" lets other machines look."""
        try:
            import viser
        except ImportError:
            raise FallingCatError(MISSING) from None
        self.robot = robot
        self._q = robot.neutral() if q is None else self._checked("q", q, robot.nq)
        self._nu = np.zeros(robot.nv) if nu is None else self._checked("nu", nu, robot.nv)
        self._wrenches: dict[str, Array] = {}
        self._lock = threading.RLock()
        self._frames: list[tuple[float, Array]] | None = None
        """What is recorded: times and configurations."""
        self._motion = 0
        """Number of the motion that is played; another one ends it."""
        self._names = robot.frame_names
        self._bodies = [self._names.index(body.name) for body in robot.model.bodies]
        self._in_links = bodies_in_links(robot.model)
        progress("starting the server")
        with redirect_stdout(io.StringIO()):  # its banner; who asks is told the address
            self.server = viser.ViserServer(
                host=host, port=port, label=f"{printable(robot.name, 40)} · Falling Cat", verbose=False
            )
        self.server.gui.configure_theme(dark_mode=dark, show_share_button=False, show_logo=False, brand_color=(11, 110, 143))
        progress("loading shapes")
        self._solids = Solids(self.server, robot, self.pick, progress)
        self.size = self._stage()
        self._arrows = Arrows(self.server, robot, self.size)
        self._panel = Panel(self)
        self.draw()

    # -----------------------------------------------------------------------------------------------------------------
    # The state

    @property
    def q(self) -> Array:
        """The configuration shown, (nq,). Setting it moves the robot and its sliders."""
        return self._q.copy()

    @q.setter
    def q(self, value: ArrayLike) -> None:
        with self._lock:
            self._q = self._checked("q", value, self.robot.nq)
            self.draw()

    @property
    def nu(self) -> Array:
        """The velocity shown, (nv,), as momentum and twists."""
        return self._nu.copy()

    @nu.setter
    def nu(self, value: ArrayLike) -> None:
        with self._lock:
            self._nu = self._checked("nu", value, self.robot.nv)
            self.draw()

    @property
    def wrenches(self) -> dict[str, Array]:
        """Forces and moments shown as arrows: frame name -> (6,), body-fixed in that frame."""
        return {name: w.copy() for name, w in self._wrenches.items()}

    @wrenches.setter
    def wrenches(self, value: Mapping[str, ArrayLike]) -> None:
        checked = {}
        for name, w in dict(value).items():
            self.robot.model.frame(name)
            checked[name] = self._checked(f"the wrench on {name!r}", w, 6)
        with self._lock:
            self._wrenches = checked
            self.draw()

    def _checked(self, name: str, value: ArrayLike, size: int) -> Array:
        try:
            x = np.array(value, dtype=float)
        except (TypeError, ValueError):
            raise InputError(f"{name} is not a vector", expected=f"{size} numbers", got=type(value).__name__) from None
        if x.shape != (size,) or not np.all(np.isfinite(x)):
            got = f"shape {x.shape}" if x.shape != (size,) else "numbers that are not finite"
            hint = "one state at a time; a motion is shown by play(trajectory)" if x.ndim > 1 else ""
            raise InputError(f"{name} does not fit the robot", expected=f"{size} finite numbers", got=got, hint=hint)
        if name == "q":
            self.robot.difference(self.robot.neutral(), x)  # refuses a quaternion that is not of unit length
        return x

    # -----------------------------------------------------------------------------------------------------------------
    # The picture

    def draw(self, sliders: bool = True) -> None:
        """Show the state. All poses come from one compiled function."""
        with self._lock, self.server.atomic():
            poses = self.robot.frame_poses(self._q)
            self._solids.move(poses[self._bodies] @ self._in_links)
            self._arrows.move(self._q, self._nu, self._wrenches, poses)
            if sliders:
                self._panel.follow(self._q)
            if self._frames is not None:
                self._keep()

    def pick(self, link: str) -> None:
        """Choose a link: it is coloured, and its numbers are shown."""
        with self._lock:
            self.robot.model.frame(link)
            self._solids.choose(link)
            self._panel.describe(link)

    def _stage(self) -> float:
        """Floor, lights and camera around the robot; the robot's size."""
        scene = pages.scene(self.robot, self._q)
        low, high = (np.array(x) for x in scene["bounds"])
        size, centre = float(np.linalg.norm(high - low)), (low + high) / 2.0
        cell = float(10.0 ** np.round(np.log10(size / 8.0)))
        self.server.scene.add_grid(
            "/floor", width=20.0 * cell, height=20.0 * cell, cell_size=cell, section_size=5.0 * cell, position=(0, 0, low[2]),
            shadow_opacity=0.25,
        )  # fmt: skip
        camera = self.server.initial_camera
        camera.look_at = tuple(centre)
        camera.position = tuple(centre + size * np.array([0.72, -0.72, 0.38]))
        return size

    # -----------------------------------------------------------------------------------------------------------------
    # Motions

    def play(self, trajectory: Trajectory, speed: float = 1.0, repeat: int = 1, wait: bool = True) -> None:
        """Show a motion in its own time, times `speed`. wait: come back when it is over, or at once.

        Setting q, or playing something else, ends it.
        """
        self._check_motion(trajectory)
        if not (np.isfinite(speed) and speed > 0.0):
            raise InputError("a motion is played at a positive speed", got=repr(speed))
        self._motion += 1
        if wait:
            self._play(trajectory, speed, repeat, self._motion)
        else:
            threading.Thread(target=self._play, args=(trajectory, speed, repeat, self._motion), daemon=True).start()

    def stop(self) -> None:
        """End the motion that is played."""
        self._motion += 1

    def _play(self, trajectory: Trajectory, speed: float, repeat: int, number: int) -> None:
        for _ in range(repeat):
            start, t = time.perf_counter(), float(trajectory.t[0])
            while number == self._motion:
                with self._lock:
                    self._q, self._nu = _state_at(trajectory, t)
                    self.draw()
                if t >= trajectory.t[-1]:
                    break
                time.sleep(max(0.0, 1.0 / RATE - (time.perf_counter() - start) % (1.0 / RATE)))
                t = min(float(trajectory.t[-1]), float(trajectory.t[0]) + speed * (time.perf_counter() - start))

    def _check_motion(self, trajectory: Trajectory) -> None:
        if not isinstance(trajectory, Trajectory):
            hint = "fc.Trajectory.from_samples(robot, t, q) makes one"
            raise InputError("no motion to play", expected="a fc.Trajectory", got=type(trajectory).__name__, hint=hint)
        if trajectory.q.ndim != 2 or trajectory.q.shape[-1] != self.robot.nq:
            expected = f"one motion, q of shape (times, {self.robot.nq})"
            raise InputError("the motion does not fit the viewer", expected=expected, got=f"q of shape {trajectory.q.shape}")

    # -----------------------------------------------------------------------------------------------------------------
    # Pages

    @contextmanager
    def record(self, path: str | Path) -> Iterator[None]:
        """What is shown meanwhile, by sliders, code or `play`, as a page that needs nothing beside itself.

        >>> with v.record("motion.html"):
        ...     v.play(trajectory)
        """
        target = files.check(path)
        self._frames = []
        self._keep()
        try:
            yield
        finally:
            recorded, self._frames = self._frames, None
        pages.write(target, self._page(recorded))

    def save(self, path: str | Path, trajectory: Trajectory | None = None) -> Path:
        """Write a page of a motion, or of the robot as it stands, with sliders for its joints."""
        target = files.check(path)
        if trajectory is None:
            pages.write(target, self._page([(0.0, self.q)]))
        else:
            self._check_motion(trajectory)
            pages.write(target, pages.animation_page(self.robot, trajectory.q, trajectory.t, self.robot.name))
        return target

    def _keep(self) -> None:
        assert self._frames is not None
        now = time.perf_counter()
        if not self._frames or now > self._frames[-1][0]:
            self._frames.append((now, self._q.copy()))
        if len(self._frames) > MOST_FRAMES:
            self._frames = self._frames[::2]

    def _page(self, recorded: list[tuple[float, Array]]) -> str:
        if len(recorded) < 2:
            return pages.still_page(self.robot, recorded[0][1] if recorded else self._q)
        times = np.array([t for t, _ in recorded])
        return pages.animation_page(self.robot, np.array([q for _, q in recorded]), times - times[0], self.robot.name)

    # -----------------------------------------------------------------------------------------------------------------
    # Where it is

    @property
    def missing(self) -> list[str]:
        """Meshes that the description names and this machine does not have."""
        return self._solids.missing

    @property
    def url(self) -> str:
        """The address of the page."""
        host = self.server.get_host()
        return f"http://{'localhost' if host in ('0.0.0.0', '127.0.0.1', '::') else host}:{self.server.get_port()}"

    def wait(self) -> None:
        """Stay until interrupted."""
        try:
            while True:
                time.sleep(1.0)
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """End the server."""
        self.stop()
        with redirect_stdout(io.StringIO()):
            self.server.stop()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Viewer of {self.robot.name!r} at {self.url}>"

    def _repr_html_(self) -> str:
        """In a notebook."""
        return f'<iframe src="{self.url}" width="100%" height="520" style="border:0"></iframe>'


def _state_at(trajectory: Trajectory, t: float) -> tuple[Array, Array]:
    """q and nu at a time: along the group between the neighbouring samples, which are close when they are drawn."""
    k = int(np.clip(np.searchsorted(trajectory.t, t, side="right") - 1, 0, max(0, len(trajectory.t) - 2)))
    if len(trajectory.t) == 1:
        return trajectory.q[0].copy(), trajectory.nu[0].copy()
    u = (t - float(trajectory.t[k])) / float(trajectory.t[k + 1] - trajectory.t[k])
    robot, q, nu = trajectory.robot, trajectory.q, trajectory.nu
    return robot.integrate(q[k], u * robot.difference(q[k], q[k + 1])), (1.0 - u) * nu[k] + u * nu[k + 1]


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and "IPKernelApp" in shell.config
