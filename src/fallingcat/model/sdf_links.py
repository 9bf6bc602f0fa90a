"""Links of SDF: masses and shapes."""

from __future__ import annotations

from typing import Any, cast

from fallingcat.model.description import GREY, Inertial, Link, Pose, Rgba, ShapeKind, Visual
from fallingcat.model.placed import Placed
from fallingcat.model.report import Report, printable
from fallingcat.model.sdf_frames import Frames
from fallingcat.model.sdf_values import Values, subject_of
from fallingcat.model.xml_tree import Element

_SIZES: dict[str, tuple[tuple[str, int], ...]] = {
    "box": (("size", 3),),
    "cylinder": (("radius", 1), ("length", 1)),
    "sphere": (("radius", 1),),
    "capsule": (("radius", 1), ("length", 1)),
    "ellipsoid": (("radii", 3),),
}
"""Per shape: its elements, and how many numbers each holds."""
_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_HARMLESS = Inertial(1.0, Pose(), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0))


class LinkReader:
    """Reads one link at a time."""

    def __init__(self, report: Report, frames: Frames) -> None:
        self._report = report
        self._values = Values(report)
        self._frames = frames

    def link(self, place: Any) -> Link:
        """Read a link. place: its full name, the prefix of its model, its element."""
        element, subject = place.element, subject_of("link", place.full)
        inertial = self._inertial(element, subject)
        visuals = [self._shape(shape, place, subject) for shape in element.all("visual")]
        quiet = LinkReader(Report(self._report.file), self._frames)  # mistakes in collisions are no errors
        collisions = [quiet._shape(shape, place, subject) for shape in element.all("collision")]
        return Link(
            place.full,
            inertial,
            tuple(shape for shape in visuals if shape is not None),
            element.line,
            tuple(shape for shape in collisions if shape is not None),
        )

    def _inertial(self, link: Element, subject: str) -> Inertial:
        element = self._values.only(link, "inertial", subject)
        if element is None:
            self._report.warning(
                "the link has no <inertial>, which SDF reads as 1 kg with moments of 1 kg m^2",
                hint="give its mass and inertia", element=subject, line=link.line,
            )  # fmt: skip
            return Inertial(1.0, Pose(), _HARMLESS.inertia, link.line)
        if (element.get("auto") or "").strip().lower() in ("1", "true"):
            what = "the inertia is to be computed from collisions (auto), which is not done here"
            self._report.error(what, hint="write mass and inertia, as gz sdf -p does", element=subject, line=element.line)
            return _HARMLESS
        if element.all("fluid_added_mass"):
            self._report.warning("<fluid_added_mass> is not taken over", element=subject, line=element.line)
        pose = self._values.pose(element, subject).pose()
        mass = self._values.number(element, "mass", subject, 1.0)
        inertia = self._values.only(element, "inertia", subject)
        moments = [self._values.number(inertia, name, subject, 1.0 if name[1] == name[2] else 0.0) for name in _MOMENTS]
        return Inertial(mass, pose, cast(Any, tuple(moments)), element.line)

    def _shape(self, element: Element, place: Any, subject: str) -> Visual | None:
        """The first shape of a <visual> or <collision> that can be read."""
        geometry = self._values.only(element, "geometry", subject)
        for child in () if geometry is None else geometry.children:
            pose = self._in_link(element, place, subject).pose()
            if child.tag == "mesh":
                return self._mesh(child, pose, self._colour(element, subject), subject)
            if child.tag in _SIZES:
                rows = [self._sizes(child, tag, count, subject) for tag, count in _SIZES[child.tag]]
                if None not in rows:
                    size = tuple(x for row in rows for x in row or ())
                    return Visual(cast(ShapeKind, child.tag), size, pose, self._colour(element, subject), line=child.line)
        return None

    def _in_link(self, element: Element, place: Any, subject: str) -> Placed:
        """The pose of a shape, which may be given in any frame, in its link."""
        pose, given = self._values.pose(element, subject), element.all("pose")
        name = (given[0].get("relative_to") or "").strip() if given else ""
        frame = self._frames.find(name, place.prefix, subject, given[0].line) if name else None
        if frame is None:
            return pose
        return self._frames.place(place.full).inverse() @ self._frames.place(frame) @ pose

    def _mesh(self, element: Element, pose: Pose, rgba: Rgba, subject: str) -> Visual:
        scale = self._values.only(element, "scale", subject)
        factors = None if scale is None else self._values.vector(scale, subject)
        file = self._values.word(element, "uri", subject)
        return Visual("mesh", (), pose, rgba, file, factors or (1.0, 1.0, 1.0), element.line)

    def _sizes(self, element: Element, tag: str, count: int, subject: str) -> tuple[float, ...] | None:
        child = self._values.only(element, tag, subject)
        if child is None:
            what, hint = f"<{printable(element.tag)}> has no <{tag}>", "give it in metres"
            self._report.error(what, hint=hint, element=subject, line=element.line)
            return None
        return self._values.row(child, count, subject)

    def _colour(self, element: Element, subject: str) -> Rgba:
        material = self._values.only(element, "material", subject)
        for tag in ("diffuse", "ambient"):
            colour = None if material is None else self._values.only(material, tag, subject)
            if colour is not None:
                words = len(colour.text.split())
                row = self._values.row(colour, 3 if words == 3 else 4, subject)
                return GREY if row is None else cast(Rgba, (*row, 1.0)[:4])
        return GREY
