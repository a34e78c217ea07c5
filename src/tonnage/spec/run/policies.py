"""What happens when things go wrong, drag on or cost too much."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from tonnage.spec.fields import Duration, DurationRange, Flag, Money, Size, Text, Whole
from tonnage.spec.literals import Duration as DurationValue
from tonnage.spec.literals import DurationRange as DurationRangeValue
from tonnage.spec.parts import Part, ShortPart

Tries = Annotated[Whole, Field(ge=0, le=1000)]


class Retries(Part):
    """How often each cause of death is forgiven. Short form: one number for every cause but `code`."""

    preemption: Tries = 20
    """A higher-priority pod took the place."""

    spot: Tries = 50
    """The cloud took the node back."""

    eviction: Tries = 5
    """The node ran short of memory or disk."""

    node: Tries = 5
    """The node or its GPU failed."""

    host_oom: Tries = 3
    """Out of RAM; each try gets more, see `onOOM`."""

    gpu_oom: Tries = 3
    """Out of GPU memory; each try gets a smaller step or a larger GPU, see `onOOM`."""

    network: Tries = 3
    """Ranks could not reach each other."""

    storage: Tries = 2
    """A volume, bucket or disk failed."""

    hang: Tries = 2
    """No progress, no error."""

    unknown: Tries = 1
    """No evidence of any of the others."""

    code: Tries = 0
    """The program's own error: trying again would only cost the same again."""

    backoff: DurationRange = DurationRangeValue(DurationValue(10_000), DurationValue(300_000))
    """Wait between tries, doubling from the first to the second."""

    @model_validator(mode="before")
    @classmethod
    def _from_number(cls, value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            return dict.fromkeys(_NOT_CODE, value)
        return value

    @model_serializer(mode="wrap")
    def _to_number(self, handler: SerializerFunctionWrapHandler) -> Any:
        full = handler(self)
        is_one_number = list(full) == list(_NOT_CODE) and len(set(full.values())) == 1
        return full["unknown"] if is_one_number else full


_NOT_CODE = (
    "preemption", "spot", "eviction", "node", "hostOOM", "gpuOOM", "network", "storage", "hang", "unknown",
)  # fmt: skip


class OnOom(ShortPart):
    """The remedy for running out of memory. Short form: `onOOM: raise` or `onOOM: fail`."""

    short: ClassVar[str] = "host"

    host: Literal["raise", "fail"] = "raise"
    """Out of RAM: come back with more, sized from peak and growth; or fail."""

    gpu: Literal["refit", "largerGpu", "fail"] = "refit"
    """Out of GPU memory: a smaller step with the same global batch, a larger GPU, or fail."""

    grow_by: Annotated[float, Field(gt=1, le=10)] | None = None
    """Factor for each raise; from the measured peak and growth when not given."""

    max_memory: Size | None = None
    """Never raise above this; the largest node that would do, when not given."""

    keep_global_batch: Flag = True
    """Whether microBatch times accumulation times ranks must stay the same."""


class OnForecast(ShortPart):
    """What to do when memory is seen to run out. Short form: the action."""

    short: ClassVar[str] = "action"

    action: Literal["warn", "checkpoint", "raise", "stop"] = "checkpoint"
    """Tell, save now, save and raise memory without a restart, or save and stop."""

    within: Duration = DurationValue(30 * 60_000)
    """How far ahead to look."""

    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.9
    """How sure the forecast must be."""


class Spot(ShortPart):
    """Whether cheap capacity that can be taken back will do. Short form: `spot: true`."""

    short: ClassVar[str] = "use"

    use: Literal["never", "allowed", "only"] = "never"
    """`never`, `allowed` (fall back to on-demand) or `only`; `true` means allowed, `false` never."""

    max_price: Money | None = None
    """Most to pay per node and hour."""

    @model_validator(mode="before")
    @classmethod
    def _from_flag(cls, value: Any) -> Any:
        if isinstance(value, bool):
            return {"use": "allowed" if value else "never"}
        if isinstance(value, dict) and isinstance(value.get("use"), bool):
            return value | {"use": "allowed" if value["use"] else "never"}
        return value


class Idle(ShortPart):
    """What to do with GPUs that are held and not used. Short form: the time, such as `idle: 30m`."""

    short: ClassVar[str] = "after"

    after: Duration = DurationValue(30 * 60_000)
    """How long the GPUs must have been idle. A missing metric counts as busy."""

    below: Annotated[float, Field(gt=0, le=1)] = 0.05
    """GPU activity under which a GPU counts as idle."""

    action: Literal["warn", "suspend", "stop"] = "warn"
    """Tell the owner, hold the run (it can be resumed), or save and stop."""


class Network(Part):
    """Who may talk to the ranks, and over what."""

    isolation: Literal["run", "namespace", "none"] = "run"
    """Who may connect: only ranks of this run and monitoring, the whole namespace, or anyone."""

    rdma: Literal["auto", "required", "off"] = "auto"
    """Use InfiniBand or RoCE where nodes have it."""

    interface: Text | None = None
    """Network interface that collectives use, where the default one is wrong."""

    host_network: Flag = False
    """Use the node's network: faster on some clusters, and no port is private any more."""
