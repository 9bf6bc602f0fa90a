"""Checks before MuJoCo's compiler runs: refuses short files that would take unlimited memory or time."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from pathlib import Path

from fallingcat.model.meshes import is_file
from fallingcat.model.report import Report, printable
from fallingcat.model.xml_tree import MAX_SIZE, Element, XmlError, parse_xml

MOST_ELEMENTS = 100_000
"""Largest number of elements, with the copies of <replicate>."""
MOST_NUMBERS = 50_000_000
"""Largest number of entries of a texture or height field."""
MOST_FILES = 200
_SIZES = {
    "texture": ("width", "height"),
    "hfield": ("nrow", "ncol"),
}
_NOT_FINITE = re.compile(r"(?i)\s*(?:[-+.\de]+\s+)*[-+]?(?:nan|inf|infinity)(?:\s.*)?", re.DOTALL)
"""A list of numbers that holds NaN or infinity."""
_COUNTS = ("composite", "flexcomp")
_LARGEST = 1_000_000
_PLAIN = "name a regular file: pipes and devices are not read"


def refuse_excess(root: Element, folder: Path, report: Report) -> None:
    """Report everything that is too large in a file and in the files that it includes."""
    visited: set[Path] = set()
    trees: list[tuple[Element, str]] = []
    waiting: list[tuple[Element, Path, str]] = [(root, folder, "")]
    while waiting and not report.has_errors():
        element, here, file = waiting.pop()
        total = _check(element, report, file)
        if total > MOST_ELEMENTS:
            _say(report, element, f"<replicate> makes more than {MOST_ELEMENTS} elements", "replicate less", file)
        trees.append((element, file))
        for name in _included(element):
            path = here / name
            if path in visited or not is_file(path):
                continue  # MuJoCo reports both
            visited.add(path)
            if len(visited) > MOST_FILES:
                _say(report, element, f"more than {MOST_FILES} files are included", "put them together", file)
                return
            tree = _tree(path, report)
            if tree is not None:
                waiting.append((tree, here, name))
    _refuse_pipes(trees, folder, report)


def _refuse_pipes(trees: list[tuple[Element, str]], folder: Path, report: Report) -> None:
    """Report includes, meshes, textures and fields that are pipes or devices, for which MuJoCo might wait for ever."""
    every = [(element, file) for tree, file in trees for element in _all(tree)]
    settings = [element for element, _ in every if element.tag == "compiler"]
    dirs = {"", *(element.get(key) or "" for element in settings for key in ("meshdir", "texturedir", "assetdir"))}
    for element, file in every:
        for name in [value for key, value in element.attributes.items() if key.startswith("file") and value]:
            plain = name.replace("\\", "/").rpartition("/")[2]  # the name that strippath leaves
            if any(_blocks(folder / inside / n) for inside in dirs for n in (name, plain)):
                _say(report, element, f"{printable(name)!r} is not a regular file", _PLAIN, file)


def _blocks(path: Path) -> bool:
    """Does the path exist as neither a file nor a folder, so that reading it may block?"""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _all(root: Element) -> Iterator[Element]:
    waiting = [root]
    while waiting:
        element = waiting.pop()
        yield element
        waiting += element.children


def _tree(path: Path, report: Report) -> Element | None:
    with open(path, "rb") as stream:
        content = stream.read(MAX_SIZE + 1)
    try:
        return parse_lenient(content)
    except XmlError as error:
        hint = f"{error.hint} (line {error.line})" if error.line else error.hint
        report.error(f"the included file {printable(path.name)!r}: {error.message}", hint=hint)
        return None


def parse_lenient(content: str | bytes) -> Element:
    """The tree of a file whose comments may contain two dashes, which XML forbids and MuJoCo's parser accepts."""
    try:
        return parse_xml(content)
    except XmlError:
        return parse_xml(_without_comments(content))


def _without_comments(content: str | bytes) -> str:
    """The text with comments replaced by empty lines, so that line numbers stay."""
    text = content if isinstance(content, str) else content.decode("utf-8", "replace")
    parts = text.removeprefix("\ufeff").split("<!--")
    kept = [parts[0]]
    for part in parts[1:]:
        comment, closed, rest = part.partition("-->")
        kept.append("\n" * comment.count("\n") + rest if closed else f"<!--{part}")
    return "".join(kept)


def _included(root: Element) -> list[str]:
    return [str(e.get("file")) for e in _all(root) if e.tag in ("include", "model") and e.get("file")]


def _check(element: Element, report: Report, file: str) -> int:
    """Report what is too large in an element; returns its number of elements, copies of <replicate> included."""
    total = 1 + sum(_check(child, report, file) for child in element.children)
    for attribute, value in element.attributes.items():
        if _NOT_FINITE.fullmatch(value):
            _say(report, element, f"{printable(attribute)} holds numbers that are not finite", "write plain numbers", file)
    if element.tag in _SIZES:
        numbers = [_integer(element, attribute) for attribute in _SIZES[element.tag]]
        if numbers[0] * numbers[1] > MOST_NUMBERS or max(numbers) > _LARGEST:
            _say(report, element, f"the <{element.tag}> is too large", "make it smaller: it is no part of the dynamics", file)
    if element.tag in _COUNTS:
        product = 1
        for word in (element.get("count") or "1").split()[:3]:
            product *= max(1, _number(word))
        total += 4 * product
    if element.tag == "size" or (element.tag == "numeric" and element.get("size")):
        for attribute in element.attributes:
            if attribute not in ("memory", "name", "data") and _integer(element, attribute) > _LARGEST:
                _say(report, element, f"{printable(attribute)} asks for too much", f"write at most {_LARGEST}", file)
    return total * max(1, _integer(element, "count")) if element.tag == "replicate" else total


def _integer(element: Element, attribute: str) -> int:
    return _number(element.get(attribute) or "0")


def _number(word: str) -> int:
    """The magnitude of a number as MuJoCo might read it; 0 for text that is not a number, which MuJoCo reports itself."""
    try:
        return int(min(abs(float(word.split()[0])), 1e18))
    except (ValueError, IndexError):
        return 0


def _say(report: Report, element: Element, message: str, hint: str, file: str) -> None:
    where = f" (in the included file {printable(file)!r})" if file else ""
    report.error(message + where, hint=hint, element=f"<{printable(element.tag)}>", line=0 if file else element.line)
