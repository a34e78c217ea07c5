"""What a cluster can do for its users, and why not: facts in, lines with remedies out.

Each file looks at one side of a cluster and gives `Check`s. A check that is a `problem` stops something
people come for; `absent` names an optional part, what it would give, and how to get it; `unknown` says why
we cannot tell.
"""

from tonnage.reporting.doctor.check import Check, Facts, State
from tonnage.reporting.doctor.view import DoctorView, examine

__all__ = ["Check", "DoctorView", "Facts", "State", "examine"]
