"""The reference of all fields as Markdown, made from the models, so that it cannot be out of date.

`python -m tonnage.spec.reference` prints it; a test compares it with docs/documents.md.
"""

from __future__ import annotations

import typing
from typing import Any

from pydantic_core import PydanticUndefined

from tonnage.spec.checking import KINDS
from tonnage.spec.codes import CODES
from tonnage.spec.describing import descriptions_of, fields_of, holds, inner_part, summary_of
from tonnage.spec.metadata import Metadata
from tonnage.spec.parts import Part

INTRODUCTION = """\
# Documents

<!-- Made by `python -m tonnage.spec.reference > docs/documents.md`; do not edit by hand. -->

Run, Team and Cluster are written in YAML or JSON, shaped like Kubernetes objects.
`tonnage init` writes a commented starter, `tonnage check` reports every mistake at once, and
`tonnage schema run` prints a JSON schema for editors.
A file may hold several documents, separated by `---`.
YAML is read by the rules of version 1.2: `no` is a text, `0755` a number, `12:30` a text.

## Friendly literals

| what | write | means |
|---|---|---|
| size | `64Gi`, `64GB`, `1.5Ti` | `Ki Mi Gi Ti` are powers of 1024, `kB MB GB TB` of 1000; no bare numbers |
| share | `auto`, `64Gi`, `64Gi..128Gi` | chosen by Tonnage; request = limit; `request..limit` |
| cores | `8`, `0.5`, `500m`, `8..16` | cores, thousandths of a core, `request..limit` |
| duration | `20m`, `1h30m`, `2d`, `auto` | units `w d h m s ms`, from large to small; no bare numbers |
| money | `$1,200`, `$400/week`, `$3..5/hour` | once, per period, a range |
| GPUs | `8`, `8 x h100`, `24GB..80GB`, `0.5` | per node; any GPU with such memory; part of a GPU |
| GPUs | `{count: 8, type: h100, memory: 80GB..}` | the same in parts |
| count | `2`, `1..4` | a number, a range |
| place | `pvc/NAME`, `s3://bucket/prefix`, `nfs://server/path`, `/path` | where bytes live |
| command | `python train.py`, `[python, train.py]` | split as a shell would; with `&&` or pipes, by `sh -c` |

A part with a short form can be written as one value:
`checkpoints: pvc/ckpt` is `checkpoints: {to: pvc/ckpt}`.

## Every document

`metadata.labels` are labels of the document itself; `spec.labels` are put on what it creates.
In `podTemplate`, the container of a run is called `main`.
"""


def reference() -> str:
    """The whole page."""
    sections = [INTRODUCTION, _table(Metadata, "metadata")]
    for kind, model in KINDS.items():
        sections.append(f"## {kind}\n\n{summary_of(model)}\n")
        spec = inner_part(fields_of(model)["spec"].annotation)
        assert spec is not None  # every kind has a spec
        sections.extend(_tables(spec, "spec"))
    sections.append("## Codes\n\n| code | meaning |\n|---|---|\n")
    sections[-1] += "".join(f"| {code} | {text} |\n" for code, text in CODES.items())
    return "\n".join(sections)


def _tables(part: type[Part], path: str) -> list[str]:
    tables = [_table(part, path)]
    for name, info in fields_of(part).items():
        inner = inner_part(info.annotation)
        if inner is not None:
            ending = {"list": "[]", "dict": ".NAME"}.get(holds(info.annotation), "")
            tables.extend(_tables(inner, f"{path}.{name}{ending}"))
    return tables


def _table(part: type[Part], path: str) -> str:
    lines = [f"### `{path}`", "", summary_of(part), "", "| field | default | |", "|---|---|---|"]
    texts = descriptions_of(part)
    for name, info in fields_of(part).items():
        lines.append(
            f"| `{name}` | {_default(info)} | {_cell(texts.get(name, ''))}{_choices(info.annotation)} |"
        )
    return "\n".join(lines) + "\n"


def _default(info: Any) -> str:
    if info.default_factory is not None or info.default is None or info.default == ():
        return "-"
    if info.default is PydanticUndefined:
        return "required"
    value = str(info.default).lower() if isinstance(info.default, bool) else str(info.default)
    return f"`{value}`"


def _choices(annotation: Any) -> str:
    for candidate in (annotation, *typing.get_args(annotation)):
        if typing.get_origin(candidate) is typing.Literal and len(typing.get_args(candidate)) > 1:
            return " One of " + ", ".join(f"`{choice}`" for choice in typing.get_args(candidate)) + "."
    return ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    import sys

    sys.stdout.write(reference())
