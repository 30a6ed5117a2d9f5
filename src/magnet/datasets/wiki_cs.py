"""Wiki-CS (Mernyei and Cangea 2020): computer-science articles of Wikipedia, with its twenty splits."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from magnet.datasets.build import make_data
from magnet.files import damaged


def read(name: str, folder: Path, split: int) -> Data:
    """``data.json``: ``features``, ``labels``, ``links`` (per node), masks per split, one test mask."""
    path = folder / "data.json"
    with damaged(path):
        raw = json.loads(path.read_text(encoding="utf-8"))
        x = np.array(raw["features"], dtype=np.float32)
        links = raw["links"]
        if not len(x) == len(links) == len(raw["labels"]):
            raise ValueError(f"{len(x)} feature rows, {len(links)} lists of links, {len(raw['labels'])} labels")
        source = np.repeat(np.arange(len(links)), [len(targets) for targets in links])
        edges = np.stack([source, np.fromiter(chain.from_iterable(links), dtype=np.int64, count=source.size)])
        masks = (raw["train_masks"][split], raw["val_masks"][split], raw["test_mask"])
        as_bool = tuple(np.array(mask, dtype=bool) for mask in masks)
        return make_data(torch.from_numpy(x), edges, raw["labels"], as_bool)  # type: ignore[arg-type]
