"""Overrides reach the kubelet as the caller meant them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tonnage.sandbox.realnode.configuring import corefile, kubelet_config, merged, node_env
from tonnage.sandbox.realnode.layout import Wire, plan_nodes

ONE, TWO = plan_nodes(Wire(number=9, sandbox_id="0123456789ab"), 2, Path("/nodes"))


def test_maps_are_merged_deeply_and_a_null_removes() -> None:
    laid = merged({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"c": 4}, "d": None, "e": [5]})

    assert laid == {"a": {"b": 1, "c": 4}, "e": [5]}


@pytest.mark.parametrize("key", ["evictionHard", "evictionSoft"])
def test_eviction_thresholds_replace_the_default_ones(key: str) -> None:
    config = kubelet_config(ONE, {key: {"memory.available": "5Gi"}})

    assert config[key] == {"memory.available": "5Gi"}


def test_a_node_with_a_disk_of_its_own_keeps_a_tenth_free() -> None:
    assert kubelet_config(ONE, {}, has_own_disk=True)["evictionHard"]["nodefs.available"] == "10%"
    assert kubelet_config(ONE, {})["evictionHard"]["nodefs.available"] == "1Gi"


def test_each_node_has_its_own_cgroup_and_dns() -> None:
    first, second = kubelet_config(ONE, {}), kubelet_config(TWO, {})

    assert first["cgroupRoot"] == "/tn-0123456789ab-1" != second["cgroupRoot"]
    assert first["clusterDNS"] == ["10.224.144.1"] != second["clusterDNS"]
    assert "bind 10.224.144.1\n" in corefile(ONE)


def test_a_node_knows_the_way_to_its_peers_pods_and_not_to_its_own() -> None:
    env = node_env(ONE, [ONE, TWO], labels={}, disk_bytes=None)

    assert "PEER_ROUTES='10.224.145.0/24 10.245.9.12'\n" in env
