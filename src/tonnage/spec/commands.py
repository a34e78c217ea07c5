"""A command: a list of words, or one line that is split as a shell would (no shell runs it).

A line that needs a shell (pipes, `&&`, `$HOME`, several lines) is run by one: `sh -c` with `exec` semantics
left to the author, exactly as written, because splitting it would silently change what it does.
"""

from __future__ import annotations

import re
import shlex
from typing import Any

from tonnage.spec.literals.refusals import LiteralError, shown

CODE = "DOC-024"
EXPECTED = "a line like `python train.py`, or a list of words"
SHELL = ("/bin/sh", "-c")

# {microBatch} and {accumulation} are our own placeholders, so single braces alone ask for no shell.
_NEEDS_SHELL = re.compile(r"[|&;<>`\n]|\$[A-Za-z_{(]|\*|^\s*\w+=")


def parse(value: Any) -> tuple[str, ...]:
    """The words to run.

    >>> parse("python train.py --name 'a b'"), parse("cd x && python y.py")
    (('python', 'train.py', '--name', 'a b'), ('/bin/sh', '-c', 'cd x && python y.py'))
    """
    if isinstance(value, str):
        return _split(value)
    if isinstance(value, list | tuple):
        if not value:
            raise LiteralError(CODE, "an empty command", expected=EXPECTED)
        return tuple(_word(word, index) for index, word in enumerate(value))
    raise LiteralError(CODE, f"{shown(value)} is not a command", expected=EXPECTED)


def write(words: tuple[str, ...]) -> str | list[str]:
    """The friendliest form that reads back as the same words."""
    if len(words) == 3 and words[:2] == SHELL and _reads_back(words[2], words):
        return words[2]
    line = shlex.join(words)
    return line if _reads_back(line, words) else list(words)


def _reads_back(line: str, words: tuple[str, ...]) -> bool:
    try:
        return _split(line) == words
    except LiteralError:
        return False


def _split(line: str) -> tuple[str, ...]:
    if not line.strip():
        raise LiteralError(CODE, "an empty command", expected=EXPECTED)
    if "\0" in line:
        raise LiteralError(CODE, "a NUL character in a command", expected=EXPECTED)
    if _NEEDS_SHELL.search(line.strip()):
        return (*SHELL, line)
    try:
        return tuple(shlex.split(line))
    except ValueError as error:
        raise LiteralError(CODE, f"{shown(line)}: {str(error).lower()}", expected=EXPECTED) from None


def _word(word: Any, index: int) -> str:
    if isinstance(word, str) and "\0" not in word:
        return word
    text = getattr(word, "text", None)
    if isinstance(text, str):
        return text
    if isinstance(word, int | float) and not isinstance(word, bool):
        return str(word)
    raise LiteralError(
        CODE,
        f"word {index + 1} is {shown(word)}, not text",
        expected=EXPECTED,
        hint=f'quote it: "{shown(word)}"',
    )
