"""What is said where an extra is missing; and that none is imported before it is asked for."""

from __future__ import annotations

import sys

import pytest

import fallingcat as fc
from test_quality import run

EXTRAS = {"torch": "PyTorch", "casadi": "CasADi"}


@pytest.mark.parametrize("name", EXTRAS)
def test_a_missing_extra_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [m for m in sys.modules if m.startswith(f"fallingcat.frameworks.{name}_") and not m.endswith("_door")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=rf"fc\.{name} needs {EXTRAS[name]}: pip install 'fallingcat\[{name}\]'"):
        getattr(fc, name)(fc.load("cat"))


def test_nothing_is_imported_unasked() -> None:
    code = "import sys, fallingcat; print(sorted({'torch', 'casadi', 'jax'} & set(sys.modules)))"
    assert run("-c", code).stdout.strip() == "[]"
