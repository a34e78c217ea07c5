"""Steps that no rule was ever tuned on: predicted first, measured afterwards.

Other architectures, sizes, optimizers and habits than the rest of the set, so that a rule that only fits what it
was read off is found out.
"""

from __future__ import annotations

import torch
import transformers
from architectures import EXPERTS, Dimensions, with_changes
from huggingface import language
from language import language_model
from training import Step
from vision import classifier

SMALL = Dimensions(40000, 1280, 16, 20, 5, 3456)


def new_decoder_bf16_adam() -> Step:
    return language_model(SMALL, 7, 1400, "bf16", optimizer="adam")


def new_decoder_amp_selective() -> Step:
    return language_model(SMALL, 5, 1792, "amp-bf16", recompute="selective", accumulation=2)


def new_decoder_fp32_sgdm() -> Step:
    return language_model(SMALL, 3, 900, "fp32", optimizer="sgdm", clip=None)


def new_decoder_fp16_fused() -> Step:
    return language_model(with_changes(SMALL, float_loss=False), 6, 1024, "amp-fp16", optimizer="adamw-fused")


def new_decoder_lora_recompute() -> Step:
    return language_model(SMALL, 10, 1536, "bf16", rank=32, recompute="full")


def new_experts_top1_amp() -> Step:
    return language_model(with_changes(EXPERTS, experts=16, top_k=1, layers=6), 5, 896, "amp-bf16")


def new_decoder_compiled() -> Step:
    return language_model(with_changes(SMALL, layers=8), 6, 1024, "amp-bf16", compiled=True)


def new_phi_bf16() -> Step:
    config = transformers.PhiConfig(
        vocab_size=51200, hidden_size=1536, intermediate_size=6144, num_hidden_layers=14, num_attention_heads=24,
        use_cache=False,
    )  # fmt: skip
    return language(config, transformers.PhiForCausalLM, 4, 1280, "bf16")


def new_pythia_amp() -> Step:
    config = transformers.GPTNeoXConfig(
        vocab_size=50304, hidden_size=1024, intermediate_size=4096, num_hidden_layers=16, num_attention_heads=16,
        use_cache=False,
    )  # fmt: skip
    return language(config, transformers.GPTNeoXForCausalLM, 6, 1024, "amp-bf16")


def new_opt_fp32() -> Step:
    config = transformers.OPTConfig(
        hidden_size=768, ffn_dim=3072, num_hidden_layers=12, num_attention_heads=12, use_cache=False
    )
    return language(config, transformers.OPTForCausalLM, 6, 640, "fp32")


def new_bart_amp() -> Step:
    config = transformers.BartConfig(use_cache=False)
    return language(config, transformers.BartForConditionalGeneration, 12, 320, "amp-bf16")


def new_electra_bf16() -> Step:
    config = transformers.ElectraConfig(
        embedding_size=768, hidden_size=768, num_attention_heads=12, intermediate_size=3072
    )
    return language(config, transformers.ElectraForMaskedLM, 40, 256, "bf16", optimizer="adamw-fused")


def new_qwen2_moe_bf16() -> Step:
    config = transformers.Qwen2MoeConfig(
        vocab_size=64000, hidden_size=896, intermediate_size=2048, num_hidden_layers=6, num_attention_heads=14,
        num_key_value_heads=2, num_experts=16, num_experts_per_tok=4, moe_intermediate_size=768,
        shared_expert_intermediate_size=2048, use_cache=False,
    )  # fmt: skip
    return language(config, transformers.Qwen2MoeForCausalLM, 5, 1024, "bf16")


def new_llama_adafactor_recompute() -> Step:
    config = transformers.LlamaConfig(
        vocab_size=48000, hidden_size=1792, intermediate_size=4864, num_hidden_layers=16, num_attention_heads=14,
        num_key_value_heads=14, use_cache=False,
    )  # fmt: skip
    return language(
        config,
        transformers.LlamaForCausalLM,
        6,
        1536,
        "bf16",
        recompute=True,
        optimizer="adafactor",
        accumulation=2,
    )


def new_gpt2_compiled() -> Step:
    config = transformers.GPT2Config(n_layer=8, use_cache=False)
    return language(config, transformers.GPT2LMHeadModel, 8, 1024, "bf16", compiled=True)


def new_resnet34_amp() -> Step:
    return classifier("resnet34", 192, "amp-bf16", optimizer="sgdm", clip=None)


def new_wide_resnet50_fp32() -> Step:
    return classifier("wide_resnet50_2", 64, "fp32", optimizer="sgdm", clip=None)


def new_efficientnet_b0_amp_channels_last() -> Step:
    return classifier("efficientnet_b0", 160, "amp-bf16", channels_last=True, optimizer="rmsprop", clip=None)


def new_convnext_small_fp16() -> Step:
    return classifier("convnext_small", 48, "amp-fp16")


def new_swin_b_bf16() -> Step:
    return classifier("swin_b", 40, "bf16")


def new_vit_b_16_large_images() -> Step:
    torch.manual_seed(0)
    return classifier("vit_b_16", 96, "bf16", optimizer="sgdm")


def new_mobilenet_v2_fp32() -> Step:
    return classifier("mobilenet_v2", 96, "fp32", pixels=192)
