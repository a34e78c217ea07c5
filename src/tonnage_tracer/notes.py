"""What a reader of the trace must know: values that were assumed, sizes that were bounded. Each is said once."""

from __future__ import annotations


class Notes:
    """Remarks by code and text, with how often each was made."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}

    def add(self, code: str, text: str) -> None:
        """Remember a remark."""
        self._counts[code, text] = self._counts.get((code, text), 0) + 1

    def as_data(self) -> list[dict[str, str]]:
        """The remarks in the order they were first made; repeated ones say how often."""
        return [
            {"code": code, "text": text if count == 1 else f"{text} ({count} times)"}
            for (code, text), count in self._counts.items()
        ]
