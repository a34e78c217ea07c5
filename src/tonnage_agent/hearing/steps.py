"""Steps as trainers print them, for scripts without the SDK.

    step 12/100 loss 1.8                                     and whatever else says `step`, `iteration`, `iter`, `batch`
    {'loss': 1.8, 'grad_norm': 0.9, 'epoch': 0.1}            Hugging Face Trainer, with its bar: 12/100 [00:10<01:20
    Epoch 1:  12%|#  | 12/100 [00:10<..., loss=1.8]          Lightning, tqdm
     iteration  12/  100 | ... elapsed time per iteration (ms): 812.0 | lm loss: 1.8E+00 |      Megatron
    [Rank 0] step=10, skipped=0, lr=[...]                    DeepSpeed
    Epoch: [0]  [ 10/500]  eta: 0:01  loss: 1.8 (1.9)  time: 0.5  data: 0.1       torchvision; timm, mmengine alike
    12/100 [====>....] - ETA: 5s - loss: 1.8                 Keras, after a line `Epoch 1/3`

A number is believed to be a step when the line also carries what only steps have (a loss, a time, a rate, a total
that is a total). Counters that start again with each epoch are added up where the line says both. What a bar counts
is told by its description; a bar without one is the longest of those seen, so that an evaluation inside a training
is not mistaken for it.
"""

from __future__ import annotations

import re
from typing import Any

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|inf|-inf|NaN"
_BAR = re.compile(
    r"^(?P<what>[^%]*?)\s*(?P<percent>\d{1,3})%\|.{0,400}?\|\s*(?P<step>\d+)/(?P<total>\d+)\s*\[(?P<rest>[^\]]*)"
)
_KERAS = re.compile(r"^\s*(?P<step>\d+)/(?P<total>\d+)\s+(?:\[[=>.\s]+\]|\u2501+)(?P<rest>.*)$")
_KERAS_EPOCH = re.compile(r"^Epoch (?P<epoch>\d+)/(?P<epochs>\d+)\s*$")
_OF_EPOCH = re.compile(
    r"\bEpoch\s*(?:\(train\))?\s*[:=]?\s*\[?(?P<epoch>\d+)\]?(?:/\d+)?(?:[\s,:|]*\[|[\s,:|]+)"
    r"\s*(?P<step>\d+)\s*/\s*(?P<total>\d+)(?:\s*\(\s*\d+%\))?"
    r"|^Train:\s*(?P<epoch2>\d+)\s*\[\s*(?P<step2>\d+)/(?P<total2>\d+)",
    re.IGNORECASE,
)
_WORD = re.compile(
    r"(?:^|[\s\[({|,;>\"'])"
    r"(?:global[_ ]?steps?|training[_ ]step|train[_ ]step|completed step|steps?|iterations?|iters?|updates?|batch)"
    r"[\"']?\s*[:=#]?\s*\[?\s*(?P<step>\d+)(?![\d.]*\d*\s*(?:[a-zA-Z]*/s\b|ms\b|%))"
    r"(?:\s*(?:/|of)\s*(?P<total>\d+))?",
    re.IGNORECASE,
)
_LOSS = re.compile(
    rf"(?<![a-z])(?:[\w./-]*[_/ .-])?loss\S{{0,3}}?[\"']?\s*[:=]?\s*(?P<loss>{_NUMBER})", re.IGNORECASE
)
_SECONDS = re.compile(
    r"elapsed time per iteration \(ms\):\s*(?P<ms>[\d.]+)|\btime[:= ]+(?P<ms2>[\d.]+)\s*ms"
    r"|(?:iter time \(s\)|\btime|seconds)[:= ]+(?P<s>\d+\.\d+)(?!\s*ms)"
    r"|(?P<s2>[\d.]+)\s*s/it\b|(?P<rate>[\d.]+)\s*it/s",
    re.IGNORECASE,
)
_DATA = re.compile(r"\bdata(?:_time)?[:=]\s*(?P<data>[\d.]+)", re.IGNORECASE)
_METRIC = re.compile(rf"[\w)]\s*[:=]\s*(?:{_NUMBER})|/s\b|\beta\b", re.IGNORECASE)
_TRAINS = re.compile(r"train|epoch|step|iter|fit|^\d+\|\d+\|", re.IGNORECASE)
_NOT_TRAINING = re.compile(
    r"valid|eval|test|predict|sanity|map|token|load|download|fetch|generat|filter|pack|cache|prepar|process|convert|"
    r"shard|upload|sav|extract|read|calibrat|build|compil|captur",
    re.IGNORECASE,
)


class StepReader:
    """Reads line by line; remembers what one line alone does not tell."""

    def __init__(self, pattern: str = "") -> None:
        self._own = re.compile(pattern) if pattern else None
        self._epoch = 0
        self._bar_total = 0
        self._loss: float | None = None

    def read(self, line: str) -> dict[str, Any] | None:
        """The step a line tells, as an event; None where it tells none."""
        if self._own is not None:
            return _event(self._own.search(line), line)
        found = self._bar(line) or self._keras(line) or self._of_epoch(line) or self._word(line)
        if found is None and line.startswith("{") and "loss" in line:
            self._loss = _loss(line)  # the Hugging Face Trainer tells the step in its bar
        elif found is not None and "loss" not in found and self._loss is not None:
            found["loss"], self._loss = self._loss, None
        return found

    def _bar(self, line: str) -> dict[str, Any] | None:
        """A progress bar of tqdm: everybody's."""
        match = _BAR.match(line) if "%|" in line else None
        if match is None:
            return None
        what, step, total = match["what"].strip(" :"), int(match["step"]), int(match["total"])
        if total < 1 or step > total:
            return None
        epoch = re.match(r"(?:Epoch|epoch)\D{0,3}(\d+)", what)
        if epoch:
            return self._counted(int(epoch[1]), step, total, line, match["rest"])
        if what:
            is_training = _TRAINS.search(what) and not _NOT_TRAINING.search(what)
            return _event(match, line) if is_training else None
        if total < self._bar_total:
            return None
        self._bar_total = total
        return _event(match, line)

    def _keras(self, line: str) -> dict[str, Any] | None:
        epoch = _KERAS_EPOCH.match(line)
        if epoch:
            self._epoch = int(epoch["epoch"]) - 1
            return None
        match = _KERAS.match(line)
        return self._counted(self._epoch, int(match["step"]), int(match["total"]), line) if match else None

    def _of_epoch(self, line: str) -> dict[str, Any] | None:
        match = _OF_EPOCH.search(line)
        if match is None or not _METRIC.search(line[match.end() :]):
            return None
        if re.match(r"\s*(?:test|val|eval)", line, re.IGNORECASE):
            return None
        named = [
            match[f"{name}2"] if match[name] is None else match[name] for name in ("epoch", "step", "total")
        ]
        epoch, step, total = (int(value) for value in named)
        return self._counted(epoch, step, total, line)

    def _word(self, line: str) -> dict[str, Any] | None:
        match = _WORD.search(line)
        if match is None:
            return None
        rest = line[match.end() :]
        has_proof = _LOSS.search(line) or (
            (match["total"] or "step=" in match.group())
            and (_METRIC.search(rest) or not rest.strip(" .,|]:" if "=" in match.group() else " .,|]"))
        )
        if not has_proof or re.search(
            r"\b(?:eval|valid\w*|test)\b", line[: match.start() + 1], re.IGNORECASE
        ):
            return None
        return _event(match, line)

    def _counted(self, epoch: int, step: int, total: int, line: str, rest: str = "") -> dict[str, Any]:
        """A step inside an epoch; which epoch comes first, 0 or 1, does not matter for how far it moves."""
        event = {"event": "step", "step": epoch * total + step}
        return _with_figures(event, rest or line)


def _event(match: re.Match[str] | None, line: str) -> dict[str, Any] | None:
    if match is None:
        return None
    groups = match.groupdict()
    try:
        event: dict[str, Any] = {"event": "step", "step": int(groups["step"])}
        if groups.get("total"):
            event["total"] = int(groups["total"])
        if groups.get("loss"):
            event["loss"] = float(groups["loss"])
    except (TypeError, ValueError):
        return None
    return _with_figures(event, line)


def _with_figures(event: dict[str, Any], line: str) -> dict[str, Any]:
    loss = _loss(line)
    if loss is not None:
        event.setdefault("loss", loss)
    seconds = _SECONDS.search(line)
    if seconds:
        told = seconds.groupdict()
        milliseconds, rate = told["ms"] or told["ms2"], _float(told["rate"])
        value = _float(milliseconds)
        value = value / 1000 if value is not None else _float(told["s"] or told["s2"])
        if value is None and rate:
            value = 1 / rate
        if value is not None:
            event["seconds"] = value
    data = _DATA.search(line)
    waited = _float(data["data"]) if data else None
    if waited is not None:
        event["data"] = waited
    return event


def _loss(line: str) -> float | None:
    match = _LOSS.search(line)
    return _float(match["loss"]) if match else None


def _float(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None
