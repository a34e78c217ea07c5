"""Survival: real trainings, killed on purpose, must come back and end as if nothing had happened."""
