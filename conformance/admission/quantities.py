"""Amounts for generated objects: mostly sensible, sometimes odd, now and then wrong.

Ladders keep sensible pairs (request below limit) common, so that objects get past validation and reach the
rules behind it; the odd and the wrong ones exercise parsing, rounding and every refusal.
"""

from __future__ import annotations

from random import Random

CPU = ("0", "50m", "100m", "0.25", "500m", "1", "1.5", "2", "4", "8")
MEMORY = ("0", "64Mi", "128Mi", "256M", "512Mi", "1Gi", "1.5Gi", "2Gi", "4Gi", "16Gi")
DISK = ("0", "100Mi", "1Gi", "5G", "10Gi", "50Gi")
DEVICES = ("0", "1", "2", "4", "8")
PAGES = ("2Mi", "4Mi", "8Mi", "64Mi")
ODD = (
    "1.500", "1.0", "0.1m", "250u", "1500u", "3n", "1e3", "1E3", "12e6", "1e-3", "100e-3", "+1", "+5Gi", ".5",
    "5.", "1.Gi", "0Gi", "0.0", "00", "007", "-0", "1024Mi", "1023Mi", "8Ki", "0.5Ki", "1.1Ki", "0.3Gi", "1k",
    "1000k", "1M", "1T", "1P", "1E", "10E", "1Ei", "7Ei", "8Ei", "16Ei", "9223372036854775807",
    "9223372036854775808", "999999999999999999", "1000000000000000000", "123456789.123456789",
    "0.000000001", "0.0000000001", "1.0000001", "100000", "1000000m", "1e18", "5e-10", "1.5e3", "0e5",
    "+", ".",
)  # fmt: skip
NEGATIVE = ("-1", "-100m", "-1Gi", "-1.5", "-1.1Ki", "-0.5")
WRONG = (
    "", "abc", "1 Gi", "1GB", "1gi", "1.2.3", "1e", "5ee3", "1Kii", "--1", "1,5", "0x10", "1e3.5", "Gi", "5-",
    "1mi", "1e99999999999999999999", "\uff11",
)  # fmt: skip


def ladder(name: str) -> tuple[str, ...]:
    """Sensible amounts of a resource, smallest first."""
    if name == "cpu":
        return CPU
    if name == "memory":
        return MEMORY
    if name.startswith("hugepages-"):
        return PAGES
    return DISK if "storage" in name else DEVICES


def pair(random: Random, name: str) -> tuple[str, str]:
    """A request and a limit that go together."""
    steps = ladder(name)
    first = random.randrange(len(steps))
    if "/" in name or name.startswith("hugepages-"):
        return steps[first], steps[first]
    return steps[first], steps[random.randrange(first, len(steps))]


def amount(random: Random, name: str, *, oddness: float) -> str:
    """One amount; `oddness` is the chance of something unusual."""
    if random.random() >= oddness:
        return random.choice(ladder(name))
    kind = random.random()
    if kind < 0.75:
        return random.choice(ODD)
    return random.choice(NEGATIVE) if kind < 0.9 else random.choice(WRONG)


def any_quantity(random: Random) -> str:
    """A literal built from parts, for comparing the parser alone; may be no quantity at all."""
    if random.random() < 0.3:
        return random.choice(ODD + NEGATIVE)
    if random.random() < 0.15:
        return random.choice(WRONG)
    digits = "".join(random.choices("0123456789", k=random.choice((1, 1, 2, 3, 4, 7, 12, 18, 19, 25))))
    if random.random() < 0.4:
        cut = random.randrange(len(digits) + 1)
        digits = f"{digits[:cut]}.{digits[cut:]}"
    if random.random() < 0.3:
        digits += "000"
    suffix = random.choice(
        (
            "",
            "",
            "n",
            "u",
            "m",
            "k",
            "M",
            "G",
            "T",
            "P",
            "E",
            "Ki",
            "Mi",
            "Gi",
            "Ti",
            "Pi",
            "Ei",
            "e3",
            "E-3",
            "e+6",
            "e-9",
            "e1",
        )
    )
    return random.choice(("", "", "", "-", "+")) + digits + suffix
