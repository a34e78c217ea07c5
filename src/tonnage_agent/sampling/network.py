"""What the pod sends and receives, what TCP had to send again, and what the RDMA cards count.

Ethernet counters are those of our own network namespace, without the loopback. RDMA counters are the card's: a card
that was handed to the pod is its own, one that is shared counts for everybody, so they are told per port. Data is
counted by the card in words of four bytes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from tonnage_agent.sampling.files import Place, number, text

_WORD_BYTES = 4
RDMA_TROUBLES = (
    "port_xmit_wait",
    "port_xmit_discards",
    "symbol_error",
    "link_downed",
    "link_error_recovery",
    "out_of_sequence",
    "packet_seq_err",
    "local_ack_timeout_err",
    "rnr_nak_retry_err",
    "np_cnp_sent",
    "rp_cnp_handled",
)
"""Counters that stand still on a healthy fabric, or move slowly on a congested one."""


@dataclass(frozen=True)
class RdmaPort:
    """One port of one card, totals so far."""

    name: str
    """`mlx5_0/1`."""
    received_bytes: int | None
    sent_bytes: int | None
    troubles: dict[str, int] = field(default_factory=dict)
    """Those of RDMA_TROUBLES that are not zero."""


@dataclass(frozen=True)
class NetworkUse:
    """Totals so far."""

    received_bytes: int
    sent_bytes: int
    dropped_packets: int
    segments_sent: int | None = None
    segments_again: int | None = None
    """TCP segments that had to be sent again."""
    rdma: tuple[RdmaPort, ...] = ()


def read_network(proc: Place = "/proc", sys: Place = "/sys") -> NetworkUse:
    """All counters of our namespace."""
    received = sent = dropped = 0
    for line in (text(f"{proc}/net/dev") or "").splitlines()[2:]:
        name, _, rest = line.partition(":")
        fields = rest.split()
        if name.strip() == "lo" or len(fields) < 16:
            continue
        received += int(fields[0])
        sent += int(fields[8])
        dropped += int(fields[3]) + int(fields[11])
    tcp = _tcp(text(f"{proc}/net/snmp") or "")
    return NetworkUse(received, sent, dropped, tcp.get("OutSegs"), tcp.get("RetransSegs"), _rdma(sys))


def _tcp(snmp: str) -> dict[str, int]:
    """The two `Tcp:` lines: names, then numbers."""
    names: list[str] = []
    for line in snmp.splitlines():
        kind, *fields = line.split()
        if kind != "Tcp:":
            continue
        if names:
            return {name: int(value) for name, value in zip(names, fields) if value.isdecimal()}
        names = fields
    return {}


def _rdma(sys: Place) -> tuple[RdmaPort, ...]:
    cards = f"{sys}/class/infiniband"
    ports = []
    for card in _entries(cards):
        for port in _entries(f"{cards}/{card}/ports"):
            folder = f"{cards}/{card}/ports/{port}"
            received, sent = (number(f"{folder}/counters/port_{way}_data") for way in ("rcv", "xmit"))
            troubles = {}
            for name in RDMA_TROUBLES:
                count = number(f"{folder}/counters/{name}") or number(f"{folder}/hw_counters/{name}")
                if count:
                    troubles[name] = count
            ports.append(RdmaPort(f"{card}/{port}", _words(received), _words(sent), troubles))
    return tuple(ports)


def _words(count: int | None) -> int | None:
    return None if count is None else count * _WORD_BYTES


def _entries(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
