"""Start a function as a run: a folder with its script, the document with its command, and the usual way from there."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tonnage.errors import Problem, UsageError
from tonnage.notebook.source import script_of
from tonnage.running.history import RunRecord

SCRIPT = "tonnage_function.py"
LOOK_SECONDS = 0.5
OVER = ("finished", "failed", "stopped", "suspended")


@dataclass(frozen=True)
class Started:
    """A run that goes on by itself; `tonnage watch NAME` shows it too."""

    name: str
    id: int
    home: Path

    @property
    def state(self) -> str:
        return self._record().state

    def wait(self, seconds: float | None = None) -> str:
        """Until it is over; how it ended."""
        give_up = None if seconds is None else time.monotonic() + seconds
        while (state := self.state) not in OVER:
            if give_up is not None and time.monotonic() >= give_up:
                return state
            time.sleep(LOOK_SECONDS)
        return state

    def logs(self, tail: int | None = None) -> list[str]:
        """What its last attempt printed."""
        from tonnage.supervising.opening import place_of

        record = self._record()
        if record.current is None:
            return []
        return place_of(record, self.home).logs(record.current.number, tail=tail)

    def stop(self) -> None:
        """Let it save and end; `tonnage resume NAME` goes on with it."""
        from tonnage.store.store import Store

        Store(self.home).set_wish(self.id, "stop")

    def _record(self) -> RunRecord:
        from tonnage.store.store import Store

        store = Store(self.home)
        try:
            return store.run(self.id)
        finally:
            store.close()


def run(
    function: Callable[..., Any],
    document: str | Path | Mapping[str, Any],
    *arguments: Any,
    on: str | None = None,
    namespace: str = "",
    preflight: bool = True,
    **keywords: Any,
) -> Started:
    """Run a function with a Run document (a file, its text, or a mapping); its command is the function's call."""
    from tonnage.cli.run_planning import plan_run, refuse_what_cannot_run
    from tonnage.cli.run_starting import start
    from tonnage.store.opening import home
    from tonnage.store.store import Store

    script = script_of(function, arguments, keywords)
    content, base = _document(document)
    folder = _folder(home(), content)
    _lay_out(folder, content, base, script)
    planned = plan_run(str(folder / "run.yaml"), on=on, namespace=namespace, probe=None)
    refuse_what_cannot_run(planned)
    if on is not None:
        from tonnage.cli.run_cluster import bring_code, check_before

        planned = bring_code(planned)
        planned = check_before(planned) if preflight else planned
    store = Store(home())
    try:
        record = start(planned, store)
    finally:
        store.close()
    return Started(record.name, record.id, home())


def _document(document: str | Path | Mapping[str, Any]) -> tuple[dict[str, Any], Path]:
    """The document as a mapping, and the folder its paths are relative to."""
    if isinstance(document, Mapping):
        return dict(document), Path.cwd()
    path = Path(document)
    is_text = isinstance(document, str) and "\n" in document
    try:
        content = yaml.safe_load(str(document) if is_text else path.read_text())
    except OSError as error:
        what, hint = f"the document cannot be read: {error.strerror}", "give a file, its text, or a mapping"
        raise UsageError(Problem(code="NOTEBOOK-002", what=what, where=str(path), hint=hint)) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        what = f"the document is no YAML: {' '.join(str(error).split())}"
        where = "the document" if is_text else str(path)
        raise UsageError(Problem(code="NOTEBOOK-002", what=what, where=where)) from None
    if not isinstance(content, dict):
        what = "the document is not a mapping"
        raise UsageError(
            Problem(code="NOTEBOOK-002", what=what, hint="`tonnage init` writes one to start from")
        )
    return content, Path.cwd() if is_text else path.parent.resolve()


def _folder(home: Path, content: Mapping[str, Any]) -> Path:
    metadata = content.get("metadata")
    named = metadata.get("name") if isinstance(metadata, Mapping) else None
    name = re.sub(
        r"[^a-z0-9-]+", "-", str(named or "notebook")
    )  # whether it is legal is said by the document's check
    stamp = time.strftime("%Y%m%d-%H%M%S")
    folder = home / "notebook" / f"{name}-{stamp}-{time.monotonic_ns() % 1_000_000:06}"
    folder.mkdir(parents=True, mode=0o700)
    return folder


def _lay_out(folder: Path, content: dict[str, Any], base: Path, script: str) -> None:
    """The script beside the document's own code, and the document that runs it."""
    from tonnage.shipping import files_to_ship

    spec = content.get("spec")
    if not isinstance(spec, Mapping):
        hint = "`tonnage init` writes one to start from"
        raise UsageError(
            Problem(code="NOTEBOOK-002", what="the document has no spec", where="spec", hint=hint)
        )
    spec = dict(spec)
    code = spec.get("code")
    said = {"path": code} if isinstance(code, str) else dict(code or {})
    if said.get("path"):
        for file in files_to_ship(base / said["path"], said.get("ignore", ())):
            target = folder / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file.path, target)
    (folder / SCRIPT).write_text(script)
    spec["code"] = {**said, "path": "."}
    spec["command"] = ["python3", SCRIPT]
    (folder / "run.yaml").write_text(yaml.safe_dump({**content, "spec": spec}, sort_keys=False))
