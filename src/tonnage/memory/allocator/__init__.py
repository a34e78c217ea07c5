"""PyTorch's CUDA caching allocator as a model: the same decisions, no memory.

What a training process holds of a GPU is not what its tensors hold. torch asks the driver for segments, cuts them
into blocks and keeps freed blocks for later; which block is cut for which tensor decides how much is left unusable
between them. That is deterministic, so it can be computed: this room follows
`c10/cuda/CUDACachingAllocator.cpp` of torch 2.11 rule by rule (the rules are the same from 2.9 to 2.15).

    settings    what PYTORCH_CUDA_ALLOC_CONF says
    sizes       how a request is rounded, and how much is asked of the driver for it
    blocks      blocks and the sorted pools they wait in
    addresses   where the driver puts a new segment (ties between equal blocks go to the lower address)
    caching     the allocator: find, split, merge, grow, give back, fail
    expandable  segments that grow in place, as with `expandable_segments:True`

Not modelled: private pools of CUDA graphs, `backend:cudaMallocAsync`.
"""

from tonnage.memory.allocator.caching import CachingAllocator, OutOfMemoryError
from tonnage.memory.allocator.settings import DEFAULT, AllocatorSettings, SettingsError, read_settings

__all__ = [
    "DEFAULT",
    "AllocatorSettings",
    "CachingAllocator",
    "OutOfMemoryError",
    "SettingsError",
    "read_settings",
]
