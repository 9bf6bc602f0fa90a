"""What an attack can find."""

from __future__ import annotations

KINDS = ("crashes", "hangs", "wrong numbers", "undocumented exceptions", "corrupted files used", "other problems")


class ProblemError(Exception):
    """The library did what it must not: of one of the `KINDS`, with everything that helps to see it again."""

    def __init__(self, kind: str, text: str) -> None:
        assert kind in KINDS
        super().__init__(text)
        self.kind, self.text = kind, text


def words(error: BaseException) -> str:
    """An exception in one line, with the place it comes from."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    place = f" at {at.tb_frame.f_code.co_filename.rpartition('/')[2]}:{at.tb_lineno}" if at is not None else ""
    return f"{type(error).__name__}: {str(error)[:300]}{place}"
