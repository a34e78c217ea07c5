"""The pod of a run, in full: the planned template with its amounts, its agent, its wiring and its safeguards."""
