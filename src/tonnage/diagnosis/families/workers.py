"""Processes beside the trainer: loader workers that were killed, limits on files and threads, Ray's own memory monitor.

A worker that got SIGKILL was nearly always the kernel's choice; one that got SIGTERM was ended by somebody, and nothing
says why. Ray blames a pod's memory for every worker it loses: not believed without its monitor's own words.
"""

from __future__ import annotations

from tonnage.diagnosis.classes import UNKNOWN
from tonnage.diagnosis.families.memory import killed_child
from tonnage.diagnosis.rules import Family, Tier, rule

FAMILY = Family(
    rules=(
        rule(
            "MEM-08",
            Tier.ROOT,
            0.88,
            r"DataLoader worker \(pid\(?s?\)? [\d, ]+\) is killed by signal: Killed",
            weigh=killed_child,
        ),
        rule(
            "MEM-08",
            Tier.SYMPTOM,
            0.6,
            r"DataLoader worker \(pid\(s\) [\d, ]+\) exited unexpectedly",
            weigh=killed_child,
        ),
        rule(
            UNKNOWN,
            Tier.ROOT,
            0.6,
            r"DataLoader worker \(pid\(?s?\)? [\d, ]+\) is killed by signal: (?:Terminated|Hangup|Interrupt)",
            is_root=None,
        ),
        rule(
            "MEM-09",
            Tier.ROOT,
            0.92,
            r"received \d+ items of ancdata",
            r"\[Errno 24\]",
            r"[Tt]oo many open files",
            r"\[Errno 23\]",
            r"unable to allocate necessary resources for OMP thread",
            r"failed to create new OS thread",
            r"what\(\): +Resource temporarily unavailable",
            r"RLIMIT_NPROC",
            r"can't start new thread",
            r"pthread_create failed",
            r"Thread creation failed",
            r"fork: (?:retry: )?Resource temporarily unavailable",
            r"\[Errno 11\] Resource temporarily unavailable",
            r"fork rejected by pids controller",
            r"unable to open shared memory object </torch\S+> in read-write mode(?!.*No space)",
            r"no space left on device.*inotify",
            r"inotify.*(?:limit|no space)",
        ),
        rule(
            "MEM-10",
            Tier.ROOT,
            0.93,
            r"killed due to (?:the node running low on memory|memory pressure \(OOM\))",
            r"exceeds the memory usage threshold",
            r"ray\.exceptions\.OutOfMemoryError",
            r"RayOutOfMemoryError",
            r"[Mm]emory monitor .*kill",
        ),
        rule(
            UNKNOWN,
            Tier.ROOT,
            0.5,
            r"[Tt]he worker may have exceeded K8s pod memory limits",
            r"[Ww]orker died or was killed while executing a task by an unexpected system error",
            is_root=None,
        ),
    )
)
