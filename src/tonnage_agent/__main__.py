"""`python -m tonnage_agent sample`: print what this container holds now, as one JSON line."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tonnage_agent.cgroup import CGROUP_ROOT, SELF_CGROUP, CgroupError, read_sample


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit code is 0, or 1 when nothing could be measured."""
    parser = argparse.ArgumentParser(prog="python -m tonnage_agent", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    sample = commands.add_parser("sample", help="print one JSON line and exit")
    sample.add_argument("--cgroup-root", type=Path, default=CGROUP_ROOT, help="default: %(default)s")
    sample.add_argument("--self-cgroup", type=Path, default=SELF_CGROUP, help="default: %(default)s")
    options = parser.parse_args(arguments)
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
