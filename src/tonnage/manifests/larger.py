"""Larger GPUs that a run may move to when it is out of GPU memory, with all that its objects need to get there.

Settled with the plan, because a remedy is rendered hours later without one. A type counts where the whole gang would
find nodes of it were they empty, with the RAM and cores that each pod asks for; its labels, its RDMA cards and its
price are those of the nodes that have it, not of those the run was planned on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from msgspec.structs import replace as with_fields

from tonnage.cluster.announcing import devices_of, gpu_type_of, is_usable
from tonnage.cluster.gpu_facts import facts_of
from tonnage.cluster.gpus import GpuType, find_gpu
from tonnage.cluster.objects import Node
from tonnage.cluster.snapshot import Snapshot
from tonnage.manifests.codes import NO_GPU, refuse
from tonnage.manifests.reading_nodes import count_on, near_of, node_lines, rdma_of
from tonnage.manifests.request import GpuSize, Planned, RenderRequest
from tonnage.planning.aiming import gpu_terms
from tonnage.planning.answers import Plan
from tonnage.planning.catalogue import PriceOf, gpu_prices, offers, open_to
from tonnage.running.observing import Refit
from tonnage.units import format_bytes, try_quantity


def larger_gpus(snapshot: Snapshot, plan: Plan, planned: Planned, price_of: PriceOf) -> tuple[GpuSize, ...]:
    """GPU types with more memory than the planned one, the smallest first; none where the document allows none."""
    run, planned_on = plan.workload.run, find_gpu(planned.gpu) if planned.gpu else None
    is_allowed = run is not None and run.spec.on_oom.gpu == "largerGpu"
    if not is_allowed or planned_on is None or plan.workload.trainer.gpus.is_fraction:
        return ()
    nodes = [node for node in open_to(snapshot.nodes, plan.workload.spot) if _could_take(node, planned)]
    least = facts_of(planned_on).usable_bytes
    kinds = {gpu.name: gpu for node in nodes if (gpu := find_gpu(gpu_type_of(node))) is not None}
    larger = [gpu for gpu in kinds.values() if facts_of(gpu).usable_bytes > least]
    larger.sort(key=lambda gpu: facts_of(gpu).usable_bytes)
    found = (_size(gpu, snapshot, nodes, plan, planned, price_of) for gpu in larger)
    return tuple(size for size in found if size is not None)


def with_larger(refits: Sequence[Refit], sizes: Sequence[GpuSize]) -> tuple[Refit, ...]:
    """The ways to make the step, with every larger GPU there is and none that there is not."""
    by_name = {size.gpu: size for size in sizes}
    kept = [_priced(refit, by_name) for refit in refits if refit.gpu is None or refit.gpu in by_name]
    known = {refit.gpu for refit in kept}
    return (*kept, *(_priced(_refit(size), by_name) for size in sizes if size.gpu not in known))


def on_its_gpu(request: RenderRequest) -> RenderRequest:
    """The request aimed at the GPU type a remedy chose; as it is where none did."""
    wanted = request.size.gpu
    if not wanted or wanted == request.planned.gpu or not request.planned.gpus:
        return request
    size = next((each for each in request.facts.larger if each.gpu == wanted), None)
    if size is None:
        raise refuse(
            NO_GPU,
            f"out of GPU memory before, it should run on {wanted}, and no node that could take it has one",
            hint="add such nodes and start it again, or onOOM: {gpu: refit}",
        )
    planned = with_fields(request.planned, gpu=size.gpu, price_per_hour=size.price_per_hour)
    facts = with_fields(request.facts, gpu_terms=size.terms, rdma=size.rdma, near=size.near)
    return replace(request, planned=planned, facts=facts)


def _size(
    gpu: GpuType, snapshot: Snapshot, nodes: Sequence[Node], plan: Plan, planned: Planned, price_of: PriceOf
) -> GpuSize | None:
    """One type, where its nodes would hold the whole gang."""
    having = [node for node in nodes if find_gpu(gpu_type_of(node)) == gpu]
    if sum(devices_of(node).get("", 0) // planned.gpus for node in having) < planned.nodes:
        return None
    price = gpu_prices(offers(having, price_of)).get(gpu.name)
    return GpuSize(
        gpu=gpu.name,
        terms=tuple(node_lines(terms) for terms in gpu_terms([gpu], snapshot.nodes)),
        rdma=rdma_of(having, plan),
        near=near_of(having) if planned.nodes > 1 else (),
        price_per_hour=None if price is None else price.times(planned.gpus * planned.nodes).high,
    )


def _could_take(node: Node, planned: Planned) -> bool:
    """Whether one pod would have room there, were the node empty."""
    held = node.status.allocatable
    memory, cpu = try_quantity(held.get("memory", "0")), try_quantity(held.get("cpu", "0"))
    has_room = memory is not None and memory.value() >= planned.memory_request
    has_cores = cpu is not None and cpu.milli() >= planned.cpu_request
    has_gpus = devices_of(node).get("", 0) >= max(planned.gpus, 1)
    is_named = count_on(node, planned.gpu_resource) > 0 if planned.gpu_resource else True
    return is_usable(node) and has_room and has_cores and has_gpus and is_named


def _priced(refit: Refit, sizes: Mapping[str, GpuSize]) -> Refit:
    return refit if refit.gpu is None else replace(refit, price_per_hour=sizes[refit.gpu].price_per_hour)


def _refit(size: GpuSize) -> Refit:
    """A larger GPU where nobody knows what the step needs: what it has is all there is to say."""
    known = find_gpu(size.gpu)
    has = f", with {format_bytes(facts_of(known).usable_bytes)}" if known is not None else ""
    return Refit(micro_batch=None, accumulation=None, gpu=size.gpu, text=f"on {size.gpu}{has}")
