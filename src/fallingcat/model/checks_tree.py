"""Checks that links and joints form one tree."""

from __future__ import annotations

from collections.abc import Sequence

from fallingcat.model.description import Description, Joint, Link
from fallingcat.model.report import Report, Suggestions, listed, quoted


def check_tree(description: Description, report: Report) -> None:
    """Report problems of names, references and the topology."""
    if not description.links:
        report.error("the robot has no links", hint='add at least one <link name="..."/>', element="robot")
    _check_names("link", description.links, report)
    _check_names("joint", description.joints, report)
    sound = _check_references(description, report)
    parents = _first_parents(sound, report)
    broken = len(description.joints) - len(sound)
    _check_roots(description, parents, broken, report)
    _check_loops(parents, report)


def joint_label(joint: Joint) -> str:
    """How findings name a joint."""
    return f"joint {quoted(joint.name)}" if joint.name else "joint without a name"


def link_label(link: Link) -> str:
    """How findings name a link."""
    return f"link {quoted(link.name)}" if link.name else "link without a name"


def find_cycle_members(successor: dict[str, str]) -> list[list[str]]:
    """The cycles of a graph in which every node has at most one successor, each listed once."""
    cycles: list[list[str]] = []
    finished: set[str] = set()
    for start in successor:
        path: list[str] = []
        position: dict[str, int] = {}
        node: str | None = start
        while node is not None and node not in finished and node not in position:
            position[node] = len(path)
            path.append(node)
            node = successor.get(node)
        if node is not None and node in position:
            cycles.append(path[position[node] :])
        finished.update(path)
    return cycles


def _check_names(kind: str, things: Sequence[Link] | Sequence[Joint], report: Report) -> None:
    first: dict[str, int] = {}
    for thing in things:
        if not thing.name:
            report.error(f"a {kind} has no name", hint=f'write <{kind} name="...">', element=kind, line=thing.line)
        elif thing.name in first:
            where = f" (the first is at line {first[thing.name]})" if first[thing.name] else ""
            report.error(
                f"the name {quoted(thing.name)} is a duplicate: another {kind} has it already{where}",
                hint=f"give every {kind} a name of its own",
                element=f"{kind} {quoted(thing.name)}",
                line=thing.line,
            )
        else:
            first[thing.name] = thing.line


def _check_references(description: Description, report: Report) -> list[Joint]:
    """Reports joints that do not connect two known links, and returns those that do."""
    names = {link.name for link in description.links if link.name}
    suggestions = Suggestions(names)
    sound = []
    for joint in description.joints:
        label, fine = joint_label(joint), True
        for role, name in (("parent", joint.parent), ("child", joint.child)):
            if not name:
                fine = False
                report.error(f"there is no {role} link", hint=f'add <{role} link="..."/>', element=label, line=joint.line)
            elif name not in names:
                fine = False
                report.error(
                    f"the {role} link {quoted(name)} does not exist",
                    hint=suggestions.hint(name, "add such a <link> or correct the name"),
                    element=label,
                    line=joint.line,
                )
        if joint.parent and joint.parent == joint.child:
            fine = False
            report.error(
                f"parent and child are the same link, {quoted(joint.child)}",
                hint="a joint connects two different links",
                element=label,
                line=joint.line,
            )
        if fine:
            sound.append(joint)
    return sound


def _first_parents(joints: list[Joint], report: Report) -> dict[str, Joint]:
    """The joint above each link; a second one is reported and left out."""
    above: dict[str, Joint] = {}
    for joint in joints:
        other = above.setdefault(joint.child, joint)
        if other is not joint:
            report.error(
                f"the link {quoted(joint.child)} has two parents: {quoted(other.parent)} through joint {quoted(other.name)} "
                f"and {quoted(joint.parent)} through this one, which closes a loop",
                hint="a URDF is a tree: cut the loop by removing one of the joints",
                element=joint_label(joint),
                line=joint.line,
            )
    return above


def _check_roots(description: Description, above: dict[str, Joint], broken: int, report: Report) -> None:
    roots = [link for link in description.links if link.name and link.name not in above]
    # Each joint with a wrong reference leaves at most one link without parent, which has been reported already.
    if len(roots) > 1 + broken:
        report.error(
            f"there are {len(roots)} root links, and one is needed: {listed([link.name for link in roots])}",
            hint="connect all but one of them to the others, with fixed joints where nothing moves",
            element=link_label(roots[1]),
            line=roots[1].line,
        )


def _check_loops(above: dict[str, Joint], report: Report) -> None:
    for cycle in find_cycle_members({link: joint.parent for link, joint in above.items()}):
        joints = [above[link] for link in cycle]
        first = min(joints, key=lambda joint: joint.line)
        report.error(
            f"the links {listed(cycle[::-1])} form a loop, each being the child of another",
            hint="a robot needs a root link that is no joint's child; turn round or remove one of these joints",
            element=joint_label(first),
            line=first.line,
        )
