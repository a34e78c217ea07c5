"""A plan as its view model: the same for the terminal, `-o json` and the web page."""

from __future__ import annotations

from collections import Counter

from tonnage.cluster.snapshot import Snapshot
from tonnage.manifests.expecting import expected_target
from tonnage.planning.answers import (
    Alternative,
    Fit,
    GpuMemory,
    Need,
    NeedPart,
    Pace,
    Placement,
    Plan,
    Risk,
)
from tonnage.planning.changing import things_in
from tonnage.planning.placing import Gang
from tonnage.planning.shares import Stranding
from tonnage.planning.solver.parts import PartAnswer
from tonnage.planning.solver.setup import Devices
from tonnage.reporting.plan.views import (
    AlternativeView,
    FitView,
    GangView,
    GpuMemoryView,
    NeedView,
    PartView,
    PlacementView,
    PlanView,
    RiskView,
    RunView,
    SharesView,
    TargetView,
    TimeView,
    VerdictView,
)

API_VERSION = "tonnage.dev/v1alpha1"


def view_plan(plan: Plan, snapshot: Snapshot | None = None) -> PlanView:
    """A plan as people and programs read it; with the cluster it was made for, also what the run becomes there."""
    return PlanView(
        api_version=API_VERSION,
        kind="Plan",
        verdict=VerdictView(
            kind=plan.verdict.kind,
            headline=headline(plan),
            changes=plan.verdict.changes,
            reasons=plan.verdict.reasons,
        ),
        run=_run(plan),
        against=plan.against,
        gpu_memory=_memory(plan.memory),
        options=plan.options,
        needs=tuple(map(_need, plan.needs)),
        placement=_placement(plan.placement),
        shares=_shares(plan.stranding, plan.stranded_rate),
        walls=plan.walls,
        time=_time(plan.pace),
        cost=plan.cost,
        risk=_risk(plan.risk),
        parts=tuple(map(_part, plan.parts)),
        fit=_fit(plan.fit),
        warnings=plan.warnings,
        unknown=plan.unknown,
        effective=plan.effective,
        target=_target(plan, snapshot),
    )


def _target(plan: Plan, snapshot: Snapshot | None) -> TargetView | None:
    found = expected_target(plan, snapshot)
    return None if found is None else TargetView(kind=found.kind, why=found.why, lacks=found.lacks)


def headline(plan: Plan) -> str:
    """The verdict in a few words."""
    verdict = plan.verdict
    if verdict.kind == "cannot fit":
        return "cannot fit"
    if verdict.kind == "fits if":
        count = sum(map(things_in, verdict.changes))
        return f"fits, if you change {'one thing' if count == 1 else f'{count} things'}"
    placement = plan.placement
    if placement is not None and not placement.now.fits:
        return "fits, but not now"
    if any(wall.standing == "wait" for wall in plan.walls):
        return "fits, but must wait"
    if plan.memory.state == "unknown" and plan.workload.gpus:
        return "fits, as far as is known"
    return "fits"


def _run(plan: Plan) -> RunView:
    workload = plan.workload
    wish = workload.trainer.gpus
    return RunView(
        kind=workload.kind,
        name=workload.name,
        namespace=workload.namespace,
        file=workload.file,
        pods=workload.pods,
        gpus=workload.gpus,
        gpus_per_pod=wish.milli / 1000,
        gpu_type=plan.memory.gpu,
        ranks=workload.ranks,
        devices=_devices(plan),
    )


def _devices(plan: Plan) -> str:
    """All pods that hold GPUs, those with as many of them together: a master holds them as its workers do."""
    if plan.devices is None:
        return ""
    pods: Counter[int] = Counter()
    for role in plan.workload.roles:
        pods[role.gpus.count] += role.count if role.gpus.milli else 0
    kinds = [Devices(plan.devices.gpu, count, pods[count]) for count in sorted(pods, reverse=True) if count]
    return ", ".join(map(str, kinds))


def _memory(memory: GpuMemory) -> GpuMemoryView:
    estimate = memory.estimate
    if estimate is None:
        return GpuMemoryView(state=memory.state, gpu=memory.gpu, usable=memory.usable, note=memory.note)
    return GpuMemoryView(
        state=memory.state,
        gpu=memory.gpu,
        usable=memory.usable,
        mode=estimate.mode,
        required=estimate.required,
        expected=estimate.expected,
        margin=None if memory.usable is None else memory.usable - estimate.required,
        smallest_cap=estimate.smallest_cap,
        peak_allocated=estimate.peak_allocated,
        peak_reserved=estimate.peak_reserved,
        outside_allocator=estimate.outside_allocator,
        guard=estimate.guard.bytes,
        guard_reason=estimate.guard.reason,
        parts=tuple(
            NeedPart(name=part.name, amount=part.bytes, formula=part.formula) for part in estimate.parts
        ),
        own=dict(memory.own),
        note="; ".join(filter(None, (memory.note, *estimate.notes))),
    )


def _need(need: Need) -> NeedView:
    margin = None
    if need.granted is not None and need.needed is not None:
        margin = need.granted - need.needed
    return NeedView(
        name=need.name,
        state=need.state,
        needed=need.needed,
        asked=need.asked,
        granted=need.granted,
        limit=need.limit,
        there=need.there,
        margin=margin,
        share=need.share,
        gpu_share=need.gpu_share,
        text=need.text,
        parts=need.parts,
    )


def _placement(placement: Placement | None) -> PlacementView | None:
    if placement is None:
        return None
    return PlacementView(
        now=_gang(placement.now),
        empty=_gang(placement.empty),
        groups=placement.groups,
        needs=placement.needs,
        sees_all=placement.sees_all,
    )


def _gang(gang: Gang) -> GangView:
    return GangView(
        fits=gang.fits,
        placed=gang.placed,
        wanted=gang.wanted,
        nodes=dict(gang.places),
        feasible=len(gang.feasible),
        message=gang.message,
    )


def _shares(stranding: Stranding | None, rate: int | None) -> SharesView | None:
    if stranding is None:
        return None
    return SharesView(
        gpus=round(stranding.gpus.part, 4),
        shares={share.resource: round(share.part, 4) for share in stranding.others},
        above=tuple(share.resource for share in stranding.above),
        stranded=stranding.stranded_in_all,
        scarcest=stranding.scarcest,
        nodes=stranding.nodes,
        stranded_per_hour=rate,
    )


def _time(pace: Pace) -> TimeView:
    return TimeView(
        step_seconds=pace.step,
        paced_seconds=pace.paced,
        waits=pace.waits,
        total_seconds=pace.total,
        per_second=pace.per_second,
        unit=pace.unit,
        deadline_seconds=pace.deadline,
        idle_share=pace.idle_share,
        loader_seconds=pace.loader_seconds,
        note=pace.note,
    )


def _risk(risk: Risk) -> RiskView:
    plan = risk.checkpoints
    return RiskView(
        is_refused=risk.is_refused,
        place=risk.place,
        dies_with=None if risk.dies_with is None else risk.dies_with.value,
        reason=risk.reason,
        every_seconds=plan.interval_seconds if plan else None,
        is_every_chosen=plan.is_chosen if plan else None,
        save_seconds=plan.save_seconds if plan else None,
        checkpoint_bytes=risk.checkpoint_bytes,
        grace_seconds=plan.grace_seconds if plan else None,
        grace_wanted=plan.grace_wanted if plan else None,
        at_risk=risk.at_risk,
        late_death=risk.late_death,
        late_death_per_hour=risk.late_death_per_hour,
        is_by_deadline=risk.is_by_deadline,
        qos=risk.qos,
        exposure=risk.exposure,
        is_spot=risk.is_spot,
        mean_hours_between_failures=risk.mean_hours,
        cautions=risk.cautions,
    )


def _part(part: PartAnswer) -> PartView:
    return PartView(
        how=part.how,
        gpu=part.gpu,
        resource=part.resource,
        profile=part.profile,
        memory=part.memory,
        fits=part.fits,
        isolation=part.isolation,
        slower=part.slower,
        per_hour=None if part.price is None else part.price.low,
        per_hour_high=None if part.price is None else part.price.high,
        idle_per_hour=0 if part.idle is None else part.idle.low,
        idle_per_hour_high=0 if part.idle is None else part.idle.high,
        origin="" if part.price is None else part.price.origins_text(),
        offered_by=part.nodes,
    )


def _fit(fit: Fit | None) -> FitView | None:
    if fit is None:
        return None
    return FitView(
        chosen=None if fit.chosen is None else _alternative(fit.chosen),
        steps=fit.steps,
        runners_up=tuple(map(_alternative, fit.runners_up)),
        left=fit.left,
        fixed=dict(fit.fixed),
        considered=fit.considered,
        confirmed=fit.confirmed,
        obstacles=fit.obstacles,
    )


def _alternative(other: Alternative) -> AlternativeView:
    return AlternativeView(
        devices=str(other.setup.devices),
        required=other.required,
        usable=other.usable,
        step_seconds=other.step,
        per_hour=other.rate,
        per_step=other.cost_per_step,
        slower=other.slower,
        changes=other.changes,
    )
