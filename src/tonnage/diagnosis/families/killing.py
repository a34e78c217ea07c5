"""SIGKILL: the kernel's for memory, or somebody's outside, told apart by the kernel's own count.

The kernel counts every process it kills for memory, of whatever wall, in the cgroup the process was in
(`oom_kill` in `memory.events`, or in `memory.oom_control`). So a SIGKILL beside a count that did not rise was sent by
a process: an administrator, a script, a node agent. Who, nothing here says. Where nobody could look at the count after
the kill (agent and command died together in a pod), it stays a kill that nothing explains.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from tonnage.diagnosis.boxes import Box
from tonnage.diagnosis.evidence import ContainerEnd, PodEnd
from tonnage.diagnosis.finding import Line
from tonnage.diagnosis.rules import Family, Sign, Tier
from tonnage.diagnosis.statements import View, ended_at

SIGKILL = 9
_KILLED = 128 + SIGKILL


def signs(view: View) -> Iterator[Sign]:
    """One for every pod that was killed while the kernel is known to have killed nothing there for memory."""
    boxes = {box.node: box for box in view.boxes}
    pods = {pod.index: pod for pod in view.evidence.pods}
    for node in sorted({*boxes, *pods}):
        line = _seen(boxes.get(node), pods.get(node))
        if line is None:
            continue
        pod, box = pods.get(node), boxes.get(node)
        when = ended_at(pod) if pod is not None else None
        yield Sign(
            code="EXT-01",
            tier=Tier.KILL,
            confidence=0.85,
            lines=(line,),
            node=node,
            when=when or (box.updated if box is not None else None),
        )


def kernels(view: View) -> Iterator[Sign]:
    """One for every pod whose cgroup counts kills for memory, read after all that could have told of it had died."""
    for pod in view.evidence.pods:
        for end in pod.containers:
            is_told = end.reason == "OOMKilled" or (
                end.exit_code is not None and not _was_killed(end, is_silent=False)
            )
            if not end.oom_kills or is_told:
                continue
            line = Line(
                f"status of {pod.name}", f"the kernel counted {end.oom_kills} kills for memory in its cgroup"
            )
            yield Sign(
                code="MEM-01",
                tier=Tier.RUNTIME,
                confidence=0.9,
                lines=(line,),
                node=pod.index,
                when=ended_at(pod),
            )


def is_outsiders(view: View, node: int | None) -> bool:
    """Whether a kill on this pod (of any, where none is named) is known not to be the kernel's."""
    return any(node is None or sign.node == node for sign in signs(view))


def _seen(box: Box | None, pod: PodEnd | None) -> Line | None:
    if box is not None and box.record.cause:
        return None  # told to end first: what follows is not the beginning
    ends = [end for end in pod.containers if not end.is_init] if pod is not None else []
    if any(end.oom_kills or end.reason == "OOMKilled" for end in ends) or (box is not None and box.oom_kills):
        return None
    if box is not None and box.counts_kills and box.record.signal == SIGKILL:
        return Line(f"agent record of node {box.node}", _text("the command"))
    is_silent = box is not None and box.record.state != "ended"
    for end in ends:
        if end.oom_kills == 0 and _was_killed(end, is_silent=is_silent):
            return Line(f"status of {pod.name}" if pod is not None else "status", _text(end.name))
    return None


def _was_killed(end: ContainerEnd, *, is_silent: bool) -> bool:
    """By its exit code; where nobody was left to see one, by an agent that never wrote of an end."""
    if end.exit_code is None:
        return is_silent
    return end.signal == SIGKILL or end.exit_code == _KILLED


def _text(who: str) -> str:
    return f"{who} got SIGKILL, and the kernel counted no kill for memory"


FAMILY = Family(signs=lambda view: chain(signs(view), kernels(view)))
