"""A cluster as a place of attempts: see the package for who does what.

A place that only looks (`tonnage ps`) changes nothing; the supervisor's also ends an attempt whose gang is broken,
keeps the run's state in the workload's annotation and renews its Lease.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from tonnage.cluster.objects.node import Node
from tonnage.cluster.port import Target
from tonnage.cost.pricing import is_spot
from tonnage.diagnosis.evidence import Evidence
from tonnage.errors import TonnageError
from tonnage.kube.client import KubeClient
from tonnage.kube.decoding import decode_object
from tonnage.kube.failing import Asked
from tonnage.kube.running import reading, states
from tonnage.kube.running.api import Object, Ref, RunApi
from tonnage.kube.running.asking import Agents
from tonnage.kube.running.bounding import Bounder
from tonnage.kube.running.gathering import Gatherer
from tonnage.kube.running.holding import held_by, position_in
from tonnage.kube.running.launching import Launcher, suspend, workloads_of
from tonnage.kube.running.leasing import RunLease
from tonnage.kube.running.log_lines import lines_after
from tonnage.kube.running.looking import SUSPENDED, Look, look, with_known, workload_ref
from tonnage.kube.running.preflight import Preflight, Report
from tonnage.kube.running.remembering import Memory
from tonnage.kube.running.resizing import resize_pods
from tonnage.kube.running.run_state import RUN_STATE, state_text
from tonnage.kube.running.setting import LINEAGE, KubeSetting
from tonnage.kube.running.watching import PodWatch
from tonnage.running.attempts import Size
from tonnage.running.history import RunRecord
from tonnage.running.observing import Bounds, Observation
from tonnage.running.records import observed_in
from tonnage.running.spending import ran_seconds, spent_on
from tonnage_agent.contract import attempt_folder
from tonnage_agent.record import read_record
from tonnage_agent.telemetry import NotASampleError, Sample, parse_sample

EVENT_SECONDS = 3.0
"""Events are asked for no more often than this while a run waits."""
MOST_LOG = 2**24
"""Bytes of log read at once: what is left comes with the next look."""
VISIBILITY = "/apis/visibility.kueue.x-k8s.io/v1beta2"


class KubePlace:
    """See the module."""

    def __init__(
        self,
        client: KubeClient,
        setting: KubeSetting,
        *,
        acts: bool = False,
        history: Callable[[], RunRecord] | None = None,
    ) -> None:
        self._setting, self._acts, self._history = setting, acts, history
        self._api = RunApi(client, setting.namespace)
        self._launcher = Launcher(self._api, setting)
        self._agents = Agents(self._api, setting.agent_port)
        self._bounder = Bounder(self._api, setting)
        self._lease = RunLease(self._api, setting.run.metadata.name, setting.identity)
        self._memories: dict[int, Memory] = {}
        self._watch: PodWatch | None = None
        self._adopted: set[int] = set()
        self._asked: set[str] = set()
        self._held: tuple[float, str] = (-EVENT_SECONDS, "")
        self._kept = ""
        self._last: tuple[int, Look] | None = None

    @property
    def target(self) -> Target:
        return self._setting.target

    def close(self) -> None:
        """Let go of the connections; the run goes on."""
        if self._watch is not None:
            self._watch.close()
        self._api.client.close()

    def rehearse(self, number: int, size: Size) -> list[Object]:
        """Everything that would be applied; the cluster has gone through all of it and stored nothing."""
        objects = self._launcher.objects(number, size)
        for manifest in objects:
            # Under a name of its own: what an earlier run left under this one is replaced, not changed.
            meta = {**manifest["metadata"], "name": f"{manifest['metadata']['name'][:52]}-rehearsal"}
            self._api.apply({**manifest, "metadata": meta}, force=True, dry_run=True)
        return objects

    def preflight(self) -> Report:
        """What can be known before GPUs are held."""
        return Preflight(self._api, self._setting).check()

    # -- the life of an attempt

    def launch(self, number: int, size: Size, *, resume: bool) -> None:  # noqa: ARG002 - the keeper resumes
        self._watch_pods(number)
        record = self._history() if self._history is not None else None
        annotations = {RUN_STATE: state_text(record)} if record is not None else {}
        if self._launcher.launch(number, size, annotations, _told(record)):
            self._adopted.add(number)
            self._launcher.forget_earlier(number)

    def observe(self, number: int) -> Observation:
        self._watch_pods(number)
        seen = self._look(number)
        memory = self._memory(number)
        memory.miss(set(seen.known) - {reading.uid_of(pod) for pod in seen.pods}, time.time())
        self._last = (number, seen)
        if self._acts:
            self._know_nodes(seen, memory)
            seen = self._tend(number, seen, memory)
        state = states.state_of(seen, is_queued=bool(self._setting.facts.queue))
        if state == "absent":
            return Observation(state="absent")
        told = self._told_by_agents(seen, memory)
        if state == "running" and told.since is None and self._is_watched:
            state = "starting"  # the agent has not begun the command: it waits for its peers
        pods = list(seen.newest.values())
        return replace(
            told,
            state=state,
            since=told.since if state == "running" and told.since else states.since(seen, state),
            held_by=self._holder(number, seen) if state == "waiting" else "",
            nodes=states.nodes_of(pods),
            pods=self._setting.nodes,
            ranks_ready=sum(reading.is_running(pod) for pod in pods),
            notes=tuple(note for note in (self._agents.note, self._lease.note) if note),
        )

    def evidence(self, number: int) -> Evidence:
        memory = self._memory(number)
        gatherer = Gatherer(self._api, memory, self._setting.nodes)
        seen = self._look(number)
        memory.flush()
        kept = gatherer.kept()
        if seen.is_absent and not memory.pods and kept is not None:
            return kept
        return gatherer.gather(seen)

    def replaced(self, number: int, known: Collection[str]) -> dict[str, Evidence]:
        """From what was last looked at: nothing is asked where no pod was replaced."""
        if self._last is None or self._last[0] != number:
            return {}
        memory, seen = self._memory(number), self._last[1]
        if seen.marked_over:
            return {}  # whoever came after the lost one was ended by us
        gatherer = Gatherer(self._api, memory, self._setting.nodes)
        new = [uid for uid in states.replaced_pods(seen) if uid not in known]
        return {uid: gatherer.gather_of(seen, uid) for uid in new}

    def stop(self, number: int, grace_seconds: float) -> None:
        seen = look(self._api, self._setting, number)
        suspend(self._api, self._setting, number, "stopped")
        for pod in seen.living:
            own = pod.get("spec", {}).get("terminationGracePeriodSeconds")
            if own is not None and grace_seconds < own:
                ref = Ref("v1", "Pod", reading.name_of(pod))
                self._api.delete(ref, grace=max(0, -int(-grace_seconds // 1)))

    def suspend(self, number: int) -> None:
        suspend(self._api, self._setting, number, SUSPENDED)

    def save(self, number: int) -> bool:
        return self._agents.ask_save(look(self._api, self._setting, number).newest.values())

    def resize(self, number: int, memory: int) -> bool:
        seen = look(self._api, self._setting, number)
        return resize_pods(self._api, list(seen.newest.values()), memory)

    def bounds(self, size: Size) -> Bounds:
        return self._bounder.bounds(size)

    def samples(self, number: int, after: Mapping[int, float]) -> Sequence[tuple[int, Sample]]:
        found = []
        for pod, line in self._agents.samples(self._memory(number).pods.values()):
            index = reading.index_of(pod, self._setting.nodes)
            try:
                sample = parse_sample(line)
            except NotASampleError:
                continue
            if sample.when > after.get(index, 0.0):
                found.append((index, sample))
        return found

    def logs(self, number: int, *, node: int | None = None, tail: int | None = None) -> list[str]:
        lines: list[str] = []
        pods = look(self._api, self._setting, number).newest
        several = node is None and self._setting.nodes > 1
        for index, pod in sorted(pods.items()):
            if node is not None and index != node:
                continue
            text = self._api.log(
                reading.name_of(pod), reading.main_container(pod), tail=tail, most=2 * MOST_LOG
            )
            lines += [f"[{index}] {line}" if several else line for line in text.splitlines()]
        return lines or self._kept_logs(number, node, tail, several=several)

    def log_ends(self, number: int) -> dict[int, int]:
        """Where the logs end now, by node: nanoseconds since 1970 of their last line."""
        return self.new_logs(number, {}, to_the_end=True, tail=1)[1]

    def new_logs(
        self,
        number: int,
        seen: Mapping[int, int],
        *,
        node: int | None = None,
        to_the_end: bool = False,  # noqa: ARG002 - a container's last line ends, whether it says so or not
        tail: int | None = None,
    ) -> tuple[list[str], dict[int, int]]:
        """Lines after those seen, and where they end now."""
        lines, ends = [], dict(seen)
        several = node is None and self._setting.nodes > 1
        pods = look(self._api, self._setting, number).newest
        if not pods and not seen:  # gone: the end of what they printed was kept
            return self._kept_logs(number, node, tail, several=several), {0: 1}
        for index, pod in sorted(pods.items()):
            if node is not None and index != node:
                continue
            after = seen.get(index, 0)
            text = self._api.log(
                reading.name_of(pod), reading.main_container(pod), tail=tail, after=after, most=MOST_LOG
            )
            whole = text.rpartition("\n")[0] if len(text) >= MOST_LOG else text
            for line in lines_after(whole, after):
                ends[index] = line.when
                lines.append(f"[{index}] {line.text}" if several else line.text)
        return lines, ends

    def clean(self, number: int) -> None:
        self._api.delete(workload_ref(self._setting, number))

    # -- what only the supervisor's place does

    def hold(self) -> str:
        return self._lease.hold() if self._acts else ""

    def let_go(self) -> None:
        if self._acts:
            self._lease.let_go()
        if self._watch is not None:
            self._watch.close()

    def keep(self, record: RunRecord) -> None:
        """Write the run's state beside its newest workload, so that any machine can take it up."""
        text = state_text(record)
        if not self._acts or record.current is None or text == self._kept:
            return
        ref = workload_ref(self._setting, record.current.number)
        if self._api.patch(ref, {"metadata": {"annotations": {RUN_STATE: text}}}) is not None:
            self._kept = text

    def _tend(self, number: int, seen: Look, memory: Memory) -> Look:
        """End what has lost a pod, and give objects without an owner theirs."""
        workload = seen.workload
        if workload is None:
            return seen
        if number not in self._adopted:
            self._launcher.adopt(number, workload)
            self._adopted.add(number)
        if seen.is_finished or seen.marked_over or seen.is_ending:
            return seen
        lost = states.lost_pods(seen)
        if not lost:
            return seen
        memory.lose(lost)
        suspend(self._api, self._setting, number, "a pod was lost")
        return self._look(number)

    def _look(self, number: int) -> Look:
        """What there is, kept, and held against what was known before."""
        memory = self._memory(number)
        before = set(memory.pods)
        seen = look(self._api, self._setting, number)
        memory.see(seen.pods)
        return with_known(seen, before, memory.pods)

    def _know_nodes(self, seen: Look, memory: Memory) -> None:
        """Learn once what each node is, while it is there to be asked."""
        for name in states.nodes_of(seen.living):
            if name in memory.spot or name in self._asked:
                continue
            self._asked.add(name)
            with suppress(TonnageError):  # not everybody may read nodes
                if (node := self._api.node(name)) is not None:
                    memory.know_node(name, is_spot=is_spot(decode_object(node, Node)))

    def _told_by_agents(self, seen: Look, memory: Memory) -> Observation:
        """Of the pods that are there; else what the last ones said."""
        pods = seen.newest or reading.newest(memory.pods.values(), seen.nodes)
        raw = self._agents.records(list(pods.values()), memory)
        return observed_in([read_record(each) for each in raw])

    @property
    def _is_watched(self) -> bool:
        return self._setting.agent is not None and bool(
            self._setting.launching.rendering.get("hasPython", True)
        )

    def _holder(self, number: int, seen: Look) -> str:
        """Who holds it; asked anew every few seconds."""
        when, text = self._held
        if time.monotonic() - when < EVENT_SECONDS:
            return text
        ref, queue = workload_ref(self._setting, number), self._setting.facts.queue
        try:
            kueue = next(iter(workloads_of(self._api, ref)), None) if queue else None
            place = self._position(queue, kueue) if kueue is not None else None
            events = [] if len(seen.newest) >= seen.nodes else self._about(ref.name, seen)
            text = held_by(seen, events, workload=kueue, queue=queue, place=place)
        except TonnageError as error:
            text = f"not known: {error.problem.what}"
        self._held = (time.monotonic(), text)
        return text

    def _about(self, name: str, seen: Look) -> list[Object]:
        """Events of the workload and of the Jobs it made."""
        jobs = self._api.objects("batch/v1", "Job", labels=",".join(_selector(self._setting)))
        names = {name, *(reading.name_of(job) for job in jobs if reading.name_of(job).startswith(name))}
        del seen
        return [event for each in sorted(names) for event in self._api.events_about(each)]

    def _position(self, queue: str, workload: Object) -> int | None:
        path = f"{VISIBILITY}/namespaces/{self._setting.namespace}/localqueues/{queue}/pendingworkloads"
        asked = Asked("get", "localqueues/pendingworkloads", "visibility.kueue.x-k8s.io")
        try:
            pending = json.loads(self._api.client.send("GET", path, asked)).get("items") or ()
        except (TonnageError, ValueError):
            return None  # not installed, or not for us: the position is a convenience
        return position_in(list(pending), reading.name_of(workload))

    def _kept_logs(self, number: int, node: int | None, tail: int | None, *, several: bool) -> list[str]:
        """The end of the log, from the evidence, where the pod is gone."""
        kept = Gatherer(self._api, self._memory(number), self._setting.nodes).kept()
        found: list[str] = []
        for each in kept.logs if kept is not None else ():
            if node is None or each.index == node:
                lines = each.lines if tail is None else each.lines[-tail:]
                found += [f"[{each.index}] {line}" if several else line for line in lines]
        return found

    def _memory(self, number: int) -> Memory:
        if number not in self._memories:
            self._memories[number] = Memory(self._setting.folder / attempt_folder(number, 0).split("/")[0])
        return self._memories[number]

    def _watch_pods(self, number: int) -> None:
        """See every change of the pods, not only what a look each second shows."""
        if not self._acts or (self._watch is not None and self._watch.number == number):
            return
        if self._watch is not None:
            self._watch.close()
        labels = self._setting.labels(number)
        self._watch = PodWatch(self._api, number, labels, self._memory(number))


def _selector(setting: KubeSetting) -> list[str]:
    return [f"{LINEAGE}={setting.launching.lineage}"]


def _told(record: RunRecord | None) -> dict[str, Any]:
    """What earlier attempts used of the run's time and money."""
    if record is None:
        return {}
    return {"spent": spent_on(record.launching, record.attempts), "ran_seconds": ran_seconds(record.attempts)}
