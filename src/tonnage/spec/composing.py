"""From YAML events to a tree of located nodes, with walls against files that are built to hurt.

PyYAML's own composer recurses once per level and expands nothing until it is too late, so the tree is built
here, from its event stream, without recursion. Three walls, each checked as the events arrive: how deep,
how many nodes, and how many nodes once every alias is expanded (the "billion laughs" file is a few hundred
bytes whose expansion is not). The events come from libyaml where PyYAML has it, from PyYAML's own parser
otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import yaml

MAX_DEPTH = 64
MAX_NODES = 50_000
MAX_DOCUMENTS = 100

_KNOWN_TAGS = {
    f"tag:yaml.org,2002:{name}": name for name in ("str", "int", "float", "bool", "null", "map", "seq")
}


class Node(msgspec.Struct, eq=False):
    """One scalar, list or mapping with the place where it starts (both counted from one)."""

    kind: str  # scalar, list, mapping
    line: int
    column: int
    text: str = ""
    is_plain: bool = False
    tag: str | None = None
    items: list[Node] = msgspec.field(default_factory=list)
    """Children: the elements of a list; keys and values in turn of a mapping."""
    size: int = 1
    depth: int = 1


class ComposeError(Exception):
    """The stream stops making sense, or runs into a wall; nothing after this point is read."""

    def __init__(self, code: str, what: str, line: int | None, *, expected: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.code, self.what, self.line = code, what, line
        self.expected, self.hint = expected or None, hint or None


def compose(text: str) -> Iterator[Node | None]:
    """Every document of the stream in turn; None for one that is empty."""
    builder = _Builder()
    for event in _events(text):
        finished = builder.take(event)
        if finished:
            yield builder.root


class _Builder:
    """The document being read: a stack of open collections, and the anchors seen."""

    def __init__(self) -> None:
        self.open: list[tuple[Node, str | None]] = []
        self.anchors: dict[str, Node | None] = {}
        self.root: Node | None = None
        self.seen = 0
        self.documents = 0

    def take(self, event: Any) -> bool:
        """Add one event; true when a document has just ended."""
        match type(event).__name__:
            case "DocumentStartEvent":
                self.open, self.anchors, self.root = [], {}, None
                self._count_document(event)
            case "DocumentEndEvent":
                return True
            case "ScalarEvent":
                node = _scalar(event)
                self._remember(event.anchor, node)
                self._add(node)
            case "AliasEvent":
                self._add_alias(event)
            case "SequenceStartEvent" | "MappingStartEvent":
                self._begin(event)
            case "SequenceEndEvent" | "MappingEndEvent":
                node, anchor = self.open.pop()
                self._remember(anchor, node)
                self._add(node)
        return False

    def _count_document(self, event: Any) -> None:
        self.documents += 1
        if self.documents > MAX_DOCUMENTS:
            raise ComposeError(
                "DOC-008",
                "too many documents in one file",
                event.start_mark.line + 1,
                expected=f"at most {MAX_DOCUMENTS}",
                hint="split the file",
            )

    def _begin(self, event: Any) -> None:
        line = event.start_mark.line + 1
        if len(self.open) >= MAX_DEPTH:
            raise _too_deep(line)
        kind = "list" if type(event).__name__ == "SequenceStartEvent" else "mapping"
        if event.anchor:
            self.anchors[event.anchor] = None  # until it is finished: `&a [*a]` contains itself
        node = Node(kind, line, event.start_mark.column + 1, tag=_tag(event))
        self.open.append((node, event.anchor))

    def _add_alias(self, event: Any) -> None:
        line = event.start_mark.line + 1
        if event.anchor not in self.anchors:
            raise ComposeError("DOC-003", f"*{event.anchor} refers to an anchor that is not defined", line)
        node = self.anchors[event.anchor]
        if node is None:
            raise ComposeError("DOC-003", f"*{event.anchor} contains itself", line)
        self._add(node)

    def _add(self, node: Node) -> None:
        self.seen += 1
        if not self.open:
            self.root = node
            return
        parent = self.open[-1][0]
        parent.items.append(node)
        parent.size += node.size
        parent.depth = max(parent.depth, node.depth + 1)
        if parent.size > MAX_NODES or self.seen > MAX_NODES:
            raise ComposeError(
                "DOC-008",
                "the file expands to too many values",
                node.line,
                expected=f"at most {MAX_NODES:,} values, anchors expanded",
                hint="split the file, or write out what the aliases repeat",
            )
        if parent.depth + len(self.open) > MAX_DEPTH:
            raise _too_deep(node.line)

    def _remember(self, anchor: str | None, node: Node) -> None:
        if anchor:
            self.anchors[anchor] = node


def _scalar(event: Any) -> Node:
    mark = event.start_mark
    return Node("scalar", mark.line + 1, mark.column + 1, event.value, event.implicit[0], _tag(event))


def _tag(event: Any) -> str | None:
    if event.tag is None or event.tag == "!":
        return None
    known = _KNOWN_TAGS.get(event.tag)
    if known is None:
        raise ComposeError(
            "DOC-003",
            f"the tag {event.tag[:60]} is not allowed here",
            event.start_mark.line + 1,
            expected="plain values",
        )
    return known


def _too_deep(line: int) -> ComposeError:
    return ComposeError(
        "DOC-008", "nested too deeply", line, expected=f"at most {MAX_DEPTH} levels of lists and mappings"
    )


def _events(text: str) -> Iterator[Any]:
    parser = None
    try:
        parser = _parser(text)  # the pure parser looks at the characters here already
        while parser.check_event():
            yield parser.get_event()
    except yaml.MarkedYAMLError as error:
        raise _explained(error, text) from None
    except yaml.YAMLError as error:  # the reader's own: characters YAML does not allow
        raise ComposeError("DOC-003", _unreadable_character(error), _line_of(error, text)) from None
    finally:
        if parser is not None and hasattr(parser, "dispose"):
            parser.dispose()


def _parser(text: str) -> Any:
    if yaml.__with_libyaml__:
        from yaml import cyaml

        return vars(cyaml)["CParser"](text)  # the type stubs do not know it
    from yaml.loader import SafeLoader

    return SafeLoader(text)


def _explained(error: yaml.MarkedYAMLError, text: str) -> ComposeError:
    mark = error.problem_mark or error.context_mark
    number = mark.line if mark else 0
    lines = text.splitlines()
    line = lines[number] if number < len(lines) else ""
    indent = line[: len(line) - len(line.lstrip())]
    if "\t" in indent or (line.lstrip(" -").startswith("\t")):
        return ComposeError(
            "DOC-003",
            "a tab is used for indentation",
            number + 1,
            expected="spaces",
            hint="replace each tab by spaces",
        )
    problem = (error.problem or error.context or "not YAML").strip()
    return ComposeError("DOC-003", f"not YAML: {problem}", number + 1, hint=_syntax_hint(problem, line))


def _syntax_hint(problem: str, line: str) -> str:
    if "{{" in line:
        return "this is a template: render it first, for instance with `helm template`"
    if "mapping values are not allowed" in problem:
        return "a value with ': ' in it needs quotes; or the line above is indented differently"
    if "cannot start any token" in problem:
        return "a value that starts with @, `, % or { needs quotes"
    if (
        "block end" in problem
        or "block mapping" in problem
        or "expected ':'" in problem
        or "expected key" in problem
    ):
        return "check that this line is indented like its neighbours, and that every key ends with ': '"
    if "end of stream" in problem or "flow" in problem or "expected ',' or" in problem:
        return "a bracket, brace or quote is not closed"
    return "check quotes and indentation around this line" if line.strip() else ""


def _unreadable_character(error: yaml.YAMLError) -> str:
    character = getattr(error, "character", None)
    code = ord(character) if isinstance(character, str) and len(character) == 1 else character
    return f"the character U+{code:04X} is not allowed in YAML" if isinstance(code, int) else "not YAML"


def _line_of(error: yaml.YAMLError, text: str) -> int | None:
    position = getattr(error, "position", None)
    return text.count("\n", 0, position) + 1 if isinstance(position, int) else None
