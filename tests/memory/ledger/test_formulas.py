"""Every line says its formula, and the formulas are the known ones."""

from __future__ import annotations

from tonnage.cluster.gpus import find_gpu
from tonnage.memory.ledger import shape_estimate
from tonnage.memory.recipe import Parallel, Recipe
from tonnage.memory.shapes import find_shape


def formulas(name: str, **recipe: object) -> dict[str, str]:
    gpu = find_gpu("h200")
    assert gpu is not None
    found = shape_estimate(find_shape(name), Recipe(**recipe), gpu)  # type: ignore[arg-type]
    return {part.name: part.formula for part in found.parts}


def test_a_llama_layer_in_bf16_keeps_sixteen_widths_and_eight_feed_forward_widths() -> None:
    told = formulas("tinyllama-1.1b", micro_batch=4, sequence=2048, precision="bf16")
    assert told["activations"].startswith(
        "22 layers x 8,192 tokens x (8 f + 16 d + 4 q + 4 k + 4 a + 8) bytes"
    )
    assert "d = 2,048" in told["activations"]
    assert told["parameters"] == "1,100,048,384 weights x 2 bytes"
    assert told["optimizer"] == "1,100,048,384 x 2 moments x 2 bytes"
    assert "2 x 8,192 tokens x 4 V bytes" in told["temporaries"]


def test_full_checkpointing_keeps_one_width_per_layer() -> None:
    told = formulas("tinyllama-1.1b", micro_batch=8, sequence=2048, precision="bf16", checkpointing="full")
    assert "16,384 tokens x (2 d) bytes" in told["activations"]


def test_autocast_says_what_its_copies_of_weights_cost() -> None:
    told = formulas("bert-base-uncased", micro_batch=32, sequence=512, precision="amp-bf16")
    assert "half precision, 2 bytes each" in told["cast weights"]


def test_shares_are_said_with_their_ranks() -> None:
    told = formulas(
        "llama-3-8b",
        micro_batch=1,
        sequence=512,
        precision="bf16",
        parallel=Parallel(fsdp=8),
        checkpointing="full",
    )
    assert told["parameters"].endswith("/ 8 ranks")
    assert "weights at work" in told["sharing"]


def test_a_network_over_images_is_counted_per_image() -> None:
    told = formulas("resnet18", micro_batch=8, precision="fp32", optimizer="sgdm")
    assert told["activations"].startswith("8 images x ")
