"""Reading this machine's routes, so that no sandbox takes addresses that are somebody else's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tonnage.errors import EnvironmentProblem
from tonnage.sandbox.realnode import network
from tonnage.sandbox.realnode.layout import Wire

HEAD = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"


def a_table(folder: Path, *routes: tuple[str, str, str]) -> Path:
    """The kernel's table with these routes: link, destination and mask as dotted quads."""
    rows = [
        f"{link}\t{_hex(to)}\t00000000\t0001\t0\t0\t0\t{_hex(mask)}\t0\t0\t0\n" for link, to, mask in routes
    ]
    path = folder / "route"
    path.write_text(HEAD + "".join(rows))
    return path


def _hex(quad: str) -> str:
    order = -1 if sys.byteorder == "little" else 1
    return "".join(f"{int(part):02X}" for part in quad.split(".")[::order])


def test_routes_are_read_as_the_kernel_writes_them(tmp_path: Path) -> None:
    table = a_table(tmp_path, ("eth0", "0.0.0.0", "0.0.0.0"), ("tn1br", "10.245.3.0", "255.255.255.0"))

    assert [(str(to), link) for to, link in network.read_routes(table)] == [("10.245.3.0/24", "tn1br")]
    assert network.numbers_in_use(table) == {3}


def test_a_machine_without_such_a_table_uses_nothing(tmp_path: Path) -> None:
    assert network.numbers_in_use(tmp_path / "missing") == set()


@pytest.mark.parametrize("taken", [("10.245.9.0", "255.255.255.0"), ("10.224.146.7", "255.255.255.255")])
def test_addresses_in_use_are_refused_by_name(tmp_path: Path, taken: tuple[str, str]) -> None:
    table = a_table(tmp_path, ("docker0", *taken))

    with pytest.raises(EnvironmentProblem, match="by docker0"):
        network.check_addresses(Wire(number=9, sandbox_id="0123456789ab"), table)


def test_a_wider_route_is_no_obstacle(tmp_path: Path) -> None:
    table = a_table(tmp_path, ("tun0", "10.0.0.0", "255.0.0.0"))

    network.check_addresses(Wire(number=9, sandbox_id="0123456789ab"), table)
