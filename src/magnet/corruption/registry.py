"""Corruptions by name, with the paper's settings as defaults: one entry each in :data:`KINDS`."""

from __future__ import annotations

import copy
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from torch_geometric.data import Data

from magnet.arrays import checksum
from magnet.checks import unknown
from magnet.corruption.cells import corrupt_cells
from magnet.corruption.injection import inject_attributes
from magnet.corruption.meta import meta_attack
from magnet.corruption.patches import corrupt_patches
from magnet.corruption.result import Corruption
from magnet.datasets import DATASETS
from magnet.files import cache_folder

# Ours (not swept), as the paper corrupts whole rows: most cells of a row stay right.
NODE_SHARE, CELL_RATIO, OUTLIER_RATIO = 0.3, 0.02, 0.05


class Kind(NamedTuple):
    """A corruption: its function, the options that make it this one, and the options that may be given."""

    function: Callable[..., Corruption]
    fixed: dict[str, Any]
    options: tuple[str, ...]


KINDS: dict[str, Kind] = {
    "inject-far": Kind(inject_attributes, {"select": "farthest"}, ("ratio", "candidates", "replace", "broken")),
    "inject-random": Kind(inject_attributes, {"select": "random"}, ("ratio", "replace", "broken")),
    "meta": Kind(meta_attack, {"strategy": "meta"}, ("budget", "flips_per_step", "per_row", "device", "progress")),
    "meta-control": Kind(meta_attack, {"strategy": "random"}, ("budget", "device", "progress")),
    "cells-flip": Kind(corrupt_cells, {"kind": "flip"}, ("ratio", "node_share")),
    "cells-outlier": Kind(corrupt_cells, {"kind": "outlier"}, ("ratio", "node_share", "scale")),
    "cells-swap": Kind(corrupt_cells, {"kind": "swap"}, ("ratio", "node_share")),
    "cells-gaussian": Kind(corrupt_cells, {"kind": "gaussian"}, ("ratio", "node_share", "scale")),
    "patches": Kind(corrupt_patches, {}, ("patches", "sigma")),
}


def corrupt(data: Data, kind: str, seed: int = 0, **options: Any) -> Corruption:
    """Apply a corruption by name.

    Options that are not given take the values that the experiments use: the paper's candidate set for a
    known dataset, the calibrated budget for the meta attack, and 30 % of the nodes x 2 % of their cells for
    scattered cells (5 % for outliers).

    Args:
        data: a graph; it is not modified.
        kind: one of :data:`KINDS`.
        seed: random seed. (default: ``0``)
        options: passed on to the function behind the name; ``None`` means the default.

    Example:
        >>> from magnet.datasets import synthetic
        >>> corrupt(synthetic(nodes=100, features=50), "cells-flip").info["node_share"]
        0.3
    """
    check_options(kind, options)
    set_options = {key: value for key, value in options.items() if value is not None}
    return KINDS[kind].function(data, **KINDS[kind].fixed, **(_defaults(data, kind) | set_options), seed=seed)


def corrupt_once(
    data: Data, kind: str, seed: int = 0, folder: str | os.PathLike[str] | None = None, **options: Any
) -> Corruption:
    """Like :func:`corrupt`, but computed once and read from ``folder`` afterwards.

    A meta attack takes minutes and is not bit-reproducible on a GPU; the cached file is. Its name
    holds a digest of the clean features, the split and the options, so that different graphs never share a file.

    Args:
        data, kind, seed, options: as for :func:`corrupt`; ``device`` and ``progress`` do not change the result.
        folder: where the files are kept. (default: ``corrupted`` in the user's cache folder)
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


def check_options(kind: str, options: dict[str, Any]) -> tuple[str, ...]:
    """The options that a corruption takes, after a check that it exists and takes those that are given."""
    if kind not in KINDS:
        raise unknown("corruption", kind, KINDS)
    allowed = KINDS[kind].options
    for key, value in options.items():
        if value is not None and key not in allowed:
            raise ValueError(f"{kind} has no option {key!r}; it has {', '.join(allowed)}")
    return allowed


def _defaults(data: Data, kind: str) -> dict[str, Any]:
    entry = DATASETS.get(getattr(data, "name", None) or "")
    if kind == "inject-far" and entry is not None:
        return {"candidates": entry.candidates}
    if kind.startswith("cells-"):
        return {"node_share": NODE_SHARE, "ratio": OUTLIER_RATIO if kind == "cells-outlier" else CELL_RATIO}
    return {}
