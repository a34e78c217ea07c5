"""What every part of a document has in common: frozen, camelCase, no unknown fields, a description on each
field.

A part may have a *short form*: `budget: $400/week` for `budget: {limit: $400/week}`. The class names the
field that a bare value fills (`short`), the reader takes both, and the writer uses the short form whenever
nothing else was said.

The text under a field is its description, for the schema and the reference (`describing.py` reads it from
the source: letting pydantic do that on import would cost every command a tenth of a second).
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic.alias_generators import to_camel


def field_name(python_name: str) -> str:
    """How a field is spelled in documents: camelCase, with the acronyms people write in capitals.

    >>> field_name("max_wait"), field_name("on_oom"), field_name("i_accept_losing_work")
    ('maxWait', 'onOOM', 'iAcceptLosingWork')
    """
    return _ACRONYMS.get(python_name) or to_camel(python_name)


_ACRONYMS = {"on_oom": "onOOM", "host_oom": "hostOOM", "gpu_oom": "gpuOOM"}


class Part(BaseModel):
    """A piece of a document."""

    model_config = ConfigDict(
        frozen=True,
        defer_build=True,
        extra="forbid",
        alias_generator=field_name,
        validate_by_alias=True,
        validate_by_name=False,
        serialize_by_alias=True,
        arbitrary_types_allowed=True,
        protected_namespaces=(),
    )


def unsaid() -> Any:
    """The default of a part of which nothing was said: its own defaults hold.

    Not an instance: that would build each part on import, one by one, instead of once with its document.
    """
    return Field(default_factory=dict, validate_default=True)


class ShortPart(Part):
    """A piece that can also be written as one bare value."""

    short: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def _from_short(cls, value: Any) -> Any:
        return value if isinstance(value, dict | cls) or value is None else {cls._short_name(): value}

    @model_serializer(mode="wrap")
    def _to_short(self, handler: SerializerFunctionWrapHandler) -> Any:
        full = handler(self)
        return full[self._short_name()] if list(full) == [self._short_name()] else full

    @classmethod
    def _short_name(cls) -> str:
        return cls.model_fields[cls.short].alias or cls.short
