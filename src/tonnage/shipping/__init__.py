"""Getting a user's code into a pod without building an image: which files, packed how, delivered by what.

The same files give the same bytes, so the same code is shipped once and an attempt can be told from the next by its
hash alone.
"""

from tonnage.shipping.choosing import ShippedFile, files_to_ship
from tonnage.shipping.packing import Archive, pack

__all__ = ["Archive", "ShippedFile", "files_to_ship", "pack"]
