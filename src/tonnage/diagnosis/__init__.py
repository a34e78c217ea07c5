"""From evidence to findings: what happened, how sure we are, and what would help.

Pure and deterministic: the same evidence gives the same finding, with the lines it rests on. One file per failure
family. Evidence is ranked as Kubernetes and the kernel allow: what the control plane wrote cannot lie, what a log
says may be a victim's cry.
"""
