"""A Run: what to run, how large, what it is, where its bytes live, and the policies that keep it alive."""

from tonnage.spec.run.document import Run, RunSpec

__all__ = ["Run", "RunSpec"]
