"""Measured steps of `accuracy/measurements` that a shape can describe, as the shape and recipe somebody would give."""

from __future__ import annotations

from typing import Any

from tonnage.memory.recipe import Recipe
from tonnage.memory.shapes import ModelShape, find_shape, shape_from_config


def _llama(**changes: Any) -> dict[str, object]:
    return {
        "model_type": "llama", "vocab_size": 32000, "hidden_size": 2048, "intermediate_size": 5632,
        "num_hidden_layers": 22, "num_attention_heads": 32, "num_key_value_heads": 4, **changes,
    }  # fmt: skip


def _decoder(
    kind: str, vocabulary: int, width: int, inner: int, layers: int, heads: int, kv: int, **more: Any
) -> dict[str, object]:
    return {
        "model_type": kind, "vocab_size": vocabulary, "hidden_size": width, "intermediate_size": inner,
        "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": kv, **more,
    }  # fmt: skip


def _text(batch: int, sequence: int, precision: Any, **more: Any) -> Recipe:
    return Recipe(micro_batch=batch, sequence=sequence, precision=precision, **more)


def _pictures(batch: int, precision: Any, pixels: int = 224, **more: Any) -> Recipe:
    return Recipe(micro_batch=batch, image=pixels, precision=precision, **more)


_T5 = {"model_type": "t5", "d_model": 768, "d_kv": 64, "d_ff": 3072, "num_layers": 12, "num_heads": 12}
_VIT = {
    "model_type": "vit", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
    "intermediate_size": 4096, "num_labels": 1000,
}  # fmt: skip
_ROBERTA = {"model_type": "roberta", "max_position_embeddings": 514}
_MIXTRAL = {"num_local_experts": 8, "num_experts_per_tok": 2}

CASES: dict[str, tuple[dict[str, object] | str, Recipe]] = {
    "hf_llama_bf16": (_llama(), _text(4, 2048, "bf16")),
    "hf_llama_amp_recompute": (_llama(), _text(4, 2048, "amp-bf16", checkpointing="full")),
    "hf_llama_eager_attention": (_llama(num_hidden_layers=8), _text(4, 1024, "bf16", attention="eager")),
    "hf_gpt2_medium_amp": ("gpt2-medium", _text(8, 1024, "amp-bf16")),
    "hf_gpt2_fp32": ("gpt2", _text(4, 768, "fp32")),
    "hf_mistral_bf16": (
        _decoder("mistral", 32768, 2560, 6912, 12, 20, 4, sliding_window=None),
        _text(3, 2048, "bf16", optimizer="adamw-fused"),
    ),
    "hf_qwen2_amp": ("qwen2-0.5b", _text(2, 2048, "amp-bf16")),
    "hf_qwen3_bf16_recompute": ("qwen3-0.6b", _text(4, 2048, "bf16", checkpointing="full")),
    "hf_gemma2_bf16": (
        _decoder("gemma2", 64000, 1152, 6912, 12, 8, 4, head_dim=128),
        _text(4, 1024, "bf16"),
    ),
    "hf_bert_base_amp": ("bert-base-uncased", _text(32, 512, "amp-bf16")),
    "hf_roberta_fp16_scaled": (_ROBERTA, _text(24, 384, "amp-fp16")),
    "hf_t5_base_bf16": (_T5, _text(16, 512, "bf16")),
    "hf_t5_small_amp_adafactor": ("t5-small", _text(32, 384, "amp-bf16", optimizer="adafactor")),
    "hf_mixtral_bf16": (_decoder("mixtral", 32000, 1024, 2816, 6, 16, 4, **_MIXTRAL), _text(4, 1024, "bf16")),
    "hf_mixtral_amp": (
        _decoder("mixtral", 32000, 1024, 2816, 4, 16, 4, **_MIXTRAL),
        _text(4, 1024, "amp-bf16"),
    ),
    "hf_olmoe_amp": (
        _decoder("olmoe", 50304, 1024, 1024, 6, 16, 16, num_experts=32, num_experts_per_tok=4),
        _text(4, 1024, "amp-bf16"),
    ),
    "hf_vit_large_bf16": (_VIT, _pictures(48, "bf16")),
    "vit_b_16_amp": ("vit_b_16", _pictures(64, "amp-bf16")),
    "vit_l_16_bf16": ("vit_l_16", _pictures(48, "bf16")),
    "vit_b_32_fp32": ("vit_b_32", _pictures(128, "fp32")),
    "resnet18_fp32": ("resnet18", _pictures(256, "fp32", optimizer="sgdm")),
    "resnet50_fp32": ("resnet50", _pictures(128, "fp32", optimizer="sgdm")),
    "resnet50_amp_channels_last": ("resnet50", _pictures(256, "amp-bf16", optimizer="sgdm")),
    "resnet101_amp_fp16": ("resnet101", _pictures(96, "amp-fp16", optimizer="sgdm")),
    "convnext_tiny_amp": ("convnext_tiny", _pictures(128, "amp-bf16")),
    "convnext_base_bf16_channels_last": ("convnext_base", _pictures(64, "bf16")),
    "efficientnet_b3_amp": ("efficientnet_b3", _pictures(64, "amp-bf16", 300, optimizer="sgdm")),
    "efficientnet_v2_s_fp32": ("efficientnet_v2_s", _pictures(48, "fp32", 256)),
    "mobilenet_v3_large_amp": ("mobilenet_v3_large", _pictures(256, "amp-bf16", optimizer="sgdm")),
    "regnet_y_8gf_amp": ("regnet_y_8gf", _pictures(64, "amp-bf16", optimizer="sgdm")),
    "densenet121_fp32": ("densenet121", _pictures(64, "fp32", optimizer="sgdm")),
    "swin_t_amp": ("swin_t", _pictures(64, "amp-bf16")),
    "vgg16_amp": ("vgg16", _pictures(64, "amp-bf16", optimizer="sgdm")),
}


def shape_of(description: dict[str, object] | str) -> ModelShape:
    """The shape of a case."""
    return find_shape(description) if isinstance(description, str) else shape_from_config(description)
