from __future__ import annotations

import numpy as np
import pytest
import torch

from magnet.corruption import corrupt_patches
from magnet.datasets import graph_image, image_graph


def test_noise_lies_on_whole_patches_only() -> None:
    picture = np.random.default_rng(0).random((480, 320)).astype(np.float32)
    bad = corrupt_patches(picture)
    assert int(bad.nodes.sum()) == 9
    assert torch.equal(bad.cells.any(1), bad.cells.all(1))
    noise = graph_image(bad.data) - picture
    assert float(noise[noise != 0].std()) == pytest.approx(50 / 255, rel=0.1)
    assert np.count_nonzero(noise) == 9 * 64


def test_a_patch_graph_and_its_picture_give_the_same() -> None:
    picture = np.random.default_rng(0).random((64, 64)).astype(np.float32)
    one, two = corrupt_patches(picture, seed=3), corrupt_patches(image_graph(picture), seed=3)
    assert one.info["checksum"] == two.info["checksum"] != corrupt_patches(picture, seed=4).info["checksum"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"patches": 0}, "patches is 0"),
        ({"patches": 65}, "has 64"),
        ({"sigma": 0}, "sigma is 0"),
    ],
)
def test_bad_options_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        corrupt_patches(np.zeros((64, 64)), **options)  # type: ignore[arg-type]
