"""Every field is described, the schema is a schema, the reference is current, each value knows its origin."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import document_strategies as some
import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings

from tonnage.spec.checking import KINDS, check
from tonnage.spec.describing import all_fields, descriptions_of
from tonnage.spec.dumping import as_plain
from tonnage.spec.effective import Origin, effective_values
from tonnage.spec.loading import load
from tonnage.spec.reference import reference
from tonnage.spec.schema import DIALECT, schema_of
from tonnage.spec.starting import starter_cluster, starter_run, starter_team

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_has_a_description(kind: str) -> None:
    silent = [path for path, _, part in all_fields(KINDS[kind]) if path[-1] not in descriptions_of(part)]

    assert silent == []


def test_the_reference_is_what_the_models_say() -> None:
    hint = "run `python -m tonnage.spec.reference > docs/documents.md`"

    assert (DOCS / "documents.md").read_text() == reference(), hint


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_is_one_and_describes_every_property(kind: str) -> None:
    schema = schema_of(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    parts = [
        schema,
        *(part for entry in schema["$defs"].values() for part in [entry, *entry.get("anyOf", [])]),
    ]
    silent = [
        name
        for part in parts
        for name, field in part.get("properties", {}).items()
        if not field.get("description")
    ]

    assert schema["$schema"] == DIALECT
    assert silent == []
    assert '"null"' not in json.dumps(schema)


@pytest.mark.parametrize(
    "text",
    [
        starter_run("a", command="python train.py", gpus=1, image=None),
        starter_run("a", command="a: b # c && d", gpus="8 x h100", image="x/y:1"),
        starter_team("b"),
        starter_cluster("c"),
    ],
)
def test_a_starter_is_valid_as_it_is_and_with_every_optional_line(text: str) -> None:
    everything = re.sub(r"^(\s*)# (\s*[A-Za-z]+:.*)$", r"\1\2", text, flags=re.MULTILINE)
    as_it_is, complete = check(text, "starter.yaml"), check(everything, "starter.yaml")

    assert as_it_is.mistakes + as_it_is.remarks == []
    assert complete.mistakes == []
    assert max(len(line) for line in text.splitlines()) <= 80
    assert len(as_plain(complete.values[0])["spec"]) > 5 or complete.values[0].kind == "Cluster"


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(some.runs)
def test_what_we_write_fits_the_schema(content: dict[str, Any]) -> None:
    document = as_plain(KINDS["Run"].model_validate(content))

    jsonschema.Draft202012Validator(schema_of("Run")).validate(document)


def test_each_value_knows_whether_it_was_said() -> None:
    text = (
        "apiVersion: tonnage.dev/v1alpha1\nkind: Run\nmetadata: {name: a}\n"
        "spec: {gpus: 8 x h100, train: {microBatch: 4}, env: {A: b}, checkpoints: pvc/c}\n"
    )
    origins = {value.field: (value.text, value.origin) for value in effective_values(load(text, "f")[0])}

    assert origins["spec.gpus"] == ("8 x h100", Origin.YOU)
    assert origins["spec.train.microBatch"] == ("4", Origin.YOU)
    assert origins["spec.train.precision"] == ("amp-bf16", Origin.TONNAGE)
    assert origins["spec.env.A"] == ("b", Origin.YOU)
    assert origins["spec.checkpoints.to"] == ("pvc/c", Origin.YOU)
    assert origins["spec.checkpoints.every"] == ("auto", Origin.TONNAGE)
    assert origins["spec.memory"] == ("auto", Origin.TONNAGE)
    assert origins["spec.onOOM.host"] == ("raise", Origin.TONNAGE)
