"""Take out of a plan what objects are made from, so that the plan need not be kept.

What the document says holds as it stands; what it leaves to us is what the plan worked out; what nobody knows is
assumed by the same rule the plan placed the pods with, and said.
"""

from __future__ import annotations

from tonnage.cluster.snapshot import Snapshot
from tonnage.manifests.request import Planned
from tonnage.planning.answers import Need, Plan
from tonnage.planning.assuming import Assumed, assumed_for
from tonnage.planning.catalogue import Offer, host_offer, offer_of_part, offers, open_to
from tonnage.planning.parting import kind_of, part_taken, resource_of
from tonnage.planning.solver.parts import PartAnswer
from tonnage.planning.sources import no_price
from tonnage.planning.workload.template import GPU
from tonnage.running.attempts import Size
from tonnage.spec.run import Run, RunSpec
from tonnage.units import format_bytes

SHM_PER_GPU = 2**30
"""Least of /dev/shm per GPU: NCCL's own buffers, and batches of workers nobody told us about."""
SMALLEST_SHM = 64 * 2**20


def planned_of(plan: Plan, snapshot: Snapshot | None = None) -> Planned:
    """What a plan of a Run decided about each of its pods; `snapshot` is the cluster it was made for."""
    run, role = plan.workload.run, plan.workload.trainer
    if run is None:
        raise ValueError("only a Run is rendered; a manifest is applied as it is")
    spec = run.spec
    needs: dict[str, Need] = {need.name: need for need in plan.needs}
    assumed = assumed_for(role, _offer(plan, snapshot))
    shm = _shm(spec, needs.get("shm"), role.gpus.count)
    memory, memory_request = _memory(spec, needs, assumed)
    cpu = _granted(needs.get("cpu"), assumed.cpu)
    cpu_request = spec.cpu.request.milli if spec.cpu.request is not None else cpu
    disk = _granted(needs.get("disk"), assumed.disk)
    disk_request = spec.disk.request.bytes if spec.disk.request is not None else disk
    resource, count = _device(plan, snapshot)
    saving = plan.risk.checkpoints
    return Planned(
        memory=memory,
        memory_request=memory_request,
        cpu=spec.cpu.limit.milli if spec.cpu.limit is not None else cpu,
        cpu_request=cpu_request,
        shm=shm,
        disk=spec.disk.limit.bytes if spec.disk.limit is not None else disk,
        disk_request=disk_request,
        gpu=plan.devices.gpu if plan.devices is not None else "",
        gpu_resource=resource,
        gpus=count,
        nodes=int(role.count),
        ranks_per_node=int(role.ranks_per_pod or 1),
        grace_seconds=saving.grace_seconds if saving is not None else None,
        checkpoint_seconds=saving.interval_seconds if saving is not None else None,
        failure_seconds=plan.risk.mean_hours * 3600,
        price_per_hour=plan.cost.per_hour_high or plan.cost.per_hour,
        gpu_bytes=plan.memory.estimate.required if plan.memory.estimate is not None else None,
        lasts_seconds=plan.pace.total.p50 if plan.pace.total is not None else None,
        assumed=tuple(_said_of(needs, assumed, spec)),
    )


def first_size(planned: Planned, run: Run) -> Size:
    """The size of the first attempt, as remedies count from it."""
    train = run.spec.train
    return Size(
        memory=planned.memory,
        memory_request=planned.memory_request,
        shm=planned.shm,
        disk=planned.disk,
        micro_batch=None if train.micro_batch is None else int(train.micro_batch),
        accumulation=int(train.accumulation),
        checkpointing=train.checkpointing,
        gpu=planned.gpu or None,
    )


def part_wanted(plan: Plan) -> PartAnswer | None:
    """The part of a GPU the plan placed the run on; None where it wants whole ones, or no node offers a part."""
    milli = plan.workload.trainer.gpus.milli
    return part_taken(plan.parts, milli, knows_need=plan.memory.estimate is not None)


def _memory(spec: RunSpec, needs: dict[str, Need], assumed: Assumed) -> tuple[int, int]:
    """Limit and request; a /dev/shm above what was counted with is memory on top."""
    if spec.memory.limit is not None and spec.memory.request is not None:
        return spec.memory.limit.bytes, spec.memory.request.bytes
    counted = needs["shm"].needed if "shm" in needs else None
    asked = spec.shm.limit.bytes if spec.shm.limit is not None else 0
    more = max(0, asked - counted) if counted is not None else asked
    memory = _granted(needs.get("memory"), assumed.memory) + more
    return memory, memory


def _shm(spec: RunSpec, need: Need | None, gpus: int) -> int:
    """As asked for; else as needed, and at most half of the memory that a person has set."""
    if spec.shm.limit is not None:
        return spec.shm.limit.bytes
    needed = need.granted or 0 if need is not None else 0
    size = max(needed, SHM_PER_GPU * gpus, SMALLEST_SHM)
    return size if spec.memory.limit is None else min(size, spec.memory.limit.bytes // 2)


def _granted(need: Need | None, otherwise: int) -> int:
    return otherwise if need is None or need.granted is None else need.granted


def _device(plan: Plan, snapshot: Snapshot | None) -> tuple[str, int]:
    """The resource to ask for, and how many."""
    wish, part = plan.workload.trainer.gpus, part_wanted(plan)
    if not wish.count:
        return "", 0
    if part is None or part.how == "whole":
        return wish.resource or GPU, wish.count
    return resource_of(part, snapshot.nodes if snapshot is not None else ()), 1


def _offer(plan: Plan, snapshot: Snapshot | None) -> Offer | None:
    """The nodes the plan was made for, as it saw them."""
    if snapshot is None:
        return None
    there = open_to(snapshot.nodes, plan.workload.spot)
    if plan.devices is None:
        return None if plan.workload.trainer.gpus.milli else host_offer(there, no_price)
    part = part_wanted(plan)
    if part is not None and part.how != "whole":
        return offer_of_part(part.gpu, kind_of(part), None, there, no_price)
    same = [offer for offer in offers(there, no_price) if offer.gpu == plan.devices.gpu]
    large = [offer for offer in same if offer.per_node >= plan.devices.per_node]
    if large:
        return min(large, key=lambda offer: offer.per_node)
    return max(same, key=lambda offer: offer.per_node, default=None)


def _said_of(needs: dict[str, Need], assumed: Assumed, spec: RunSpec) -> list[str]:
    """What was filled in without knowing, in words."""
    missing = []
    if "memory" not in needs and spec.memory.is_auto:
        missing.append(f"{format_bytes(assumed.memory)} RAM")
    if "cpu" not in needs and spec.cpu.request is None:
        missing.append(f"{assumed.cpu / 1000:g} core{'' if assumed.cpu == 1000 else 's'}")
    if "disk" not in needs and spec.disk.is_auto:
        missing.append(f"{format_bytes(assumed.disk)} disk")
    if not missing:
        return []
    return [f"what a pod needs is not known without a model: {', '.join(missing)} are assumed"]
