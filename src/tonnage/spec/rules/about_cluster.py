"""Rules about a Cluster."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable, Iterable, Iterator

from tonnage.cluster.gpus import find_gpu, nearest_gpus
from tonnage.spec.cluster import Cluster, Pool
from tonnage.spec.literals import Money
from tonnage.spec.literals.refusals import shown
from tonnage.spec.mistakes import Path
from tonnage.spec.rules.about_money import price_per_time
from tonnage.spec.rules.remarks import Remark

MOST_NODES = 20_000
"""Kubernetes stops being itself at 5,000; a document with millions would only exhaust this machine."""


def at_least_one_pool(cluster: Cluster) -> Iterator[Remark]:
    """A cluster without nodes is none."""
    if not cluster.spec.pools:
        yield Remark(
            code="DOC-006",
            path=("spec", "pools"),
            what="there is no pool",
            absent=(("spec", "pools"),),
            expected="at least one pool of nodes",
        )


def pool_names_differ(cluster: Cluster) -> Iterator[Remark]:
    """Nodes are called after their pool."""
    names = [pool.name for pool in cluster.spec.pools]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield Remark(
                code="DOC-030",
                path=("spec", "pools", index, "name"),
                what=f"a second pool called {name}",
                expected="different names",
                hint=f"try {name}-2",
            )


def pool_gpus_are_whole(cluster: Cluster) -> Iterator[Remark]:
    """A node has whole GPUs of one type; sharing says how they are split."""
    for path, pool in _pools(cluster):
        gpus = pool.gpus
        if gpus.is_fraction:
            yield Remark(
                code="DOC-014",
                path=(*path, "gpus"),
                what=f"a node with {gpus.count} GPU",
                expected="whole GPUs; sharing says how each is split",
                hint="gpus: 1 and sharing: {mode: timeSlicing, replicas: 2}",
            )
        if gpus.milli and gpus.type is None:
            yield Remark(
                code="DOC-014",
                path=(*path, "gpus"),
                what=f"GPUs of which type? found {gpus}",
                expected="a count and a type like 8 x h100",
            )
        if gpus.type is not None and find_gpu(gpus.type) is None:
            near = nearest_gpus(gpus.type)
            yield Remark(
                code="DOC-014",
                path=(*path, "gpus"),
                what=f"the GPU type '{gpus.type}' is not in our table",
                expected="a type like h100, a100-80 or l4",
                hint=f"did you mean {near[0]}?" if near else None,
            )


def pool_has_a_size(cluster: Cluster) -> Iterator[Remark]:
    """Without GPUs to go by, cpu and memory must be said."""
    for path, pool in _pools(cluster):
        if not pool.gpus.milli and (pool.cpu is None or pool.memory is None):
            yield Remark(
                code="DOC-006",
                path=path,
                what="a pool without GPUs needs cpu and memory",
                expected="cpu: 64 and memory: 256Gi, or gpus: 8 x h100",
                absent=((*path, "gpus"), (*path, "cpu"), (*path, "memory")),
            )
        if pool.cpu is not None and pool.cpu.milli < 1000:
            yield Remark(
                code="DOC-021", path=(*path, "cpu"), what=f"{pool.cpu} cores", expected="at least 1 core"
            )


def sharing_is_complete(cluster: Cluster) -> Iterator[Remark]:
    """Each way of sharing needs its own number."""
    for path, pool in _pools(cluster):
        sharing, kind = pool.sharing, find_gpu(pool.gpus.type) if pool.gpus.type else None
        if sharing.mode != "none" and not pool.gpus.milli:
            yield Remark(
                code="DOC-038",
                path=(*path, "sharing"),
                what="sharing without GPUs",
                expected="gpus as well",
                absent=((*path, "gpus"),),
            )
        if sharing.mode == "mig" and sharing.profile is None:
            yield Remark(
                code="DOC-038",
                path=(*path, "sharing"),
                what="mig without a profile",
                expected="a profile",
                hint=f"try profile: {kind.mig[0].name}" if kind and kind.mig else None,
                absent=((*path, "sharing"),),
            )
        elif sharing.mode == "mig" and kind is not None and kind.mig_profile(sharing.profile or "") is None:
            yield Remark(
                code="DOC-016",
                path=(*path, "sharing", "profile"),
                what=f"'{(sharing.profile or '')[:40]}' is not a profile of {kind.name}",
                expected=" or ".join(profile.name for profile in kind.mig)
                or "another mode: it cannot be cut",
            )
        if sharing.mode in ("timeSlicing", "mps") and sharing.replicas is None:
            yield Remark(
                code="DOC-038",
                path=(*path, "sharing"),
                what=f"{sharing.mode} without replicas",
                expected="replicas: how many pods share one GPU",
                absent=((*path, "sharing"),),
            )


def autoscale_agrees(cluster: Cluster) -> Iterator[Remark]:
    """What is there now lies within the bounds."""
    for path, pool in _pools(cluster):
        if pool.autoscale is None:
            continue
        bounds = pool.autoscale.nodes
        if not bounds.low <= pool.nodes.low <= bounds.high:
            yield Remark(
                code="DOC-033",
                path=(*path, "autoscale"),
                what=f"{pool.nodes.low} nodes now, autoscaled between {bounds.low} and {bounds.high}",
                expected="nodes within the bounds",
                absent=((*path, "nodes"),),
            )


def prices_are_per_hour(cluster: Cluster) -> Iterator[Remark]:
    """A price without a time is not a price of capacity."""
    for path, pool in _pools(cluster):
        if pool.price is None:
            continue
        if (pool.price.node is None) == (pool.price.gpu is None):
            yield Remark(
                code="DOC-031",
                path=(*path, "price"),
                what="the price of what?",
                absent=((*path, "price"),),
                expected="one of node and gpu",
            )
        for name in ("node", "gpu"):
            price: Money | None = getattr(pool.price, name)
            if price is not None:
                yield from price_per_time(price, (*path, "price", name))
        if pool.price.gpu is not None and not pool.gpus.milli:
            yield Remark(
                code="DOC-038",
                path=(*path, "price"),
                what="a price per GPU without GPUs",
                absent=((*path, "gpus"),),
                expected="price: node",
            )


def timezone_exists(cluster: Cluster) -> Iterator[Remark]:
    """Schedules need a clock that exists."""
    try:
        zoneinfo.ZoneInfo(cluster.spec.timezone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        if cluster.spec.timezone != "UTC":
            yield Remark(
                code="DOC-025",
                path=("spec", "timezone"),
                what=f"{shown(cluster.spec.timezone)} is not a time zone",
                expected="a name like UTC or Europe/Berlin",
            )


def not_too_many_nodes(cluster: Cluster) -> Iterator[Remark]:
    """A slip of the finger should not fill this machine's memory."""
    total = sum(pool.nodes.low for pool in cluster.spec.pools)
    if total > MOST_NODES:
        yield Remark(
            code="DOC-021",
            path=("spec", "pools"),
            what=f"{total:,} nodes",
            expected=f"at most {MOST_NODES:,}",
        )


def _pools(cluster: Cluster) -> Iterator[tuple[Path, Pool]]:
    for index, pool in enumerate(cluster.spec.pools):
        yield ("spec", "pools", index), pool


CLUSTER_RULES: tuple[Callable[[Cluster], Iterable[Remark]], ...] = (
    at_least_one_pool,
    pool_names_differ,
    pool_gpus_are_whole,
    pool_has_a_size,
    sharing_is_complete,
    autoscale_agrees,
    prices_are_per_hour,
    timezone_exists,
    not_too_many_nodes,
)
