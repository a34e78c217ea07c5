"""Mixtures of experts: decoders like Llama whose feed-forward part is a choice among many."""

from __future__ import annotations

from tonnage.errors import Problem
from tonnage.memory.shapes.configs.fields import Fields
from tonnage.memory.shapes.configs.llama_like import UNBIASED, Defaults, llama_like
from tonnage.memory.shapes.shape import ModelShape, ShapeError


def mixtral(fields: Fields, name: str) -> ModelShape:
    return llama_like(
        fields,
        name,
        "mixtral",
        Defaults(inner=14336, kv_heads=8),
        experts=fields.positive("num_local_experts", 8),
        experts_per_token=fields.positive("num_experts_per_tok", 2),
        window=fields.whole("sliding_window", 0),
        **UNBIASED,
    )


def olmoe(fields: Fields, name: str) -> ModelShape:
    return llama_like(
        fields,
        name,
        "olmoe",
        Defaults(width=2048, inner=2048, layers=16, heads=16, vocabulary=50304),
        qk_norm="full",
        experts=fields.positive("num_experts", 64),
        experts_per_token=fields.positive("num_experts_per_tok", 8),
    )


def qwen3_moe(fields: Fields, name: str) -> ModelShape:
    if fields.config.get("mlp_only_layers") or fields.positive("decoder_sparse_step", 1) != 1:
        raise ShapeError(
            Problem(
                code="SHAPE-016",
                what="some of its layers have no experts, and we have formulas only for all alike",
                where=fields.where,
                found="mlp_only_layers or decoder_sparse_step",
                hint="trace the step itself (--step FILE.py:build), which needs no formulas",
            )
        )
    return llama_like(
        fields,
        name,
        "qwen3_moe",
        Defaults(width=2048, inner=6144, layers=24, kv_heads=4, vocabulary=151936),
        qk_norm="head",
        experts=fields.positive("num_experts", fields.whole("num_local_experts", 128)),
        experts_per_token=fields.positive("num_experts_per_tok", 8),
        intermediate=fields.positive("moe_intermediate_size", 768),
    )
