"""Run a plain Python function, from a notebook or a script, with the same document as `tonnage run`.

    import tonnage.notebook

    def train(steps, rate=0.1):
        from tonnage_agent import sdk
        ...

    run = tonnage.notebook.run(train, "run.yaml", 300, rate=0.05)             # on this machine
    run = tonnage.notebook.run(train, "run.yaml", 300, on="prod")             # on a cluster
    run.wait()

The function's source goes, not its memory: what it uses of the notebook goes along where it is source or plain values,
and is refused by name where it is neither.
"""

from tonnage.notebook.running import Started, run

__all__ = ["Started", "run"]
