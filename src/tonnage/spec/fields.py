"""How a friendly literal becomes a field: parsed on the way in, friendly on the way out, a pattern in the
schema.

This is the seam between our literals, which know nothing of pydantic, and the documents, which are pydantic
models. A field type is the literal's own value type annotated with a `Friendly`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, Strict
from pydantic_core import CoreSchema, core_schema

from tonnage.spec import commands, names
from tonnage.spec.literals import counts, cpus, durations, gpus, money, places, sizes


class Friendly(msgspec.Struct, frozen=True, eq=False):
    """The parser, the printer and the editor's pattern of one literal."""

    parse: Callable[[Any], Any]
    pattern: str
    examples: tuple[Any, ...]
    write: Callable[[Any], Any] = str
    also: tuple[dict[str, Any], ...] = msgspec.field(default=())
    """Other JSON shapes that the parser takes beside text."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self._taken, serialization=core_schema.plain_serializer_function_ser_schema(self.write)
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        text = {"type": "string", "pattern": f"^({self.pattern})$"}
        shape: dict[str, Any] = {"anyOf": [text, *self.also]} if self.also else text
        return {**shape, "examples": list(self.examples)}

    def _taken(self, value: Any) -> Any:
        # A value that is one already is kept: models are built in code too.
        return value if _is_value_of(self.parse, value) else self.parse(value)


def _is_value_of(parse: Callable[[Any], Any], value: Any) -> bool:
    owner = getattr(parse, "__self__", None)
    return isinstance(owner, type) and isinstance(value, owner)


_NUMBER: tuple[dict[str, Any], ...] = ({"type": "number", "minimum": 0},)
_INTEGER: tuple[dict[str, Any], ...] = ({"type": "integer", "minimum": 0},)
_GPU_PARTS: tuple[dict[str, Any], ...] = (
    *_NUMBER,
    {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "count": {"type": "number", "minimum": 0, "description": "How many per node."},
            "type": {"type": "string", "description": "GPU type, like h100."},
            "memory": {"type": "string", "description": "Memory of each, like 24GB..80GB."},
        },
    },
)


def _number_or_text(value: Any) -> int | float | str:
    """A count or cores as a bare number where YAML would read the same value back."""
    text = str(value)
    if re.fullmatch(r"\d+", text):
        return int(text)
    return float(text) if re.fullmatch(r"\d+\.\d+", text) else text


Size = Annotated[sizes.Size, Friendly(sizes.Size.parse, sizes.PATTERN, ("64Gi", "500GB"), also=_INTEGER)]
SizeShare = Annotated[
    sizes.SizeShare,
    Friendly(sizes.SizeShare.parse, sizes.SHARE_PATTERN, ("auto", "64Gi", "64Gi..128Gi"), also=_INTEGER),
]
Cpus = Annotated[cpus.Cpus, Friendly(cpus.Cpus.parse, cpus.PATTERN, (8, "500m"), _number_or_text, _NUMBER)]
CpuShare = Annotated[
    cpus.CpuShare,
    Friendly(cpus.CpuShare.parse, cpus.SHARE_PATTERN, ("auto", 8, "8..16"), _number_or_text, _NUMBER),
]
Duration = Annotated[
    durations.Duration, Friendly(durations.Duration.parse, durations.PATTERN, ("20m", "1h30m", "2d"))
]
DurationOrAuto = Annotated[
    durations.DurationOrAuto,
    Friendly(durations.DurationOrAuto.parse, durations.OR_AUTO_PATTERN, ("auto", "20m")),
]
DurationRange = Annotated[
    durations.DurationRange,
    Friendly(durations.DurationRange.parse, durations.RANGE_PATTERN, ("10s..5m",)),
]
Money = Annotated[
    money.Money, Friendly(money.Money.parse, money.PATTERN, ("$400/week", "$3..5/hour", "$1,200"))
]
Gpus = Annotated[
    gpus.Gpus,
    Friendly(gpus.Gpus.parse, gpus.PATTERN, (8, "8 x h100", "24GB..80GB"), gpus.Gpus.as_written, _GPU_PARTS),
]
CountRange = Annotated[
    counts.CountRange,
    Friendly(counts.CountRange.parse, counts.PATTERN, (2, "1..4"), _number_or_text, _INTEGER),
]
Place = Annotated[
    places.Place, Friendly(places.Place.parse, places.PATTERN, ("pvc/ckpt", "s3://bucket/prefix"))
]
Text = Annotated[str, Friendly(names.text, r"[\s\S]*", (), also=({"type": "number"},))]
Line = Annotated[str, Friendly(names.line, r".*\S.*", (), also=({"type": "number"},))]
Name = Annotated[str, Friendly(names.name, names.NAME_PATTERN, ("llama-8b-sft",))]
DnsName = Annotated[str, Friendly(names.dns_name, names.DNS_PATTERN, ("registry-login",))]
LabelKey = Annotated[str, Friendly(names.label_key, names.LABEL_KEY_PATTERN, ("team",))]
LabelValue = Annotated[
    str, Friendly(names.label_value, names.LABEL_VALUE_PATTERN, ("research",), also=_NUMBER)
]
EnvName = Annotated[str, Friendly(names.env_name, names.ENV_PATTERN, ("WANDB_PROJECT",))]
GpuType = Annotated[str, Friendly(names.gpu_type, gpus.TYPE_PATTERN, ("h100", "a100-80"))]
SecretKey = Annotated[
    names.SecretKey, Friendly(names.SecretKey.parse, names.SECRET_PATTERN, ("hf-token/token",))
]
Taint = Annotated[
    names.Taint, Friendly(names.Taint.parse, names.TAINT_PATTERN, ("nvidia.com/gpu=present:NoSchedule",))
]
AbsolutePath = Annotated[str, Friendly(names.absolute_path, r"/\S*", ("/data",))]
Command = Annotated[
    tuple[str, ...],
    Friendly(
        commands.parse,
        r"[\s\S]*\S[\s\S]*",
        ("python train.py", ["torchrun", "train.py"]),
        commands.write,
        ({"type": "array", "minItems": 1, "items": {"type": ["string", "number"]}},),
    ),
]
Whole = Annotated[int, Strict()]
Flag = Annotated[bool, Strict()]
