"""Evidence of an attempt's end: everything Kubernetes still knows, before it deletes it.

Gathered again until the finding is sure (reasons come late), each time over what was kept: a pod that vanished
leaves what was last seen of it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from tonnage.cluster.objects.node import Node
from tonnage.cost.pricing import is_spot
from tonnage.diagnosis.evidence import ContainerEnd, Event, Evidence, LogLines, PodEnd
from tonnage.errors import TonnageError
from tonnage.kube.decoding import decode_object
from tonnage.kube.running import reading, states
from tonnage.kube.running.api import Object, RunApi
from tonnage.kube.running.asking import record_in
from tonnage.kube.running.looking import Look
from tonnage.kube.running.remembering import EVIDENCE, Memory, read, write
from tonnage.units import try_quantity

LOG_LINES = 400
LOG_BYTES = 512 * 1024
MANY = 8
"""Above so many names all events of the namespace are read at once."""


@dataclass(frozen=True)
class Gatherer:
    """Where to look, and what was seen."""

    api: RunApi
    memory: Memory
    nodes: int

    def gather(self, look: Look) -> Evidence:
        """All of it, kept on this machine."""
        lost = self.memory.lost or states.vanished_first(look, self.memory.gone)
        pods = self._ended_pods(look, lost)
        gathered = self._about(look, pods, lost)
        evidence = replace(gathered, job_conditions=self._job_conditions(look, pods.values()))
        evidence = _over(self.kept(), evidence)
        write(self.memory.folder / EVIDENCE, msgspec.to_builtins(evidence))
        return evidence

    def gather_of(self, look: Look, uid: str) -> Evidence:
        """What there is of one pod that was lost while the attempt went on; the job has nothing to say of it."""
        pod = self.memory.pods[uid]
        evidence = self._about(look, {reading.index_of(pod, self.nodes): pod}, (uid,))
        write(self.memory.folder / f"evidence-{uid}.json", msgspec.to_builtins(evidence))
        return evidence

    def _about(self, look: Look, pods: Mapping[int, Object], lost: Collection[str]) -> Evidence:
        missing: list[str] = []
        present = {reading.uid_of(pod) for pod in look.pods}
        names = reading_nodes(pods.values())
        known, gone = self._nodes(names, missing)
        return Evidence(
            pods=tuple(
                replace(
                    pod_end(index, pod, is_gone=(uid := reading.uid_of(pod)) not in present),
                    is_lost=uid in lost,
                    gone_at=_second(self.memory.gone.get(uid)),
                )
                for index, pod in pods.items()
            ),
            events=tuple(self._events(look, list(pods.values()), names, missing)),
            logs=tuple(self._logs(pods, present, missing)),
            records=self._records(pods),
            node_conditions={name: reading.conditions(node) for name, node in known.items()},
            node_is_spot=self.memory.spot
            | {name: is_spot(decode_object(node, Node)) for name, node in known.items()},
            gone_nodes=tuple(gone),
            missing=tuple(missing),
        )

    def kept(self) -> Evidence | None:
        """What was gathered before."""
        found = read(self.memory.folder / EVIDENCE)
        try:
            return None if found is None else msgspec.convert(found, Evidence, strict=False)
        except msgspec.ValidationError:
            return None

    def _ended_pods(self, look: Look, lost: Collection[str]) -> dict[int, Object]:
        """For each place in the gang the pod whose loss ended it, else the last that ran: others tell nothing."""
        seen = {**look.known, **{reading.uid_of(pod): pod for pod in look.pods}}
        every = sorted(seen.values(), key=lambda pod: str(pod["metadata"].get("creationTimestamp", "")))
        found: dict[int, Object] = {}
        for pod in every:
            index = reading.index_of(pod, self.nodes)
            if index not in found or reading.has_started(pod) or not reading.has_started(found[index]):
                found[index] = dict(pod)
        for uid in lost:
            if uid in seen:
                found[reading.index_of(seen[uid], self.nodes)] = dict(seen[uid])
        launcher = found.get(self.nodes)
        if launcher is not None and reading.status(launcher).get("phase") == "Succeeded":
            # Workers of MPI only wait: they are ended with it, whatever that looks like.
            return {self.nodes: launcher}
        return dict(sorted(found.items()))

    def _records(self, pods: Mapping[int, Object]) -> dict[int, Mapping[str, Any]]:
        found: dict[int, Mapping[str, Any]] = {}
        for index, pod in pods.items():
            record = record_in(pod) or self.memory.record(reading.uid_of(pod))
            if record is not None:
                found[index] = record
        return found

    def _logs(self, pods: Mapping[int, Object], present: set[str], missing: list[str]) -> Iterable[LogLines]:
        for index, pod in pods.items():
            if reading.uid_of(pod) not in present:
                continue
            name, main = reading.name_of(pod), reading.main_container(pod)
            restarted = bool(reading.main_status(pod).get("restartCount"))
            try:
                yield self._log(index, name, main)
                if restarted:
                    yield self._log(index, name, main, previous=True)
                for each in reading.container_statuses(pod, init=True):
                    if ((each.get("state") or {}).get("terminated") or {}).get("exitCode"):
                        yield self._log(index, name, str(each["name"]))
            except TonnageError as error:
                missing.append(f"log of pod {name}: {error.problem.what}")

    def _log(self, index: int, pod: str, container: str, *, previous: bool = False) -> LogLines:
        text = self.api.log(pod, container, tail=LOG_LINES, previous=previous, most=LOG_BYTES)
        source = f"log of {pod}, container {container}" + (", before its restart" if previous else "")
        return LogLines(index=index, lines=tuple(text.splitlines()), source=source, previous=previous)

    def _events(
        self, look: Look, pods: Iterable[Object], nodes: Iterable[str], missing: list[str]
    ) -> list[Event]:
        names = {reading.name_of(pod) for pod in pods}
        names |= {owner for pod in pods for owner in owners_of(pod)}
        if look.workload is not None:
            names.add(reading.name_of(look.workload))
        try:
            raw = self._events_about(names, nodes)
        except TonnageError as error:
            missing.append(f"events: {error.problem.what}")
            return []
        born = min((at for pod in pods if (at := reading.created(pod)) is not None), default=None)
        found = [each for each in map(event_of, raw) if not is_older(each, born)]
        return sorted(found, key=lambda each: (each.when is None, each.when, each.reason))

    def _events_about(self, names: set[str], nodes: Iterable[str]) -> list[Object]:
        if len(names) > MANY:
            every = self.api.objects("v1", "Event")
            found = [each for each in every if each.get("involvedObject", {}).get("name") in names]
        else:
            found = [event for name in sorted(names) for event in self.api.events_about(name)]
        elsewhere = RunApi(self.api.client, "default")
        for node in nodes:
            found += elsewhere.events_about(node, "Node")
        return found

    def _job_conditions(self, look: Look, pods: Iterable[Object]) -> tuple[Mapping[str, Any], ...]:
        found = list(reading.conditions(look.workload)) if look.workload is not None else []
        own = reading.name_of(look.workload) if look.workload is not None else ""
        for name in sorted({owner for pod in pods for owner in owners_of(pod)} - {own}):
            try:
                jobs = self.api.objects("batch/v1", "Job", fields=f"metadata.name={name}")
            except TonnageError:
                continue
            found += [each for job in jobs for each in reading.conditions(job)]
        return tuple(found)

    def _nodes(self, names: Iterable[str], missing: list[str]) -> tuple[dict[str, Object], list[str]]:
        known: dict[str, Object] = {}
        gone: list[str] = []
        for name in names:
            try:
                node = self.api.node(name)
            except TonnageError as error:
                missing.append(f"node {name}: {error.problem.what}")
                continue
            if node is None:
                gone.append(name)
                continue
            known[name] = node
            if reading.condition(node, "Ready") is None:
                gone.append(name)
        return known, gone


def pod_end(index: int, pod: Mapping[str, Any], *, is_gone: bool) -> PodEnd:
    """How one pod ended, as its status says or last said."""
    status = reading.status(pod)
    containers = [
        *(container_end(each, is_init=True) for each in reading.container_statuses(pod, init=True)),
        *(container_end(each) for each in reading.container_statuses(pod)),
    ]
    return PodEnd(
        index=index,
        name=reading.name_of(pod),
        node=str(pod.get("spec", {}).get("nodeName") or ""),
        phase=str(status.get("phase", "")),
        reason=str(status.get("reason", "")),
        message=str(status.get("message", "")),
        conditions=reading.conditions(pod),
        containers=tuple(containers),
        is_gone=is_gone,
        memory_limit=_limit(pod),
    )


def container_end(status: Mapping[str, Any], *, is_init: bool = False) -> ContainerEnd:
    """The end of a container: as it ended now, else as it ended before it was restarted."""
    state = status.get("state") or {}
    ended = state.get("terminated") or (status.get("lastState") or {}).get("terminated") or {}
    waiting = state.get("waiting") or {}
    return ContainerEnd(
        name=str(status.get("name", "")),
        exit_code=ended.get("exitCode"),
        signal=ended.get("signal") or None,
        reason=str(ended.get("reason") or waiting.get("reason") or ""),
        message=str(ended.get("message") or waiting.get("message") or ""),
        started=reading.moment(ended.get("startedAt") or (state.get("running") or {}).get("startedAt")),
        finished=reading.moment(ended.get("finishedAt")),
        is_init=is_init,
        restarts=int(status.get("restartCount") or 0),
    )


def _second(when: float | None) -> dt.datetime | None:
    """A moment as exactly as Kubernetes tells its own, so that the two can be compared."""
    return None if when is None else dt.datetime.fromtimestamp(int(when), dt.UTC)


def is_older(event: Event, born: dt.datetime | None) -> bool:
    """Whether a node's event is from before the attempt: that it was short of memory yesterday explains nothing."""
    return event.kind == "Node" and born is not None and event.when is not None and event.when < born


def event_of(event: Mapping[str, Any]) -> Event:
    about = event.get("involvedObject") or {}
    when = event.get("lastTimestamp") or event.get("eventTime") or event.get("firstTimestamp")
    return Event(
        when=reading.moment(when),
        kind=str(about.get("kind", "")),
        name=str(about.get("name", "")),
        reason=str(event.get("reason", "")),
        message=str(event.get("message", "")),
    )


def owners_of(pod: Mapping[str, Any]) -> list[str]:
    return [str(each.get("name")) for each in pod["metadata"].get("ownerReferences") or ()]


def reading_nodes(pods: Iterable[Mapping[str, Any]]) -> list[str]:
    return sorted({str(name) for pod in pods if (name := pod.get("spec", {}).get("nodeName"))})


def _limit(pod: Mapping[str, Any]) -> int | None:
    main = reading.main_container(pod)
    for each in pod.get("spec", {}).get("containers", ()):
        if each.get("name") == main:
            written = ((each.get("resources") or {}).get("limits") or {}).get("memory")
            amount = try_quantity(str(written)) if written is not None else None
            return amount.value() if amount is not None else None
    return None


def _over(before: Evidence | None, now: Evidence) -> Evidence:
    """What was gathered before and is no longer to be had stays."""
    if before is None:
        return now
    logs = {(each.index, each.source): each for each in (*before.logs, *now.logs) if each.lines}
    events = {(e.kind, e.name, e.reason, e.message): e for e in (*before.events, *now.events)}
    return Evidence(
        pods=now.pods or before.pods,
        events=tuple(events.values()),
        logs=tuple(logs.values()),
        records={**before.records, **now.records},
        job_conditions=now.job_conditions or before.job_conditions,
        node_conditions={**before.node_conditions, **now.node_conditions},
        node_is_spot={**before.node_is_spot, **now.node_is_spot},
        gone_nodes=tuple(dict.fromkeys((*before.gone_nodes, *now.gone_nodes))),
        missing=now.missing,
    )
