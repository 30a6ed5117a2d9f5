"""Datasets by name."""

from __future__ import annotations

import importlib
import os
import re
from dataclasses import replace
from pathlib import Path

from torch_geometric.data import Data

from magnet.arrays import dense_x, is_sparse, to_scipy, to_torch_csr
from magnet.checks import unknown
from magnet.datasets import download
from magnet.datasets.catalog import DATASETS, DatasetInfo, bsd68_source


def names() -> list[str]:
    """Every name that :func:`load` takes; ``bsd68/1`` stands for ``bsd68/1`` to ``bsd68/68``."""
    return list(DATASETS)


def info(name: str) -> DatasetInfo:
    """Facts about a dataset, without loading it.

    Example:
        >>> info("cora").features, info("pubmed").tolerance
        (1433, 0.005)
    """
    key = str(name).strip().lower().replace("_", "-")
    if key in DATASETS:
        return DATASETS[key]
    if key.startswith("bsd68"):
        return _image_info(str(name))
    raise unknown("dataset", name, names(), "; bsd68/1 to bsd68/68")


def _image_info(name: str) -> DatasetInfo:
    match = re.fullmatch(r"bsd68/(?:test)?0*(\d+)(?:\.png)?", name.strip().lower())
    if match is None or not 1 <= int(match[1]) <= 68:
        raise ValueError(f"unknown image {name!r}; they are bsd68/1 to bsd68/68")
    number = int(match[1])
    first = DATASETS["bsd68/1"]
    return replace(first, name=f"bsd68/{number}", source=bsd68_source(number))


def load(name: str, root: str | os.PathLike[str] | None = None, split: int = 0, *, dense: bool | None = None) -> Data:
    """Load a dataset by name.

    Raw files are looked for under ``root``, then ``$MAGNET_DATA``, then the user's cache, and are downloaded
    into the cache when they are in none of them.

    Args:
        name: one of :func:`names`, or ``bsd68/<image>``.
        root: folder that holds the raw files. (default: ``None``)
        split: which split, or the seed of the split where it is random. (default: ``0``)
        dense: ``True`` for dense features, ``False`` for a sparse CSR tensor. (default: dense, except for
            ``coauthor-cs``)

    Returns:
        ``Data`` with ``x`` ``[nodes, features]`` float32, undirected ``edge_index``, ``y``, 1-D bool
        ``train_mask``, ``val_mask``, ``test_mask`` and ``name``. (Images have neither labels nor masks.)

    Example:
        >>> data = load("digits")
        >>> data.num_nodes, data.num_features, int(data.train_mask.sum())
        (1797, 64, 200)
    """
    entry = info(name)
    if isinstance(split, bool) or int(split) != split or split < 0:
        raise ValueError(f"split is {split!r}; it must be an integer from 0")
    if entry.num_splits is not None and split >= entry.num_splits:
        last = entry.num_splits - 1
        has = f"splits 0 to {last}" if last else "one split, 0"
        raise ValueError(f"split is {split}, but {entry.name} has {has}")
    folder = Path() if entry.source is None else download.find_or_download(entry.name, entry.source, root)
    reader = importlib.import_module(f"magnet.datasets.{entry.reader}")
    data: Data = reader.read(entry.name, folder, int(split))
    data.name = entry.name
    sparse = entry.sparse if dense is None else not dense
    if sparse != is_sparse(data.x):
        data.x = to_torch_csr(to_scipy(data.x)) if sparse else dense_x(data)
    return data
