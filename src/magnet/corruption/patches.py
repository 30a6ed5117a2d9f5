"""White noise on patches of an image (the paper's inpainting figure)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from magnet.corruption.result import Corruption, check_features, finish
from magnet.datasets import image_graph


def corrupt_patches(image: Any, patches: int = 9, sigma: float = 50 / 255, seed: int = 0) -> Corruption:
    """Add white noise to randomly drawn patches of an image.

    Args:
        image: a grayscale image (2-D array or tensor), or its patch graph (``load("bsd68/1")``,
            :func:`magnet.datasets.image_graph`).
        patches: number of patches, drawn without replacement. (default: ``9``, as in the paper)
        sigma: standard deviation of the noise, on the scale of the pixels. (default: ``50 / 255``)
        seed: random seed. (default: ``0``)

    Example:
        >>> bad = corrupt_patches(np.zeros((32, 48)), patches=2)
        >>> int(bad.nodes.sum()), bad.cells.shape
        (2, torch.Size([24, 64]))
    """
    data = image if isinstance(image, Data) else image_graph(image)
    nodes, pixels = check_features(data)
    if not 1 <= patches <= nodes:
        raise ValueError(f"patches is {patches}; the picture has {nodes}")
    if not 0 < sigma < np.inf:
        raise ValueError(f"sigma is {sigma}; it must be positive")
    rng = np.random.default_rng(seed)
    chosen = torch.from_numpy(np.sort(rng.choice(nodes, size=patches, replace=False)))
    noise = torch.from_numpy(sigma * rng.standard_normal((patches, pixels))).to(data.x)
    x = data.x.clone()
    x[chosen] += noise
    return finish(data, x, None, kind="patches", patches=int(patches), sigma=float(sigma), seed=int(seed))
