"""Every attack for a while: nothing crashes, hangs, lies, or raises what is not documented."""

from __future__ import annotations

import pytest

from .run import PLANS, again, run

SEED = 1


@pytest.mark.sweep
@pytest.mark.parametrize("name", PLANS)
def test_attack(name: str, request: pytest.FixtureRequest) -> None:
    plan = PLANS[name]
    scale = float(request.config.getoption("--attack-scale"))
    totals = run(plan, max(1, round(plan.cases * scale)), SEED)
    found = [f"{p['kind']}: {p['text']}\n    {again(plan, SEED, p)}" for p in totals.problems]
    assert not found, f"{len(found)} problems in {totals.cases} cases\n" + "\n".join(found[:10])
    assert totals.cases == max(1, round(plan.cases * scale))
    assert sum(totals.counts.values()) >= totals.cases
