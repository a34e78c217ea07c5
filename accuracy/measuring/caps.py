"""The smallest memory cap under which a configuration really trains, found by bisection on the device.

Run on a machine with a GPU:  python -m accuracy.measuring.caps --out FOLDER --guesses FILE [--limit SECONDS]

A trial is a fresh process: cap, build, five steps, trained or out of memory. Trials run side by side as far as
the device's memory allows, because a cap does not depend on what else runs. `--guesses` holds {name: bytes}, where
to look first (peak reserved will do); the bracket grows when the guess was wrong, so a bad guess costs time only.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from accuracy.catalogue import Configuration, configurations
from accuracy.measuring.children import Child
from accuracy.measuring.histories import load, preload

MIB = 1 << 20
CONTEXT = 900 * MIB
STEPS = 5


@dataclass
class Search:
    """One configuration's bracket: the largest cap that failed, the smallest that trained."""

    configuration: Configuration
    guess: int
    width: float
    failed: int | None = None
    trained: int | None = None
    trials: list[tuple[int, bool, int]] = field(default_factory=list)
    error: str | None = None

    @property
    def is_done(self) -> bool:
        if self.error or len(self.trials) >= 14:
            return True
        return (
            self.failed is not None
            and self.trained is not None
            and self.trained - self.failed <= self.width * self.trained
        )

    def next_cap(self) -> int:
        """Half-way between the ends; outwards by growing strides while an end is missing."""
        stride = int(self.guess * self.width * 0.45 * 3 ** len(self.trials))
        if self.failed is None and self.trained is None:
            return self.guess + int(self.guess * self.width * 0.45)
        if self.failed is None:
            assert self.trained is not None
            return max(self.trained - max(stride, 2 * MIB), 64 * MIB)
        if self.trained is None:
            return self.failed + max(stride, 2 * MIB)
        return (self.failed + self.trained) // 2

    def learn(self, cap: int, outcome: dict[str, Any]) -> None:
        if "error" in outcome:
            self.error = outcome["error"]
            return
        self.trials.append((cap, outcome["trained"], outcome.get("retries", -1)))
        if outcome["trained"]:
            self.trained = cap if self.trained is None else min(cap, self.trained)
        else:
            self.failed = cap if self.failed is None else max(cap, self.failed)
        if self.failed is not None and self.trained is not None and self.failed >= self.trained:
            self.error = f"not monotone: trained at {self.trained}, failed at {self.failed}"


def trial(configuration: Configuration, cap: int) -> dict[str, Any]:
    """Whether build and five steps fit under the cap."""
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(cap / total)
    try:
        step = load(configuration)()
        for _ in range(STEPS):
            step()
        torch.cuda.synchronize()
    except torch.cuda.OutOfMemoryError:
        return {"trained": False}
    return {"trained": True, "retries": torch.cuda.memory_stats()["num_alloc_retries"]}


def search_all(searches: list[Search], limit: float, room: int, out: Path) -> None:
    """Run trials side by side until every bracket is narrow or the time is over."""
    started = time.monotonic()
    waiting = sorted(searches, key=lambda search: -search.guess)
    running: dict[int, tuple[Search, int, Child]] = {}
    while waiting or running:
        held = sum(cap + CONTEXT for _, cap, _ in running.values())
        for search in list(waiting):
            cap = search.next_cap()
            over = time.monotonic() - started > limit
            if over or len(running) >= 14 or held + cap + CONTEXT > room:
                continue
            waiting.remove(search)
            child = Child(trial, search.configuration, cap)
            running[child.pid] = (search, cap, child)
            held += cap + CONTEXT
        if not running:
            break
        for pid, (search, cap, child) in list(running.items()):
            if child.poll(0.02):
                search.learn(cap, child.result())
            elif time.monotonic() - child.started > 150:
                child.kill()
                child.result()
                search.error = "a trial took longer than 150 s"
            else:
                continue
            del running[pid]
            if not search.is_done:
                waiting.append(search)
            else:
                print(
                    f"{search.configuration.name:36s} {_told(search)} {time.monotonic() - started:.0f} s",
                    flush=True,
                )
                _save(searches, out)
    _save(searches, out)


def _told(search: Search) -> str:
    if search.error:
        return search.error[:200]
    low, high = (search.failed or 0) / MIB, (search.trained or 0) / MIB
    return f"{low:9.1f} .. {high:9.1f} MiB in {len(search.trials)} trials, guess {search.guess / MIB:9.1f}"


def _save(searches: list[Search], out: Path) -> None:
    found = {
        s.configuration.name: {"failed": s.failed, "trained": s.trained, "trials": s.trials, "error": s.error}
        for s in searches
    }
    (out / "caps.json").write_text(json.dumps(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--guesses", type=Path, required=True)
    parser.add_argument("--limit", type=float, default=480)
    parser.add_argument("--width", type=float, default=0.0012)
    parser.add_argument("--gib", type=int, default=130, help="device memory that trials may hold together")
    options = parser.parse_args()
    guesses = json.loads(options.guesses.read_text())
    searches = [Search(c, int(guesses[c.name]), options.width) for c in configurations() if c.name in guesses]
    for search in searches:
        load(search.configuration)
    preload()
    search_all(searches, options.limit, options.gib << 30, options.out)


if __name__ == "__main__":
    main()
