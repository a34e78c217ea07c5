"""`tonnage schema` prints a schema that an editor can use."""

from __future__ import annotations

import json

import jsonschema
import pytest
from click.testing import CliRunner

from tonnage.cli.schema import schema


@pytest.mark.parametrize("kind", ["run", "team", "cluster"])
def test_a_schema_is_printed(kind: str) -> None:
    result = CliRunner().invoke(schema, [kind])
    answer = json.loads(result.stdout)
    jsonschema.Draft202012Validator.check_schema(answer)

    assert answer["properties"]["kind"]["const"] == kind.capitalize()


def test_an_unknown_kind_is_wrong_usage() -> None:
    assert CliRunner().invoke(schema, ["pipeline"]).exit_code == 2
