"""Names of robots, links and joints as they may be printed.

A name comes from a file that anybody may have written. Control characters in it can garble or command a terminal, and
characters that turn the direction of writing can make a line read as what it is not. Wherever a name is shown they are
escaped as Python's `repr` escapes them; in programs names stay what they are.
"""

from __future__ import annotations


def printable(text: str, limit: int = 80) -> str:
    """The text, shortened and with unprintable characters escaped."""
    if len(text) > limit:
        text = text[: limit - 3] + "..."
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def quoted(text: str, limit: int = 60) -> str:
    """The text in quotes, fit for a message."""
    return f"'{printable(text, limit)}'"


def shown(value: object, limit: int = 100) -> str:
    """Any value in one line of a message."""
    return printable(" ".join(repr(value).split()), limit)
