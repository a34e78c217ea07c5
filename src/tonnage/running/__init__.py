"""Keeping a run alive: what was tried, what is seen now, what to do next. Pure.

    observe()  ->  Situation           what a place (this machine, a cluster) shows of the current attempt
    decide(situation, policies, now)   ->  Actions, each with its reason
    act(actions)                       by whoever supervises: a process on this machine, or a controller

`decide` is the only judge. Because it is a function of values, the same code runs beside the user's terminal, in a
cluster, and in a property test that kills a run ten thousand times.
"""
