"""The panel beside the picture: sliders, the base, what is shown, and the picked link."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.apps.view.dofs import dofs, followers
from fallingcat.apps.viewer.details import details
from fallingcat.model.report import printable

if TYPE_CHECKING:
    from fallingcat.apps.viewer.viewer import Viewer

Array = NDArray[np.float64]

PICK = "Click a link in the picture, or choose one above."


class Panel:
    """Sliders move the robot, and follow it when it is moved otherwise."""

    def __init__(self, viewer: Viewer) -> None:
        self.viewer, self.robot = viewer, viewer.robot
        self.gui: Any = viewer.server.gui
        self._dofs, self._followers = dofs(self.robot.model), followers(self.robot.model)
        self._base = self.robot.nv - self.robot.n
        self._quiet = False
        """Are sliders being set by the program, so that they must not move the robot?"""
        self._link = ""
        tabs = self.gui.add_tab_group()
        with tabs.add_tab("Joints"):
            self._make_joints()
        if self.robot.floating:
            with tabs.add_tab("Base"):
                self._make_base()
        with tabs.add_tab("Show"):
            self._make_switches()
        with tabs.add_tab("Link"):
            names = [printable(name, 60) for name in self.robot.link_names]
            self._choice: Any = self.gui.add_dropdown("link", names, initial_value=names[0])
            self._choice.on_update(lambda event: self._chosen(event))
            self._text = self.gui.add_html(f"<p>{PICK}</p>")

    # -----------------------------------------------------------------------------------------------------------------
    # Joints and base

    def _make_joints(self) -> None:
        neutral, chance = self.gui.add_button("neutral"), self.gui.add_button("random")
        neutral.on_click(lambda _: self._jump(self.robot.neutral()))
        chance.on_click(lambda _: self._jump(self.robot.random_configuration(), base=False))
        x = self._coordinates(self.viewer.q)
        self._sliders: list[Any] = []
        for dof in self._dofs:
            value = float(np.clip(x[dof.at - self._base], dof.low, dof.high))
            hint = f"{dof.low:.3g} to {dof.high:.3g} {dof.unit}" + ("" if dof.limited else ", no limits")
            step = (dof.high - dof.low) / 1000.0
            slider = self.gui.add_slider(printable(dof.name, 40), dof.low, dof.high, step, value, hint=hint)
            slider.on_update(lambda event, k=dof.at - self._base: self._slid(event, k))
            self._sliders.append(slider)
        self._following: list[Any] = []
        for body in self._followers:
            master = next(dof for dof in self._dofs if dof.at == body.at)
            low, high = sorted(body.multiplier * end + body.offset for end in (master.low, master.high))
            label = f"{printable(body.name, 30)} (follows)"
            hint = f"{body.multiplier:g} × {printable(master.name, 40)} + {body.offset:g}"
            slider = self.gui.add_slider(label, low, max(high, low + 1e-6), 1e-4, low, disabled=True, hint=hint)
            self._following.append(slider)

    def _make_base(self) -> None:
        self._position = self.gui.add_vector3("position, m", (0.0, 0.0, 0.0), step=0.01)
        self._angles = self.gui.add_vector3("roll pitch yaw, °", (0.0, 0.0, 0.0), step=1.0)
        for field in (self._position, self._angles):
            field.on_update(lambda event: self._base_typed(event))
        handle = self.gui.add_checkbox("handle in the picture", False)
        controls = self.viewer.server.scene.add_transform_controls("/base_handle", scale=0.35 * self.viewer.size, visible=False)
        self._controls = controls
        handle.on_update(lambda event: setattr(controls, "visible", event.target.value))
        controls.on_update(lambda event: self._base_dragged(event))

    def _slid(self, event: Any, k: int) -> None:
        if self._quiet or event.client is None:
            return
        viewer = self.viewer
        with viewer._lock:
            x = self._coordinates(viewer._q)
            x[k] = event.target.value
            viewer.stop()
            viewer._q = self._configuration(viewer._q, x)
            viewer.draw(sliders=False)
            self._follow_others(x)

    def _coordinates(self, q: Array) -> Array:
        """The joints as sliders have them: the motion from neutral, which for one-dof joints is their position."""
        return np.array(self.robot.difference(self.robot.neutral(), q)[self._base :])

    def _configuration(self, q: Array, x: Array) -> Array:
        """q with the joints put to the sliders' values."""
        moved = self.robot.integrate(self.robot.neutral(), np.concatenate([np.zeros(self._base), x]))
        if self.robot.floating:
            moved[:7] = q[:7]
        return moved

    def _jump(self, q: Array, base: bool = True) -> None:
        if self.robot.floating and not base:
            q[:7] = self.viewer._q[:7]
        self.viewer.stop()
        self.viewer.q = q

    def _base_typed(self, event: Any) -> None:
        if self._quiet or event.client is None:
            return
        roll, pitch, yaw = np.radians(self._angles.value)
        x, y, z, w = _quaternion_of(roll, pitch, yaw)
        self._put_base(np.array([*self._position.value, x, y, z, w]))

    def _base_dragged(self, event: Any) -> None:
        if self._quiet or event.client is None:
            return
        w, x, y, z = self._controls.wxyz
        self._put_base(np.array([*self._controls.position, x, y, z, w]))

    def _put_base(self, pose: Array) -> None:
        viewer = self.viewer
        with viewer._lock:
            viewer.stop()
            viewer._q[:7] = pose
            viewer._q[3:7] /= np.linalg.norm(pose[3:])
            viewer.draw()

    # -----------------------------------------------------------------------------------------------------------------
    # What is shown

    def _make_switches(self) -> None:
        arrows, solids = self.viewer._arrows, self.viewer._solids

        def switched(name: str, on: bool) -> None:
            arrows.on[name] = on
            self.viewer.draw()

        for name, on in arrows.on.items():
            self.gui.add_checkbox(name, on).on_update(lambda event, name=name: switched(name, event.target.value))
        inertias = self.gui.add_checkbox("inertia ellipsoids", False)
        inertias.on_update(lambda event: solids.show_ellipsoids(event.target.value))
        shapes = self.gui.add_checkbox("shapes", True)
        opacity = self.gui.add_slider("opacity", 0.1, 1.0, 0.05, 1.0)
        for switch in (shapes, opacity):
            switch.on_update(lambda _: solids.show_shapes(shapes.value, opacity.value))
        chance = self.gui.add_button("random velocity", hint="momentum and twists show it")

        def push(_: Any) -> None:
            self.viewer.nu = self.robot.random_velocity()

        chance.on_click(push)
        page = self.gui.add_button("save as a page")
        page.on_click(lambda event: self._download(event))

    def _download(self, event: Any) -> None:
        content = self.viewer._page([(0.0, self.viewer.q)]).encode()
        event.client.send_file_download(f"{self.robot.name}.html", content)

    # -----------------------------------------------------------------------------------------------------------------
    # Following

    def follow(self, q: Array) -> None:
        """Put the sliders where the robot is."""
        self._quiet = True
        try:
            x = self._coordinates(q)
            for dof, slider in zip(self._dofs, self._sliders, strict=True):
                value = float(np.clip(x[dof.at - self._base], dof.low, dof.high))
                if abs(value - slider.value) > 1e-9:
                    slider.value = value
            self._follow_others(x)
            if self.robot.floating:
                self._follow_base(q)
        finally:
            self._quiet = False

    def _follow_others(self, x: Array) -> None:
        for body, slider in zip(self._followers, self._following, strict=True):
            value = float(np.clip(body.multiplier * x[body.at - self._base] + body.offset, slider.min, slider.max))
            if abs(value - slider.value) > 1e-9:
                slider.value = value
        if self._link:
            self._text.content = details(self.robot, self._link, self.viewer._q, self.viewer._nu)

    def _follow_base(self, q: Array) -> None:
        angles = np.degrees(_angles_of(q[3:7]))
        if not np.allclose(self._position.value, q[:3], atol=1e-9):
            self._position.value = tuple(float(x) for x in q[:3])
        if not np.allclose(self._angles.value, angles, atol=1e-6):
            self._angles.value = tuple(float(x) for x in angles)
        if not np.allclose(self._controls.position, q[:3], atol=1e-9):
            self._controls.position = q[:3]
        if not np.allclose(self._controls.wxyz, q[[6, 3, 4, 5]], atol=1e-9):
            self._controls.wxyz = q[[6, 3, 4, 5]]

    # -----------------------------------------------------------------------------------------------------------------
    # The picked link

    def _chosen(self, event: Any) -> None:
        if not self._quiet and event.client is not None:
            names = [printable(name, 60) for name in self.robot.link_names]
            self.viewer.pick(self.robot.link_names[names.index(event.target.value)])

    def describe(self, link: str) -> None:
        """Show what is known about a link."""
        self._link = link
        self._text.content = details(self.robot, link, self.viewer._q, self.viewer._nu)
        self._quiet = True
        try:
            self._choice.value = printable(link, 60)
        except ValueError:  # a frame that is no link
            self._text.content += f"<p>{html.escape(printable(link, 60))}</p>"
        finally:
            self._quiet = False


def _quaternion_of(roll: float, pitch: float, yaw: float) -> tuple[float, float, float, float]:
    """x y z w of a turn by roll about x, then pitch about y, then yaw about z, all fixed axes."""
    (cr, sr), (cp, sp), (cy, sy) = ((np.cos(a / 2.0), np.sin(a / 2.0)) for a in (roll, pitch, yaw))
    x, y = sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy
    z, w = cr * cp * sy - sr * sp * cy, cr * cp * cy + sr * sp * sy
    return float(x), float(y), float(z), float(w)


def _angles_of(quaternion: Array) -> Array:
    """Roll, pitch, yaw of a unit quaternion x y z w."""
    x, y, z, w = quaternion
    roll = np.arctan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    pitch = np.arcsin(np.clip(2.0 * (w * y - z * x), -1.0, 1.0))
    return np.array([roll, pitch, np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))])
