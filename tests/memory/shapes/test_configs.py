"""Hugging Face configurations and stated dimensions as shapes."""

from __future__ import annotations

from math import prod
from pathlib import Path

import pytest

from tonnage.memory.ledger.families.catalogue import family_of
from tonnage.memory.shapes import MODEL_TYPES, ShapeError, shape_from_config, shape_from_dimensions


@pytest.mark.parametrize("kind", MODEL_TYPES)
def test_a_file_with_nothing_but_its_type_has_the_librarys_defaults(kind: str) -> None:
    shape = shape_from_config({"model_type": kind})
    assert shape.layers > 0
    assert shape.hidden == shape.heads * shape.head_dim or kind in {
        "qwen3",
        "qwen3_moe",
        "gemma",
        "gemma2",
        "gemma3_text",
        "t5",
        "mt5",
    }


def test_key_heads_default_to_heads_where_a_llama_says_only_its_heads() -> None:
    assert shape_from_config({"model_type": "llama", "num_attention_heads": 16}).kv_heads == 16


def test_a_mistral_without_window_has_none() -> None:
    assert shape_from_config({"model_type": "mistral", "sliding_window": None}).window == 0
    assert shape_from_config({"model_type": "mistral"}).window == 4096


def test_the_text_part_of_a_multimodal_file_is_read() -> None:
    nested = {"model_type": "llava", "text_config": {"model_type": "llama", "num_hidden_layers": 3}}
    assert shape_from_config(nested).layers == 3


def test_a_part_beside_the_text_is_refused_and_not_left_out_in_silence() -> None:
    both = {
        "model_type": "gemma3",
        "text_config": {"model_type": "gemma3_text"},
        "vision_config": {"model_type": "siglip_vision_model"},
    }
    with pytest.raises(ShapeError) as caught:
        shape_from_config(both)
    problem = caught.value.problem
    assert problem.code == "SHAPE-014"
    assert "vision_config" in problem.what
    assert "text_config" in (problem.hint or "")


@pytest.mark.parametrize(
    ("kind", "weights"), [("xlm-roberta", 109514298), ("camembert", 109514298), ("mt5", 172119424)]
)
def test_types_that_share_anothers_code_have_the_weights_the_library_builds(kind: str, weights: int) -> None:
    shape = shape_from_config({"model_type": kind})
    assert sum(prod(size) for _, size in family_of(shape).weights(shape, 1)) == weights


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"model_type": "llama", "quantization_config": {"load_in_4bit": True}}, "SHAPE-015"),
        ({"model_type": "qwen3_moe", "mlp_only_layers": [0]}, "SHAPE-016"),
        ({"model_type": "qwen3_moe", "decoder_sparse_step": 2}, "SHAPE-016"),
    ],
)
def test_what_would_change_the_weights_is_refused_and_not_passed_over(
    fields: dict[str, object], code: str
) -> None:
    with pytest.raises(ShapeError, match=code):
        shape_from_config(fields)


def test_layers_that_are_all_alike_may_be_said_to_be() -> None:
    said = {"model_type": "qwen3_moe", "mlp_only_layers": [], "decoder_sparse_step": 1}
    assert shape_from_config(said) == shape_from_config({"model_type": "qwen3_moe"})


def test_a_convnet_of_the_hub_is_sent_to_torchvisions_name() -> None:
    with pytest.raises(ShapeError) as caught:
        shape_from_config({"model_type": "resnet"})
    assert "--shape resnet50" in (caught.value.problem.hint or "")


@pytest.mark.parametrize("field", ["hidden_size", "intermediate_size", "vocab_size"])
def test_a_dimension_with_digits_too_many_is_refused(field: str) -> None:
    with pytest.raises(ShapeError, match="so large"):
        shape_from_config({"model_type": "llama", field: 10**15, "head_dim": 128})


def test_an_unknown_type_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ShapeError) as caught:
        shape_from_config({"model_type": "mamba"}, where="config.json")
    problem = caught.value.problem
    assert (problem.code, problem.found, problem.where) == ("SHAPE-011", "mamba", "config.json")
    assert "llama" in (problem.expected or "")


def test_a_classifier_named_in_the_file_has_its_head_and_no_vocabulary() -> None:
    file = {
        "model_type": "bert",
        "architectures": ["BertForSequenceClassification"],
        "id2label": {"0": "a", "1": "b", "2": "c"},
    }
    shape = shape_from_config(file)
    assert (shape.head, shape.classes) == ("sequence", 3)
    assert shape_from_config({**file, "architectures": ["BertForMaskedLM"]}).head == "language"
    assert (
        shape_from_config({**file, "architectures": ["BertForTokenClassification"], "num_labels": 9}).classes
        == 9
    )


@pytest.mark.parametrize(
    ("kind", "named"), [("bert", "BertForQuestionAnswering"), ("t5", "T5ForSequenceClassification")]
)
def test_a_head_we_do_not_know_is_refused(kind: str, named: str) -> None:
    with pytest.raises(ShapeError, match="SHAPE-012"):
        shape_from_config({"model_type": kind, "architectures": [named]})


def test_a_quarter_of_each_head_of_gpt_neox_is_turned_unless_the_file_says_otherwise() -> None:
    small = {"model_type": "gpt_neox", "hidden_size": 512, "num_attention_heads": 8}
    assert shape_from_config(small).rotary == 16
    assert shape_from_config({**small, "rotary_pct": 1.0}).rotary == 64
    assert shape_from_config({**small, "rope_parameters": {"partial_rotary_factor": 0.5}}).rotary == 32


def test_a_file_without_type_is_refused() -> None:
    with pytest.raises(ShapeError, match="SHAPE-010"):
        shape_from_config({"hidden_size": 64})


@pytest.mark.parametrize(
    ("field", "value"),
    [("hidden_size", "wide"), ("num_hidden_layers", 0), ("vocab_size", -1), ("attention_dropout", 2)],
)
def test_a_field_that_cannot_be_used_is_named(field: str, value: object) -> None:
    with pytest.raises(ShapeError, match=field):
        shape_from_config({"model_type": "llama", field: value})


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(ShapeError, match="heads do not divide"):
        shape_from_config({"model_type": "llama", "hidden_size": 100, "num_attention_heads": 3})
    with pytest.raises(ShapeError, match="heads do not divide"):
        shape_from_config({"model_type": "gpt2", "n_embd": 100, "n_head": 3})


def test_key_heads_must_divide_the_heads() -> None:
    with pytest.raises(ShapeError, match="key heads"):
        shape_from_config({"model_type": "llama", "num_attention_heads": 32, "num_key_value_heads": 5})


def test_dimensions_alone_make_a_model() -> None:
    shape = shape_from_dimensions(
        "llama", layers=4, hidden=512, heads=8, kv_heads=2, intermediate=1024, vocabulary=999
    )
    assert (shape.layers, shape.hidden, shape.head_dim, shape.kv_heads) == (4, 512, 64, 2)


def test_a_convnet_needs_a_name() -> None:
    with pytest.raises(ShapeError, match="SHAPE-002"):
        shape_from_dimensions("convnet", layers=50)


def test_a_dimension_the_family_does_not_have_is_refused() -> None:
    with pytest.raises(ShapeError, match="experts"):
        shape_from_dimensions("gpt2", experts=8)


def test_the_documentation_names_every_type() -> None:
    text = (Path(__file__).parents[3] / "docs" / "estimate.md").read_text()
    assert [kind for kind in MODEL_TYPES if kind not in text] == []
