"""The frames of an SDF file: any pose may be relative to any frame, declared before or after it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fallingcat.model.placed import HERE, Placed
from fallingcat.model.report import Report, Suggestions, quoted

WORLD = "world"
MODEL = "__model__"
_OTHER_WORLDS = ("__root__",)


@dataclass(frozen=True)
class Node:
    """A frame as the file gives it, before its pose in the model is resolved."""

    relative_to: str
    """The frame in which its pose is given."""
    pose: Placed
    attached_to: str
    """The frame that carries it; a link carries itself."""
    element: str
    """The element's name in messages, such as `frame 'hand'`."""
    line: int


class Frames:
    """All frames of a file by their full names, such as `arm::hand`."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._names: dict[str, None] = {}
        self._nodes: dict[str, Node] = {}
        self._places: dict[str, Placed] = {WORLD: HERE}
        self._carriers: dict[str, str] = {WORLD: WORLD}
        self._near: Suggestions | None = None
        self._circled: set[str] = set()

    def declare(self, name: str) -> bool:
        """Declare a name, so that others may refer to the frame before it is added; false if the name is taken."""
        new = name not in self._names
        self._names.setdefault(name)
        return new

    def add(self, name: str, node: Node) -> None:
        """Add a declared frame, with what the file says of its pose."""
        self._nodes[name] = node

    def find(self, name: str, prefix: str, element: str, line: int) -> str | None:
        """The full name of a frame that is named inside a model; None, with an error, when there is none."""
        if name == WORLD or name in _OTHER_WORLDS:
            return WORLD
        for full in (prefix + name, prefix + name + "::" + MODEL):  # a model's name stands for its frame
            if full in self._names:
                return full
        if self._near is None:
            self._near = Suggestions(self._names)
        hint = self._near.hint(prefix + name, "correct the name")
        self._report.error(f"there is no link, joint or frame {quoted(name)}", hint=hint, element=element, line=line)
        return None

    def unknown(self, name: str, prefix: str) -> bool:
        """Is there no frame of this name?"""
        worlds = (WORLD, *_OTHER_WORLDS)
        return name not in worlds and not {prefix + name, prefix + name + "::" + MODEL} & self._names.keys()

    def has(self, name: str) -> bool:
        """Has a frame been added?"""
        return name in self._nodes

    def node(self, name: str) -> Node:
        """The frame with this name, which must have been added."""
        return self._nodes[name]

    def place(self, name: str) -> Placed:
        """The pose of a frame in the world with all joints at zero."""
        chain = self._chain(name, self._places, "relative_to")
        at = self._places[chain.pop()] if chain[-1] in self._places else HERE
        for frame in reversed(chain):
            at = at @ self._nodes[frame].pose
            self._places[frame] = at
        return at

    def carrier(self, name: str) -> str:
        """The link, or the world, that a frame moves with."""
        chain = self._chain(name, self._carriers, "attached_to")
        last = chain[-1]
        link = self._carriers.get(last, last)
        for frame in chain:
            self._carriers[frame] = link
        return link

    def _report_circle(self, chain: list[str], following: str) -> None:
        """Report a cycle of frames, once for all frames in it."""
        if chain[-1] in self._circled or following in self._circled:
            return
        self._circled.update(chain)
        node = self._nodes[chain[-1]]
        what = f"frames refer to each other in a circle: {quoted(chain[-1])} to {quoted(following)}"
        self._report.error(what, hint="let one of them refer to the model", element=node.element, line=node.line)

    def _chain(self, name: str, known: Iterable[str], by: str) -> list[str]:
        """The frames from `name` along references to the first that is known or refers to itself; cycles are reported and cut."""
        chain, visited = [name], {name}
        while chain[-1] not in known and chain[-1] in self._nodes:
            following = getattr(self._nodes[chain[-1]], by)
            if following == chain[-1] and by == "attached_to":
                break
            if following in visited:
                self._report_circle(chain, following)
                break
            chain.append(following)
            visited.add(following)
        return chain
