"""Our scheduling rules against the real kube-scheduler."""

from conformance.scheduling.suite import SchedulingSuite

__all__ = ["SchedulingSuite"]
