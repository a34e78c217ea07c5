"""The grammar of FailedScheduling: what the scheduler says about a pod it could not place.

    0/<N> nodes are available: <what stopped it | count reason, count reason>. <after filtering>

After filtering come the remarks of the plugins that tried to help: since 1.34 every pod hears `no new
claims to deallocate` first, then `preemption: ` with a reason or, nested, a message of the same grammar.
Reasons are sorted as texts, so "10 x" stands before "2 y". A node contributes every reason of the plugin
that refused it: counts may add up to more than N. Events are cut at 1024 bytes and end in ` ...`; the
pod's PodScheduled condition keeps the whole text and is the better source. Older clusters say some things
in other words (see `scheduling_reasons`) and, for a time, ended messages with two full stops; all are
read, and what is produced is what 1.36 writes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

EVENT_LIMIT = 1024
CUT = " ..."
NO_CLAIMS = "no new claims to deallocate"
STATE_MISSING = "not found"
"""What follows a PreFilter failure: the claims plugin was never prepared. Harmless noise."""
_CLAIM_REMARKS = (
    NO_CLAIMS,
    "still not schedulable",
    "deallocation of ResourceClaim completed",
    "deletion of ResourceClaim completed",
    "plugin disabled",
)
_PREEMPTION = "preemption: "
_HEAD = re.compile(r"^0/(?P<nodes>\d+) nodes are available(?P<colon>:?)(?P<rest>.*)$", re.DOTALL)
_ITEM = re.compile(r"^(?P<count>\d+) (?P<reason>.+)$", re.DOTALL)
_NEXT_ITEM = re.compile(r", (?=\d+ )")
_REMARK = re.compile(
    r"(?P<end>\.) (?=" + "|".join(re.escape(r) for r in (*_CLAIM_REMARKS, _PREEMPTION)) + r"|not found$)"
)


class Counted(msgspec.Struct, frozen=True):
    """A reason and how many nodes gave it."""

    count: int
    reason: str

    def __str__(self) -> str:
        return f"{self.count} {self.reason}"


class FailedScheduling(msgspec.Struct, frozen=True):
    """A FailedScheduling message taken apart. `str` puts it together again."""

    nodes: int
    reasons: tuple[Counted, ...] = ()
    stopped: str = ""
    """Instead of reasons: why no node was looked at."""
    remark: str = ""
    """What the plugin for resource claims said (`no new claims to deallocate`)."""
    preemption: FailedScheduling | str | None = None
    """Why preemption does not help: per node, or in a word. None: not tried, or it succeeded."""
    cut: bool = False
    """The event was cut; the end is missing."""

    def __str__(self) -> str:
        text = f"0/{self.nodes} nodes are available:"
        body = self.stopped or ", ".join(sorted(map(str, self.reasons)))
        if body:
            text += f" {body}."
        helped = [self.remark] if self.remark else []
        if self.preemption is not None:
            helped.append(f"{_PREEMPTION}{self.preemption}")
        return f"{text} {', '.join(helped)}" if helped else text

    def count(self, reason: str) -> int:
        """How many nodes gave exactly this reason."""
        return sum(item.count for item in self.reasons if item.reason == reason)

    def as_event(self) -> str:
        """The text as the event carries it."""
        return as_event(str(self))


def counted(reasons: Mapping[str, int]) -> tuple[Counted, ...]:
    """Reasons in the order Kubernetes prints them."""
    return tuple(sorted((Counted(count, reason) for reason, count in reasons.items()), key=str))


def as_event(text: str) -> str:
    """Cut a message as the scheduler cuts it for events: by bytes."""
    raw = text.encode()
    if len(raw) <= EVENT_LIMIT:
        return text
    return raw[: EVENT_LIMIT - len(CUT)].decode(errors="ignore") + CUT


def parse_failed_scheduling(text: str) -> FailedScheduling | None:
    """Take a FailedScheduling message apart; None for text of another kind."""
    text = text.strip()
    cut = text.endswith(CUT) and len(text.encode()) >= EVENT_LIMIT - len(CUT)
    head = _HEAD.match(text.removesuffix(CUT) if cut else text)
    if head is None:
        return None
    body, helped = _split(head["rest"].strip())
    remark, preemption = _read_help(helped)
    items = [_ITEM.match(item) for item in _NEXT_ITEM.split(body)] if body else []
    counts = [Counted(int(item["count"]), item["reason"]) for item in items if item is not None]
    is_list = bool(items) and len(counts) == len(items)
    return FailedScheduling(
        nodes=int(head["nodes"]),
        reasons=tuple(counts) if is_list else (),
        stopped="" if is_list else body,
        remark=remark,
        preemption=preemption,
        cut=cut,
    )


def _split(rest: str) -> tuple[str, str]:
    """The body without its full stop, and what follows it."""
    end = _REMARK.search(rest)
    if end is not None:
        return rest[: end.start()], rest[end.end() :]
    if rest.startswith((*_CLAIM_REMARKS, _PREEMPTION)):
        return "", rest
    return rest.removesuffix("."), ""


def _read_help(text: str) -> tuple[str, FailedScheduling | str | None]:
    if not text:
        return "", None
    if text.startswith(_PREEMPTION):
        remark, said = "", text.removeprefix(_PREEMPTION)
    else:
        remark, found, said = text.partition(f", {_PREEMPTION}")
        if not found:
            return remark, None
    said = _one_stop(said)
    return remark, parse_failed_scheduling(said) or said


def _one_stop(text: str) -> str:
    """Older clusters ended nested messages with two full stops."""
    return text.removesuffix(".") if text.endswith("..") else text
