from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from magnet.datasets import graph_image, image_graph, load


def test_patches_and_lattice_by_hand() -> None:
    picture = np.arange(16.0, dtype=np.float32).reshape(4, 4)
    data = image_graph(picture, patch=2)
    assert data.x.tolist() == [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]
    assert data.edge_index.tolist() == [[0, 0, 1, 1, 2, 2, 3, 3], [1, 2, 0, 3, 0, 3, 1, 2]]
    assert np.array_equal(graph_image(data), picture)
    assert np.array_equal(graph_image(data, data.x + 1), picture + 1)


def test_the_picture_is_cropped_to_whole_patches() -> None:
    picture = np.random.default_rng(0).random((33, 26)).astype(np.float32)
    data = image_graph(picture)
    assert data.grid == (4, 3)
    assert np.array_equal(graph_image(data), picture[:32, :24])


@pytest.mark.data
def test_the_papers_graph(raw_data: Path) -> None:
    from PIL import Image

    data = load("bsd68/1")
    assert (data.num_nodes, data.num_features) == (2400, 64)
    with Image.open(raw_data / "BSD68/test001.png") as file:
        pixels = np.asarray(file)
    assert np.array_equal(np.round(255 * graph_image(data)), pixels[:480, :320])
    degree = torch.bincount(data.edge_index[0])
    assert torch.bincount(degree).tolist() == [0, 0, 4, 2 * 58 + 2 * 38, 58 * 38]


@pytest.mark.parametrize("shape", [(4, 20), (8, 8, 3)])
def test_bad_pictures(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="must be 2-D"):
        image_graph(np.zeros(shape))


def test_other_features_must_fit() -> None:
    with pytest.raises(ValueError, match="square patches"):
        graph_image(image_graph(np.zeros((16, 16))), torch.zeros(3, 64))
