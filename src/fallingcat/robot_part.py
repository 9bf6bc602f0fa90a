"""What the parts of `Robot` rely on: its model, and a way to run a compiled function of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fallingcat.model.joints import Representation
    from fallingcat.model.model import Model


class Part:
    """A family of methods of `Robot`."""

    model: Model

    def _run(self, name: str, values: tuple[Any, ...], out: Any, wrenches: Any = None, **options: Any) -> Any:
        """Run a compiled function; `Robot` does it."""
        raise NotImplementedError


def in_representation(representation: Representation) -> dict[str, Any]:
    """The option for a base twist that is not body-fixed."""
    return {} if representation == "body" else {"representation": representation}
