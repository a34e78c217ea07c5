"""Between the agent and the training script: the socket it tells on, the file we ask in, the SDK it imports.

Without them the command runs all the same, so what cannot be opened is only said.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from tonnage_agent import contract
from tonnage_agent.control import Control
from tonnage_agent.hearing.events import Ear
from tonnage_agent.settings import Settings


class Channels:
    """Both directions, open; `environment` is what the command needs to find them."""

    def __init__(self, settings: Settings, environment: Mapping[str, str]) -> None:
        self.environment = with_sdk(environment)
        self.problem = ""
        self.ear: Ear | None = None
        try:
            self.ear = Ear(settings.socket)
            self.environment[contract.SOCKET] = self.ear.path
        except OSError as error:
            self.problem = f"no socket for the training script: {error}"
        self.control = Control(settings.control or (f"{self.ear.path}.control" if self.ear else ""))
        if self.control.path:
            self.environment[contract.CONTROL] = self.control.path

    def close(self) -> None:
        """The file first: it may lie in the socket's folder."""
        self.control.close()
        if self.ear is not None:
            self.ear.close()


def with_sdk(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with our own archive last on PYTHONPATH: scripts find the SDK without installing it."""
    archive = __file__.partition(f"{os.sep}tonnage_agent{os.sep}")[0]
    paths = environment.get("PYTHONPATH", "")
    if not os.path.isfile(archive) or archive in paths.split(os.pathsep):
        return dict(environment)
    return {**environment, "PYTHONPATH": f"{paths}{os.pathsep}{archive}" if paths else archive}
