"""From a plan to Kubernetes objects: pure functions, one file per target.

What we create is plain Kubernetes; remove Tonnage and the jobs keep running.
"""
