"""How a node says no, and whether killing pods could change its mind.

The scheduler's answers have two strengths. A refusal that is `resolvable` ("Insufficient cpu") may go
away when lower-priority pods leave the node, so preemption looks at it. One that is not ("node(s) had
untolerated taint(s)") would stand on an empty node too. The reasons are Kubernetes' own words: people
search for them.
"""

from __future__ import annotations

import msgspec


class Refusal(msgspec.Struct, frozen=True):
    """Why one node was refused: the first plugin that said no, with everything it said."""

    plugin: str
    reasons: tuple[str, ...]
    resolvable: bool = False
    """Whether removing pods from the node might help; only then is preemption tried there."""


class Stopped(msgspec.Struct, frozen=True):
    """Why the pod was refused before any node was looked at (a PreFilter failure)."""

    plugin: str
    message: str
