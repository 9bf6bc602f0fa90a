"""The papers' results side by side: claims with their verdicts, errata with their tests, checks, figures."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from fallingcat.apps import figures
from fallingcat.apps.papers import NUMBERS, Check, Paper, claims
from fallingcat.apps.papers.claims import VERDICTS, Claim, Verdict
from fallingcat.apps.papers.errata import Erratum, of_paper


@dataclass(frozen=True)
class Result:
    """The results of one paper in one run."""

    number: str
    title: str
    checks: list[Check]
    claims: list[Claim] = field(default_factory=list)
    errata: list[Erratum] = field(default_factory=list)
    figures: dict[Path, str] = field(default_factory=dict)
    """File -> caption."""
    versions: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def failed(self) -> int:
        """Checks that do not hold."""
        return sum(not check.passed for check in self.checks)

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """How many claims have which verdict, in the order of `VERDICTS`."""
        counted = Counter(claim.verdict for claim in self.claims)
        return {verdict: counted[verdict] for verdict in VERDICTS if counted[verdict]}


def reproduce(number: str, module: Paper, console: Console, out: Path, quick: bool) -> Result:
    """Run a paper and collect what it wrote; a paper that wrote no numbers has its checks only."""
    before, clock = _written(out), time.perf_counter()
    checks = module.run(console, out, quick)
    new = [path for path, when in _written(out).items() if before.get(path) != when]
    numbers = out / NUMBERS
    found: dict[str, Any] = json.loads(numbers.read_text(encoding="utf-8")) if numbers in new else {}
    errata = of_paper(number, found.get("errata") or found.get("as printed") or ())
    captions = claims.FIGURES.get(number, {})
    order = {name: k for k, name in enumerate(captions)}
    drawn = sorted((p for p in new if p != numbers), key=lambda p: (order.get(p.name, len(order)), p.name))
    return Result(
        number, module.TITLE, checks, claims.claims(number, found, checks, errata), errata,
        {p: captions.get(p.name, p.stem) for p in drawn}, found.get("versions", {}), time.perf_counter() - clock,
    )  # fmt: skip


def _written(folder: Path) -> dict[Path, int]:
    """Numbers and figures in a folder with their modification times, by which files of earlier runs are recognized."""
    return {path: path.stat().st_mtime_ns for path in [*folder.glob("*.png"), *folder.glob(NUMBERS)]}


def as_json(results: Sequence[Result], quick: bool) -> dict[str, Any]:
    """For scripts."""
    return {
        "quick": quick,
        "passed": not any(r.failed for r in results),
        "figures": figures.available(),
        "papers": [
            {
                "number": r.number,
                "title": r.title,
                "seconds": round(r.seconds, 1),
                "versions": r.versions,
                "verdicts": r.verdicts,
                "claims": [asdict(c) for c in r.claims],
                "errata": [asdict(e) | {"paper": e.paper} for e in r.errata],
                "checks": [c.as_json() for c in r.checks],
                "figures": {str(path): caption for path, caption in r.figures.items()},
            }
            for r in results
        ],
    }
