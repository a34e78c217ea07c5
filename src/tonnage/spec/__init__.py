"""The documents people write (Run, Team, Cluster) and how they are read, checked and written.

    reading, composing, scalars    bytes -> plain values that know their line; walls against hostile files
    literals/, fields, names       64Gi..128Gi, $400/week, 20m, 8 x h100: one parser and one printer each
    run/, team, cluster            the documents themselves
    checking, translating, rules/  every mistake at once, with what to try
    dumping, effective, schema     back to YAML, each value's origin, the editor's schema
    adopting/, starting            a Run for an existing manifest, a commented starter
    cluster_nodes                  a Cluster as Kubernetes nodes

Nothing here opens a file: callers give bytes and a name. Import the modules, not this package: the models
need pydantic, and commands that do not touch documents must not pay for it.
"""
