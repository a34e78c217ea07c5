"""Ranks that cannot reach each other, or say so because one of them is gone.

Nearly every collective timeout is a victim's: the rank to look at is the one that is *not* in these lines. They are
symptoms, believed only where nothing names a cause on any rank. Failing to meet at all (names, ports, rendezvous) is a
cause of its own.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tonnage.diagnosis.rules import Family, Reading, Sign, Tier, rule

_WORK = re.compile(r"SeqNum=(\d+), OpType=(\w+)")
_PENDING = re.compile(r"last enqueued (?:NCCL )?work: (\d+), last completed (?:NCCL )?work: (\d+)")
_FAR_AHEAD = 25


def _timeout(read: Reading) -> Sign | None:
    """A victim's cry, unless ranks disagree about the operation: then their programs went different ways."""
    works = {match.groups() for match in _WORK.finditer(read.view.text)}
    ahead = [int(match[1]) - int(match[2]) for match in _PENDING.finditer(read.view.text)]
    diverged = len(works) > 1 or any(count >= _FAR_AHEAD for count in ahead)
    return replace(read.sign, is_root=diverged)


_CUDA_FAULT = re.compile(r"watchdog thread terminated with exception: CUDA error")


def _fault(read: Reading) -> Sign | None:
    """A watchdog that reports a CUDA error is a messenger."""
    return None if _CUDA_FAULT.search(read.statement.text) else read.sign


FAMILY = Family(
    rules=(
        rule(
            "NET-01",
            Tier.SYMPTOM,
            0.85,
            r"Watchdog caught collective operation timeout",
            r"timed out in blocking wait",
            r"(?:failure|timeout\)?) detected by watchdog at work",
            r"Timeout at NCCL work",
            r"Timed out waiting \d+ms for (?:recv|send) operation",
            r"collective operation timeout",
            r"tensors were submitted to be reduced, gathered or broadcasted by subset of ranks",
            r"Some NCCL operations have failed or timed out",
            is_root=False,
            weigh=_timeout,
        ),
        rule(
            "NET-02",
            Tier.SYMPTOM,
            0.85,
            r"watchdog got stuck for \d+ seconds",
            r"Heartbeat monitor timed out",
            r"Could not acquire GIL .*(?:watchdog|monitor)",
            r"terminating the process because.*heartbeat",
            is_root=None,
        ),
        rule(
            "NET-03",
            Tier.SYMPTOM,
            0.85,
            r"NET/IB ?: Got (?:completion|async event)",
            r"IBV_EVENT_QP_FATAL",
            r"ibv_\w+ failed",
            r"RDMA_CM_EVENT",
            r"local (?:protection|work queue) error",
            r"EFA.*(?:failed|error)",
            is_root=True,
        ),
        rule(
            "NET-03",
            Tier.SYMPTOM,
            0.75,
            r"ncclRemoteError",
            r"Connection closed by remote peer",
            r"remote process exit",
            r"[OP]RTE has lost communication with a remote daemon",
            r"(?:NCCL WARN|Gloo|gloo|socket|recv|send|[Rr]ank|TCPStore|c10d).{0,160}Connection reset by peer",
            r"Connection closed by peer \[",
            r"Socket Timeout.*nccl",
            r"NCCL WARN .*Connection (?:refused|timed out)",
            r"NCCL communicator was aborted",
            r"(?:ORTE|PRTE) has lost communication",
            r"(?:recvValue|sendBytes|recvBytes) failed",
            r"Broken pipe.*(?:TCPStore|c10d)",
            is_root=False,
        ),
        rule(
            "NET-04",
            Tier.SYMPTOM,
            0.7,
            r"retrieving ncclUniqueId from \[\d+\].*(?:[Tt]imeout|timed out|[Cc]onnection)",
            retry="after-fix",
            is_root=False,
        ),
        rule(
            "NET-03",
            Tier.EXIT,
            0.55,
            r"ncclSystemError",
            r"ncclInternalError",
            r"unhandled (?:system|cuda) error",
            is_root=None,
            weigh=_fault,
        ),
        rule(
            "NET-04",
            Tier.ROOT,
            0.88,
            r"(?:client socket|connect\(\)|TCP ?client).{0,40}timed out.*connect",
            r"connect\(\) timed out",
            r"trying to connect to \(",
            r"DistNetworkError",
            r"Rendezvous(?:Connection|Timeout|Closed|State)?Error",
            r"connection to the C10d store has failed",
            r"Timed out after .{0,20}waiting for clients",
            r"DistStoreError",
            r"failed to connect to any network address",
            r"connectFullMesh failed",
            r"failed to connect to all addresses",
            r"[Rr]endezvous timed? ?out",
            retry="after-fix",
        ),
        rule(
            "NET-04",
            Tier.ROOT,
            0.88,
            r"host not found",
            r"Name or service not known",
            r"Temporary failure in name resolution",
            r"(?:IPv[46] )?network addresses of \(.*cannot be retrieved",
            r"getaddrinfo failed",
            r"Could not resolve hostname",
            r"gethostby\w+ failed",
            r"Could not resolve host",
            r"no such host",
            r"server misbehaving",
            r"NameResolutionError",
            retry="same",
        ),
        rule(
            "NET-04",
            Tier.ROOT,
            0.9,
            r"Address already in use",
            r"EADDRINUSE",
            r"errno: 98",
            r"\[Errno 98\]",
            r"failed to (?:listen|bind) (?:on|to)",
            retry="same",
        ),
        rule(
            "NET-04",
            Tier.ROOT,
            0.75,
            r"Bootstrap : no socket interface found",
            r"No route to host",
            r"c10d.*errno: 1(?:10|11|13)\b",
            r"ORTE was unable to reliably start",
            r"ORTE daemon has unexpectedly failed after launch",
            r"ssh: connect to host .* (?:refused|timed out)",
            r"failed to recv, got 0 bytes",
            r"socketStartConnect: Connect to .* failed",
            r"ConnectionRefusedError",
            r"\[Errno 111\]",
            retry="same",
        ),
    )
)
