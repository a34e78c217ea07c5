"""Plain words that a regular expression cannot match without: how hundreds of rules read a long log in milliseconds.

Looking for a word in a text costs a hundredth of searching it with an expression. So each alternative of a rule has its
needle, the longest run of plain characters that any match must contain, and is tried only where the needle is.
Only the small language of this package's rules is understood; what is not gives no needle and is always tried.
"""

from __future__ import annotations

_LEAST = 3
_META = frozenset(".^$")
_QUANTIFIERS = frozenset("?*{")
_PLAIN_ESCAPES = frozenset(".()[]{}+*?^$|/\\\"'- #:&<>")


def alternatives(pattern: str) -> list[str]:
    """The parts between bars that stand outside of all brackets.

    >>> alternatives(r"a|b(?:c|d)|[|]e"), alternatives(r"x\\|y")
    (['a', 'b(?:c|d)', '[|]e'], ['x\\\\|y'])
    """
    parts, depth, in_class, start, position = [], 0, False, 0, 0
    while position < len(pattern):
        character = pattern[position]
        if character == "\\":
            position += 1
        elif in_class:
            in_class = character != "]"
        elif character == "[":
            in_class = True
        elif character in "()":
            depth += 1 if character == "(" else -1
        elif character == "|" and depth == 0:
            parts.append(pattern[start:position])
            start = position + 1
        position += 1
    return [*parts, pattern[start:]]


def needle_of(pattern: str) -> str | None:
    """The longest run of plain characters that every match of one alternative contains.

    >>> needle_of(r"\\bOut of memory: Kill(?:ed)? process"), needle_of(r"[Ss]egmentation fault"), needle_of(r"\\d+")
    ('Out of memory: Kill', 'egmentation fault', None)
    """
    runs, current, depth, position = [], "", 0, 0
    while position < len(pattern):
        character = pattern[position]
        length, plain = 1, ""
        if character == "\\":
            escaped = pattern[position + 1 : position + 2]
            length, plain = 2, escaped if escaped in _PLAIN_ESCAPES else ""
        elif character == "[":
            length = _class_length(pattern, position)
        elif character in "()":
            depth += 1 if character == "(" else -1
        elif character not in _META and character not in _QUANTIFIERS and character != "+":
            plain = character
        follower = pattern[position + length : position + length + 1]
        if plain and depth == 0 and follower not in _QUANTIFIERS:
            current += plain
        else:
            runs.append(current)
            current = ""
        position += length
        if character == "{":
            position = pattern.index("}", position) + 1
    longest = max([*runs, current], key=len)
    return longest if len(longest) >= _LEAST else None


def _class_length(pattern: str, position: int) -> int:
    """How many characters the set that begins here takes."""
    end = position + 1
    while pattern[end] != "]" or end == position + 1:
        end += 2 if pattern[end] == "\\" else 1
    return end - position + 1
