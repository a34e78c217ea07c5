"""One calm line about a good document: kind, name, and the few numbers that decide."""

from __future__ import annotations

from tonnage.spec.checked import Document
from tonnage.spec.cluster import Cluster
from tonnage.spec.literals import Money
from tonnage.spec.run import Run
from tonnage.spec.team import Team


def summary(document: Document) -> str:
    """`Run llama-8b-sft: 2 nodes x 8 h100, memory auto, checkpoints to pvc/ckpt, budget $400/week`."""
    if isinstance(document, Run):
        parts = _run(document)
    elif isinstance(document, Team):
        parts = _team(document)
    else:
        parts = _cluster(document)
    return f"{document.kind} {document.metadata.name}: {', '.join(parts)}"


def _run(run: Run) -> list[str]:
    spec = run.spec
    nodes = f"{spec.nodes} node{'' if spec.nodes.high == 1 else 's'}"
    gpus = f"{spec.gpus.count} {spec.gpus.type or ('GPU' if spec.gpus.milli <= 1000 else 'GPUs')}"
    if spec.gpus.min_memory is not None:
        gpus += f" of {spec.gpus.memory_text()}"
    parts = [f"{nodes} x {gpus}" if spec.gpus.milli else f"{nodes}, no GPU", f"memory {spec.memory}"]
    parts.append(f"checkpoints to {spec.checkpoints.to}" if spec.checkpoints else "no checkpoints")
    if spec.team:
        parts.append(f"team {spec.team}")
    if spec.budget:
        parts.append(f"budget {spec.budget.limit}")
    if spec.deadline:
        parts.append(f"deadline {spec.deadline}")
    return parts


def _team(team: Team) -> list[str]:
    spec = team.spec
    parts = [f"namespace {spec.namespace or team.metadata.name}"]
    for kind, share in spec.gpus.items():
        most = "no wall" if share.maximum is None else f"at most {share.maximum}"
        parts.append(f"{kind} {share.guaranteed} guaranteed and {most}")
    if spec.members:
        parts.append(f"{len(spec.members)} member{'' if len(spec.members) == 1 else 's'}")
    if spec.budget:
        parts.append(f"budget {spec.budget.limit}")
    return parts


def _cluster(cluster: Cluster) -> list[str]:
    pools = cluster.spec.pools
    nodes = sum(pool.nodes.low for pool in pools)
    gpus: dict[str, int] = {}
    for pool in pools:
        if pool.gpus.type:
            gpus[pool.gpus.type] = gpus.get(pool.gpus.type, 0) + int(pool.gpus.count) * pool.nodes.low
    parts = [
        f"{len(pools)} pool{'' if len(pools) == 1 else 's'}",
        f"{nodes:,} node{'' if nodes == 1 else 's'}",
    ]
    parts += [f"{count:,} {kind}" for kind, count in gpus.items() if count]
    prices = _per_hour(cluster)
    return [*parts, prices] if prices else parts


def _per_hour(cluster: Cluster) -> str | None:
    """What all of it costs per hour, where every pool has an hourly price."""
    low = high = 0
    for pool in cluster.spec.pools:
        price = pool.price
        each = None if price is None else price.node or price.gpu
        if price is None or each is None or each.per != "hour":
            return None
        times = pool.nodes.low * (1 if price.node else int(pool.gpus.count))
        low, high = low + each.low * times, high + each.high * times
    return str(Money(low, high, "hour"))
