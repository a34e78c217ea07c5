"""How page-locked memory is handed out: in blocks of a power of two, kept for ever.

torch's pinned allocator rounds every block up (129 MiB take 256 MiB) and gives none back to the machine while
the process lives, so the most that was ever pinned at once stays pinned.
"""

from __future__ import annotations


def pinned_block(size: int) -> int:
    """Bytes that a page-locked tensor of this size takes.

    >>> [pinned_block(mib << 20) >> 20 for mib in (1, 33, 64, 129)]
    [1, 64, 64, 256]
    """
    return 0 if size <= 0 else 1 << (size - 1).bit_length()


def pages(size: int) -> int:
    """Bytes that a file in memory takes: whole pages."""
    return -(-size // 4096) * 4096
