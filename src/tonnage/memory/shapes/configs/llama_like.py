"""Decoders written the way Llama is: RMS norms, rotary positions, gated feed-forward parts.

They differ in a handful of switches and in the defaults a file may leave out, so each reader is one call.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from tonnage.errors import Problem
from tonnage.memory.shapes.configs.fields import Fields
from tonnage.memory.shapes.shape import ModelShape, ShapeError


class Defaults(msgspec.Struct, frozen=True):
    """What the library assumes where a decoder's file says nothing."""

    width: int = 4096
    inner: int = 11008
    layers: int = 32
    heads: int = 32
    kv_heads: int | None = None
    """Only where the file does not say `num_attention_heads` either; else as many as heads."""
    vocabulary: int = 32000
    tied: bool = False
    head_dim: int | None = None
    activation: str = "silu"


def llama_like(fields: Fields, name: str, kind: str, defaults: Defaults, **options: object) -> ModelShape:
    hidden = fields.positive("hidden_size", defaults.width)
    heads = fields.positive("num_attention_heads", defaults.heads)
    says_heads = "num_attention_heads" in fields.config
    kv_default = heads if defaults.kv_heads is None or says_heads else defaults.kv_heads
    if defaults.head_dim is None and fields.config.get("head_dim") is None and hidden % heads:
        raise ShapeError(
            Problem(
                code="SHAPE-004",
                what="heads do not divide the width",
                where=fields.where,
                found=f"{heads} heads, hidden_size {hidden}",
                hint="say head_dim, or a hidden_size that the heads divide",
            )
        )
    chosen: dict[str, object] = {
        "family": "mixtral" if options.get("experts") else "llama",
        "intermediate": fields.positive("intermediate_size", defaults.inner),
        "activation": fields.text("hidden_activation", fields.text("hidden_act", defaults.activation)),
        "qkv_bias": fields.flag("attention_bias", False),
        "out_bias": fields.flag("attention_bias", False),
        **options,
    }
    return ModelShape(
        name=name,
        architecture=kind,
        layers=fields.positive("num_hidden_layers", defaults.layers),
        hidden=hidden,
        heads=heads,
        kv_heads=fields.positive("num_key_value_heads", kv_default),
        head_dim=fields.positive("head_dim", defaults.head_dim or hidden // heads),
        vocabulary=fields.positive("vocab_size", defaults.vocabulary),
        tied=fields.flag("tie_word_embeddings", defaults.tied),
        attention_dropout=fields.rate("attention_dropout", 0.0),
        **chosen,  # type: ignore[arg-type]
    )


UNBIASED: dict[str, object] = {"qkv_bias": False, "out_bias": False}


def llama(fields: Fields, name: str) -> ModelShape:
    return llama_like(fields, name, "llama", Defaults(), mlp_bias=fields.flag("mlp_bias", False))


def mistral(fields: Fields, name: str) -> ModelShape:
    unlimited = "sliding_window" in fields.config and fields.config["sliding_window"] is None
    window = 0 if unlimited else fields.whole("sliding_window", 4096)
    return llama_like(fields, name, "mistral", Defaults(inner=14336, kv_heads=8), window=window, **UNBIASED)


def qwen2(fields: Fields, name: str) -> ModelShape:
    return llama_like(
        fields, name, "qwen2", Defaults(inner=22016, vocabulary=151936), qkv_bias=True, out_bias=False
    )


def qwen3(fields: Fields, name: str) -> ModelShape:
    return llama_like(
        fields, name, "qwen3", Defaults(inner=22016, vocabulary=151936, head_dim=128), qk_norm="head"
    )


_GEMMA = Defaults(3072, 24576, 28, 16, None, 256000, True, 256, "gelu_pytorch_tanh")
_LATER_GEMMA = Defaults(2304, 9216, 26, 8, 4, 256000, True, 256, "gelu_pytorch_tanh")


def gemma(fields: Fields, name: str) -> ModelShape:
    return llama_like(fields, name, "gemma", _GEMMA, embedding_scale=True)


def gemma2(fields: Fields, name: str) -> ModelShape:
    return llama_like(
        fields,
        name,
        "gemma2",
        _LATER_GEMMA,
        embedding_scale=True,
        post_norms=True,
        softcap="final_logit_softcapping" not in fields.config
        or bool(fields.config["final_logit_softcapping"]),
        window=fields.whole("sliding_window", 4096),
        window_every=fields.windowed_layers(2),
    )


def gemma3(fields: Fields, name: str) -> ModelShape:
    return llama_like(
        fields,
        name,
        "gemma3",
        replace(_LATER_GEMMA, vocabulary=262208),
        embedding_scale=True,
        post_norms=True,
        qk_norm="head",
        window=fields.whole("sliding_window", 4096),
        window_every=fields.windowed_layers(6),
    )


def phi3(fields: Fields, name: str) -> ModelShape:
    return llama_like(
        fields,
        name,
        "phi3",
        Defaults(width=3072, inner=8192, vocabulary=32064),
        fused_qkv=True,
        dropout=fields.rate("resid_pdrop", 0.0),
        window=fields.whole("sliding_window", 0),
        **UNBIASED,
    )
