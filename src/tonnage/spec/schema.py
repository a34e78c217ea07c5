"""The JSON schema of each kind, for editors: draft 2020-12, a description on every field, literals as
patterns.

A part with a short form is "the mapping, or what the short form takes", so an editor accepts what `tonnage
check` does.
"""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from tonnage.spec.checking import KINDS
from tonnage.spec.describing import all_fields, descriptions_of, fields_of, inner_part, summary_of
from tonnage.spec.metadata import API_VERSION
from tonnage.spec.parts import Part, ShortPart
from tonnage.spec.run.policies import Retries, Spot
from tonnage.spec.team import GpuShare

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _InputSchema(GenerateJsonSchema):
    """Schemas of what people write; serializers that shorten parts do not change it."""


def schema_of(kind: str) -> dict[str, Any]:
    """The schema of `Run`, `Team` or `Cluster`."""
    model = KINDS[kind]
    schema = model.model_json_schema(by_alias=True, mode="validation", schema_generator=_InputSchema)
    definitions = schema.pop("$defs", {})
    for part in _parts(model):
        _describe(definitions.get(part.__name__, schema if part is model else {}), part)
    for part in _parts(model):
        if part.__name__ in definitions:
            definitions[part.__name__] = _with_short_form(definitions[part.__name__], part)
    schema["required"] = ["apiVersion", "kind", *schema.get("required", [])]
    return {
        "$schema": DIALECT,
        "$id": f"https://{API_VERSION.replace('/', '/schemas/')}/{kind.lower()}.json",
        **schema,
        "title": kind,
        "$defs": dict(sorted(definitions.items())),
    }


def _parts(model: type[Part]) -> list[type[Part]]:
    found: dict[type[Part], None] = {model: None}
    for _, info, _ in all_fields(model):
        inner = inner_part(info.annotation)
        if inner is not None:
            found[inner] = None
    return list(found)


def _describe(schema: dict[str, Any], part: type[Part]) -> None:
    schema["description"] = summary_of(part)
    schema.pop("title", None)
    for name, text in descriptions_of(part).items():
        if name in schema.get("properties", {}):
            field = schema["properties"][name]
            field["description"] = text
            field.pop("title", None)
            _drop_null(field)
            _friendly_default(field, part, name)


def _drop_null(field: dict[str, Any]) -> None:
    """An optional field is left out, not null: `tonnage check` says so, and so does the schema."""
    choices = field.get("anyOf")
    if not choices or {"type": "null"} not in choices:
        return
    left = [choice for choice in choices if choice != {"type": "null"}]
    del field["anyOf"]
    if field.get("default", 0) is None:
        del field["default"]
    if len(left) == 1:
        field.update({key: value for key, value in left[0].items() if key not in field})
    else:
        field["anyOf"] = left


def _friendly_default(field: dict[str, Any], part: type[Part], name: str) -> None:
    default = fields_of(part)[name].default
    if isinstance(default, Part):
        field.pop("default", None)  # its own fields say theirs


def _with_short_form(schema: dict[str, Any], part: type[Part]) -> dict[str, Any]:
    short = _short_schema(schema, part)
    if short is None:
        return schema
    description = schema.pop("description", "")
    return {"description": description, "anyOf": [*short, schema]}


def _short_schema(schema: dict[str, Any], part: type[Part]) -> list[dict[str, Any]] | None:
    if part is Retries:
        return [{"type": "integer", "minimum": 0, "maximum": 1000}]
    if part is GpuShare:
        return [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": r"^\d+(\s?\.\.\s?\d+)?$"}]
    if not issubclass(part, ShortPart):
        return None
    alias = part.model_fields[part.short].alias or part.short
    field = {
        key: value
        for key, value in schema["properties"][alias].items()
        if key not in ("description", "default")
    }
    return [field, {"type": "boolean"}] if part is Spot else [field]
