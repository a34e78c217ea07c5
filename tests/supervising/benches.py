"""A folder with a training script and its Run, and the `tonnage` of a home of its own: real processes, small ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCRIPT = """
import os, time
from tonnage_agent import sdk

wanted, pause, kept = int(os.environ["STEPS"]), float(os.environ.get("PAUSE", "0.02")), []
run = sdk.attach()
run.resume()
for step in run.steps(wanted, save=lambda folder: (folder / "model").write_text("x")):
    time.sleep(pause)
    kept.append(bytearray(int(os.environ.get("LEAK_KIB", "0")) * 1024))
    if step == int(os.environ.get("HOG_AT", "-1")):
        kept.append(bytearray(int(os.environ["HOG_MIB"]) * 2**20))
    if step == int(os.environ.get("BREAK_AT", "-1")):
        raise ValueError("broken")
print("all steps made")
"""


@dataclass(frozen=True)
class Bench:
    """One project and one home."""

    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def write(
        self, name: str, *lines: str, steps: int = 20, memory: str = "128Mi", every: str = "1s", **env: object
    ) -> Path:
        """A Run of the script; `env` are its variables, `lines` more of its spec."""
        (self.folder / "train.py").write_text(SCRIPT)
        values = {"STEPS": steps, **env}
        document = [
            "apiVersion: tonnage.dev/v1alpha1", "kind: Run", f"metadata: {{name: {name}}}", "spec:",
            "  command: python3 train.py", "  code: .", "  cpu: 1", f"  memory: {memory}",
            f"  train: {{steps: {steps}}}", f"  checkpoints: {{to: pvc/{name}, every: {every}}}",
            "  env: {" + ", ".join(f'{key}: "{value}"' for key, value in values.items()) + "}",
            *(f"  {line}" for line in lines),
        ]  # fmt: skip
        path = self.folder / f"{name}.yaml"
        path.write_text("\n".join(document) + "\n")
        return path

    def tonnage(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "TONNAGE_HOME": str(self.home), "NO_COLOR": "1", "COLUMNS": "160", **env}
        command = [sys.executable, "-m", "tonnage", *words]
        return subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=self.folder,
        )

    def seen(self, name: str) -> dict[str, Any]:
        """The view of a run."""
        view: dict[str, Any] = json.loads(self.tonnage("watch", name, "-o", "json").stdout)
        return view

    def told(self, name: str) -> list[str]:
        return [moment["text"] for moment in self.seen(name)["moments"] if moment["kind"] != "planned"]
