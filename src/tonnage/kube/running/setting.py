"""What every attempt of a run shares on a cluster, settled once when it was planned.

All of it is kept with the run (`Launching.rendering`, and in the workload's annotation), so that an attempt made days
later by another supervisor is made of the same code and the same decisions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from tonnage.cluster.port import Target
from tonnage.manifests import ClusterFacts, CodeDelivery, Planned, Rendered, RenderRequest, render
from tonnage.manifests.naming import attempt_name, digest
from tonnage.manifests.pods.wiring import ports_of
from tonnage.running.attempts import Size
from tonnage.running.history import Launching
from tonnage.spec.run import Run

LINEAGE = "tonnage.dev/lineage"
"""Label that tells a run from an earlier one of the same name."""
CODE_MOUNT = "/workspace"


@dataclass(frozen=True, kw_only=True)
class KubeSetting:
    """See the module."""

    run: Run
    launching: Launching
    target: Target
    folder: Path
    """Where this machine keeps what it saw of the run."""
    agent: bytes | None = None
    code: bytes | None = None
    """The working folder as it was when the run was started: tar, gzip."""
    delivery: Callable[[], CodeDelivery] | None = None
    """Where the code is, when it does not fit a ConfigMap; asked for every attempt, since addresses expire."""
    identity: str = ""
    """Who holds the run: for the Lease."""
    more_labels: dict[str, str] = field(default_factory=dict)

    @property
    def namespace(self) -> str:
        return self.run.metadata.namespace or self.launching.namespace or "default"

    @cached_property
    def planned(self) -> Planned:
        return msgspec.convert(self.launching.rendering["planned"], Planned)

    @cached_property
    def facts(self) -> ClusterFacts:
        return msgspec.convert(self.launching.rendering["facts"], ClusterFacts)

    @property
    def nodes(self) -> int:
        return self.planned.nodes

    @property
    def agent_port(self) -> int:
        return ports_of(self.run).metrics

    @cached_property
    def code_digest(self) -> str:
        return digest(self.code) if self.code is not None else ""

    def code_name(self, number: int) -> str:
        """Name of the ConfigMap that brings the code to one attempt."""
        return f"{attempt_name(self.run.metadata.name, number, len('-code'))}-code"

    def code_delivery(self, number: int) -> CodeDelivery | None:
        if self.delivery is not None:
            return self.delivery()
        if self.code is None:
            return None
        return CodeDelivery(digest=self.code_digest, mount=self.mount, config_map=self.code_name(number))

    @property
    def mount(self) -> str:
        code = self.run.spec.code
        return (code.mount if code is not None else "") or CODE_MOUNT

    def rendered(
        self, number: int, size: Size | None = None, *, may_make_classes: bool | None = None, **told: Any
    ) -> Rendered:
        """The objects of one attempt."""
        facts = self.facts
        if may_make_classes is not None:
            facts = msgspec.structs.replace(facts, may_make_priority_classes=may_make_classes)
        request = RenderRequest(
            run=self.run,
            planned=self.planned,
            facts=facts,
            size=size or self.launching.first_size,
            attempt=number,
            namespace=self.namespace,
            lineage=self.launching.lineage,
            agent=self.agent,
            code=self.code_delivery(number),
            has_python=bool(self.launching.rendering.get("hasPython", True)),
            team_labels={LINEAGE: self.launching.lineage, **self.more_labels},
            probe_steps=self.launching.probe_steps,
            **told,
        )
        return render(request)

    def labels(self, number: int) -> dict[str, str]:
        """By which this attempt's pods are found, and no earlier run's."""
        return {**self.rendered(number).selector, LINEAGE: self.launching.lineage}
