"""Host memory: who ran out, whose wall it was, and what only looks like it.

`OOMKilled` is the runtime's word and true whatever the exit code (a child may have been killed and its parent ended
well). Exit 137 alone is a kill by somebody: never called out of memory here. A launcher that saw its *child* get
SIGKILL is weaker than a counter and stronger than 137, because eviction, drain and grace kill the launcher too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from tonnage.cluster.messages.eviction import NodeHadCondition, NodeLow, parse_eviction
from tonnage.diagnosis.classes import UNKNOWN
from tonnage.diagnosis.families.killing import is_outsiders
from tonnage.diagnosis.rules import Family, Reading, Sign, Tier, line_of, rule, with_code
from tonnage.diagnosis.statements import View


def _node_or_own(read: Reading) -> Sign | None:
    """OOMKilled is the node's doing where the node itself ran out at that moment and the pod was within its limit."""
    if _SYSTEM_OOM.search(read.view.text) and not _AT_LIMIT.search(read.view.text):
        return replace(with_code(read.sign, "MEM-02", 0.85), retry=None)
    return read.sign


_SYSTEM_OOM = re.compile(r"System ?OOM|constraint=CONSTRAINT_NONE|global_oom|\bOut of memory: Kill")
_AT_LIMIT = re.compile(r"CONSTRAINT_MEMCG|Memory cgroup out of memory")


def _whose_killer(read: Reading) -> Sign | None:
    """The kernel's killer at work: for a cgroup where its trace goes through one, else for the whole node."""
    return None if _IN_CGROUP.search(read.view.text) else read.sign


_IN_CGROUP = re.compile(r"mem_?cgroup|memcg|MEMCG|[Mm]emory cgroup|Task in /(?:kubepods|docker)")


def _evicted(read: Reading) -> Sign | None:
    """Which shortage the kubelet names; image layers that do not fit are told elsewhere."""
    parsed = parse_eviction(read.found[0].strip() + " ") or parse_eviction(read.found[0].strip())
    if isinstance(parsed, NodeLow):
        return read.sign if parsed.resource.strip("[]") == "memory" else None
    if isinstance(parsed, NodeHadCondition):
        return read.sign if "MemoryPressure" in parsed.conditions else None
    return read.sign if re.search(r"resource: \[?[Mm]emory|MemoryPressure", read.found[0]) else None


_BYTES = re.compile(r"tr(?:ied|ying) to allocate (\d+) bytes")
_APPENDING = re.compile(r"\.(?:append|extend|update)\(|\+=|\btorch\.cat\(\[self\.")
_METRIC = re.compile(
    r"metric|score|history|accumul|cache|buffer|results?\b|outputs?\b|preds?\b", re.IGNORECASE
)
_SMALL = 2**30


def _refused(read: Reading) -> Sign | None:
    """A small allocation that fails while something is being appended to is growth, not size."""
    size = _BYTES.search(read.statement.text)
    frames = read.view.before(read.statement, 3)
    code = frames[-1] if frames else ""
    is_small = size is not None and int(size[1]) < _SMALL
    if is_small and _APPENDING.search(code) and _METRIC.search("\n".join(frames)):
        return with_code(read.sign, "MEM-11", 0.75)
    if grows_in_log(read):
        return with_code(read.sign, "MEM-11", 0.7)
    return read.sign


_USED = (
    re.compile(
        r"\b(?:rss|ram|(?:host|cpu|process|resident)[ _]mem(?:ory)?|mem(?:ory)?[ _]us(?:age|ed)|used)\b"
        r"[^0-9\n]{0,16}(\d+(?:\.\d+)?) ?(%|[KMGT]i?B?\b)",
        re.IGNORECASE,
    ),
    re.compile(r"\b(?:mem|memory|ram)\b.{0,80}?(\d+(?:\.\d+)?) ?(%)", re.IGNORECASE),
    re.compile(r"^Mem: +\d+\w* +(\d+(?:\.\d+)?)([KMGT]?)"),  # free
)
_SCALE = {"k": 1e-3, "m": 1.0, "g": 1e3, "t": 1e6, "%": 1.0, "": 1.0}
_LEAST_FIGURES = 4
_LAST_LINES = 400


def signs(view: View) -> Iterator[Sign]:
    """Memory that rises all the way in what the program prints of itself, where nothing else explains the end."""
    for log in view.logs.values():
        lines = log[-_LAST_LINES:]
        if is_rising(each.text for each in lines):
            last = next(each for each in reversed(lines) if used_in(each.text) is not None)
            yield Sign(
                code="MEM-11",
                tier=Tier.WRAPPER,
                confidence=0.6,
                lines=(line_of(last),),
                node=last.node,
                order=last.order,
            )


def grows_in_log(read: Reading) -> bool:
    """Whether memory rose all the way to this line."""
    return is_rising(read.view.before(read.statement, 200))


def is_rising(lines: Iterable[str]) -> bool:
    """Whether the memory figures in these lines rise all the way, by a third or more."""
    values = [value for line in lines if (value := used_in(line)) is not None]
    rising = all(later >= earlier for earlier, later in pairwise(values))
    return len(values) >= _LEAST_FIGURES and rising and values[-1] >= values[0] * 4 / 3


def used_in(line: str) -> float | None:
    """The host memory a line tells, in its own unit."""
    lowered = line.lower()
    if not any(word in lowered for word in _WORDS) or _OF_THE_GPU.search(lowered):
        return None
    found = next((found for pattern in _USED if (found := pattern.search(line))), None)
    return float(found[1]) * _SCALE[found[2][:1].lower()] if found else None


_WORDS = ("mem", "rss", "ram", "used")
_OF_THE_GPU = re.compile(r"gpu|cuda|vram")


def killed_child(read: Reading) -> Sign | None:
    """A launcher's SIGKILL of a child, unless the record says that memory was far from its limit."""
    if is_outsiders(read.view, read.statement.node):
        return None  # told by the kill itself
    if says_no_oom(read.view):
        return with_code(read.sign, UNKNOWN, 0.6)
    if grows_in_log(read):
        return with_code(read.sign, "MEM-11", 0.7)
    return read.sign


def says_no_oom(view: View) -> bool:
    """Whether the agents' records contradict an OOM kill: no kill was counted and nothing was near its limit."""
    seen = [box for box in view.boxes if box.usage is not None]
    if not seen:
        return bool(_NOT_FULL.search(view.text))
    return not any(box.oom_kills or (box.fullness or 0.0) >= _NEAR for box in seen)


_NEAR = 0.95
_NOT_FULL = re.compile(r'"?OOMKilled"?: false')


FAMILY = Family(
    rules=(
        # -- the runtime's verdict
        rule(
            "MEM-01",
            Tier.RUNTIME,
            0.97,
            r"\bOOMKilled\b(?!\"?:? *=? *false)",
            weigh=_node_or_own,
        ),
        rule(
            "MEM-01",
            Tier.RUNTIME,
            0.93,
            r"oom[-_]kill event",
            r"Detected \d+ oom_kill",
            r"Exceeded job memory limit",
            r"Some of your processes may have been killed by the cgroup out-of-memory handler",
            r"\bOUT_OF_ME(?:MORY|\+)",
            r"task \d+: Out Of Memory",
            r"[Cc]ontainer (?:was )?(?:OOM[- ]killed|killed (?:by \w+ )?(?:for|due to) exceeding memory)",
        ),
        # -- the kubelet's
        rule(
            "MEM-03",
            Tier.CONTROL_PLANE,
            0.98,
            r"The node was low on resource: \[?[Mm]emory.*",
            weigh=_evicted,
        ),
        rule(
            "MEM-03",
            Tier.CONTROL_PLANE,
            0.93,
            r"(?:Pod was rejected: |Pod )?The node had condition: \[[^\]]*MemoryPressure[^\]]*\]\.?",
            weigh=_evicted,
        ),
        rule(
            "MEM-03",
            Tier.KERNEL,
            0.6,
            r"MemoryPressure +(?:True|=True)",
            r"Attempting to reclaim memory",
        ),
        # -- the kernel's
        rule(
            "MEM-01",
            Tier.KERNEL,
            0.96,
            r"CONSTRAINT_MEMCG",
            r"[Mm]emory cgroup out of memory",
            r"mem_cgroup_(?:out_of_memory|oom)",
            r"killed as a result of limit of",
        ),
        rule(
            "MEM-02",
            Tier.KERNEL,
            0.95,
            r"System ?OOM\b",
            r"System OOM encountered",
            r"constraint=CONSTRAINT_NONE",
            r"global_oom",
        ),
        rule(
            "MEM-02",
            Tier.KERNEL,
            0.88,
            r"\bOut of memory: Kill(?:ed)? process \d+",
            r"constraint=CONSTRAINT_(?:CPUSET|MEMORY_POLICY)",
            r"systemd-oomd.*[Kk]illed|earlyoom.*(?:SIGTERM|SIGKILL)",
        ),
        rule(
            "MEM-02",
            Tier.KERNEL,
            0.82,
            r"invoked oom-killer",
            weigh=_whose_killer,
        ),
        # -- refused without a kill
        rule(
            "MEM-04",
            Tier.ROOT,
            0.9,
            r"DefaultCPUAllocator: (?:can't allocate|not enough) memory",
            r"std::bad_alloc(?!: (?:out_of_memory: )?(?:CUDA|RMM))",
            r"\b(?:numpy\S*)?_?ArrayMemoryError\b",
            r"Unable to allocate [\d.]+ [KMGT]iB for an array",
            r"^(?:\[\w+\]:? ?)*MemoryError\b(?!.*(?:CUDA|RMM))",
            r"Cannot allocate memory",
            r"\[Errno 12\]",
            r"malloc of \d+ bytes? failed",
            r"memory allocation of \d+ bytes failed",
            r"java\.lang\.OutOfMemoryError",
            r"OOM when allocating tensor.*(?:device:CPU|allocator (?:mkl)?cpu)",
            r"ArrowMemoryError",
            r"pyarrow.*[Oo]ut of memory",
            r"paging file is too small",
            r"\bfailed to allocate \d+ bytes of (?:host|pinned|pageable)",
            weigh=_refused,
        ),
        # -- a child that somebody killed, seen by its launcher
        rule(
            "MEM-01",
            Tier.EXIT,
            0.62,
            r"\(?exitcode ?:? ?-9\)?",
            r"Signal 9 \(SIGKILL\) received",
            r"return ?code ?[=:]? ?-9\b",
            r"terminated (?:by|with) signal (?:9|SIGKILL)",
            r"died with <Signals\.SIGKILL",
            r"(?:exit )?code -9\b",
            r"[Ee]xit(?:ed)? (?:with )?(?:[Ss]tatus|[Cc]ode):? +247\b",
            r"exitCode: 247\b",
            r"SIGKILL\(-9\)",
            r"exited on signal 9 \(Killed\)",
            r"^\S*(?:: line \d+:)? +\d+ Killed +\S",
            r"^Killed$",
            r"signal: 9, SIGKILL",
            r"killed by signal 9\b|got signal 9\b|[Ss]ignal: killed",
            weigh=killed_child,
        ),
    ),
    signs=signs,
)
