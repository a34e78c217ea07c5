"""Where bytes live: `pvc/ckpt`, `s3://bucket/prefix`, `nfs://server/path`, `emptyDir`, a path.

The scheme decides whether something survives a pod and a node, so it is part of the value and not guessed
later.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tonnage.spec.literals.refusals import LiteralError, shown

CODE = "DOC-022"
EXPECTED = "a place like pvc/NAME, s3://bucket/prefix, nfs://server/path or /path"
SCHEMES = ("s3", "gs", "az", "hf", "http", "https", "nfs")
PATTERN = r"(s3|gs|az|hf|https?|nfs)://[^\s/]+\S*|pvc/[a-z0-9.-]+(/\S*)?|emptyDir|\.{0,2}/\S*|\."

_URL = re.compile(r"([a-z][a-z0-9+]*)://([^\s/]+)(/\S*)?", re.ASCII)
_PVC = re.compile(r"pvc/([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)(/\S*)?", re.ASCII)
_OTHER_PVC = re.compile(r"pvc://?([a-z0-9.-]+)(/\S*)?", re.ASCII)
_CREDENTIALS = re.compile(r"[^/@\s]+:[^/@\s]+@")


@dataclass(frozen=True, slots=True)
class Place:
    """A scheme (`pvc`, `s3`, ..., `emptyDir`, `path`), what it names, and the path inside it."""

    scheme: str
    name: str = ""
    path: str = ""

    @property
    def outlives_pod(self) -> bool:
        """Whether it is still there after the pod is gone (a bare path is inside the container)."""
        return self.scheme not in ("emptyDir", "path")

    @classmethod
    def parse(cls, value: object) -> Place:
        """Read a place.

        >>> Place.parse("pvc/ckpt/llama"), Place.parse("s3://corpus/v3").scheme
        (Place(scheme='pvc', name='ckpt', path='/llama'), 's3')
        """
        text = value.strip() if isinstance(value, str) else ""
        if text == "emptyDir":
            return cls("emptyDir")
        if match := _PVC.fullmatch(text):
            return cls("pvc", match[1], match[2] or "")
        if (match := _URL.fullmatch(text)) and match[1] in SCHEMES:
            if _CREDENTIALS.match(match[2]):
                raise LiteralError(
                    "DOC-019",
                    "a password is written into the address",
                    expected="an address without user and password",
                    hint="put them into a Kubernetes Secret and name it under spec.secrets",
                )
            return cls(match[1], match[2], match[3] or "")
        if (text.startswith(("/", "./", "../")) or text == ".") and "\n" not in text:
            return cls("path", "", text)
        raise LiteralError(CODE, f"{shown(value)} is not a place", expected=EXPECTED, hint=_hint(text))

    def __str__(self) -> str:
        if self.scheme == "path":
            return self.path
        if self.scheme == "emptyDir":
            return "emptyDir"
        if self.scheme == "pvc":
            return f"pvc/{self.name}{self.path}"
        return f"{self.scheme}://{self.name}{self.path}"


def _hint(text: str) -> str | None:
    if match := _OTHER_PVC.fullmatch(text):
        return f"try pvc/{match[1]}{match[2] or ''}"
    if re.fullmatch(r"[a-z0-9][a-z0-9-]*", text):
        return f"a PersistentVolumeClaim is written pvc/{text}; a folder ./{text}"
    return None
