"""Hugging Face `config.json` files as shapes.

A field that a file leaves out has the default of `transformers` 5.17 for that `model_type`, because that is what
the library would build. Only fields that change memory or work are read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tonnage.errors import Problem
from tonnage.memory.shapes.shape import Head, ModelShape, ShapeError, checked

Config = Mapping[str, object]


def shape_from_config(config: Config, *, name: str = "", where: str | None = None) -> ModelShape:
    """The shape that `transformers` would build from a configuration; raise ShapeError where it cannot be read."""
    nested = config.get("text_config")
    kind = config.get("model_type")
    if isinstance(nested, Mapping) and kind not in MODEL_TYPES:
        return shape_from_config(nested, name=name, where=where)
    if not isinstance(kind, str):
        raise ShapeError(
            Problem(
                code="SHAPE-010",
                what="the configuration does not say its model_type",
                where=where,
                expected=f"one of {', '.join(MODEL_TYPES)}",
            )
        )
    reader = _READERS.get(kind)
    if reader is None:
        raise ShapeError(
            Problem(
                code="SHAPE-011",
                what="we have no formulas for this model_type",
                where=where,
                found=kind,
                expected=f"one of {', '.join(MODEL_TYPES)}",
                hint="trace the step itself (--step FILE.py:build), which needs no formulas",
            )
        )
    return checked(_with_head(reader(_Fields(config, where), name or kind), config, where), where)


_HEADS: dict[str, Head] = {"ForSequenceClassification": "sequence", "ForTokenClassification": "tokens"}
_OTHER_HEADS = (
    "ForQuestionAnswering",
    "ForMultipleChoice",
    "ForNextSentencePrediction",
    "ForMaskedImageModeling",
)


def _with_head(shape: ModelShape, config: Config, where: str | None) -> ModelShape:
    """The head that `architectures` names; where it names none, the one that trains the model from scratch."""
    named = config.get("architectures")
    name = str(named[0]) if isinstance(named, list) and named else ""
    head = next((head for ending, head in _HEADS.items() if name.endswith(ending)), None)
    if name.endswith(_OTHER_HEADS) or (head is not None and shape.family == "t5"):
        raise ShapeError(
            Problem(
                code="SHAPE-012",
                what="we have no formulas for this head",
                where=where,
                found=name,
                expected=f"a language model, ForImageClassification, {' or '.join(_HEADS)}",
                hint="trace the step itself (--step FILE.py:build), which needs no formulas",
            )
        )
    if head is None or shape.is_vision:
        return shape
    return replace(shape, head=head, classes=_classes(_Fields(config, where)))


def _classes(fields: _Fields) -> int:
    """How many labels: `num_labels`, else the names in `id2label`, else two."""
    labels = fields.config.get("id2label")
    return fields.positive("num_labels", len(labels) if isinstance(labels, Mapping) and labels else 2)


class _Fields:
    """Reads fields with their defaults and says what is wrong with them."""

    def __init__(self, config: Config, where: str | None) -> None:
        self.config = config
        self.where = where

    def whole(self, name: str, default: int) -> int:
        value = self.config.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self._wrong(name, value, "a whole number")
        return value

    def positive(self, name: str, default: int) -> int:
        value = self.whole(name, default)
        if value < 1:
            raise self._wrong(name, value, "at least 1")
        return value

    def rate(self, name: str, default: float) -> float:
        value = self.config.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
            raise self._wrong(name, value, "a rate from 0 to 1")
        return float(value)

    def share(self, name: str, default: float) -> float:
        """A part of something, up to all of it."""
        value = self.config.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
            raise self._wrong(name, value, "a share above 0, at most 1")
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        value = self.config.get(name)
        return default if value is None else bool(value)

    def text(self, name: str, default: str) -> str:
        value = self.config.get(name)
        return value if isinstance(value, str) else default

    def windowed_layers(self, default: int) -> int:
        """Every how many layers attention is full, from `layer_types` or `sliding_window_pattern`."""
        kinds = self.config.get("layer_types")
        if isinstance(kinds, list) and "full_attention" in kinds and "sliding_attention" in kinds:
            return kinds.index("full_attention") + 1
        return self.whole("sliding_window_pattern", default)

    def _wrong(self, name: str, found: object, expected: str) -> ShapeError:
        return ShapeError(
            Problem(
                code="SHAPE-013",
                what=f"{name} cannot be used",
                where=self.where,
                found=repr(found),
                expected=expected,
            )
        )


@dataclass(frozen=True, slots=True)
class _Defaults:
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


def _llama_like(fields: _Fields, name: str, kind: str, defaults: _Defaults, **options: object) -> ModelShape:
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


_UNBIASED: dict[str, object] = {"qkv_bias": False, "out_bias": False}


def _llama(fields: _Fields, name: str) -> ModelShape:
    return _llama_like(fields, name, "llama", _Defaults(), mlp_bias=fields.flag("mlp_bias", False))


def _mistral(fields: _Fields, name: str) -> ModelShape:
    unlimited = "sliding_window" in fields.config and fields.config["sliding_window"] is None
    window = 0 if unlimited else fields.whole("sliding_window", 4096)
    return _llama_like(
        fields, name, "mistral", _Defaults(inner=14336, kv_heads=8), window=window, **_UNBIASED
    )


def _qwen2(fields: _Fields, name: str) -> ModelShape:
    return _llama_like(
        fields, name, "qwen2", _Defaults(inner=22016, vocabulary=151936), qkv_bias=True, out_bias=False
    )


def _qwen3(fields: _Fields, name: str) -> ModelShape:
    return _llama_like(
        fields, name, "qwen3", _Defaults(inner=22016, vocabulary=151936, head_dim=128), qk_norm="head"
    )


_GEMMA = _Defaults(3072, 24576, 28, 16, None, 256000, True, 256, "gelu_pytorch_tanh")
_LATER_GEMMA = _Defaults(2304, 9216, 26, 8, 4, 256000, True, 256, "gelu_pytorch_tanh")


def _gemma(fields: _Fields, name: str) -> ModelShape:
    return _llama_like(fields, name, "gemma", _GEMMA, embedding_scale=True)


def _gemma2(fields: _Fields, name: str) -> ModelShape:
    return _llama_like(
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


def _gemma3(fields: _Fields, name: str) -> ModelShape:
    return _llama_like(
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


def _phi3(fields: _Fields, name: str) -> ModelShape:
    return _llama_like(
        fields,
        name,
        "phi3",
        _Defaults(width=3072, inner=8192, vocabulary=32064),
        fused_qkv=True,
        dropout=fields.rate("resid_pdrop", 0.0),
        window=fields.whole("sliding_window", 0),
        **_UNBIASED,
    )


def _mixtral(fields: _Fields, name: str) -> ModelShape:
    return _llama_like(
        fields,
        name,
        "mixtral",
        _Defaults(inner=14336, kv_heads=8),
        experts=fields.positive("num_local_experts", 8),
        experts_per_token=fields.positive("num_experts_per_tok", 2),
        window=fields.whole("sliding_window", 0),
        **_UNBIASED,
    )


def _olmoe(fields: _Fields, name: str) -> ModelShape:
    return _llama_like(
        fields,
        name,
        "olmoe",
        _Defaults(width=2048, inner=2048, layers=16, heads=16, vocabulary=50304),
        qk_norm="full",
        experts=fields.positive("num_experts", 64),
        experts_per_token=fields.positive("num_experts_per_tok", 8),
    )


def _qwen3_moe(fields: _Fields, name: str) -> ModelShape:
    return _llama_like(
        fields,
        name,
        "qwen3_moe",
        _Defaults(width=2048, inner=6144, layers=24, kv_heads=4, vocabulary=151936),
        qk_norm="head",
        experts=fields.positive("num_experts", fields.whole("num_local_experts", 128)),
        experts_per_token=fields.positive("num_experts_per_tok", 8),
        intermediate=fields.positive("moe_intermediate_size", 768),
    )


def _gpt2(fields: _Fields, name: str) -> ModelShape:
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


def _gpt_neox(fields: _Fields, name: str) -> ModelShape:
    hidden, heads = fields.positive("hidden_size", 6144), fields.positive("num_attention_heads", 64)
    width = hidden // heads if hidden % heads == 0 else 0
    rope = fields.config.get("rope_parameters")
    said = rope if isinstance(rope, Mapping) and "partial_rotary_factor" in rope else fields.config
    share = _Fields(said, fields.where).share("partial_rotary_factor" if said is rope else "rotary_pct", 0.25)
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


def _opt(fields: _Fields, name: str) -> ModelShape:
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


def _bert(fields: _Fields, name: str, kind: str = "bert", vocabulary: int = 30522) -> ModelShape:
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


def _roberta(fields: _Fields, name: str) -> ModelShape:
    return _bert(fields, name, "roberta", 50265)


def _distilbert(fields: _Fields, name: str) -> ModelShape:
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


def _t5(fields: _Fields, name: str) -> ModelShape:
    layers = fields.positive("num_layers", 6)
    projection = fields.text("feed_forward_proj", "relu")
    activation = projection.removeprefix("gated-")
    return ModelShape(
        name=name,
        family="t5",
        architecture="t5",
        layers=layers,
        decoder_layers=fields.positive("num_decoder_layers", layers),
        hidden=fields.positive("d_model", 512),
        heads=fields.positive("num_heads", 8),
        kv_heads=fields.positive("num_heads", 8),
        head_dim=fields.positive("d_kv", 64),
        intermediate=fields.positive("d_ff", 2048),
        vocabulary=fields.positive("vocab_size", 32128),
        tied=True,  # the library ties them always; a file that says otherwise only stops the scaling
        embedding_scale=fields.flag("tie_word_embeddings", True),
        gated=projection.startswith("gated-"),
        activation="gelu_new" if projection == "gated-gelu" else activation,
        dropout=fields.rate("dropout_rate", 0.1),
        attention_dropout=fields.rate("dropout_rate", 0.1),
        relative_buckets=fields.positive("relative_attention_num_buckets", 32),
    )


def _vit(fields: _Fields, name: str) -> ModelShape:
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
        classes=_classes(fields),
    )


_READERS: dict[str, Callable[[_Fields, str], ModelShape]] = {
    "gpt2": _gpt2,
    "gpt_neox": _gpt_neox,
    "opt": _opt,
    "llama": _llama,
    "mistral": _mistral,
    "qwen2": _qwen2,
    "qwen3": _qwen3,
    "gemma": _gemma,
    "gemma2": _gemma2,
    "gemma3_text": _gemma3,
    "phi3": _phi3,
    "mixtral": _mixtral,
    "olmoe": _olmoe,
    "qwen3_moe": _qwen3_moe,
    "bert": _bert,
    "roberta": _roberta,
    "distilbert": _distilbert,
    "t5": _t5,
    "vit": _vit,
}

MODEL_TYPES = tuple(_READERS)
"""Every `model_type` we have formulas for."""
