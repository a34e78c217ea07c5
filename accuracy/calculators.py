"""What popular calculators would have said: their formulas, restated from their sources, on our language models.

Two of them say that they leave activations out; people use them to decide "it fits" all the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Language:
    """What a calculator asks for."""

    vocabulary: int
    width: int
    layers: int
    heads: int
    kv_heads: int
    hidden: int
    samples: int
    length: int
    precision: str
    recompute: bool = False

    @property
    def parameters(self) -> int:
        head = self.width // self.heads
        attention = 2 * self.width**2 + 2 * self.width * head * self.kv_heads
        return self.layers * (attention + 3 * self.width * self.hidden) + 2 * self.vocabulary * self.width


_GPT = (50304, 768, 12, 12, 12, 3072)
_LLAMA = (32000, 2048, 22, 32, 4, 5632)
_QWEN = (151936, 896, 24, 14, 2, 4864)
_WIDE = (64000, 3072, 6, 24, 8, 8192)

MODELS: dict[str, Language] = {
    "gpt_small_fp32": Language(*_GPT, 8, 1024, "fp32"),
    "gpt_small_amp": Language(*_GPT, 16, 1024, "amp"),
    "gpt_small_amp_fp16": Language(*_GPT, 12, 1024, "amp"),
    "gpt_small_bf16_fused": Language(*_GPT, 16, 1024, "bf16"),
    "gpt_small_long": Language(*_GPT, 1, 16384, "amp"),
    "llama_1b_bf16": Language(*_LLAMA, 4, 2048, "bf16"),
    "llama_1b_bf16_recompute": Language(*_LLAMA, 8, 2048, "bf16", recompute=True),
    "llama_1b_amp": Language(*_LLAMA, 3, 2048, "amp"),
    "llama_1b_amp_recompute_accumulated": Language(*_LLAMA, 4, 2048, "amp", recompute=True),
    "llama_1b_zero_in_place": Language(*_LLAMA, 2, 2048, "bf16"),
    "qwen_half_b_recompute": Language(*_QWEN, 4, 4096, "bf16", recompute=True),
    "qwen_half_b_half_loss": Language(*_QWEN, 4, 4096, "bf16", recompute=True),
    "wide_shallow_bf16": Language(*_WIDE, 5, 1500, "bf16"),
    "wide_shallow_fp16_scaled": Language(*_WIDE, 2, 1024, "amp"),
    "hf_llama_bf16": Language(*_LLAMA, 4, 2048, "bf16"),
    "hf_llama_amp_recompute": Language(*_LLAMA, 4, 2048, "amp", recompute=True),
    "hf_mistral_bf16": Language(32768, 2560, 12, 20, 4, 6912, 3, 2048, "bf16"),
    "hf_qwen2_amp": Language(*_QWEN, 2, 2048, "amp"),
    "hf_qwen3_bf16_recompute": Language(151936, 1024, 28, 16, 8, 3072, 4, 2048, "bf16", recompute=True),
    "hf_gpt2_medium_amp": Language(50257, 1024, 24, 16, 16, 4096, 8, 1024, "amp"),
}


def accelerate(model: Language) -> float:
    """`accelerate estimate-memory`, "Training using Adam": the largest of four figures, not their sum."""
    return model.parameters * (16 if model.precision == "fp32" else 8)


def deepspeed(model: Language) -> float:
    """`estimate_zero2_model_states_mem_needs`, one GPU, nothing offloaded."""
    return 20 * model.parameters


def eleuther(model: Language) -> float:
    """`calc_transformer_mem.py` of EleutherAI's cookbook."""
    weight = 4 if model.precision == "fp32" else 2
    square = 0.0 if model.recompute else 5 * model.heads * model.length / model.width
    activations = model.samples * model.length * model.width * model.layers * (34 + square)
    return model.parameters * (weight + 4 + 12) + activations


def megatron(model: Language) -> float:
    """`theoretical_memory_usage.py` of Megatron-LM without sequence parallelism."""
    tokens = model.samples * model.length
    activations = tokens * model.width * 34 * model.layers + 9 * tokens * model.width
    activations += 2 * tokens * model.vocabulary
    return 18 * model.parameters + 1.05 * activations


CALCULATORS: dict[str, Callable[[Language], float]] = {
    "accelerate estimate-memory": accelerate,
    "DeepSpeed estimate_zero2": deepspeed,
    "EleutherAI calc_transformer_mem": eleuther,
    "Megatron theoretical_memory": megatron,
}


def memtracker() -> dict[str, int | None]:
    """Peaks that PyTorch's MemTracker gave (accuracy/memtracker.py); None where it gave up."""
    path = Path(__file__).parent / "baselines" / "memtracker.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    return {name: answer.get("peak") for name, answer in found.items()}
