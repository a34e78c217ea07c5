"""From a configuration to a shape: the reader of its `model_type`, then the head that `architectures` names."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from tonnage.errors import Problem
from tonnage.memory.shapes.configs import encoders, gpt_like, llama_like, mixtures
from tonnage.memory.shapes.configs.fields import Config, Fields, count_classes
from tonnage.memory.shapes.shape import Head, ModelShape, ShapeError, checked


def shape_from_config(config: Config, *, name: str = "", where: str | None = None) -> ModelShape:
    """The shape that `transformers` would build from a configuration; raise ShapeError where it cannot be read."""
    nested = config.get("text_config")
    kind = config.get("model_type")
    if isinstance(nested, Mapping) and kind not in MODEL_TYPES:
        _refuse_other_parts(config, where)
        return shape_from_config(nested, name=name, where=where)
    if not isinstance(kind, str):
        raise ShapeError(
            Problem(
                code="SHAPE-010",
                what="the configuration does not say its model_type",
                where=where,
                expected=f"one of {', '.join(MODEL_TYPES)}",
                hint="give the config.json that lies beside a model's weights, or --shape NAME",
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
                hint=f"{_TORCHVISION}; else {_TRACE}" if kind in _CONVNETS else _TRACE,
            )
        )
    _refuse_quantized(config, where)
    return checked(_with_head(reader(Fields(config, where), name or kind), config, where), where)


_TRACE = "trace the step itself (--step FILE.py:build), which needs no formulas"
_TORCHVISION = "torchvision's own networks go by name, like --shape resnet50"
_CONVNETS = frozenset(
    "convnext convnextv2 efficientnet mobilenet_v1 mobilenet_v2 regnet resnet swin swinv2 timm_wrapper".split()
)

_TOWERS = ("vision_config", "audio_config", "speech_config", "vq_config", "encoder_config")
"""Parts beside the text that train too: an estimate of the text alone would fall short."""


def _refuse_other_parts(config: Config, where: str | None) -> None:
    others = [part for part in _TOWERS if config.get(part)]
    if not others:
        return
    raise ShapeError(
        Problem(
            code="SHAPE-014",
            what=f"beside its text, this model has a part that we have no formulas for ({', '.join(others)})",
            where=where,
            found=str(config.get("model_type")),
            hint=f"{_TRACE}; to train its language part alone, give that part (text_config) as a file of its own",
        )
    )


def _refuse_quantized(config: Config, where: str | None) -> None:
    if not config.get("quantization_config"):
        return
    raise ShapeError(
        Problem(
            code="SHAPE-015",
            what="its weights are quantized, and we have no formulas for that",
            where=where,
            found="quantization_config",
            hint=f"{_TRACE}; without quantization_config in the file, the model is estimated as it was before",
        )
    )


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
                hint=_TRACE,
            )
        )
    if head is None or shape.is_vision:
        return shape
    return replace(shape, head=head, classes=count_classes(Fields(config, where)))


_READERS: dict[str, Callable[[Fields, str], ModelShape]] = {
    "gpt2": gpt_like.gpt2,
    "gpt_neox": gpt_like.gpt_neox,
    "opt": gpt_like.opt,
    "llama": llama_like.llama,
    "mistral": llama_like.mistral,
    "qwen2": llama_like.qwen2,
    "qwen3": llama_like.qwen3,
    "gemma": llama_like.gemma,
    "gemma2": llama_like.gemma2,
    "gemma3_text": llama_like.gemma3,
    "phi3": llama_like.phi3,
    "mixtral": mixtures.mixtral,
    "olmoe": mixtures.olmoe,
    "qwen3_moe": mixtures.qwen3_moe,
    "bert": encoders.bert,
    "roberta": encoders.roberta,
    "xlm-roberta": encoders.xlm_roberta,
    "camembert": encoders.xlm_roberta,
    "distilbert": encoders.distilbert,
    "t5": encoders.t5,
    "mt5": encoders.mt5,
    "vit": encoders.vit,
}

MODEL_TYPES = tuple(_READERS)
"""Every `model_type` we have formulas for."""
