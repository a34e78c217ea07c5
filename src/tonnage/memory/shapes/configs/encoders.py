"""Models that read the whole input at once: BERT and its kin, T5 (which then decodes), and ViT."""

from __future__ import annotations

import msgspec

from tonnage.memory.shapes.configs.fields import Fields, count_classes
from tonnage.memory.shapes.shape import ModelShape


def bert(fields: Fields, name: str, kind: str = "bert", vocabulary: int = 30522) -> ModelShape:
    hidden, heads = fields.positive("hidden_size", 768), fields.positive("num_attention_heads", 12)
    return ModelShape(
        name=name,
        family="bert",
        architecture=kind,
        layers=fields.positive("num_hidden_layers", 12),
        hidden=hidden,
        heads=heads,
        kv_heads=heads,
        head_dim=hidden // heads if hidden % heads == 0 else 0,
        intermediate=fields.positive("intermediate_size", 3072),
        vocabulary=fields.positive("vocab_size", vocabulary),
        positions=fields.positive("max_position_embeddings", 512),
        types=fields.whole("type_vocab_size", 2),
        tied=fields.flag("tie_word_embeddings", True),
        gated=False,
        activation=fields.text("hidden_act", "gelu"),
        dropout=fields.rate("hidden_dropout_prob", 0.1),
        attention_dropout=fields.rate("attention_probs_dropout_prob", 0.1),
    )


def roberta(fields: Fields, name: str) -> ModelShape:
    return bert(fields, name, "roberta", 50265)


def xlm_roberta(fields: Fields, name: str) -> ModelShape:
    """XLM-RoBERTa and CamemBERT: RoBERTa's code to the letter, with another default vocabulary."""
    return bert(fields, name, "roberta", 30522)


def distilbert(fields: Fields, name: str) -> ModelShape:
    hidden, heads = fields.positive("dim", 768), fields.positive("n_heads", 12)
    return ModelShape(
        name=name,
        family="bert",
        architecture="distilbert",
        layers=fields.positive("n_layers", 6),
        hidden=hidden,
        heads=heads,
        kv_heads=heads,
        head_dim=hidden // heads if hidden % heads == 0 else 0,
        intermediate=fields.positive("hidden_dim", 3072),
        vocabulary=fields.positive("vocab_size", 30522),
        positions=fields.positive("max_position_embeddings", 512),
        tied=fields.flag("tie_word_embeddings", True),
        gated=False,
        activation=fields.text("activation", "gelu"),
        dropout=fields.rate("dropout", 0.1),
        attention_dropout=fields.rate("attention_dropout", 0.1),
    )


class _EncoderDecoder(msgspec.Struct, frozen=True):
    """What the library assumes where a file says nothing: T5's own, unless said otherwise."""

    inner: int = 2048
    layers: int = 6
    heads: int = 8
    vocabulary: int = 32128
    projection: str = "relu"


def t5(fields: Fields, name: str) -> ModelShape:
    # The library ties the embeddings always; a file that says otherwise only stops the scaling of their output.
    return _encoder_decoder(fields, name, _EncoderDecoder(), scales=fields.flag("tie_word_embeddings", True))


def mt5(fields: Fields, name: str) -> ModelShape:
    """mT5: T5's code, gated by default, and its output is never scaled."""
    return _encoder_decoder(fields, name, _EncoderDecoder(1024, 8, 6, 250112, "gated-gelu"), scales=False)


def _encoder_decoder(fields: Fields, name: str, defaults: _EncoderDecoder, *, scales: bool) -> ModelShape:
    layers = fields.positive("num_layers", defaults.layers)
    heads = fields.positive("num_heads", defaults.heads)
    projection = fields.text("feed_forward_proj", defaults.projection)
    return ModelShape(
        name=name,
        family="t5",
        architecture="t5",
        layers=layers,
        decoder_layers=fields.positive("num_decoder_layers", layers),
        hidden=fields.positive("d_model", 512),
        heads=heads,
        kv_heads=heads,
        head_dim=fields.positive("d_kv", 64),
        intermediate=fields.positive("d_ff", defaults.inner),
        vocabulary=fields.positive("vocab_size", defaults.vocabulary),
        tied=True,
        embedding_scale=scales,
        gated=projection.startswith("gated-"),
        activation="gelu_new" if projection == "gated-gelu" else projection.removeprefix("gated-"),
        dropout=fields.rate("dropout_rate", 0.1),
        attention_dropout=fields.rate("dropout_rate", 0.1),
        relative_buckets=fields.positive("relative_attention_num_buckets", 32),
    )


def vit(fields: Fields, name: str) -> ModelShape:
    hidden, heads = fields.positive("hidden_size", 768), fields.positive("num_attention_heads", 12)
    return ModelShape(
        name=name,
        family="vit",
        architecture="vit",
        layers=fields.positive("num_hidden_layers", 12),
        hidden=hidden,
        heads=heads,
        kv_heads=heads,
        head_dim=hidden // heads if hidden % heads == 0 else 0,
        intermediate=fields.positive("intermediate_size", 3072),
        gated=False,
        activation=fields.text("hidden_act", "gelu"),
        qkv_bias=fields.flag("qkv_bias", True),
        dropout=fields.rate("hidden_dropout_prob", 0.0),
        attention_dropout=fields.rate("attention_probs_dropout_prob", 0.0),
        image=fields.positive("image_size", 224),
        patch=fields.positive("patch_size", 16),
        channels=fields.positive("num_channels", 3),
        classes=count_classes(fields),
    )
