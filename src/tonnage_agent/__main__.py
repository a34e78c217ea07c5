"""What Tonnage does inside a training pod.

    run [--] COMMAND...    run a command, watched: samples, record, signals, deadline and budget, metrics
    sample                 print what this container holds now, as one JSON line
    check                  say what can be known before a run is started (checking.py)

Settings are variables (see contract.py); without any, `run` is a transparent wrapper.
"""

from __future__ import annotations

import sys
from pathlib import Path

USAGE = "usage: tonnage-agent run [--] COMMAND [ARGUMENT...]\n       tonnage-agent sample"
_USAGE_CODE = 2


def main(arguments: list[str] | None = None) -> int:
    """Run one subcommand; its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    if words and words[0] == "run":
        return _run(words[1:])
    if words == ["check"]:
        import os

        from tonnage_agent.checking import check

        return check(os.environ)
    return _sample(words)


def _run(words: list[str]) -> int:
    import os

    from tonnage_agent.contract import EXIT_AGENT
    from tonnage_agent.settings import SettingsError, read_settings

    command = words[1:] if words[:1] == ["--"] else words
    if not command or (words[:1] != ["--"] and command[0].startswith("-")):
        print(f"tonnage: no command to run\n{USAGE}", file=sys.stderr)
        return _USAGE_CODE
    try:
        settings = read_settings(os.environ)
    except SettingsError as error:
        for line in str(error).splitlines():
            print(f"tonnage: {line}", file=sys.stderr)
        return EXIT_AGENT
    from tonnage_agent.running import run

    _open_standard_streams()
    return run(command, settings, os.environ)


def _open_standard_streams() -> None:
    """A descriptor that was closed before we came would be the next pipe's number: it leads nowhere instead."""
    import os

    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free


def _sample(words: list[str]) -> int:
    import argparse
    import time

    from tonnage_agent.cgroup import CGROUP_ROOT, SELF_CGROUP, CgroupError, read_sample

    parser = argparse.ArgumentParser(
        prog="tonnage-agent", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("run", help="run a command, watched")
    sample = commands.add_parser("sample", help="print one JSON line and exit")
    sample.add_argument("--cgroup-root", type=Path, default=CGROUP_ROOT, help="default: %(default)s")
    sample.add_argument("--self-cgroup", type=Path, default=SELF_CGROUP, help="default: %(default)s")
    options = parser.parse_args(words)
    try:
        line = read_sample(time.time(), root=options.cgroup_root, self_cgroup=options.self_cgroup).as_line()
    except CgroupError as error:
        print(f"tonnage_agent: {error}", file=sys.stderr)
        print("    try --cgroup-root with the place where cgroups are mounted here", file=sys.stderr)
        return 1
    print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
