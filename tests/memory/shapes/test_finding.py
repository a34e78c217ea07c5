"""Models by name."""

from __future__ import annotations

import json
import re
from math import prod
from pathlib import Path

import pytest

from tonnage.memory.ledger.families.catalogue import family_of
from tonnage.memory.shapes import ModelShape, ShapeError, find_shape, preset_names, presets
from tonnage.memory.shapes.networks import network_shape, network_weights

REAL_COUNTS: dict[str, int] = json.loads((Path(__file__).parent / "real_counts.json").read_text())
"""Parameters of the models as transformers 5.17 and torchvision 0.26 build them."""


def weights_of(shape: ModelShape) -> int:
    return sum(prod(size) for _, size in family_of(shape).weights(shape, 1))


@pytest.mark.parametrize("name", sorted(REAL_COUNTS))
def test_a_preset_has_exactly_the_weights_of_the_real_model(name: str) -> None:
    assert weights_of(find_shape(name)) == REAL_COUNTS[name]


def test_every_network_of_torchvision_has_exactly_its_weights() -> None:
    networks = [
        name for name in preset_names() if (found := network_shape(name)) and found.family == "convnet"
    ]
    assert len(networks) >= 75
    wrong = [name for name in networks if weights_of(find_shape(name)) != network_weights(name)]
    assert wrong == []


@pytest.mark.parametrize("name", ["vit-b-16", "vit_b_16", "ViT_B-16", "resnet50", "ResNet50", "swin-v2-t"])
def test_dashes_underscores_and_case_are_alike(name: str) -> None:
    assert find_shape(name).name.replace("_", "-") == name.lower().replace("_", "-")


def test_a_repository_before_the_name_does_not_matter() -> None:
    assert find_shape("meta-llama/Llama-3.1-8B") == find_shape("llama-3.1-8b")


@pytest.mark.parametrize(
    ("pasted", "known"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"),
        ("google/gemma-3-1b-it", "gemma-3-1b"),
        ("Qwen/Qwen3-8B-Base", "qwen3-8b"),
        ("google/t5-v1_1-base", "t5-v1.1-base"),
        ("FacebookAI/roberta-base", "roberta-base"),
        ("microsoft/resnet-50", "resnet50"),
    ],
)
def test_names_as_hubs_write_them_are_known(pasted: str, known: str) -> None:
    assert find_shape(pasted) == find_shape(known)


@pytest.mark.parametrize("name", ["llama-38b", "gemma-22b", "regnet-x-16-gf-2", "instruct", "", "  "])
def test_no_name_is_taken_for_a_model_of_another_size(name: str) -> None:
    with pytest.raises(ShapeError, match="SHAPE-001"):
        find_shape(name)


@pytest.mark.parametrize("name", preset_names())
def test_every_name_is_found_as_itself(name: str) -> None:
    assert find_shape(name).name == name
    assert find_shape(name.replace("-", "_").upper()).name == name


def test_an_unknown_name_is_refused_with_near_ones() -> None:
    with pytest.raises(ShapeError) as caught:
        find_shape("lama-3-8b")
    problem = caught.value.problem
    assert problem.code == "SHAPE-001"
    assert problem.found == "lama-3-8b"
    assert problem.hint is not None
    assert "llama-3-8b" in problem.hint


def test_the_documentation_names_every_family_of_presets() -> None:
    text = (Path(__file__).parents[3] / "docs" / "estimate.md").read_text()
    assert sorted({name.split("-")[0] for name in presets.names()} - set(re.findall(r"[\w.]+", text))) == []
