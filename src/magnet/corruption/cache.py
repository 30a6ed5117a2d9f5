"""Corrupted graphs cached on disk, so that every method gets exactly the same one."""

from __future__ import annotations

import copy
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from magnet.arrays import checksum
from magnet.corruption.registry import check_options, corrupt
from magnet.corruption.result import Corruption
from magnet.files import cache_folder


def corrupt_once(
    data: Data, kind: str, seed: int = 0, folder: str | os.PathLike[str] | None = None, **options: Any
) -> Corruption:
    """Like :func:`magnet.corruption.corrupt`, but computed once and read from ``folder`` afterwards.

    A meta attack takes minutes and is not bit-reproducible on a GPU; the cached file is. Its name
    holds a digest of the clean features, the split and the options, so that different graphs never share a file.

    Args:
        data: a graph; it is not modified.
        kind: one of :data:`magnet.corruption.KINDS`.
        seed: random seed. (default: ``0``)
        folder: where the files are kept. (default: ``corrupted`` in the user's cache folder)
        options: as for :func:`magnet.corruption.corrupt`; ``device`` and ``progress`` do not change the result.
    """
    check_options(kind, options)
    settings = {key: value for key, value in options.items() if key not in ("device", "progress") and value is not None}
    train = data.get("train_mask")
    split = "" if train is None else hashlib.sha256(train.cpu().numpy().tobytes()).hexdigest()
    described = json.dumps([checksum(data.x), split, kind, int(seed), settings], sort_keys=True)
    digest = hashlib.sha256(described.encode()).hexdigest()[:12]
    name = (getattr(data, "name", None) or "graph").replace("/", "-")
    path = Path(folder or cache_folder() / "corrupted") / f"{name}-{kind}-{seed}-{digest}.npz"
    if not path.is_file():
        corrupt(data, kind, seed, **options).save(path)
    stored = Corruption.load(path)
    # Everything but the features is the caller's own, as after a fresh corruption.
    corrupted = copy.copy(data)
    corrupted.x = stored.data.x.to(data.x.device)
    return Corruption(corrupted, stored.cells.to(data.x.device), stored.nodes.to(data.x.device), stored.info)
