"""Every case renders to its golden file. After a change that is meant: `python dev/manifest_goldens.py`."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from manifest_cases import BY_NAME, CASES

from tonnage.manifests.lacking import LACKS
from tonnage.manifests.writing import write_rendered

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", BY_NAME)
def test_a_case_renders_to_its_golden_file(name: str) -> None:
    assert write_rendered(BY_NAME[name].rendered()) == (GOLDEN / f"{name}.yaml").read_text()


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.yaml")} == set(BY_NAME)


def test_every_target_has_a_golden_file() -> None:
    assert {case.rendered().target for case in CASES} == set(LACKS)


@pytest.mark.parametrize("name", BY_NAME)
def test_yaml_reads_back_as_the_objects_that_are_applied(name: str) -> None:
    read = list(yaml.safe_load_all((GOLDEN / f"{name}.yaml").read_text()))
    assert read == list(BY_NAME[name].rendered().objects)
