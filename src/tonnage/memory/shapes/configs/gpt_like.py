"""Decoders with layer norms and plain feed-forward parts: GPT-2, GPT-NeoX and OPT."""

from __future__ import annotations

from collections.abc import Mapping

from tonnage.memory.shapes.configs.fields import Fields
from tonnage.memory.shapes.shape import ModelShape


def gpt2(fields: Fields, name: str) -> ModelShape:
    hidden, heads = fields.positive("n_embd", 768), fields.positive("n_head", 12)
    return ModelShape(
        name=name,
        family="gpt2",
        architecture="gpt2",
        layers=fields.positive("n_layer", 12),
        hidden=hidden,
        heads=heads,
        kv_heads=heads,
        head_dim=hidden // heads if hidden % heads == 0 else 0,
        intermediate=fields.whole("n_inner", 0) or 4 * hidden,
        vocabulary=fields.positive("vocab_size", 50257),
        positions=fields.positive("n_positions", 1024),
        tied=fields.flag("tie_word_embeddings", True),
        activation=fields.text("activation_function", "gelu_new"),
        dropout=fields.rate("resid_pdrop", 0.1),
        attention_dropout=fields.rate("attn_pdrop", 0.1),
    )


def gpt_neox(fields: Fields, name: str) -> ModelShape:
    hidden, heads = fields.positive("hidden_size", 6144), fields.positive("num_attention_heads", 64)
    width = hidden // heads if hidden % heads == 0 else 0
    rope = fields.config.get("rope_parameters")
    said = rope if isinstance(rope, Mapping) and "partial_rotary_factor" in rope else fields.config
    share = Fields(said, fields.where).share("partial_rotary_factor" if said is rope else "rotary_pct", 0.25)
    biased = fields.flag("attention_bias", True)
    return ModelShape(
        name=name,
        family="gpt_neox",
        architecture="gpt_neox",
        layers=fields.positive("num_hidden_layers", 44),
        hidden=hidden,
        heads=heads,
        kv_heads=heads,
        head_dim=width,
        intermediate=fields.positive("intermediate_size", 24576),
        vocabulary=fields.positive("vocab_size", 50432),
        tied=fields.flag("tie_word_embeddings", False),
        gated=False,
        qkv_bias=biased,
        out_bias=biased,
        parallel_blocks=fields.flag("use_parallel_residual", True),
        rotary=int(width * share),
        activation=fields.text("hidden_act", "gelu"),
        dropout=fields.rate("hidden_dropout", 0.0),
        attention_dropout=fields.rate("attention_dropout", 0.0),
    )


def opt(fields: Fields, name: str) -> ModelShape:
    hidden, heads = fields.positive("hidden_size", 768), fields.positive("num_attention_heads", 12)
    biased = fields.flag("enable_bias", True)
    return ModelShape(
        name=name,
        family="opt",
        architecture="opt",
        layers=fields.positive("num_hidden_layers", 12),
        hidden=hidden,
        heads=heads,
        kv_heads=heads,
        head_dim=hidden // heads if hidden % heads == 0 else 0,
        intermediate=fields.positive("ffn_dim", 3072),
        vocabulary=fields.positive("vocab_size", 50272),
        positions=fields.positive("max_position_embeddings", 2048),
        embedding_width=fields.positive("word_embed_proj_dim", hidden),
        tied=fields.flag("tie_word_embeddings", True),
        gated=False,
        qkv_bias=biased,
        out_bias=biased,
        mlp_bias=biased,
        post_norms=not fields.flag("do_layer_norm_before", True),
        activation=fields.text("activation_function", "relu"),
        dropout=fields.rate("dropout", 0.1),
        attention_dropout=fields.rate("attention_dropout", 0.0),
    )
