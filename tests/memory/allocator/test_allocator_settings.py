"""PYTORCH_CUDA_ALLOC_CONF is read as torch reads it."""

from __future__ import annotations

import pytest

from tonnage.memory.allocator import DEFAULT, SettingsError, read_settings

MIB = 2**20


def settings(text: str):
    return read_settings({"PYTORCH_CUDA_ALLOC_CONF": text})


def test_nothing_said_means_torch_s_defaults():
    assert read_settings({}) == DEFAULT
    assert settings("") == DEFAULT


def test_every_setting_that_moves_blocks_is_read():
    read = settings(
        "expandable_segments:True, max_split_size_mb:128,garbage_collection_threshold:0.8,"
        "max_non_split_rounding_mb:64,large_segment_size_mb:40,per_process_memory_fraction:0.5"
    )
    assert read.expandable_segments
    assert read.max_split_size == 128 * MIB
    assert read.garbage_collection_threshold == 0.8
    assert read.max_non_split_rounding == 64 * MIB
    assert read.large_segment_size == 40 * MIB
    assert read.memory_fraction == 0.5


def test_the_older_variable_wins_over_the_newer_one():
    both = {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:50", "PYTORCH_ALLOC_CONF": "max_split_size_mb:60"}
    assert read_settings(both).max_split_size == 50 * MIB
    assert read_settings({"PYTORCH_ALLOC_CONF": "max_split_size_mb:60"}).max_split_size == 60 * MIB


def test_settings_of_pinned_memory_are_left_alone():
    assert settings("pinned_num_register_threads:8,pinned_use_background_threads:True") == DEFAULT


def test_divisions_are_given_once_or_per_interval():
    assert settings("roundup_power2_divisions:4").roundup_power2_divisions == (4,) * 16
    per_interval = settings("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]").roundup_power2_divisions
    # `>` begins at the interval named last, whose own divisions it replaces: so it is in torch's parser.
    assert per_interval == (1,) * 9 + (2,) + (8,) * 6


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("max_split_size_mb:5", "at least 20"),
        ("max_split_size_mb:big", "whole MiB"),
        ("expandable_segments:yes", "True or False"),
        ("garbage_collection_threshold:1.5", "between 0 and 1"),
        ("garbage_collection_threshold:soon", "between 0 and 1"),
        ("roundup_power2_divisions:3", "power of two"),
        ("roundup_power2_divisions:[256:1,512]", "pairs"),
        ("roundup_power2_divisions:[256:1", "not closed"),
        ("backend:mine", "native or cudaMallocAsync"),
        ("speed:11", "not a setting"),
        ("expandable_segments", "no value"),
        ("expandable_segments:True max_split_size_mb:20", "comma"),
    ],
)
def test_what_torch_refuses_is_refused_with_the_reason(text: str, words: str):
    with pytest.raises(SettingsError, match=words):
        settings(text)
