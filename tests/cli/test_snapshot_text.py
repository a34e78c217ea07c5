"""The snapshot view as lines: it fits its terminal, and names what one really gets."""

from __future__ import annotations

import datetime as dt

import pytest

from tonnage.cli.snapshot_text import draw
from tonnage.cluster.objects import Node
from tonnage.cluster.snapshot import FORBIDDEN, Gap, Snapshot
from tonnage.kube.decoding import decode_object
from tonnage.reporting.snapshot import view_snapshot


def drawn(columns: int, monkeypatch: pytest.MonkeyPatch, *nodes: Node, gaps: tuple[Gap, ...] = ()) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    taken = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    snapshot = Snapshot(taken_at=taken, source="context prod", namespace="ml", nodes=nodes, gaps=gaps)
    return "\n".join(draw(view_snapshot(snapshot)))


def a_node(pool: str, product: str, count: int) -> Node:
    labels = {"nvidia.com/gpu.product": product, "karpenter.sh/nodepool": pool}
    resources = {"nvidia.com/gpu": str(count), "cpu": "1149", "memory": "2Ti"}
    ready = [{"type": "Ready", "status": "True"}]
    status = {"allocatable": resources, "conditions": ready}
    return decode_object({"metadata": {"name": pool, "labels": labels}, "status": status}, Node)


def test_slices_and_shares_are_named_for_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = (
        a_node("small", "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", 14),
        a_node("old", "Tesla-T4-SHARED", 4),
        a_node("big", "NVIDIA-H100-80GB-HBM3", 8),
    )

    wide, narrow = (drawn(columns, monkeypatch, *nodes) for columns in (120, 80))

    assert "small: 14 x 1g.10gb of a100-80" in wide
    assert "small: 14 x 1g.10gb " in narrow
    assert "old: 4 x shared t4" in narrow
    assert "0 of 8 GPUs in use" in narrow
    assert "0 of 18 GPU parts in use" in narrow


@pytest.mark.parametrize("columns", [80, 160])
def test_long_pool_names_leave_room_for_the_figures(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    node = a_node("research-preemptible-europe-west4-b", "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", 56)

    lines = drawn(columns, monkeypatch, node).splitlines()

    assert max(map(len, lines)) <= columns
    assert any(line.endswith("0 % of 2 TiB") for line in lines)


def test_nodes_that_may_not_be_listed_are_not_called_none(monkeypatch: pytest.MonkeyPatch) -> None:
    gaps = tuple(
        Gap(resource=name, reason=FORBIDDEN, message=f"you may not list {name}")
        for name in ("nodes", "events", "namespaces")
    )

    text = drawn(80, monkeypatch, gaps=gaps)

    assert "nodes not known" in text
    assert "0 nodes" not in text
    assert "you may not list nodes, events, namespaces; `tonnage doctor`" in text
