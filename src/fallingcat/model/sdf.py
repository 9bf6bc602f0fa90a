"""SDF (1.6 to 1.11) to a `Description`: models, nested models, frames, links and joints.

Poses may be given in any frame, and a joint may be anywhere on its child link: if its frame is not the child's, a massless
link is inserted between them. Like the reader of URDF it continues after a mistake, and reports all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from fallingcat.model.description import Description, Equality, Frame, Joint, Link, Vector
from fallingcat.model.findings import Finding
from fallingcat.model.placed import HERE, Placed
from fallingcat.model.report import Report, listed, printable, quoted
from fallingcat.model.sdf_frames import MODEL, WORLD, Frames, Node
from fallingcat.model.sdf_joints import JointReader
from fallingcat.model.sdf_links import LinkReader
from fallingcat.model.sdf_values import Values, name_of, subject_of
from fallingcat.model.xml_tree import Element

NEWEST = (1, 12)
OLDEST = (1, 5)
"""The oldest version that is read; in older ones the axes of joints are in the model's frame."""
_COUPLINGS = ("gearbox",)
DEEPEST = 16
"""Largest depth of nested models."""
_CLOSES = {"fixed": "weld", "spherical": "connect", "revolute": "hinge", "continuous": "hinge"}
"""The constraint that replaces a joint that closes a loop, by joint type."""


class Place(NamedTuple):
    """A named element with a pose, found on the first walk."""

    full: str
    """The full name, with those of the enclosing models."""
    prefix: str
    """The names of the enclosing models, each followed by `::`."""
    element: Element


@dataclass(frozen=True)
class Models:
    """The elements that the first walk finds, each kind in the order of the file."""

    models: list[Place]
    links: list[Place]
    joints: list[Place]
    frames: list[Place]


def read_sdf_tree(root: Element, file: str) -> tuple[Description | None, tuple[Finding, ...]]:
    """The description in an SDF text that has been parsed, and a finding for every mistake; None when there is no model in it."""
    report = Report(file)
    _check_version(root, report)
    model = _only_model(root, report)
    if model is None:
        return None, tuple(report.findings)
    return _Reader(report, _version(root)).robot(model, _gravity(root, report)), tuple(report.findings)


def _version(root: Element) -> tuple[int, int]:
    parts = (root.get("version") or "").strip().split(".")
    if len(parts) == 2 and all(part.isascii() and part.isdigit() and len(part) < 4 for part in parts):
        return int(parts[0]), int(parts[1])
    return 0, 0


def _check_version(root: Element, report: Report) -> None:
    version, shown = _version(root), quoted(root.get("version") or "")
    if version == (0, 0):
        what = f"the version {shown} of <sdf> is not a version number"
        report.warning(what, hint='write <sdf version="1.9">', element="sdf", line=root.line)
    elif not OLDEST <= version <= NEWEST:
        what = f"version {shown} is not among those that are read, 1.5 to 1.12"
        report.warning(what, hint="convert it: gz sdf -p robot.sdf", element="sdf", line=root.line)


def _only_model(root: Element, report: Report) -> Element | None:
    inside = [world for world in root.all("world") if world.all("model")]
    models = [model for parent in (root, *inside) for model in parent.all("model")]
    if not models:
        included = [element for parent in (root, *root.all("world")) for element in parent.all("include")]
        hint = "load the model that <include> names" if included else 'an SDF robot is <sdf><model name="...">...</model></sdf>'
        report.error("there is no <model>", hint=hint, element="sdf", line=(included or [root])[0].line)
        return None
    if len(models) > 1:
        names = listed([name_of(model) for model in models])
        report.error(f"there are {len(models)} models: {names}", hint="keep one of them", element="sdf", line=models[1].line)
        return None
    return models[0]


def _gravity(root: Element, report: Report) -> Vector | None:
    """The gravity of the world around the model, m/s^2, else None."""
    for world in root.all("world"):
        for element in world.all("gravity"):
            return Values(report).vector(element, "world")
    return None


class _Reader:
    """Reads a model in two walks: the first finds all names, the second resolves poses and makes links and joints."""

    def __init__(self, report: Report, version: tuple[int, int]) -> None:
        self._report, self._version = report, version
        self._values = Values(report)
        self._frames = Frames(report)
        self._links = LinkReader(report, self._frames)
        self._joints = JointReader(report, self._frames, version)
        self._unread = 0
        """Number of joints whose links are not known."""

    def robot(self, model: Element, gravity: Vector | None) -> Description:
        found = self._walk(model)
        for place in found.models:
            self._add_model(place, found)
        for place in found.links:
            subject = subject_of("link", place.full)
            relative = self._relative(place, place.prefix + MODEL, subject)
            pose = self._values.pose(place.element, subject)
            self._frames.add(place.full, Node(relative, pose, place.full, subject, place.element.line))
        for place in found.joints:
            self._add_joint(place)
        for place in found.frames:
            self._add_frame(place)
        return self._description(model, found, gravity)

    # The first walk

    def _walk(self, root: Element) -> Models:
        found = Models([], [], [], [])
        waiting = [(root, "", 0)]
        while waiting:
            model, prefix, depth = waiting.pop()
            self._declare(prefix + MODEL)
            found.models.append(Place(prefix + MODEL, prefix, model))
            inner = []
            for kind, places in (("link", found.links), ("joint", found.joints), ("frame", found.frames)):
                for element in model.all(kind):
                    full = prefix + name_of(element)
                    self._refuse_colons(kind, element)
                    if self._declare(full):
                        places.append(Place(full, prefix, element))
                    else:
                        self._rename(kind, full, prefix, element, places)
            for element in model.all("model"):
                self._refuse_colons("model", element)
                if depth < DEEPEST:
                    inner.append((element, f"{prefix}{name_of(element)}::", depth + 1))
                else:
                    self._report.error(f"more than {DEEPEST} models inside each other", hint="make it flatter", line=element.line)
            waiting += reversed(inner)
            self._warn_of_includes(model)
        return found

    def _refuse_colons(self, kind: str, element: Element) -> None:
        """Report `::` in a name: it separates names of models. Before 1.8, elements of flattened models may have it."""
        name = name_of(element)
        if "::" in name and (kind == "model" or self._version >= (1, 8)):
            self._report.error(
                f"the name {quoted(name)} holds '::', which stands between the names of models", hint="name it without",
                element=subject_of(kind, name), line=element.line,
            )  # fmt: skip

    def _declare(self, full: str) -> bool:
        return self._frames.declare(full)

    def _rename(self, kind: str, full: str, prefix: str, element: Element, places: list[Place]) -> None:
        """Handle a second element of the same name: a joint may be named like a link, but is no frame then; others are errors."""
        if kind == "joint":
            places.append(Place(full, prefix, element))
        else:
            self._report.error(
                f"the name {quoted(full)} is a duplicate", hint="give every link, joint and frame of a model a name of its own",
                element=subject_of(kind, full), line=element.line,
            )  # fmt: skip

    def _warn_of_includes(self, model: Element) -> None:
        for element in model.all("include"):
            uri = next((child.text.strip() for child in element.all("uri")), "")
            self._report.error(
                f"<include> of {quoted(uri)} is not followed", hint="write its model in, as gz sdf -p does", element="include",
                line=element.line,
            )  # fmt: skip

    # Where things are

    def _relative(self, place: Place, default: str, subject: str) -> str:
        """The frame in which an element's pose is given."""
        pose = self._values.only(place.element, "pose", subject)
        name = "" if pose is None else (pose.get("relative_to") or pose.get("frame") or "").strip()
        if not name:
            return default
        line = place.element.line if pose is None else pose.line
        return self._frames.find(name, place.prefix, subject, line) or default

    def _add_model(self, place: Place, found: Models) -> None:
        element, subject = place.element, subject_of("model", name_of(place.element))
        around = place.prefix.removesuffix(f"{name_of(element)}::")
        default = WORLD if not place.prefix else around + MODEL
        relative = self._relative(Place(place.full, around, element), default, subject)
        pose = self._values.pose(element, subject)
        placed = (element.get("placement_frame") or "").strip()
        canonical = (element.get("canonical_link") or "").strip()
        first = next((link.full for link in found.links if link.full.startswith(place.prefix)), WORLD)
        link = self._frames.find(canonical, place.prefix, subject, element.line) or first if canonical else first
        if placed:
            what = "placement_frame is not read"
            self._report.error(what, hint="give the pose of the model itself", element=subject, line=element.line)
        self._frames.add(place.full, Node(relative, pose, link, subject, element.line))

    def _add_joint(self, place: Place) -> None:
        subject = subject_of("joint", place.full)
        child = self._joints.end(place.element, "child", place.prefix, subject)
        relative = self._relative(place, child or place.prefix + MODEL, subject)
        node = Node(relative, self._values.pose(place.element, subject), child or WORLD, subject, place.element.line)
        self._frames.add(self._key(place), node)

    def _key(self, place: Place) -> str:
        """The key of a joint's frame, which differs from all names: a joint named like a link cannot be referred to."""
        return f"{place.full}\0joint"

    def _add_frame(self, place: Place) -> None:
        subject, line = subject_of("frame", place.full), place.element.line
        name = (place.element.get("attached_to") or "").strip()
        attached = self._frames.find(name, place.prefix, subject, line) if name else None
        attached = attached or place.prefix + MODEL
        relative = self._relative(place, attached, subject)
        self._frames.add(place.full, Node(relative, self._values.pose(place.element, subject), attached, subject, line))

    # The second walk

    def _description(self, model: Element, found: Models, gravity: Vector | None) -> Description:
        for place in found.joints:
            if not self._frames.has(place.full):
                self._frames.add(place.full, self._frames.node(self._key(place)))
        links = [self._links.link(place) for place in found.links]
        joints: list[Joint] = []
        equalities: list[Equality] = []
        above: set[str] = set()
        for place in found.joints:
            self._connect(place, links, joints, equalities, above)
        self._hold_together(links, joints)
        world = any(joint.parent == WORLD for joint in joints)
        if self._values.truth(model, "static", "model"):
            roots = [link for link in links if link.name not in above]
            for root in roots:
                joints.append(Joint(f"{root.name}/static", "fixed", WORLD, root.name, self._frames.place(root.name).pose()))
            world = bool(roots)
        if world:
            links.insert(0, Link(WORLD))
        frames = [
            Frame(place.full, self._frames.carrier(place.full), self._in_link(place.full).pose(), place.element.line)
            for place in found.frames
        ]
        known = {link.name for link in links}
        return Description(
            name_of(model) or "model",
            tuple(links),
            tuple(joints),
            self._report.file,
            frames=tuple(frame for frame in frames if frame.link in known),
            gravity=gravity,
            world=world,
            equalities=tuple(equalities),
        )

    def _hold_together(self, links: list[Link], joints: list[Joint]) -> None:
        """Connect links that have lost their joint, because it could not be read, so that they are not reported a second time."""
        children = {joint.child for joint in joints}
        loose = [link.name for link in links if link.name not in children]
        if self._unread:
            joints += [Joint(f"{name}/unread", "fixed", loose[0], name) for name in loose[1:]]

    def _in_link(self, frame: str) -> Placed:
        """The pose of a frame in the link that it is attached to."""
        return self._frames.place(self._frames.carrier(frame)).inverse() @ self._frames.place(frame)

    def _connect(self, place: Place, links: list[Link], joints: list[Joint], equalities: list[Equality], above: set[str]) -> None:
        """Add a joint, and a massless link between it and its child if their frames differ."""
        subject, key = subject_of("joint", place.full), self._key(place)
        if place.element.get("type") in _COUPLINGS:
            what = f"a {place.element.get('type')} joint couples others, and is left out"
            self._report.warning(what, hint="its bodies need joints of their own", element=subject, line=place.element.line)
            return
        ends = [self._joints.end(place.element, end, place.prefix, subject, quiet=end == "child") for end in ("parent", "child")]
        if ends[0] is None or ends[1] is None:
            self._unread += 1
            return
        parent, child = self._frames.carrier(ends[0]), self._frames.carrier(ends[1])
        node = self._frames.node(key)
        together = node.relative_to == child and node.pose == HERE
        on_child = HERE if together else self._frames.place(key).inverse() @ self._frames.place(child)
        pose = (self._frames.place(parent).inverse() @ self._frames.place(key)).pose()
        joint = self._joints.joint(place, parent, child, pose)
        if child in above:
            self._close_loop(joint, child, on_child, equalities, subject)
            return
        above.add(child)
        if on_child != HERE:
            between = f"{child}/{name_of(place.element)}"
            links.append(Link(between))
            joints.append(Joint(f"{child}/weld", "fixed", between, child, on_child.pose(), line=joint.line))
            joint = replace(joint, child=between)
        joints.append(joint)

    def _close_loop(self, joint: Joint, child: str, on_child: Placed, equalities: list[Equality], subject: str) -> None:
        kind = _CLOSES.get(joint.type)
        if kind is None:
            what = f"the joint closes a loop, and a {printable(joint.type)} joint cannot be kept as a constraint"
            self._report.error(what, hint="cut the loop elsewhere", element=subject, line=joint.line)
            return
        frames = Frame(f"{joint.name}/1", joint.parent, joint.pose), Frame(f"{joint.name}/2", child, on_child.inverse().pose())
        equalities.append(Equality(kind, joint.name, frames, axis=joint.axis, line=joint.line))  # type: ignore[arg-type]
        self._report.warning(
            "the joint closes a loop, and is no part of the dynamics", element=subject, line=joint.line,
            hint=f"robot.constraints() closes it, as a {kind}",
        )  # fmt: skip
