"""Pictures as graphs: one node per patch, its pixels as features (the paper's inpainting figure)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from magnet.datasets.build import make_data
from magnet.files import damaged


def read(name: str, folder: Path, split: int) -> Data:
    """One of the 68 gray pictures of Berkeley's segmentation set, 481 x 321 pixels, as its patch graph."""
    path = folder / f"test{int(name.split('/')[1]):03d}.png"
    try:
        from PIL import Image
    except ImportError:
        raise ImportError("reading pictures needs pillow: pip install 'magnet-gnn[image]'") from None
    with damaged(path), Image.open(path) as picture:
        pixels = np.asarray(picture.convert("L"), dtype=np.float32) / 255
    return image_graph(pixels)


def image_graph(image: Any, patch: int = 8) -> Data:
    """The graph of the ``patch x patch`` patches of a grayscale image; edges join patches that share a side.

    The image is cropped at the right and at the bottom to whole patches (481 x 321 gives 480 x 320, hence
    2 400 nodes with 64 features). ``data.grid`` holds the number of patch rows and columns.

    Example:
        >>> data = image_graph(np.arange(24.0).reshape(4, 6), patch=2)
        >>> data.num_nodes, data.x[0].tolist(), data.grid
        (6, [0.0, 1.0, 6.0, 7.0], (2, 3))
    """
    pixels = np.asarray(image, dtype=np.float32)
    if pixels.ndim != 2 or min(pixels.shape) < patch:
        raise ValueError(f"the picture has shape {pixels.shape}; it must be 2-D and at least one {patch}-pixel patch")
    rows, cols = pixels.shape[0] // patch, pixels.shape[1] // patch
    blocks = pixels[: rows * patch, : cols * patch].reshape(rows, patch, cols, patch)
    x = torch.from_numpy(blocks.transpose(0, 2, 1, 3).reshape(rows * cols, patch * patch).copy())
    node = np.arange(rows * cols).reshape(rows, cols)
    across = np.stack([node[:, :-1].ravel(), node[:, 1:].ravel()])
    down = np.stack([node[:-1].ravel(), node[1:].ravel()])
    data = make_data(x, np.concatenate([across, down], axis=1))
    data.grid = (rows, cols)
    return data


def graph_image(data: Data, x: Any = None) -> NDArray[np.float32]:
    """The image composed of the patches of ``data`` (or of other features ``x`` of its nodes).

    Example:
        >>> picture = np.arange(24.0, dtype=np.float32).reshape(4, 6)
        >>> bool((graph_image(image_graph(picture, patch=2)) == picture).all())
        True
    """
    values = np.asarray((data.x if x is None else torch.as_tensor(x)).detach().cpu(), dtype=np.float32)
    rows, cols = data.grid
    patch = round(values.shape[1] ** 0.5)
    if values.shape != (rows * cols, patch * patch):
        raise ValueError(f"x has shape {values.shape}; the picture has {rows} x {cols} square patches")
    return values.reshape(rows, cols, patch, patch).transpose(0, 2, 1, 3).reshape(rows * patch, cols * patch)
