"""Who keeps a run alive: observe, decide, act, until it is finished, given up or stopped.

One supervisor per run, a detached process held by a lock. It keeps nothing in memory that it could not read again:
its state is in the store (and in the object's annotations), so any later `tonnage` command can take it up.
"""
