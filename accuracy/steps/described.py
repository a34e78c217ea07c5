"""A step of a small model that the environment describes: `DESCRIBED_STEP`, a row of the ledger's traced figures.

`python -m accuracy.ledger_figures` traces it once per row; it is no part of the measured set.
"""

from __future__ import annotations

import json
import os
from typing import Any

import torch
import transformers
from training import Batch, images, parameter_dtype, train

MASKED = ("bert", "roberta", "distilbert")
"""Types whose language model fills in masked tokens."""


def build() -> Any:
    """The step of the described row."""
    row = json.loads(os.environ["DESCRIBED_STEP"])
    model = _model(row)
    batch = _images(row) if row["image"] else _texts(row, model.config)

    def loss_of(given: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return model(**{model.main_input_name: given}, labels=labels).loss

    return train(
        model, batch, loss_of,
        precision=row["precision"], optimizer=row["optimizer"], accumulation=row["accumulation"],
    )  # fmt: skip


def _model(row: dict[str, Any]) -> Any:
    fields = dict(row["config"])
    kind, named = fields.pop("model_type"), fields.pop("architectures", None)
    config = transformers.CONFIG_MAPPING[kind](**{"pad_token_id": 0, **fields})
    config._attn_implementation = row["attention"]
    config.use_cache = False
    with torch.device("cuda"):
        model = getattr(transformers, named[0])(config) if named else _auto(kind).from_config(config)
    model = model.to("cuda", parameter_dtype(row["precision"]))
    if row["checkpointing"] == "full":
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return model


def _auto(kind: str) -> Any:
    if kind == "vit":
        return transformers.AutoModelForImageClassification
    if kind == "t5":
        return transformers.AutoModelForSeq2SeqLM
    return transformers.AutoModelForMaskedLM if kind in MASKED else transformers.AutoModelForCausalLM


def _images(row: dict[str, Any]) -> Any:
    classes = row["config"].get("num_labels", 2)
    return images(row["batch"], row["image"], classes, parameter_dtype(row["precision"]))


def _texts(row: dict[str, Any], config: Any) -> Any:
    samples, length = row["batch"], row["sequence"]
    named = (row["config"].get("architectures") or [""])[0]
    whole = named.endswith("ForSequenceClassification")
    classes = config.num_labels if "Classification" in named else config.vocab_size

    def batch() -> Batch:
        ids = torch.randint(1, config.vocab_size, (samples, length), device="cuda")
        size = (samples,) if whole else (samples, length)
        return ids, torch.randint(0, classes, size, device="cuda")

    return batch
