"""Formulas in words and numbers."""

from __future__ import annotations

from collections import defaultdict

from tonnage.memory.ledger.stepping import Run
from tonnage.memory.recipe import Recipe

MEANING = {
    "d": "width", "f": "feed-forward width", "q": "query width", "k": "key width", "V": "vocabulary", "a": "heads",
    "s": "sequence", "e": "experts", "t": "experts per token", "r": "LoRA rank",
}  # fmt: skip
ADAM = {"adamw", "adamw-fused", "adamw-forloop"}


def widths_of(run: Run, recipe: Recipe) -> dict[str, int]:
    """Every width a block may be a multiple of, by the label the programs give it."""
    shape, cut = run.program.shape, recipe.parallel.tensor
    rows = recipe.sequence or (shape.image // shape.patch) ** 2 + 1 if shape.patch or recipe.sequence else 1
    d, q, k, f = shape.hidden, shape.query // cut, shape.key // cut, shape.intermediate // cut
    heads = shape.heads // cut
    return {
        "d": d, "f": f, "2 f": 2 * f, "q": q, "k": k, "3 q": 3 * q, "q + 2 k": q + 2 * k,
        "V": shape.vocabulary // cut, "heads": heads, "heads s": heads * rows, "s": rows, "1": 1,
        "experts": shape.experts, "top": shape.experts_per_token, "r": recipe.lora_rank or 0,
        "classes": shape.classes,
    }  # fmt: skip


MULTIPLES = {"3 q": "q", "2 f": "f"}
"""Widths that are told as multiples of another."""
SYMBOL = {"heads": "a", "heads s": "a s", "1": "", "experts": "e", "top": "t", "q + 2 k": "(q + 2 k)"}


def per_token(blocks: list[tuple[int, str]], run: Run, recipe: Recipe) -> tuple[str, str]:
    """Bytes per token as a sum of widths, and what the widths are."""
    widths = widths_of(run, recipe)
    totals: dict[str, int] = defaultdict(int)
    rest = 0
    for size, given in blocks:
        label = MULTIPLES.get(given, given)
        width = widths.get(label, 0)
        if width and size >= run.tokens * width // 64:
            totals[label] += size
        else:
            rest += size
    terms = []
    for label, size in sorted(totals.items(), key=lambda item: -item[1]):
        amount = size / run.tokens / widths[label]
        symbol = SYMBOL.get(label, label)
        terms.append(f"{amount:.4g} {symbol}".strip())
    if rest >= run.tokens:
        terms.append(f"{rest // run.tokens:,}")
    used = " ".join(SYMBOL.get(label, label) for label in totals)
    letters = sorted(
        {letter for letter in used.replace("(", " ").replace(")", " ").split() if letter in MEANING}
    )
    values = {"a": widths["heads"], "e": widths["experts"], "t": widths["top"]}
    said = ", ".join(f"{one} = {values.get(one, widths.get(one, 0)):,}" for one in letters)
    return " + ".join(terms), f"; {said}" if said else ""


def gradients_line(held: int, run: Run) -> str:
    """Gradients that exist at the peak."""
    cut = f", each rank its part of {run.sharing.gradients}" if run.sharing.gradients > 1 else ""
    return f"{held // run.width:,} of {run.trained:,} gradients x {run.width} bytes{cut}"


def optimizer_line(run: Run, recipe: Recipe) -> str:
    """State by optimizer."""
    cut = f" / {run.sharing.state} ranks" if run.sharing.state > 1 else ""
    number = f"{run.trained:,}"
    if run.sharing.has_masters:
        each = 12 if recipe.optimizer in ADAM else 8
        return f"{number} x {each} bytes (fp32 master and moments){cut}"
    if recipe.optimizer in ADAM:
        return f"{number} x 2 moments x {run.width} bytes{cut}"
    if recipe.optimizer == "sgdm":
        return f"{number} x momentum of {run.width} bytes{cut}"
    return f"rows and columns of each matrix, {run.width} bytes each{cut}"
