"""Does this script save its progress? If not, which lines would make it survive. Reads the text, runs nothing.

A `torch.save` after the last loop keeps the result, not the progress: it counts only inside a loop, or in a function
called from one. Frameworks that save by themselves count where they are used. What is found is evidence, not proof:
a script that hides its saving behind its own modules is told so politely, and `checkpoints` in the Run decides.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal

from tonnage.sdk.reading import Script, read_script

How = Literal["after", "before", "instead of"]


@dataclass(frozen=True, slots=True)
class Insertion:
    """Lines to add, and where."""

    how: How
    line: int
    """Line of the script as it is, from 1; 0 with `after` is its beginning."""
    text: str
    """With the indentation it needs there; may be several lines."""


@dataclass(frozen=True, slots=True)
class Advice:
    """What was found in a script, and what to add."""

    saves: bool
    evidence: str
    """One line for people: what was found, or what was looked for."""
    lines: tuple[Insertion, ...] = ()

    def as_text(self) -> str:
        """The lines to add with their places, for a terminal."""
        shown = [self.evidence]
        for each in self.lines:
            place = "at the top" if each.line == 0 else f"{each.how} line {each.line}"
            shown += [f"  {place}:", *(f"    + {line}" for line in each.text.splitlines())]
        return "\n".join(shown)


def advise(text: str, name: str = "the script") -> Advice:
    """Whether the script saves its progress, and the lines to add where it does not."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        where = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        return Advice(False, f"{name} cannot be read as Python{where}: {getattr(error, 'msg', error)}")
    script = read_script(tree)
    if script.saving:
        return Advice(True, f"{name} saves its progress: {script.saving}")
    lines = _lines_for(script, text.splitlines())
    if not lines:
        return Advice(False, f"{name} saves no checkpoint, and no training loop was found in it")
    return Advice(False, f"{name} saves no checkpoint; these lines would make it survive:", tuple(lines))


def apply(text: str, lines: tuple[Insertion, ...]) -> str:
    """The script with the lines added."""
    written = text.splitlines()
    order = ("before", "instead of", "after")
    for each in sorted(lines, key=lambda each: (each.line, order.index(each.how)), reverse=True):
        start = each.line if each.how == "after" else each.line - 1
        end = start + 1 if each.how == "instead of" else start
        written[start:end] = each.text.splitlines()
    return "\n".join(written) + "\n"


def _lines_for(script: Script, written: list[str]) -> list[Insertion]:
    start = Insertion("after", script.last_import, "from tonnage_agent import sdk")
    if script.trainer is not None:
        return [start, *_for_trainer(script, written)]
    if script.loop is None:
        return []
    return [start, *_for_loop(script, script.loop, written)]


def _for_trainer(script: Script, written: list[str]) -> list[Insertion]:
    """A framework's own loop: a callback, and where to resume."""
    call = script.trainer
    assert call is not None
    indent = _indent(written, call.lineno)
    owner = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else "trainer"
    if script.framework == "lightning":
        before = f"run = sdk.attach()\nkeeping = sdk.lightning(run)\n{owner}.callbacks.append(keeping)"
        keyword = ast.keyword("ckpt_path", ast.parse("keeping.checkpoint", mode="eval").body)
    else:
        before = f"run = sdk.attach()\nkeeping = sdk.hugging_face(run)\n{owner}.add_callback(keeping)"
        keyword = ast.keyword("resume_from_checkpoint", ast.parse("keeping.checkpoint", mode="eval").body)
    changed = _with_keyword(written, call, keyword)
    return [Insertion("before", call.lineno, _indented(before, indent)), *changed]


def _with_keyword(written: list[str], call: ast.Call, keyword: ast.keyword) -> list[Insertion]:
    """The call with one more argument, if it stands on one line."""
    if call.end_lineno != call.lineno or call.end_col_offset is None:
        return []
    new = ast.Call(call.func, call.args, [*call.keywords, keyword])
    line = written[call.lineno - 1].encode()
    changed = line[: call.col_offset] + ast.unparse(new).encode() + line[call.end_col_offset :]
    return [Insertion("instead of", call.lineno, changed.decode())]


def _for_loop(script: Script, loop: ast.For | ast.While, written: list[str]) -> list[Insertion]:
    indent = _indent(written, loop.lineno)
    if script.parts:
        parts = ", ".join(f"{name}={value}" for name, value in script.parts)
        opening = f"run = sdk.attach()\nstate = sdk.TorchState({parts})\nrun.resume(state.load)"
        save = "state.write"
    else:
        opening = (
            "run = sdk.attach()\nsaved = run.resume()  # None at first, then saved / 'state'\n\n"
            "def write(folder):\n    (folder / 'state').write_text(...)  # to go on from"
        )
        save = "write"
    before = Insertion("before", loop.lineno, _indented(opening, indent))
    total = _total(loop)
    if total is not None and isinstance(loop, ast.For) and not script.has_inner_loop:
        header = f"for {ast.unparse(loop.target)} in run.steps({total}, save={save}):"
        return [before, Insertion("instead of", loop.lineno, _indented(header, indent))]
    return [before, *_counted(script.inner or loop, save, written)]


def _counted(loop: ast.For | ast.While, save: str, written: list[str]) -> list[Insertion]:
    """A loop whose steps have no number of their own: they are counted, and those already made are passed over."""
    first, last = loop.body[0], loop.body[-1]
    inner = _indent(written, first.lineno)
    begin = "if (step := run.count()) < run.next_step:\n    continue  # made before the interruption"
    end = f"run.step(step)\nrun.save_if_due(step, {save})\nrun.end_if_asked(step)"
    return [
        Insertion("before", first.lineno, _indented(begin, inner)),
        Insertion("after", last.end_lineno or last.lineno, _indented(end, inner)),
    ]


def _total(loop: ast.For | ast.While) -> str | None:
    """What `range` counts to, where the loop counts from 0 by one."""
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
        return None
    call = loop.iter
    is_range = isinstance(call.func, ast.Name) and call.func.id == "range"
    return ast.unparse(call.args[0]) if is_range and len(call.args) == 1 else None


def _indent(written: list[str], line: int) -> str:
    text = written[line - 1]
    return text[: len(text) - len(text.lstrip())]


def _indented(text: str, indent: str) -> str:
    return "\n".join(indent + line if line else line for line in text.splitlines())
