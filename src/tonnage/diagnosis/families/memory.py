"""Host memory: who ran out, whose wall it was, and what only looks like it.

`OOMKilled` is the runtime's word and true whatever the exit code (a child may have been killed and its parent ended
well). Exit 137 alone is a kill by somebody: never called out of memory here. A launcher that saw its *child* get
SIGKILL is weaker than a counter and stronger than 137, because eviction, drain and grace kill the launcher too.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

from tonnage.cluster.messages.eviction import NodeHadCondition, NodeLow, parse_eviction
from tonnage.diagnosis.classes import UNKNOWN
from tonnage.diagnosis.rules import Family, Reading, Sign, Tier, rule, with_code
from tonnage.diagnosis.statements import Statement, View


def _node_or_own(read: Reading) -> Sign | None:
    """OOMKilled is the node's doing where the node itself ran out at that moment and the pod was within its limit."""
    if _SYSTEM_OOM.search(read.view.text) and not _AT_LIMIT.search(read.view.text):
        return replace(with_code(read.sign, "MEM-02", 0.85), retry=None)
    return read.sign


_SYSTEM_OOM = re.compile(r"System ?OOM|constraint=CONSTRAINT_NONE|global_oom")
_AT_LIMIT = re.compile(r"CONSTRAINT_MEMCG|Memory cgroup out of memory")


def _evicted(read: Reading) -> Sign | None:
    """Which shortage the kubelet names; image layers that do not fit are told elsewhere."""
    parsed = parse_eviction(read.found[0].strip() + " ") or parse_eviction(read.found[0].strip())
    if isinstance(parsed, NodeLow):
        return read.sign if parsed.resource.strip("[]") == "memory" else None
    if isinstance(parsed, NodeHadCondition):
        return read.sign if "MemoryPressure" in parsed.conditions else None
    return read.sign if re.search(r"resource: \[?memory|MemoryPressure", read.found[0]) else None


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
    if grows_in_log(read.view, read.statement):
        return with_code(read.sign, "MEM-11", 0.7)
    return read.sign


_USED = re.compile(
    r"\b(?:rss|ram|host mem(?:ory)?|cpu mem(?:ory)?|cpu_mem|mem(?:ory)?[ _]us(?:age|ed)|process memory|used)\b"
    r"[^0-9\n]{0,16}(\d+(?:\.\d+)?) ?(%|[KMGT]i?B?\b)",
    re.IGNORECASE,
)
_SCALE = {"k": 1e-3, "m": 1.0, "g": 1e3, "t": 1e6, "%": 1.0}


def grows_in_log(view: View, statement: Statement, *, least: int = 4) -> bool:
    """Whether the memory figures the program prints of itself rise all the way, by a third or more."""
    values = [
        float(found[1]) * _SCALE[found[2][0].lower()]
        for line in view.before(statement, 200)
        if (found := _USED.search(line)) is not None
    ]
    rising = all(later >= earlier for earlier, later in pairwise(values))
    return len(values) >= least and rising and values[-1] >= values[0] * 4 / 3


def _killed_child(read: Reading) -> Sign | None:
    """A launcher's SIGKILL of a child, unless the record says that memory was far from its limit."""
    if says_no_oom(read.view):
        return with_code(read.sign, UNKNOWN, 0.6)
    if grows_in_log(read.view, read.statement):
        return with_code(read.sign, "MEM-11", 0.7)
    return read.sign


def says_no_oom(view: View) -> bool:
    """Whether the agent's records contradict an OOM kill: no kill was counted and nothing was near its limit."""
    seen = [record["memory"] for record in view.evidence.records.values() if record.get("memory")]
    if not seen:
        return bool(_NOT_FULL.search(view.text))
    return all(not memory.get("oomKills") and not is_near_limit(memory) for memory in seen)


_NOT_FULL = re.compile(r'"?OOMKilled"?: false')


def is_near_limit(memory: dict[str, object], share: float = 0.95) -> bool:
    """Whether usage or peak came within reach of the limit."""
    limit = memory.get("limit")
    most = max((v for v in (memory.get("usage"), memory.get("peak")) if isinstance(v, int)), default=None)
    return isinstance(limit, int) and limit > 0 and most is not None and most >= share * limit


FAMILY = Family(rules=(
    # -- the runtime's verdict
    rule("MEM-01", r"\breason\"?:? ?\"?OOMKilled", Tier.RUNTIME, 0.97, weigh=_node_or_own),
    rule("MEM-01", r"Reason: +OOMKilled", Tier.RUNTIME, 0.97, weigh=_node_or_own),
    rule("MEM-01", r"\b\d+/\d+ +(?:Init:)?OOMKilled\b|\"?OOMKilled\"?: true|phase.{0,20}OOMKilled|\(OOMKilled\)",
         Tier.RUNTIME, 0.95, weigh=_node_or_own),
    rule("MEM-01", r"oom[-_]kill event|Detected \d+ oom_kill|Exceeded job memory limit|"
         r"Some of your processes may have been killed by the cgroup out-of-memory handler|"
         r"\bOUT_OF_ME(?:MORY|\+)", Tier.RUNTIME, 0.93),
    # -- the kubelet's
    rule("MEM-03", r"The node was low on resource: \[?memory.*", Tier.CONTROL_PLANE, 0.98, weigh=_evicted),
    rule("MEM-03", r"(?:Pod was rejected: |Pod )?The node had condition: \[[^\]]*MemoryPressure[^\]]*\]\.?",
         Tier.CONTROL_PLANE, 0.93, weigh=_evicted),
    rule("MEM-03", r"MemoryPressure +(?:True|=True)|Attempting to reclaim memory", Tier.KERNEL, 0.6),
    # -- the kernel's
    rule("MEM-01", r"CONSTRAINT_MEMCG|[Mm]emory cgroup out of memory|mem_cgroup_(?:out_of_memory|oom)|"
         r"killed as a result of limit of", Tier.KERNEL, 0.96),
    rule("MEM-02", r"System ?OOM\b|System OOM encountered|constraint=CONSTRAINT_NONE|global_oom",
         Tier.KERNEL, 0.95),
    rule("MEM-02", r"(?<!cgroup out of memory: )(?<![Cc]group )\bOut of memory: Kill(?:ed)? process \d+",
         Tier.KERNEL, 0.88),
    # -- refused without a kill
    rule("MEM-04", r"DefaultCPUAllocator: (?:can't allocate|not enough) memory|std::bad_alloc|"
         r"\b(?:numpy\S*)?_?ArrayMemoryError\b|Unable to allocate [\d.]+ [KMGT]iB for an array|"
         r"^(?:\[\w+\]:? ?)*MemoryError\b|(?:OSError|RuntimeError).*\b(?:Errno 12|Cannot allocate memory)|"
         r"\[Errno 12\]|fork: Cannot allocate memory|malloc of \d+ bytes? failed|failed to mmap .*Cannot allocate|"
         r"memory allocation of \d+ bytes failed|java\.lang\.OutOfMemoryError|"
         r"OOM when allocating tensor.*(?:device:CPU|allocator (?:mkl)?cpu)|ArrowMemoryError|pyarrow.*[Oo]ut of memory",
         Tier.ROOT, 0.9, weigh=_refused),
    # -- workers
    rule("MEM-08", r"DataLoader worker \(pid\(?s?\)? [\d, ]+\) is killed by signal: Killed", Tier.ROOT, 0.88,
         weigh=_killed_child),
    rule("MEM-08", r"DataLoader worker \(pid\(s\) [\d, ]+\) exited unexpectedly", Tier.SYMPTOM, 0.6,
         weigh=_killed_child),
    rule(UNKNOWN, r"DataLoader worker \(pid\(?s?\)? [\d, ]+\) is killed by signal: (?:Terminated|Hangup|Interrupt)",
         Tier.ROOT, 0.6, is_root=None),
    rule("MEM-09", r"received \d+ items of ancdata|\[Errno 24\]|Too many open files|can't start new thread|"
         r"pthread_create failed|Thread creation failed|fork: retry: Resource temporarily unavailable|"
         r"\[Errno 11\] Resource temporarily unavailable|no space left on device.*inotify|inotify.*(?:limit|no space)",
         Tier.ROOT, 0.92),
    rule("MEM-10", r"killed due to (?:the node running low on memory|memory pressure \(OOM\))|"
         r"exceeds the memory usage threshold|ray\.exceptions\.OutOfMemoryError|"
         r"[Mm]emory monitor .*kill", Tier.ROOT, 0.93),
    rule(UNKNOWN, r"[Tt]he worker may have exceeded K8s pod memory limits|"
         r"[Ww]orker died or was killed while executing a task by an unexpected system error",
         Tier.ROOT, 0.5, is_root=None),
    # -- a child that somebody killed, seen by its launcher
    rule("MEM-01", r"\(?exitcode ?:? ?-9\)?|Signal 9 \(SIGKILL\) received|return ?code ?[=:]? ?-9\b|"
         r"terminated (?:by|with) signal (?:9|SIGKILL)|died with <Signals\.SIGKILL|(?:exit )?code -9\b|"
         r"exit(?:ed)? (?:with )?(?:status|code):? 247\b|exitCode: 247\b|SIGKILL\(-9\)|"
         r"exited on signal 9 \(Killed\)|^\S*(?:: line \d+:)? +\d+ Killed +\S|^Killed$|signal: 9, SIGKILL",
         Tier.EXIT, 0.62, weigh=_killed_child),
))  # fmt: skip
