"""Smaller steps to fall back to: the solver's where it answered, else by division; only where the run can be told."""

from __future__ import annotations

import pytest

from tonnage.running.launching import refits_of
from tonnage.spec.loading import load_one
from tonnage.spec.run import Run


def a_run(command: str, micro: int = 8, accumulation: int = 2, env: str = "{}") -> Run:
    return load_one(
        f"""
apiVersion: tonnage.dev/v1alpha1
kind: Run
metadata: {{name: bert}}
spec:
  command: {command!r}
  env: {env}
  train: {{microBatch: {micro}, accumulation: {accumulation}}}
""",
        "run",
        Run,
    )


def test_every_division_keeps_the_global_batch_and_the_largest_comes_first() -> None:
    found = refits_of(a_run("python3 train.py --batch {microBatch}"))
    assert [(refit.micro_batch, refit.accumulation) for refit in found] == [(4, 4), (2, 8), (1, 16)]


@pytest.mark.parametrize(
    ("command", "env", "script", "is_told"),
    [
        ("python3 train.py", "{}", "", False),
        ("python3 train.py", "{}", "size = int(os.environ['TONNAGE_MICRO_BATCH'])", True),
        ("sh -c 'train $TONNAGE_MICRO_BATCH'", "{}", "", True),
    ],
)
def test_a_run_that_cannot_be_told_is_not_refitted(
    command: str, env: str, script: str, is_told: bool
) -> None:
    assert bool(refits_of(a_run(command, env=env), (), script)) == is_told
