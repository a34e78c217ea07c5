"""What the peak consists of, line by line, each with its formula in words and numbers.

Every block carries the width it is a multiple of (`d`, `f`, `V`, `a s`, ...), so a layer's ledger need not be
written down anywhere: it is read off the blocks that are alive, as bytes per token in terms of those widths.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import msgspec

from tonnage.figures import plural
from tonnage.memory.estimate import LargeTensor, Part, PeakPlace, PhasePeak
from tonnage.memory.ledger.stepping import Run
from tonnage.memory.ledger.wording import gradients_line, optimizer_line, per_token, widths_of
from tonnage.memory.program import Program, Stretch
from tonnage.memory.recipe import Recipe
from tonnage.memory.temporaries.rule import bytes_of
from tonnage.memory.trace import PHASES

NAMES = {
    "parameter": "parameters", "buffer": "parameters", "gradient": "gradients", "optimizer": "optimizer",
    "input": "batch", "temporary": "temporaries", "workspace": "workspaces",
}  # fmt: skip
ORDER = (
    "parameters", "sharing", "gradients", "optimizer", "batch", "cast weights", "activations", "other micro-batches",
    "head and loss", "temporaries", "workspaces",
)  # fmt: skip
ENDS = ("head", "loss", "norm", "transform")
LARGEST = 10


class Told(msgspec.Struct, frozen=True):
    """The peak and the phases, explained."""

    peak: int
    parts: tuple[Part, ...]
    phases: tuple[PhasePeak, ...]
    place: PeakPlace
    largest: tuple[LargeTensor, ...]
    notes: tuple[str, ...]


def explain(program: Program, run: Run, recipe: Recipe) -> Told:
    """Walk the steps once for the peaks of every phase, once more for what is alive at the highest."""
    return _Teller(program, run, recipe).tell()


class _Teller:
    def __init__(self, program: Program, run: Run, recipe: Recipe) -> None:
        self.program, self.run, self.recipe = program, run, recipe
        self.trace = program.trace
        self.weights = set(run.program.weights)
        self.modules = self.trace.modules
        self.known_lines: dict[int, str] = {}

    def tell(self) -> Told:
        best = self._peaks()
        highest = max(best, key=lambda name: best[name][0])
        peak, place, call = best[highest]
        alive_at = self._alive({place for _, place, _ in best.values()})
        alive = alive_at[place]
        where = PeakPlace(highest)
        if call >= 0:
            traced = self.trace.calls[call]
            where = PeakPlace(
                highest, self.modules[traced.module], self.trace.operations[traced.operation].name
            )
        parts = {name: self._parts(alive_at[found[1]]) for name, found in best.items()}
        phases = tuple(PhasePeak(name, best[name][0], parts[name]) for name in PHASES if name in best)
        return Told(peak, parts[highest], phases, where, self._largest(alive), self._notes())

    def _line(self, slot: int) -> str:
        """Which line of the sum a block belongs to."""
        found = self.known_lines.get(slot)
        if found is None:
            found = self.known_lines[slot] = self._line_of(slot)
        return found

    def _line_of(self, slot: int) -> str:
        category = self.program.slots.categories[slot]
        if slot >= len(self.trace.blocks):
            return NAMES[category]
        tape = self.run.tape
        label = tape.labels[slot]
        if label == "sharing":
            return "sharing"
        if label == "pipeline":
            return "other micro-batches"
        if label in self.weights and (category == "activation" or self._is_cast(slot, category)):
            return "cast weights"
        if category == "activation":
            module = self.modules[tape.block_modules[slot]]
            return "head and loss" if module.startswith(ENDS) else "activations"
        return NAMES[category]

    def _is_cast(self, slot: int, category: str) -> bool:
        """Whether autocast made it on the way forward: nothing is saved under checkpointing, but the cache keeps it."""
        call = self.trace.blocks[slot].call
        if category != "temporary" or call < 0 or not self.recipe.precision.startswith("amp"):
            return False
        return PHASES[self.trace.calls[call].phase] == "forward"

    def _peaks(self) -> dict[str, tuple[int, int, int]]:
        """Per phase of the last step: most allocated, the number of events up to it, and its call."""
        sizes, calls = self.program.slots.sizes, self.trace.calls
        best: dict[str, tuple[int, int, int]] = {}
        allocated = place = 0
        phase = "build"
        last = [stretch.name for stretch in self.program.stretches if stretch.is_step][-1]
        for stretch in self.program.stretches:
            changes = [sizes[event] if event >= 0 else -sizes[~event] for event in stretch.events]
            if stretch.name != last:
                allocated += sum(changes)
                place += len(changes)
                phase = self._phase_after(stretch, phase)
                continue
            for change, call in zip(changes, stretch.calls, strict=True):
                place += 1
                allocated += change
                if change < 0:
                    continue
                if call >= 0:
                    phase = PHASES[calls[call].phase]
                highest = best.get(phase)
                if highest is None or allocated > highest[0]:
                    best[phase] = (allocated, place, call)
        return best

    def _phase_after(self, stretch: Stretch, before: str) -> str:
        """The phase of the last block that a call made."""
        for event, call in zip(reversed(stretch.events), reversed(stretch.calls), strict=True):
            if event >= 0 and call >= 0:
                return PHASES[self.trace.calls[call].phase]
        return before

    def _alive(self, places: set[int]) -> dict[int, list[int]]:
        """Slots in use after so many events, in the order in which they were taken."""
        alive: dict[int, None] = {}
        found: dict[int, list[int]] = {}
        place = 0
        for stretch in self.program.stretches:
            cuts = sorted(at - place for at in places if place < at <= place + len(stretch.events))
            begin = 0
            for cut in (*cuts, len(stretch.events)):
                for event in stretch.events[begin:cut]:
                    if event >= 0:
                        alive[event] = None
                    else:
                        alive.pop(~event, None)
                begin = cut
                if place + cut in places:
                    found[place + cut] = list(alive)
            place += len(stretch.events)
        return found

    def _parts(self, alive: list[int]) -> tuple[Part, ...]:
        groups: dict[str, list[int]] = defaultdict(list)
        for slot in alive:
            groups[self._line(slot)].append(slot)
        sizes = self.program.slots.sizes
        return tuple(
            Part(name, sum(sizes[slot] for slot in groups[name]), self._formula(name, groups[name]))
            for name in ORDER
            if groups.get(name)
        )

    def _formula(self, name: str, slots: list[int]) -> str:
        run, recipe = self.run, self.recipe
        sizes = self.program.slots.sizes
        held = sum(sizes[slot] for slot in slots)
        match name:
            case "parameters":
                cut = f" / {run.sharing.weights} ranks" if run.sharing.weights > 1 else ""
                return f"{run.weights:,} weights x {run.width} bytes{cut}"
            case "gradients":
                return gradients_line(held, run)
            case "optimizer":
                return optimizer_line(run, recipe)
            case "batch":
                return "what one micro-batch brings: inputs and labels"
            case "sharing":
                return "; ".join(f"{part.name}: {part.formula}" for part in run.sharing.working)
            case "cast weights":
                return f"autocast keeps {held // 2:,} weights in half precision, 2 bytes each, until they are used"
            case "other micro-batches":
                return f"{run.sharing.in_flight - 1} more micro-batches in the pipeline, activations as below"
            case "workspaces":
                each = ", ".join(f"{sizes[slot] / 2**20:.3g}" for slot in slots)
                return f"kept by cuBLAS, one for each thread that multiplies: {each} MiB"
            case "temporaries":
                return self._biggest(slots)
        return self._ledger(name, slots)

    def _ledger(self, name: str, slots: list[int]) -> str:
        """Bytes per token of one layer in terms of its widths, times layers and tokens."""
        run, tape = self.run, self.run.tape
        layers: dict[int, list[int]] = defaultdict(list)
        for slot in slots:
            layers[tape.block_modules[slot]].append(slot)
        numbered = {m: found for m, found in layers.items() if _is_layer(self.modules[m])}
        if not run.tokens or (name == "activations" and not numbered):
            images = self.recipe.micro_batch
            held = sum(tape.sizes[slot] for slot in slots)
            kept = plural(len(layers), "operation")
            return f"{plural(images, 'image')} x {held // images:,} bytes, kept by {kept}"
        chosen = numbered if name == "activations" else layers
        fullest = max(chosen.values(), key=lambda found: sum(tape.sizes[slot] for slot in found))
        if name != "activations":
            fullest = slots
        formula, widths = per_token(
            [(tape.sizes[slot], tape.labels[slot]) for slot in fullest], run, self.recipe
        )
        number = f"{len(chosen)} layers x " if name == "activations" and len(chosen) > 1 else ""
        least = min(sum(tape.sizes[slot] for slot in found) for found in chosen.values())
        most = sum(tape.sizes[slot] for slot in fullest)
        uneven = ""
        if name == "activations" and least != most:
            uneven = f" in the fullest layer, {least // run.tokens:,} bytes in the emptiest"
        return f"{number}{run.tokens:,} tokens x ({formula}) bytes{uneven}{widths}"

    def _biggest(self, slots: list[int]) -> str:
        sizes, tape = self.program.slots.sizes, self.run.tape
        counts = Counter(
            (sizes[slot], tape.labels[slot] if slot < len(tape.labels) else "") for slot in slots
        )
        widths = widths_of(self.run, self.recipe)
        told = []
        for (size, label), times in sorted(counts.items(), key=lambda item: -item[0][0] * item[1])[:3]:
            what = f"{size:,} bytes"
            width = widths.get(label, 0) * self.run.tokens
            if width and size % width == 0:
                what = f"{self.run.tokens:,} tokens x {size // width} {label} bytes"
            told.append(f"{times} x {what}")
        return "alive at this moment only: " + ", ".join(told)

    def _largest(self, alive: list[int]) -> tuple[LargeTensor, ...]:
        sizes = self.program.slots.sizes
        own = len(self.trace.blocks)
        found = sorted(alive, key=lambda slot: (-sizes[slot], slot >= own))[:LARGEST]
        return tuple(self._large(slot) for slot in found)

    def _large(self, slot: int) -> LargeTensor:
        tape, size, line = self.run.tape, self.program.slots.sizes[slot], self._line(slot)
        if slot >= len(tape.sizes):
            return LargeTensor(size, line, "", "")
        call = tape.block_calls[slot]
        module = self.modules[tape.block_modules[slot]] or tape.labels[slot]
        if call < 0:
            return LargeTensor(size, line, module, "")
        operation = self.trace.operations[self.trace.calls[call].operation]
        exact = tape.sizes[slot]
        made = next((out for out in operation.outputs if bytes_of(out) == exact), None)
        shape, dtype = (made.shape, made.dtype) if made is not None else ((), "")
        return LargeTensor(size, line, module, operation.name, shape, dtype)

    def _notes(self) -> tuple[str, ...]:
        notes = [
            "worked out from dimensions, not traced: the library's own model and loss, nothing else kept"
        ]
        if self.recipe.lora_rank is not None:
            notes.append(f"LoRA rank {self.recipe.lora_rank} on the attention projections q, k, v and o")
        if self.recipe.checkpointing == "selective":
            notes.append("selective checkpointing recomputes every second block")
        if self.recipe.offload != "none":
            notes.append("the time of offloading is reckoned from PCIe and host memory, not measured")
        return tuple(notes)


def _is_layer(module: str) -> bool:
    return module.rsplit(".", 1)[-1].isdigit()
