"""Language, speech and picture models of Hugging Face families that no rule was read off.

Masks with padding, latent attention, attention sinks, state space layers, routed experts, CTC: what users bring that
a set of decoders does not show.
"""

from __future__ import annotations

from typing import Any

import torch
import transformers
from huggingface import built, language
from torch.nn import functional as F
from training import Batch, Step, make_optimizer, parameter_dtype, train


def padded(vocabulary: int, samples: int, length: int, kept: int) -> Any:
    """Token ids whose second half of samples ends in padding, with the mask that says so."""

    def batch() -> Batch:
        ids = torch.randint(0, vocabulary, (samples, length), device="cuda")
        mask = torch.ones_like(ids)
        mask[samples // 2 :, kept:] = 0
        return ids, mask, ids.masked_fill(mask == 0, -100)

    return batch


def with_mask(
    config: Any, kind: Any, samples: int, length: int, precision: str, *, recompute: bool = False, **loop: Any
) -> Step:
    """A step on padded tokens."""
    model = built(config, kind, precision, recompute=recompute)
    batch = padded(config.vocab_size, samples, length, length * 3 // 4)
    return train(
        model,
        batch,
        lambda ids, mask, labels: model(input_ids=ids, attention_mask=mask, labels=labels).loss,
        precision=precision,
        **loop,
    )


def fresh_qwen3_logged() -> Step:
    """The loop a trainer class writes: scheduler, norm and loss read back, recomputation of the reentrant kind."""
    config = transformers.Qwen3Config(
        vocab_size=80000, hidden_size=1280, intermediate_size=3840, num_hidden_layers=18, num_attention_heads=16,
        num_key_value_heads=8, head_dim=128, use_cache=False,
    )  # fmt: skip
    model = built(config, transformers.Qwen3ForCausalLM, "bf16")
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})
    model.enable_input_require_grads()
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.1)
    schedule = transformers.get_cosine_schedule_with_warmup(optimizer, 10, 1000)
    logged = []

    def step() -> None:
        total = torch.tensor(0.0, device="cuda")
        for _ in range(3):
            ids = torch.randint(0, config.vocab_size, (4, 1152), device="cuda")
            loss = model(input_ids=ids, labels=ids).loss / 3
            loss.backward()
            total += loss.detach()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        logged.append((total.item(), norm.item()))
        optimizer.step()
        schedule.step()
        model.zero_grad()

    return step


def fresh_gemma3_amp() -> Step:
    config = transformers.Gemma3TextConfig(
        vocab_size=120000, hidden_size=1152, intermediate_size=4608, num_hidden_layers=12, num_attention_heads=4,
        num_key_value_heads=1, head_dim=256, sliding_window=512, use_cache=False,
    )  # fmt: skip
    return language(config, transformers.Gemma3ForCausalLM, 3, 1536, "amp-bf16", clip=None)


def fresh_mistral_window_padded() -> Step:
    config = transformers.MistralConfig(
        vocab_size=32768, hidden_size=1536, intermediate_size=5376, num_hidden_layers=14, num_attention_heads=12,
        num_key_value_heads=4, sliding_window=640, use_cache=False,
    )  # fmt: skip
    return with_mask(config, transformers.MistralForCausalLM, 6, 1536, "bf16")


def fresh_bloom_fp32() -> Step:
    config = transformers.BloomConfig(
        vocab_size=60000, hidden_size=896, n_layer=10, n_head=14, use_cache=False
    )
    return language(config, transformers.BloomForCausalLM, 5, 640, "fp32", optimizer="adamw-forloop")


def fresh_falcon_amp() -> Step:
    config = transformers.FalconConfig(
        vocab_size=65024, hidden_size=1280, num_hidden_layers=10, num_attention_heads=20, multi_query=True,
        parallel_attn=True, use_cache=False,
    )  # fmt: skip
    return language(config, transformers.FalconForCausalLM, 4, 1024, "amp-bf16", optimizer="adamw-fused")


def fresh_cohere_tied_vocabulary() -> Step:
    config = transformers.CohereConfig(
        vocab_size=256000, hidden_size=1024, intermediate_size=3072, num_hidden_layers=8, num_attention_heads=16,
        num_key_value_heads=4, use_cache=False,
    )  # fmt: skip
    return language(config, transformers.CohereForCausalLM, 2, 1280, "bf16", accumulation=2)


def fresh_deepseek_latent() -> Step:
    config = transformers.DeepseekV3Config(
        vocab_size=40000, hidden_size=1024, intermediate_size=3072, moe_intermediate_size=512, num_hidden_layers=6,
        num_attention_heads=16, num_key_value_heads=16, n_routed_experts=32, num_experts_per_tok=4, n_group=4,
        topk_group=2, q_lora_rank=384, kv_lora_rank=256, first_k_dense_replace=2, use_cache=False,
    )  # fmt: skip
    return language(config, transformers.DeepseekV3ForCausalLM, 4, 1024, "bf16")


def fresh_gpt_oss_sinks() -> Step:
    config = transformers.GptOssConfig(
        vocab_size=50000, hidden_size=1024, intermediate_size=1024, num_hidden_layers=6, num_attention_heads=16,
        num_key_value_heads=4, head_dim=64, num_local_experts=8, num_experts_per_tok=2, use_cache=False,
    )  # fmt: skip
    return language(config, transformers.GptOssForCausalLM, 3, 1024, "bf16")


def fresh_qwen3_moe_amp() -> Step:
    config = transformers.Qwen3MoeConfig(
        vocab_size=50000, hidden_size=1024, intermediate_size=3072, num_hidden_layers=8, num_attention_heads=16,
        num_key_value_heads=4, head_dim=64, num_experts=24, num_experts_per_tok=4, moe_intermediate_size=512,
        use_cache=False,
    )  # fmt: skip
    return language(
        config, transformers.Qwen3MoeForCausalLM, 4, 1152, "amp-bf16", recompute=True, accumulation=2
    )


def fresh_mamba2_bf16() -> Step:
    config = transformers.Mamba2Config(
        vocab_size=32000, hidden_size=768, num_hidden_layers=6, num_heads=24, head_dim=64, state_size=64,
        chunk_size=128, n_groups=1, use_cache=False,
    )  # fmt: skip
    return language(config, transformers.Mamba2ForCausalLM, 4, 768, "bf16")


def fresh_deberta_fp16_scaled() -> Step:
    config = transformers.DebertaV2Config(
        vocab_size=64000, hidden_size=768, num_hidden_layers=8, num_attention_heads=12, intermediate_size=3072,
        relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=128, num_labels=3,
    )  # fmt: skip
    model = built(config, transformers.DebertaV2ForSequenceClassification, "amp-fp16")

    def batch() -> Batch:
        return (
            torch.randint(0, 64000, (24, 256), device="cuda"),
            torch.randint(0, 3, (24,), device="cuda"),
        )

    return train(
        model, batch, lambda ids, labels: model(input_ids=ids, labels=labels).loss, precision="amp-fp16"
    )


def fresh_t5_padded_adafactor() -> Step:
    """Two masks, and the optimizer of transformers rather than torch's."""
    config = transformers.T5Config(
        vocab_size=32128, d_model=640, d_kv=64, d_ff=1792, num_layers=8, num_heads=10, use_cache=False,
        feed_forward_proj="gated-gelu", tie_word_embeddings=False, decoder_start_token_id=0,
    )  # fmt: skip
    model = built(config, transformers.T5ForConditionalGeneration, "fp32")
    model.train()
    optimizer = transformers.optimization.Adafactor(
        model.parameters(), scale_parameter=True, relative_step=True
    )

    def step() -> None:
        ids, mask, _ = padded(32128, 16, 448, 300)()
        labels = torch.randint(0, 32128, (16, 128), device="cuda")
        model(input_ids=ids, attention_mask=mask, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def fresh_bert_masks_sgd() -> Step:
    config = transformers.BertConfig(num_hidden_layers=10)
    return with_mask(config, transformers.BertForMaskedLM, 28, 320, "amp-bf16", optimizer="sgdm")


def fresh_wav2vec2_ctc() -> Step:
    config = transformers.Wav2Vec2Config(
        num_hidden_layers=8, apply_spec_augment=False, layerdrop=0.0, ctc_loss_reduction="mean"
    )
    model = built(config, transformers.Wav2Vec2ForCTC, "fp32", seed_device="cpu")
    model.freeze_feature_encoder()

    def batch() -> Batch:
        return (
            torch.randn(8, 96000, device="cuda"),
            torch.randint(1, 32, (8, 60), device="cuda"),
        )

    return train(
        model, batch, lambda sound, labels: model(input_values=sound, labels=labels).loss, precision="fp32"
    )


def fresh_clip_contrastive() -> Step:
    config = transformers.CLIPConfig()
    model = built(config, transformers.CLIPModel, "amp-bf16")

    def batch() -> Batch:
        ids = torch.randint(0, 49408, (96, 77), device="cuda")
        return ids, torch.randn(96, 3, 224, 224, device="cuda")

    return train(
        model,
        batch,
        lambda ids, pixels: model(input_ids=ids, pixel_values=pixels, return_loss=True).loss,
        precision="amp-bf16",
    )


def fresh_segformer_amp() -> Step:
    config = transformers.SegformerConfig(
        depths=[3, 4, 6, 3], hidden_sizes=[64, 128, 320, 512], decoder_hidden_size=512, num_labels=19
    )
    model = built(config, transformers.SegformerForSemanticSegmentation, "amp-bf16")

    def batch() -> Batch:
        return (
            torch.randn(6, 3, 512, 512, device="cuda"),
            torch.randint(0, 19, (6, 512, 512), device="cuda"),
        )

    return train(
        model, batch, lambda x, y: model(pixel_values=x, labels=y).loss, precision="amp-bf16", clip=None
    )


def fresh_dinov2_bf16() -> Step:
    config = transformers.Dinov2Config(
        hidden_size=768, num_hidden_layers=12, num_attention_heads=12, num_labels=100
    )
    model = built(config, transformers.Dinov2ForImageClassification, "bf16")

    def batch() -> Batch:
        x = torch.randn(48, 3, 224, 224, device="cuda", dtype=parameter_dtype("bf16"))
        return x, torch.randint(0, 100, (48,), device="cuda")

    return train(model, batch, lambda x, y: model(pixel_values=x, labels=y).loss, precision="bf16")


def fresh_preference_pairs() -> Step:
    """Direct preference optimization: a policy and a frozen reference, log-probabilities gathered from logits."""
    config = transformers.LlamaConfig(
        vocab_size=32000, hidden_size=1280, intermediate_size=3456, num_hidden_layers=12, num_attention_heads=20,
        num_key_value_heads=4, use_cache=False,
    )  # fmt: skip
    policy = built(config, transformers.LlamaForCausalLM, "bf16")
    reference = built(config, transformers.LlamaForCausalLM, "bf16").eval().requires_grad_(False)
    policy.train()
    optimizer = make_optimizer("adamw", policy.parameters())

    def scored(model: Any, ids: torch.Tensor) -> torch.Tensor:
        logits = model(input_ids=ids).logits[:, :-1]
        return logits.log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1).sum(-1)

    def step() -> None:
        ids = torch.randint(0, 32000, (8, 768), device="cuda")
        with torch.no_grad():
            before = scored(reference, ids)
        margin = scored(policy, ids) - before
        loss = -F.logsigmoid(0.1 * (margin[:4] - margin[4:])).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step


def fresh_bert_compiled() -> Step:
    config = transformers.BertConfig(num_hidden_layers=6)
    return language(config, transformers.BertForMaskedLM, 24, 256, "amp-bf16", compiled=True)


def fresh_qwen2_compiled() -> Step:
    config = transformers.Qwen2Config(
        vocab_size=60000, hidden_size=896, intermediate_size=4864, num_hidden_layers=8, num_attention_heads=14,
        num_key_value_heads=2, use_cache=False,
    )  # fmt: skip
    return language(
        config, transformers.Qwen2ForCausalLM, 4, 1024, "bf16", compiled=True, optimizer="adamw-fused"
    )
