"""A machine that cannot have real nodes says so before anything is made, and says what to install."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.realnode,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give it up or to hide a program"),
]

CHECK = "import os; from tonnage.sandbox.realnode.requirements import check_machine; {}; check_machine()"


def refusal(*command: str) -> str:
    """What a command that must fail says."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    return done.stderr


def test_without_root_the_user_is_told_what_still_works() -> None:
    said = refusal(sys.executable, "-c", CHECK.format("os.setuid(65534)"))

    assert "real nodes need root" in said
    assert "found user id 65534" in said
    assert "everything else works without root" in said


def test_missing_programs_are_named_with_the_command_that_installs_them() -> None:
    hide = 'mount -t tmpfs none /usr/lib/cni && exec "$@"'

    said = refusal("unshare", "--mount", "sh", "-c", hide, "sh", sys.executable, "-c", CHECK.format("0"))

    assert "no /usr/lib/cni/bridge, no /usr/lib/cni/portmap" in said
    assert "apt-get install -y containernetworking-plugins\n" in said
