"""Hugging Face models in sizes and with habits of their own: masks, adapters, frozen towers, both recomputations.

Built from configurations, as a script that trains from scratch does; sizes of batches and sequences are not round.
"""

from __future__ import annotations

from typing import Any

import torch
import transformers
from huggingface import built, language
from later_language import with_adapters
from torch.nn import functional as F
from training import Batch, Step, train


def masked_text(vocabulary: int, samples: int, length: int) -> Any:
    """Ids, a mask that hides the end of every other sample, and labels that ignore it."""

    def batch() -> Batch:
        ids = torch.randint(0, vocabulary, (samples, length), device="cuda")
        mask = torch.ones(samples, length, dtype=torch.long, device="cuda")
        mask[::2, length - length // 5 :] = 0
        return ids, mask, ids.masked_fill(mask == 0, -100)

    return batch


def later_hf_gpt2_large_reentrant() -> Step:
    config = transformers.GPT2Config(n_embd=1280, n_layer=36, n_head=20, use_cache=False)
    model = built(config, transformers.GPT2LMHeadModel, "amp-bf16")
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})

    def batch() -> Batch:
        return (torch.randint(0, 50257, (5, 900), device="cuda"),)

    return train(
        model, batch, lambda ids: model(input_ids=ids, labels=ids).loss, precision="amp-bf16", accumulation=2
    )


def later_hf_llama_1b_tied() -> Step:
    config = transformers.LlamaConfig(
        vocab_size=128256, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32,
        num_key_value_heads=8, tie_word_embeddings=True, rope_theta=500000.0, use_cache=False,
    )  # fmt: skip
    return language(config, transformers.LlamaForCausalLM, 2, 1700, "bf16", optimizer="adamw-fused")


def later_hf_qwen_adapters() -> Step:
    config = transformers.Qwen2Config(
        vocab_size=151936, hidden_size=1536, intermediate_size=8960, num_hidden_layers=28, num_attention_heads=12,
        num_key_value_heads=2, tie_word_embeddings=True, use_cache=False,
    )  # fmt: skip
    model = built(config, transformers.Qwen2ForCausalLM, "bf16", recompute=True)
    names = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    model = with_adapters(model, 32, names)
    model.enable_input_require_grads()
    batch = masked_text(151936, 3, 1100)

    def loss_of(ids: Any, mask: Any, labels: Any) -> torch.Tensor:
        return model(input_ids=ids, attention_mask=mask, labels=labels).loss

    return train(model, batch, loss_of, precision="bf16", optimizer="adamw")


def later_hf_mistral_adafactor() -> Step:
    config = transformers.MistralConfig(
        vocab_size=32000, hidden_size=3072, intermediate_size=8192, num_hidden_layers=20, num_attention_heads=24,
        num_key_value_heads=8, use_cache=False,
    )  # fmt: skip
    return language(
        config, transformers.MistralForCausalLM, 2, 1000, "bf16", optimizer="adafactor", recompute=True
    )


def later_hf_mixtral_fp16() -> Step:
    config = transformers.MixtralConfig(
        vocab_size=32000, hidden_size=768, intermediate_size=2048, num_hidden_layers=6, num_attention_heads=12,
        num_key_value_heads=4, num_local_experts=8, num_experts_per_tok=2, output_router_logits=True, use_cache=False,
    )  # fmt: skip
    return language(config, transformers.MixtralForCausalLM, 5, 700, "amp-fp16")


def later_hf_bert_large_classifier() -> Step:
    config = transformers.BertConfig(
        hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096, num_labels=5
    )
    model = built(config, transformers.BertForSequenceClassification, "fp32")

    def batch() -> Batch:
        ids = torch.randint(0, 30000, (18, 190), device="cuda")
        mask = torch.ones_like(ids)
        mask[::2, 150:] = 0
        return ids, mask, torch.randint(0, 5, (18,), device="cuda")

    def loss_of(ids: Any, mask: Any, labels: Any) -> torch.Tensor:
        return model(input_ids=ids, attention_mask=mask, labels=labels).loss

    return train(model, batch, loss_of, precision="fp32", optimizer="adamw")


def later_hf_t5_masked_accumulated() -> Step:
    config = transformers.T5Config(
        d_model=768, d_kv=64, d_ff=2048, num_layers=12, num_heads=12, feed_forward_proj="gated-gelu",
        decoder_start_token_id=0, pad_token_id=0, use_cache=False,
    )  # fmt: skip
    model = built(config, transformers.T5ForConditionalGeneration, "amp-bf16")

    def batch() -> Batch:
        ids = torch.randint(1, 32000, (9, 400), device="cuda")
        mask = torch.ones_like(ids)
        mask[1::2, 320:] = 0
        return ids, mask, torch.randint(1, 32000, (9, 90), device="cuda")

    def loss_of(ids: Any, mask: Any, labels: Any) -> torch.Tensor:
        return model(input_ids=ids, attention_mask=mask, labels=labels).loss

    return train(model, batch, loss_of, precision="amp-bf16", accumulation=2)


def later_hf_vit_large_images_fp16() -> Step:
    config = transformers.ViTConfig(image_size=384, num_labels=1000)
    model = built(config, transformers.ViTForImageClassification, "amp-fp16")

    def batch() -> Batch:
        return torch.randn(26, 3, 384, 384, device="cuda"), torch.randint(0, 1000, (26,), device="cuda")

    def loss_of(pixels: Any, labels: Any) -> torch.Tensor:
        return F.cross_entropy(model(pixel_values=pixels).logits, labels, label_smoothing=0.1)

    return train(model, batch, loss_of, precision="amp-fp16", optimizer="adamw-fused")


def later_hf_whisper_base_fp32() -> Step:
    config = transformers.WhisperConfig(
        d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8, decoder_attention_heads=8,
        encoder_ffn_dim=2048, decoder_ffn_dim=2048, use_cache=False,
    )  # fmt: skip
    model = built(config, transformers.WhisperForConditionalGeneration, "fp32")

    def batch() -> Batch:
        return torch.randn(7, 80, 3000, device="cuda"), torch.randint(0, 51000, (7, 110), device="cuda")

    return train(
        model, batch, lambda sound, labels: model(input_features=sound, labels=labels).loss, precision="fp32"
    )


def later_hf_clip_frozen_tower() -> Step:
    model = built(transformers.CLIPConfig(), transformers.CLIPModel, "amp-bf16")
    model.vision_model.requires_grad_(False)

    def batch() -> Batch:
        return torch.randint(0, 49000, (110, 77), device="cuda"), torch.randn(110, 3, 224, 224, device="cuda")

    def loss_of(ids: Any, pixels: Any) -> torch.Tensor:
        return model(input_ids=ids, pixel_values=pixels, return_loss=True).loss

    return train(model, batch, loss_of, precision="amp-bf16")


def later_hf_phi3_sgd() -> Step:
    config = transformers.Phi3Config(
        vocab_size=32064, hidden_size=1536, intermediate_size=4096, num_hidden_layers=16, num_attention_heads=16,
        num_key_value_heads=16, pad_token_id=0, use_cache=False,
    )  # fmt: skip
    return language(config, transformers.Phi3ForCausalLM, 4, 1150, "bf16", optimizer="sgd")


def later_hf_qwen3_eager_fp16() -> Step:
    config = transformers.Qwen3Config(
        vocab_size=60000, hidden_size=768, intermediate_size=2304, num_hidden_layers=12, num_attention_heads=12,
        num_key_value_heads=4, head_dim=64, use_cache=False, attn_implementation="eager",
    )  # fmt: skip
    return language(config, transformers.Qwen3ForCausalLM, 4, 620, "amp-fp16")


def later_hf_gemma2_recompute_amp() -> Step:
    config = transformers.Gemma2Config(
        vocab_size=100000, hidden_size=1536, intermediate_size=6144, num_hidden_layers=14, num_attention_heads=8,
        num_key_value_heads=4, head_dim=192, use_cache=False,
    )  # fmt: skip
    return language(config, transformers.Gemma2ForCausalLM, 3, 950, "amp-bf16", recompute=True)


def later_hf_swin_amp() -> Step:
    config = transformers.SwinConfig(
        embed_dim=96, depths=[2, 2, 6, 2], num_heads=[3, 6, 12, 24], num_labels=1000
    )
    model = built(config, transformers.SwinForImageClassification, "amp-bf16")

    def batch() -> Batch:
        return torch.randn(52, 3, 224, 224, device="cuda"), torch.randint(0, 1000, (52,), device="cuda")

    return train(model, batch, lambda x, y: model(pixel_values=x, labels=y).loss, precision="amp-bf16")


def later_hf_bert_classifier_compiled() -> Step:
    config = transformers.BertConfig(num_hidden_layers=8, num_labels=3)
    model = built(config, transformers.BertForSequenceClassification, "bf16")
    called = torch.compile(model)

    def batch() -> Batch:
        return torch.randint(0, 30000, (36, 200), device="cuda"), torch.randint(0, 3, (36,), device="cuda")

    return train(model, batch, lambda x, y: called(input_ids=x, labels=y).loss, precision="bf16")


def later_hf_llama_compiled_recompute() -> Step:
    config = transformers.LlamaConfig(
        vocab_size=50000, hidden_size=1280, intermediate_size=3456, num_hidden_layers=10, num_attention_heads=20,
        num_key_value_heads=4, use_cache=False,
    )  # fmt: skip
    return language(
        config,
        transformers.LlamaForCausalLM,
        5,
        900,
        "bf16",
        compiled=True,
        recompute=True,
        optimizer="adamw-fused",
    )
