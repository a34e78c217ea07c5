"""Every reason a step cannot be traced, by its stable code.

A number is never given to another reason. Blocks: 001-009 how it was asked for, 010-029 the interpreter and its
torch, 030-049 the user's code, 050-059 limits and crashes, 060-069 our own installation.
"""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "TRACE-001": "Not FILE.py:function.",
    "TRACE-002": "The file is not there.",
    "TRACE-003": "Rank and world size do not go together.",
    "TRACE-010": "No such interpreter.",
    "TRACE-011": "Not a Python interpreter.",
    "TRACE-012": "A Python that is too old.",
    "TRACE-013": "No torch in that interpreter.",
    "TRACE-014": "A torch that is built without CUDA.",
    "TRACE-015": "A torch version that has not been proven.",
    "TRACE-016": "A CUDA version there is no virtual runtime for.",
    "TRACE-017": "The self-test failed.",
    "TRACE-030": "The file or its build function failed.",
    "TRACE-031": "The build function cannot be called.",
    "TRACE-032": "An operation that cannot be traced.",
    "TRACE-033": "The result depends on data.",
    "TRACE-034": "The step cannot be traced.",
    "TRACE-050": "It took too long.",
    "TRACE-051": "It took too much memory.",
    "TRACE-052": "The tracing process crashed.",
    "TRACE-053": "The tracing process ended without an answer.",
    "TRACE-060": "This platform has no virtual CUDA runtime.",
}
