"""RDMA ports are named before the command starts, those that are down or slow first of all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tonnage_agent.peers.cards import cards_line


def a_port(folder: Path, name: str, state: str = "4: ACTIVE", rate: str = "400 Gb/sec (4X NDR)") -> None:
    card, _, port = name.partition("/")
    place = folder / "class/infiniband" / card / "ports" / port
    place.mkdir(parents=True)
    (place / "state").write_text(f"{state}\n")
    (place / "rate").write_text(f"{rate}\n")


def test_a_machine_without_cards_says_nothing(tmp_path: Path) -> None:
    assert cards_line(tmp_path) == ""


def test_ports_that_are_well_are_named_with_their_rate(tmp_path: Path) -> None:
    a_port(tmp_path, "mlx5_0/1")
    a_port(tmp_path, "mlx5_1/1")
    assert cards_line(tmp_path) == "RDMA mlx5_0/1, mlx5_1/1 at 400 Gb/s, not measured"


@pytest.mark.parametrize(
    ("state", "rate", "said"),
    [
        ("1: DOWN", "400 Gb/sec (4X NDR)", "mlx5_1/1 is DOWN"),
        ("2: INIT", "", "mlx5_1/1 is INIT"),
        ("4: ACTIVE", "50 Gb/sec (1X HDR)", "mlx5_1/1 is slow: 50 of 400 Gb/s"),
    ],
)
def test_a_port_that_is_down_or_slow_is_named(tmp_path: Path, state: str, rate: str, said: str) -> None:
    a_port(tmp_path, "mlx5_0/1")
    a_port(tmp_path, "mlx5_1/1", state, rate)
    assert cards_line(tmp_path).split("; ")[1:] == [said]


def test_where_none_is_up_that_is_said(tmp_path: Path) -> None:
    a_port(tmp_path, "mlx5_0/1", "1: DOWN")
    assert cards_line(tmp_path) == "RDMA no port is up; mlx5_0/1 is DOWN"


def test_a_port_that_says_nothing_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "class/infiniband/efa_0/ports/1").mkdir(parents=True)
    assert cards_line(tmp_path) == "RDMA no port is up; efa_0/1 is unknown"
