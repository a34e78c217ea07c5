"""Each attempt is told what is left of the run's time and money."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from tonnage.local.allowing import with_what_is_left
from tonnage.local.starting import Setting, nodes_of
from tonnage.running.attempts import Attempt, Ending, Size
from tonnage.running.history import Launching, RunRecord
from tonnage.spec.loading import load_one
from tonnage.spec.run import Run
from tonnage_agent import contract

NOW = dt.datetime(2026, 11, 15, 12, tzinfo=dt.UTC)
DOCUMENT = """
apiVersion: tonnage.dev/v1alpha1
kind: Run
metadata: {name: bert}
spec: {command: python3 train.py, deadline: 1h, budget: $10}
"""


def test_what_earlier_attempts_used_is_taken_off() -> None:
    launching = Launching(document=DOCUMENT, price_per_hour=6_000_000)
    earlier = Attempt(
        number=1,
        size=Size(),
        created=NOW,
        started=NOW,
        ending=Ending(when=NOW + dt.timedelta(minutes=20), cause="spot"),
    )
    record = RunRecord(id=1, name="bert", place="", created=NOW, launching=launching, attempts=(earlier,))
    setting = Setting(
        run_id=1, run=load_one(DOCUMENT, "run", Run), launching=launching, home=Path("/h"), agent=("agent", "--"),
        agent_path="a", environment={},
    )  # fmt: skip
    variables = nodes_of(with_what_is_left(setting, record, 1000.0), 2, Size())[0].env
    assert float(variables[contract.DEADLINE]) == 1000.0 + 40 * 60
    assert variables[contract.SPENT] == "2000000"
    assert variables[contract.BUDGET] == "10000000"
