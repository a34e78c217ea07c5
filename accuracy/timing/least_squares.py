"""Least squares whose answers cannot be negative: costs are costs."""

from __future__ import annotations

from collections.abc import Sequence


def non_negative(
    rows: Sequence[Sequence[float]], targets: Sequence[float], weights: Sequence[float], *, ridge: Sequence[float],
    centre: Sequence[float], rounds: int = 4000,
) -> list[float]:  # fmt: skip
    """Coefficients >= 0 that minimise weighted squares, drawn a little (`ridge`) towards `centre`.

    Coordinate descent: small problems, no library.
    """
    width = len(centre)
    gram = [[0.0] * width for _ in range(width)]
    right = [0.0] * width
    for row, target, weight in zip(rows, targets, weights, strict=True):
        for i in range(width):
            right[i] += weight * row[i] * target
            for j in range(width):
                gram[i][j] += weight * row[i] * row[j]
    for i in range(width):
        gram[i][i] += ridge[i]
        right[i] += ridge[i] * centre[i]
    found = list(centre)
    for _ in range(rounds):
        moved = 0.0
        for i in range(width):
            if gram[i][i] == 0.0:
                continue
            others = sum(gram[i][j] * found[j] for j in range(width)) - gram[i][i] * found[i]
            value = max(0.0, (right[i] - others) / gram[i][i])
            moved = max(moved, abs(value - found[i]) / (abs(value) + 1e-12))
            found[i] = value
        if moved < 1e-7:
            break
    return found
