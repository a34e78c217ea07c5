"""This machine as a cluster of one: real processes under a memory limit.

In a cgroup where that is permitted, watched otherwise. Implements `running.port.RunPlace`.
"""
