"""What PYTORCH_CUDA_ALLOC_CONF (or PYTORCH_ALLOC_CONF) tells the allocator.

Grammar and checks are torch's own (`c10/core/AllocatorConfig`): `key:value` pairs with commas between, lists in
brackets, spaces ignored, sizes in MiB. Keys that do not change how device memory is handed out (pinned memory,
locks) are read and left alone; keys torch would refuse are refused here with the same reason, because a run with
them does not start.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

MIB = 2**20
INTERVALS = 16
"""Powers of two from 1 MiB to 32 GiB, each with its own number of divisions."""

_IGNORED = frozenset(
    "release_lock_on_cudamalloc release_lock_on_hipmalloc pinned_use_cuda_host_register "
    "pinned_use_hip_host_register pinned_num_register_threads pinned_use_background_threads "
    "pinned_reserve_segment_size_mb pinned_max_round_threshold_mb graph_capture_record_stream_reuse "
    "throw_on_cudamalloc_oom".split()
)
_TOKEN = re.compile(r"[,:\[\]]|[^,:\[\]\s]+")


class SettingsError(ValueError):
    """The text is not one torch would start with; the message says which part and why."""


class AllocatorSettings(msgspec.Struct, frozen=True):
    """The settings that decide where a block goes; sizes in bytes, `None` where there is no bound."""

    expandable_segments: bool = False
    max_split_size: int | None = None
    max_non_split_rounding: int = 20 * MIB
    large_segment_size: int = 20 * MIB
    garbage_collection_threshold: float = 0.0
    roundup_power2_divisions: tuple[int, ...] = (0,) * INTERVALS
    memory_fraction: float = 1.0
    backend: str = "native"


DEFAULT = AllocatorSettings()


def read_settings(environment: Mapping[str, str]) -> AllocatorSettings:
    """The settings a process with these variables runs under; raise SettingsError where torch would refuse them.

    >>> read_settings({"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}).expandable_segments
    True
    """
    text = environment.get("PYTORCH_CUDA_ALLOC_CONF") or environment.get("PYTORCH_ALLOC_CONF") or ""
    settings = DEFAULT
    for key, value in _pairs(text):
        settings = _with(settings, key, value)
    return settings


def _pairs(text: str) -> list[tuple[str, list[str]]]:
    """Keys with the tokens of their values."""
    tokens = _TOKEN.findall(text)
    pairs: list[tuple[str, list[str]]] = []
    place = 0
    while place < len(tokens):
        key = tokens[place]
        if place + 2 >= len(tokens) or tokens[place + 1] != ":":
            raise SettingsError(f"{key!r} has no value: expected key:value")
        end = place + 3
        if tokens[place + 2] == "[":
            if "]" not in tokens[place:]:
                raise SettingsError(f"the list of {key!r} is not closed")
            end = tokens.index("]", place) + 1
        pairs.append((key, tokens[place + 2 : end]))
        if end < len(tokens) and tokens[end] != ",":
            raise SettingsError(f"{tokens[end]!r} after {key!r}: expected a comma")
        place = end + 1
    return pairs


def _with(settings: AllocatorSettings, key: str, value: list[str]) -> AllocatorSettings:
    """The settings after one more pair."""
    match key:
        case "expandable_segments":
            if value[0] not in ("True", "False"):
                raise SettingsError(f"expandable_segments is {value[0]!r}: expected True or False")
            return replace(settings, expandable_segments=value[0] == "True")
        case "max_split_size_mb":
            return replace(settings, max_split_size=_mebibytes(key, value, least=20))
        case "max_non_split_rounding_mb":
            return replace(settings, max_non_split_rounding=_mebibytes(key, value, least=20))
        case "large_segment_size_mb":
            return replace(settings, large_segment_size=_mebibytes(key, value, least=20))
        case "garbage_collection_threshold":
            return replace(settings, garbage_collection_threshold=_share(key, value))
        case "per_process_memory_fraction":
            return replace(settings, memory_fraction=_share(key, value, most_allowed=True))
        case "roundup_power2_divisions":
            return replace(settings, roundup_power2_divisions=_divisions(value))
        case "backend":
            if value[0] not in ("native", "cudaMallocAsync"):
                raise SettingsError(f"backend is {value[0]!r}: expected native or cudaMallocAsync")
            return replace(settings, backend=value[0])
        case _ if key in _IGNORED:
            return settings
    raise SettingsError(f"{key!r} is not a setting of the allocator")


def _mebibytes(key: str, value: list[str], *, least: int) -> int:
    if not value[0].isdigit():
        raise SettingsError(f"{key} is {value[0]!r}: expected whole MiB")
    if int(value[0]) < least:
        raise SettingsError(f"{key} is {value[0]}: expected at least {least}")
    return int(value[0]) * MIB


def _share(key: str, value: list[str], *, most_allowed: bool = False) -> float:
    try:
        share = float(value[0])
    except ValueError:
        raise SettingsError(f"{key} is {value[0]!r}: expected a number between 0 and 1") from None
    if not 0.0 < share < 1.0 and not (most_allowed and share == 1.0):
        raise SettingsError(f"{key} is {share}: expected a number between 0 and 1")
    return share


def _divisions(value: list[str]) -> tuple[int, ...]:
    """Divisions per interval, from `4` or `[256:1,512:2,>:4]`."""
    if value[0] != "[":
        return (_power_of_two(value[0]),) * INTERVALS
    divisions = [0] * INTERVALS
    last, is_first = 0, True
    words = [word for word in value[1:-1] if word not in (":", ",")]
    if len(words) % 2:
        raise SettingsError("roundup_power2_divisions: expected size:divisions pairs in the list")
    for size, count_text in zip(words[::2], words[1::2], strict=True):
        count = _power_of_two(count_text)
        if size == ">":
            divisions[last:] = [count] * (INTERVALS - last)
            continue
        index = min(_power_of_two(size).bit_length() - 1, INTERVALS - 1)
        if is_first:
            divisions[:index] = [count] * index
            is_first = False
        divisions[index] = count
        last = index
    return tuple(divisions)


def _power_of_two(text: str) -> int:
    if not text.isdigit() or int(text) & (int(text) - 1):
        raise SettingsError(f"roundup_power2_divisions: {text!r} is not a power of two")
    return int(text)
