"""The measured set as shape mode is asked about it: a config.json or torchvision's name, and a recipe.

Only configurations that a shape can describe are here: Hugging Face's and torchvision's own models without changes.
Files of `fresh_` and `new_` steps hold what differs from the library's defaults, those of `hf_` steps all of it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tonnage.memory.recipe import Recipe
from tonnage.memory.shapes import ModelShape, find_shape, shape_from_config

CONFIGS = Path(__file__).parent / "configs"

LANGUAGE: dict[str, Recipe] = {
    "hf_llama_bf16": Recipe(4, 2048, precision="bf16"),
    "hf_llama_amp_recompute": Recipe(4, 2048, checkpointing="full"),
    "hf_llama_eager_attention": Recipe(4, 1024, precision="bf16", attention="eager"),
    "hf_gpt2_medium_amp": Recipe(8, 1024),
    "hf_gpt2_fp32": Recipe(4, 768, precision="fp32"),
    "hf_mistral_bf16": Recipe(3, 2048, precision="bf16", optimizer="adamw-fused"),
    "hf_qwen2_amp": Recipe(2, 2048),
    "hf_qwen3_bf16_recompute": Recipe(4, 2048, precision="bf16", checkpointing="full"),
    "hf_gemma2_bf16": Recipe(4, 1024, precision="bf16"),
    "hf_bert_base_amp": Recipe(32, 512),
    "hf_roberta_fp16_scaled": Recipe(24, 384, precision="amp-fp16"),
    "hf_distilbert_classifier": Recipe(48, 256, precision="fp32"),
    "hf_t5_base_bf16": Recipe(16, 512, precision="bf16"),
    "hf_t5_small_amp_adafactor": Recipe(32, 384, optimizer="adafactor"),
    "hf_mixtral_bf16": Recipe(4, 1024, precision="bf16"),
    "hf_mixtral_amp": Recipe(4, 1024),
    "hf_olmoe_amp": Recipe(4, 1024),
    "hf_vit_large_bf16": Recipe(48, image=224, precision="bf16"),
    "fresh_qwen3_logged": Recipe(4, 1152, precision="bf16", checkpointing="full", accumulation=3),
    "fresh_gemma3_amp": Recipe(3, 1536),
    "fresh_mistral_window_padded": Recipe(6, 1536, precision="bf16"),
    "fresh_qwen3_moe_amp": Recipe(4, 1152, checkpointing="full", accumulation=2),
    "fresh_bert_masks_sgd": Recipe(28, 320, optimizer="sgdm"),
    "new_pythia_amp": Recipe(6, 1024),
    "new_opt_fp32": Recipe(6, 640, precision="fp32"),
}

VISION: dict[str, tuple[str, Recipe]] = {
    "vit_b_16_amp": ("vit_b_16", Recipe(64, image=224)),
    "vit_l_16_bf16": ("vit_l_16", Recipe(48, image=224, precision="bf16")),
    "vit_b_32_fp32": ("vit_b_32", Recipe(128, image=224, precision="fp32")),
    "resnet18_fp32": ("resnet18", Recipe(256, image=224, precision="fp32", optimizer="sgdm")),
    "resnet50_fp32": ("resnet50", Recipe(128, image=224, precision="fp32", optimizer="sgdm")),
    "resnet50_amp_channels_last": ("resnet50", Recipe(256, image=224, optimizer="sgdm")),
    "resnet101_amp_fp16": ("resnet101", Recipe(96, image=224, precision="amp-fp16", optimizer="sgdm")),
    "convnext_tiny_amp": ("convnext_tiny", Recipe(128, image=224)),
    "convnext_base_bf16_channels_last": ("convnext_base", Recipe(64, image=224, precision="bf16")),
    "efficientnet_v2_s_fp32": ("efficientnet_v2_s", Recipe(48, image=256, precision="fp32")),
    "mobilenet_v3_large_amp": ("mobilenet_v3_large", Recipe(256, image=224, optimizer="sgdm")),
    "regnet_y_8gf_amp": ("regnet_y_8gf", Recipe(64, image=224, optimizer="sgdm")),
    "densenet121_fp32": ("densenet121", Recipe(64, image=224, precision="fp32", optimizer="sgdm")),
    "swin_t_amp": ("swin_t", Recipe(64, image=224)),
    "vgg16_amp": ("vgg16", Recipe(64, image=224, optimizer="sgdm")),
    "fresh_googlenet_fp32": ("googlenet", Recipe(96, image=224, precision="fp32", optimizer="sgdm")),
    "fresh_resnext50_bf16": ("resnext50_32x4d", Recipe(96, image=224, precision="bf16", optimizer="sgdm")),
    "fresh_shufflenet_zeroed": ("shufflenet_v2_x2_0", Recipe(192, image=224, precision="amp-fp16")),
    "fresh_maxvit_amp": ("maxvit_t", Recipe(24, image=224)),
    "new_resnet34_amp": ("resnet34", Recipe(192, image=224, optimizer="sgdm")),
    "new_wide_resnet50_fp32": ("wide_resnet50_2", Recipe(64, image=224, precision="fp32", optimizer="sgdm")),
}


def described(name: str) -> tuple[ModelShape, Recipe] | None:
    """Shape and recipe of a configuration, where a shape can describe it."""
    if name in LANGUAGE:
        config: dict[str, Any] = json.loads((CONFIGS / f"{name}.json").read_text())
        return shape_from_config(config), LANGUAGE[name]
    if name in VISION:
        preset, recipe = VISION[name]
        return find_shape(preset), recipe
    return None
