"""Which cluster, and who we are: kubeconfig files as kubectl reads them.

Several files named in `$KUBECONFIG` are merged, the first mention of a name winning; a file's relative
paths are relative to that file; data beats files. Client libraries for Python each miss a part of this
(merging, `proxy-url`, `tls-server-name`), so it is read here and handed to the transport. Without any
kubeconfig, a pod's own service account is used. Nothing here talks to a network, and nothing here ever
writes a kubeconfig.
"""

from tonnage.kube.kubeconfig.access import EXEC_VERSIONS, Access, ExecPlugin, Login
from tonnage.kube.kubeconfig.finding import find_access, in_cluster_access, load_kubeconfig
from tonnage.kube.kubeconfig.merging import Kubeconfig, merge_kubeconfigs

__all__ = [
    "EXEC_VERSIONS",
    "Access",
    "ExecPlugin",
    "Kubeconfig",
    "Login",
    "find_access",
    "in_cluster_access",
    "load_kubeconfig",
    "merge_kubeconfigs",
]
