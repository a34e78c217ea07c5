"""Write the Run for a manifest that already exists, losing nothing in silence.

Everything is *taken* out of a copy of the manifest: what has a field goes into it, what is left of the pod
goes into `podTemplate`, and what is left of the object around it is listed as not carried. While at it, the
truth is told about what Kubernetes refuses in the manifest, or does differently from what it seems to say.
"""

from tonnage.spec.adopting.manifests import Adopted, adopt

__all__ = ["Adopted", "adopt"]
