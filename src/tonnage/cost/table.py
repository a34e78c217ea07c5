"""List prices of cloud machines with GPUs, dated: what is known when nobody has said a price.

Dollars per hour for the whole machine in US regions, from the public SkyPilot catalogue; spot is the cheapest
and the median of the zones that had a price that day. No committed-use, capacity-block or private discounts.
Prices move by tens of per cent a year, so every figure shown from here carries its date; rows that their source
no longer updates are marked by theirs.
"""

from __future__ import annotations

import datetime as dt
from functools import lru_cache

import msgspec

from tonnage.cost.price import micro_dollars

OLD_AFTER_DAYS = 60
"""Rows this much older than the newest are no longer updated."""

# cloud  machine  GPUs  type  vCPU  GiB  on demand  spot cheapest  spot median  as of
_ROWS = """
aws    g4dn.xlarge               1  t4            4    16    0.526   0.098   0.232  2026-08-21
aws    g4dn.12xlarge             4  t4           48   192    3.912   1.158   1.618  2026-08-21
aws    g6.xlarge                 1  l4            4    16    0.805   0.256   0.559  2026-08-21
aws    g6.48xlarge               8  l4          192   768   13.35    3.58    6.65   2026-08-21
aws    g5.xlarge                 1  a10g          4    16    1.006   0.354   0.509  2026-08-21
aws    g5.48xlarge               8  a10g        192   768   16.29    4.55    9.69   2026-08-21
aws    g6e.xlarge                1  l40s          4    32    1.861   0.714   1.487  2026-08-21
aws    g6e.48xlarge              8  l40s        192  1536   30.13    8.17   13.13   2026-08-21
aws    p4d.24xlarge              8  a100-40      96  1152   21.96    9.86   16.44   2026-08-21
aws    p4de.24xlarge             8  a100-80      96  1152   27.45   20.41   21.65   2026-08-21
aws    p5.4xlarge                1  h100         16   256    6.88    2.56    2.63   2026-08-21
aws    p5.48xlarge               8  h100        192  2048   55.04   19.97   20.64   2026-08-21
aws    p5en.48xlarge             8  h200        192  2048   63.30   26.28   26.98   2026-08-21
aws    p6-b200.48xlarge          8  b200        192  2048  113.93   41.21   41.88   2026-08-21
aws    p6-b300.48xlarge          8  b300        192  4096  142.42   44.40   47.49   2026-08-21
aws    g7e.48xlarge              8  rtx-pro-6000  -     -   33.14    7.17   20.20   2026-08-21
gcp    g2-standard-4             1  l4            4    16    0.70    0.34    0.42   2026-08-22
gcp    g2-standard-96            8  l4           96   384    7.98    3.87    4.80   2026-08-22
gcp    a2-highgpu-8g             8  a100-40      96   680   29.39   16.83   16.97   2026-08-22
gcp    a2-ultragpu-8g            8  a100-80      96  1360   40.22   15.07   19.36   2026-08-22
gcp    a3-highgpu-1g             1  h100         26   234   10.98    5.44    6.09   2026-08-22
gcp    a3-highgpu-8g             8  h100        208  1872   87.83   43.52   48.71   2026-08-22
gcp    a3-ultragpu-8g            8  h200        224  2952   86.76   50.38   50.38   2026-08-22
gcp    a4-highgpu-8g             8  b200        224  3968   90.22   32.61   39.54   2026-08-22
gcp    g4-standard-48            1  rtx-pro-6000 48   180    4.50    1.58    1.65   2026-08-22
azure  Standard_NC4as_T4_v3      1  t4            4    28    0.526    -       -     2025-09-11
azure  Standard_ND96isr_H100_v5  8  h100         96  1900   98.32     -       -     2025-09-11
oci    VM.GPU.A10.1              1  a10          30   240    2.00     -       -     2025-09-11
oci    BM.GPU4.8                 8  a100-40      -      -   24.40     -       -     2025-09-11
oci    BM.GPU.H100.8             8  h100         -      -   80.00     -       -     2025-09-11
"""
CLOUD_NAMES = {"aws": "AWS", "gcp": "Google Cloud", "azure": "Azure", "oci": "Oracle Cloud"}


class Listing(msgspec.Struct, frozen=True):
    """One machine of the table. Micro-dollars per hour; no spot price where none was listed."""

    cloud: str
    machine: str
    gpus: int
    gpu: str
    vcpus: int | None
    memory_gib: int | None
    on_demand: int
    spot_low: int | None
    spot_high: int | None
    as_of: dt.date


@lru_cache(maxsize=1)
def listings() -> dict[str, Listing]:
    """Every machine by its name in lower case."""
    found = [_listing(line.split()) for line in _ROWS.split("\n") if line.strip()]
    return {listing.machine.lower(): listing for listing in found}


def newest() -> dt.date:
    """The day of the newest row."""
    return max(listing.as_of for listing in listings().values())


def is_old(listing: Listing) -> bool:
    """Whether its source has stopped updating the row."""
    return (newest() - listing.as_of).days > OLD_AFTER_DAYS


def _listing(words: list[str]) -> Listing:
    cloud, machine, gpus, gpu, vcpus, memory, price, low, high, day = words
    return Listing(
        cloud,
        machine,
        int(gpus),
        gpu,
        None if vcpus == "-" else int(vcpus),
        None if memory == "-" else int(memory),
        micro_dollars(price),
        None if low == "-" else micro_dollars(low),
        None if high == "-" else micro_dollars(high),
        dt.date.fromisoformat(day),
    )
