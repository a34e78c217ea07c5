"""What a node looks like, said in one word or a few: `8xh100`, `cpu`, `big=4+memory=2Ti+gpus=8xh200`.

`parse_node_shapes` reads the words, `NodeShape` is what they mean, `node_from_shape` is the Kubernetes Node
with the capacity, labels and taints that GPU operators and clouds give such a machine.
"""

from tonnage.cluster.shapes.labels import gpu_labels
from tonnage.cluster.shapes.manifest import node_from_shape, nodes_from_shapes
from tonnage.cluster.shapes.reading import parse_node_shapes
from tonnage.cluster.shapes.shape import GPU_TAINT, MigCut, NodeShape

__all__ = [
    "GPU_TAINT",
    "MigCut",
    "NodeShape",
    "gpu_labels",
    "node_from_shape",
    "nodes_from_shapes",
    "parse_node_shapes",
]
