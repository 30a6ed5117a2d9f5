"""ogbn-arxiv (Hu et al. 2020) from its published csv files, split by year; the ogb package is not needed."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from magnet.datasets.build import index_mask, make_data
from magnet.datasets.npz import save_arrays
from magnet.files import cache_folder, damaged
from magnet.untrusted import check_size, open_npz

FILES = {
    "edges": ("raw/edge.csv.gz", np.int64),
    "x": ("raw/node-feat.csv.gz", np.float32),
    "y": ("raw/node-label.csv.gz", np.int64),
    "train": ("split/time/train.csv.gz", np.int64),
    "val": ("split/time/valid.csv.gz", np.int64),
    "test": ("split/time/test.csv.gz", np.int64),
}


def read(name: str, folder: Path, split: int) -> Data:
    """Citations are directed in the files and undirected here.

    Parsing 22 million numbers takes a while, so the arrays are kept in the cache, under a name that
    changes when the raw files do.
    """
    state = [(file, (folder / file).stat()) for file, _ in FILES.values()]
    facts = [(file, stat.st_size, stat.st_mtime_ns) for file, stat in state]
    key = hashlib.sha256(repr((str(folder.resolve()), facts)).encode()).hexdigest()[:16]
    path = cache_folder() / "processed" / f"ogbn-arxiv-{key}.npz"
    if not path.is_file():
        arrays = {part: _csv(folder / file, dtype) for part, (file, dtype) in FILES.items()}
        save_arrays(path, arrays, compress=False)
    with damaged(path), open_npz(path) as stored:
        arrays = {part: stored[part] for part in FILES}
    with damaged(folder / FILES["edges"][0]):
        nodes = len(arrays["x"])
        if len(arrays["y"]) != nodes:
            raise ValueError(f"{len(arrays['y'])} labels for {nodes} nodes")
        masks = tuple(index_mask(arrays[part].ravel(), nodes) for part in ("train", "val", "test"))
        edges, y = arrays["edges"].T, arrays["y"].ravel()
        return make_data(torch.from_numpy(arrays["x"]), edges, y, masks)  # type: ignore[arg-type]


def _csv(path: Path, dtype: Any) -> np.ndarray[Any, Any]:
    import pandas as pd

    with damaged(path):
        # gzip packs at most about 1:1000; a number with its comma is unpacked to some 20 bytes of text and 8 of array
        with gzip.open(path) as stream:
            size = sum(len(piece) for piece in iter(lambda: stream.read(1 << 24), b""))
        check_size(2 * size, path.name)
        return pd.read_csv(path, header=None, compression="gzip").to_numpy().astype(dtype)
