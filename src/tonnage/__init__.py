"""Tonnage: run ML training on Kubernetes without OOM kills, lost work, endless pending or surprise bills."""

__version__ = "0.1.0"
