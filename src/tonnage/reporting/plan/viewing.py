"""A plan as its view model: the same for the terminal, `-o json` and the web page."""

from __future__ import annotations

from tonnage.memory.estimate import Interval
from tonnage.planning.answers import (
    Alternative,
    Change,
    Cost,
    Fit,
    FitStep,
    GpuMemory,
    Need,
    NodeGroup,
    Pace,
    Placement,
    Plan,
    Risk,
)
from tonnage.planning.placing import Gang
from tonnage.planning.shares import Stranding
from tonnage.planning.solver.parts import PartAnswer
from tonnage.planning.walls import Wall
from tonnage.reporting.plan.views import (
    AlternativeView,
    ChangeView,
    CostView,
    FitView,
    GangView,
    GpuMemoryView,
    GroupView,
    LineView,
    NeedView,
    PartView,
    PlacementView,
    PlanView,
    RangeView,
    RiskView,
    RunView,
    SharesView,
    StepView,
    TimeView,
    UnknownView,
    ValueView,
    VerdictView,
    WallView,
)

API_VERSION = "tonnage.dev/v1alpha1"


def view_plan(plan: Plan) -> PlanView:
    """A plan as people and programs read it."""
    return PlanView(
        api_version=API_VERSION,
        kind="Plan",
        verdict=VerdictView(
            kind=plan.verdict.kind,
            headline=headline(plan),
            changes=tuple(map(_change, plan.verdict.changes)),
            reasons=plan.verdict.reasons,
        ),
        run=_run(plan),
        against=plan.against,
        gpu_memory=_memory(plan.memory),
        options=tuple(map(_change, plan.options)),
        needs=tuple(map(_need, plan.needs)),
        placement=_placement(plan.placement),
        shares=_shares(plan.stranding, plan.stranded_rate),
        walls=tuple(map(_wall, plan.walls)),
        time=_time(plan.pace),
        cost=_cost(plan.cost),
        risk=_risk(plan.risk),
        parts=tuple(map(_part, plan.parts)),
        fit=_fit(plan.fit),
        warnings=plan.warnings,
        unknown=tuple(UnknownView(what=item.what, why=item.why) for item in plan.unknown),
        effective=tuple(
            ValueView(field=item.field, value=item.text, origin=item.origin) for item in plan.effective
        ),
    )


def headline(plan: Plan) -> str:
    """The verdict in a few words."""
    verdict = plan.verdict
    if verdict.kind == "cannot fit":
        return "cannot fit"
    if verdict.kind == "fits if":
        count = len(verdict.changes)
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
        devices=str(plan.devices) if plan.devices else "",
    )


def _change(change: Change) -> ChangeView:
    return ChangeView(
        what=change.what,
        effect=change.effect,
        field=change.field,
        value=change.value,
        why=change.why,
        answers=change.answers,
    )


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
            LineView(name=part.name, amount=part.bytes, formula=part.formula) for part in estimate.parts
        ),
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
        there=need.there,
        margin=margin,
        share=need.share,
        gpu_share=need.gpu_share,
        text=need.text,
        parts=tuple(
            LineView(name=part.name, amount=part.amount, formula=part.formula, flag=part.flag)
            for part in need.parts
        ),
    )


def _placement(placement: Placement | None) -> PlacementView | None:
    if placement is None:
        return None
    return PlacementView(
        now=_gang(placement.now),
        empty=_gang(placement.empty),
        groups=tuple(map(_group, placement.groups)),
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


def _group(group: NodeGroup) -> GroupView:
    return GroupView(
        pool=group.pool,
        gpu=group.gpu,
        gpus_per_node=group.gpus_per_node,
        nodes=group.nodes,
        takes_now=group.takes_now,
        takes_empty=group.takes_empty,
        example=group.example,
        reasons=group.reasons,
        taints=group.taints,
        memory_fits=group.memory_fits,
        to_come=group.to_come,
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


def _wall(wall: Wall) -> WallView:
    return WallView(
        kind=wall.kind,
        name=wall.name,
        standing=wall.standing,
        text=wall.text,
        resource=wall.resource,
        asked=wall.asked,
        used=wall.used,
        hard=wall.hard,
    )


def _range(interval: Interval | None) -> RangeView | None:
    return None if interval is None else RangeView(p10=interval.p10, p50=interval.p50, p90=interval.p90)


def _time(pace: Pace) -> TimeView:
    return TimeView(
        step_seconds=_range(pace.step),
        total_seconds=_range(pace.total),
        per_second=pace.per_second,
        unit=pace.unit,
        deadline_seconds=pace.deadline,
        idle_share=pace.idle_share,
        loader_seconds=pace.loader_seconds,
        note=pace.note,
    )


def _cost(cost: Cost) -> CostView:
    return CostView(
        per_hour=cost.per_hour,
        per_hour_high=cost.per_hour_high,
        origin=cost.origin,
        gpu_hours=_range(cost.gpu_hours),
        total=_range(cost.total),
        to_deadline=cost.to_deadline,
        budget=cost.budget,
        budget_text=cost.budget_text,
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
        per_hour=part.rate,
        idle_per_hour=part.idle_rate,
        offered_by=part.nodes,
    )


def _fit(fit: Fit | None) -> FitView | None:
    if fit is None:
        return None
    return FitView(
        chosen=None if fit.chosen is None else _alternative(fit.chosen),
        steps=tuple(map(_step, fit.steps)),
        runners_up=tuple(map(_alternative, fit.runners_up)),
        left=tuple(map(_step, fit.left)),
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
        step_seconds=other.seconds,
        per_hour=other.rate,
        per_step=other.cost_per_step,
        slower=other.slower,
        changes=tuple(map(_change, other.changes)),
    )


def _step(step: FitStep) -> StepView:
    return StepView(text=step.text, change=step.change, saved=step.saved, slower=step.slower)
