"""The smallest images that torchvision's networks can read."""

from __future__ import annotations

import pytest

from tonnage.memory.shapes.images import smallest_image
from tonnage.memory.shapes.networks import network_names, network_shape


@pytest.mark.parametrize(
    ("name", "side"),
    [
        ("alexnet", 63),
        ("vgg16", 32),
        ("googlenet", 15),
        ("squeezenet1_0", 21),
        ("densenet121", 29),
        ("convnext_tiny", 32),
        ("swin_t", 4),
        ("resnet18", 1),
        ("inception_v3", 299),  # while training its second output counts too
    ],
)
def test_the_smallest_image_is_the_one_torchvision_runs_and_one_pixel_less_it_refuses(
    name: str, side: int
) -> None:
    """Sides found by running torchvision 0.26 itself."""
    assert smallest_image(name) == side


def test_every_network_reads_the_images_it_was_trained_on() -> None:
    shapes = [
        shape for name in network_names() if (shape := network_shape(name)) and shape.family == "convnet"
    ]
    assert [shape.name for shape in shapes if smallest_image(shape.name) > shape.image] == []
