"""Steps of plain-torch language models."""

from __future__ import annotations

import torch
from architectures import (
    EXPERTS,
    GPT_SMALL,
    LLAMA_1B,
    QWEN_HALF_B,
    WIDE_SHALLOW,
    Decoder,
    Dimensions,
    adapt,
    with_changes,
)
from training import Step, parameter_dtype, tokens, train


def language_model(
    size: Dimensions, samples: int, length: int, precision: str, *, recompute: str = "none", rank: int = 0,
    looped: bool = False, compiled: bool = False, **loop: object,
) -> Step:  # fmt: skip
    """A step of a plain decoder."""
    with torch.device("cuda"):
        model: torch.nn.Module = Decoder(size, length, recompute=recompute, looped=looped)
    model = model.to(parameter_dtype(precision))
    if rank:
        model = adapt(model, rank, ("query", "key", "value", "out"))
    called = torch.compile(model) if compiled else model
    return train(model, tokens(size.vocabulary, samples, length), called, precision=precision, **loop)


def gpt_small_fp32(micro_batch: int = 8, sequence: int = 1024) -> Step:
    return language_model(GPT_SMALL, micro_batch, sequence, "fp32")


def gpt_small_amp(micro_batch: int = 16, precision: str = "amp-bf16", accumulation: int = 1) -> Step:
    return language_model(GPT_SMALL, micro_batch, 1024, precision, accumulation=accumulation)


def gpt_small_amp_fp16(micro_batch: int = 12) -> Step:
    return language_model(GPT_SMALL, micro_batch, 1024, "amp-fp16")


def gpt_small_bf16_fused() -> Step:
    return language_model(GPT_SMALL, 16, 1024, "bf16", optimizer="adamw-fused")


def gpt_small_fp32_forloop() -> Step:
    return language_model(GPT_SMALL, 4, 512, "fp32", optimizer="adamw-forloop", clip=None)


def gpt_small_math_attention() -> Step:
    return language_model(with_changes(GPT_SMALL, math_attention=True), 8, 1024, "bf16")


def gpt_small_dropout() -> Step:
    return language_model(with_changes(GPT_SMALL, dropout=0.1), 8, 1024, "amp-bf16")


def gpt_small_keeps_loss() -> Step:
    return language_model(GPT_SMALL, 6, 1000, "bf16", keep_loss=True, log=True, optimizer="sgd")


def gpt_small_long() -> Step:
    return language_model(GPT_SMALL, 1, 16384, "amp-bf16", recompute="selective")


def llama_1b_bf16(micro_batch: int = 4, checkpointing: str = "none") -> Step:
    return language_model(LLAMA_1B, micro_batch, 2048, "bf16", recompute=checkpointing)


def llama_1b_bf16_recompute() -> Step:
    return language_model(LLAMA_1B, 8, 2048, "bf16", recompute="full")


def llama_1b_bf16_reentrant() -> Step:
    return language_model(LLAMA_1B, 6, 2048, "bf16", recompute="reentrant", optimizer="adamw-fused")


def llama_1b_amp() -> Step:
    return language_model(LLAMA_1B, 3, 2048, "amp-bf16")


def llama_1b_amp_recompute_accumulated() -> Step:
    return language_model(LLAMA_1B, 4, 2048, "amp-bf16", recompute="full", accumulation=3)


def llama_1b_sgdm() -> Step:
    return language_model(LLAMA_1B, 4, 2048, "bf16", optimizer="sgdm")


def llama_1b_adafactor() -> Step:
    return language_model(LLAMA_1B, 4, 2048, "bf16", optimizer="adafactor")


def llama_1b_rmsprop() -> Step:
    return language_model(LLAMA_1B, 2, 1536, "bf16", optimizer="rmsprop")


def llama_1b_lora() -> Step:
    return language_model(LLAMA_1B, 8, 2048, "bf16", rank=16)


def llama_1b_lora_amp() -> Step:
    return language_model(LLAMA_1B, 4, 1024, "amp-bf16", rank=8, recompute="full")


def llama_1b_zero_in_place() -> Step:
    return language_model(LLAMA_1B, 2, 2048, "bf16", set_to_none=False)


def qwen_half_b_recompute() -> Step:
    return language_model(QWEN_HALF_B, 4, 4096, "bf16", recompute="full")


def qwen_half_b_half_loss() -> Step:
    return language_model(with_changes(QWEN_HALF_B, float_loss=False), 4, 4096, "bf16", recompute="full")


def wide_shallow_bf16() -> Step:
    return language_model(WIDE_SHALLOW, 5, 1500, "bf16", optimizer="adam")


def wide_shallow_fp16_scaled() -> Step:
    return language_model(WIDE_SHALLOW, 2, 1024, "amp-fp16", accumulation=2)


def experts_bf16() -> Step:
    return language_model(EXPERTS, 8, 1024, "bf16")


def experts_amp() -> Step:
    return language_model(EXPERTS, 6, 1024, "amp-bf16")


def experts_looped_amp() -> Step:
    return language_model(EXPERTS, 4, 1024, "amp-bf16", looped=True)


def gpt_small_compiled() -> Step:
    return language_model(GPT_SMALL, 16, 1024, "amp-bf16", compiled=True)


def llama_1b_compiled() -> Step:
    return language_model(LLAMA_1B, 4, 2048, "bf16", compiled=True)


def llama_1b_compiled_recompute() -> Step:
    return language_model(LLAMA_1B, 6, 2048, "bf16", compiled=True, recompute="full")
