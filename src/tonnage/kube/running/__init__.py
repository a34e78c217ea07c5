"""A Kubernetes cluster as a place of attempts: the same port that this machine implements.

    place       the port: launch, observe, evidence, stop, suspend, resize, bounds, logs, clean
    setting     what every attempt of a run shares, settled once
    api         the few calls that are needed, each tried once
    launching   objects applied in order, owned by the workload, as often as anybody asks
    looking     one look: the workload, its pods, what is said about them
    states      what a look means (pure)
    holding     who holds a run that waits (pure)
    asking      progress and memory from the agents, through the API server's proxy
    gathering   evidence of an end, before Kubernetes deletes it
    leasing     one holder per run, whichever machine it sits on

Nothing is decided here.
"""
