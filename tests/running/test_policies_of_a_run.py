"""The document's policies as plain numbers."""

from __future__ import annotations

from typing import Any

from tonnage.running.policies import HANG_FLOOR_SECONDS, Policies
from tonnage.spec.run import Run


def of(**spec: Any) -> Policies:
    run = Run.model_validate(
        {"apiVersion": "tonnage.dev/v1alpha1", "kind": "Run", "metadata": {"name": "bert"}, "spec": spec}
    )
    return Policies.of(run, price_per_hour=5, save_seconds=1200.0)


def test_a_document_that_says_nothing_has_the_documented_budgets() -> None:
    policies = of()
    assert policies.retries["host_oom"] == 3
    assert policies.retries["code"] == 0
    assert "deadline" not in policies.retries
    assert (policies.backoff_first_seconds, policies.backoff_most_seconds) == (10.0, 300.0)
    assert policies.deadline_seconds is None
    assert policies.budget is None


def test_what_it_says_is_obeyed() -> None:
    policies = of(
        retries={"hostOOM": 7, "backoff": "1s..1m"},
        onOOM={"host": "fail", "gpu": "largerGpu", "growBy": 1.5, "maxMemory": "64Gi"},
        deadline="36h",
        maxWait="2h",
        budget="$1,200",
    )
    assert policies.retries["host_oom"] == 7
    assert policies.backoff_most_seconds == 60.0
    assert (policies.raise_memory, policies.on_gpu_oom, policies.grow_by) == (False, "largerGpu", 1.5)
    assert policies.max_memory == 64 * 2**30
    assert (policies.deadline_seconds, policies.max_wait_seconds) == (129_600.0, 7200.0)
    assert policies.budget == 1_200_000_000
    assert policies.written == {"deadline": "1d12h", "maxWait": "2h", "budget": "$1,200"}


def test_a_budget_per_week_is_its_teams_ledgers() -> None:
    assert of(budget="$400/week").budget is None


def test_a_slow_save_is_not_a_hang() -> None:
    assert of().hang_floor_seconds == 3600.0 > HANG_FLOOR_SECONDS
