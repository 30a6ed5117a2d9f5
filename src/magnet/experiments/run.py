"""One row of any table: load, corrupt, repair, train, judge."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch_geometric.data import Data

from magnet.datasets import info
from magnet.experiments import methods
from magnet.experiments.batch import Batch, Row, until_it_fits
from magnet.experiments.methods.base import SIDE_BY_SIDE, Method
from magnet.experiments.settings import tuned

Settings = Literal["default", "tuned"]


def run_one(dataset: str | Data, corruption: str, method: str, seed: int = 0, **config: Any) -> Row:
    """Run one row of a table.

    Args:
        dataset: a name of :func:`magnet.datasets.load`, or a graph with ``x``, ``y`` and the three masks.
        corruption: ``"none"`` or one of :data:`magnet.corruption.KINDS`.
        method: one of :data:`magnet.experiments.methods.METHODS`.
        seed: of the repetition: its corruption, its detector and its initialisation.
        config: settings of the method, and the arguments of :func:`run_many`.

    Returns:
        The row: ``dataset corruption method seed test_accuracy val_accuracy test_auroc epoch seconds peak_memory
        device config detection chosen ...``; accuracies are fractions.

    Example:
        >>> row = run_one("digits", "inject-random", "gcn", seed=0, epochs=30)
        >>> row["method"], 0.5 < row["test_accuracy"] < 1
        ('gcn', True)
    """
    return run_many(dataset, corruption, method, [seed], **config)[0]


def run_many(
    dataset: str | Data,
    corruption: str,
    method: str,
    seeds: Sequence[int],
    *,
    corruption_options: Mapping[str, Any] | None = None,
    fixed_corruption: int | None = None,
    split: int | Literal["seed"] | None = None,
    settings: Settings = "default",
    device: str | torch.device | None = None,
    folder: str | os.PathLike[str] | None = None,
    root: str | os.PathLike[str] | None = None,
    batch: int | None = None,
    progress: bool = False,
    **config: Any,
) -> list[Row]:
    """Run several repetitions of a row, trained as one batch: what :func:`run_one` gives for each, up to rounding.

    Args:
        dataset, corruption, method: as for :func:`run_one`.
        seeds: of the repetitions.
        corruption_options: options of the corruption (ratio, budget ...). (default: the paper's)
        fixed_corruption: corrupt by this seed in every repetition, as the paper does. (default: by the repetition's)
        split: which split of the dataset; ``"seed"`` for the one with the repetition's number. (default: 0; for
            Wisconsin and Texas the repetition's, of their ten)
        settings: ``"tuned"`` for those of ``settings.toml``, where it has some for this method and dataset.
        device: (default: a GPU where there is one)
        folder: where corrupted graphs are kept. (default: the user's cache)
        root: where the raw data lie. (default: see :func:`magnet.datasets.load`)
        batch: how many repetitions to train at once. (default: all, and fewer where they do not fit)
        progress: show a progress bar.
        config: settings of the method.
    """
    rows = run_settings(
        dataset,
        corruption,
        method,
        seeds,
        [config],
        corruption_options=corruption_options,
        fixed_corruption=fixed_corruption,
        split=split,
        settings=settings,
        device=device,
        folder=folder,
        root=root,
        batch=batch,
        progress=progress,
    )
    return rows[0]


def run_settings(
    dataset: str | Data,
    corruption: str,
    method: str,
    seeds: Sequence[int],
    configs: Sequence[Mapping[str, Any]],
    *,
    corruption_options: Mapping[str, Any] | None = None,
    fixed_corruption: int | None = None,
    split: int | Literal["seed"] | None = None,
    settings: Settings = "default",
    device: str | torch.device | None = None,
    folder: str | os.PathLike[str] | None = None,
    root: str | os.PathLike[str] | None = None,
    batch: int | None = None,
    progress: bool = False,
) -> list[list[Row]]:
    """Run several settings of a method, each on all repetitions; ``result[setting][repetition]`` is a row.

    Settings that give models of the same shape are trained at once.
    """
    chosen = methods.get(method)
    if settings not in ("default", "tuned"):
        raise ValueError(f"settings is {settings!r}; it must be 'default' or 'tuned'")
    if not seeds:
        raise ValueError("seeds is empty; at least one is needed")
    name = str(getattr(dataset, "name", None) or "graph") if isinstance(dataset, Data) else info(dataset).name
    base = tuned(method, name, corruption) if settings == "tuned" else {}
    nodes = int(dataset.num_nodes or 0) if isinstance(dataset, Data) else info(name).nodes
    full = [chosen.config({**base, **config}, nodes) for config in configs]
    run = Batch(
        chosen,
        name,
        corruption,
        dict(corruption_options or {}),
        torch.device(device) if device is not None else torch.device("cuda" if torch.cuda.is_available() else "cpu"),
        progress,
    )
    cases = [run.case(dataset, seed, fixed_corruption, split, folder, root) for seed in seeds]
    own_splits = split == "seed" or (split is None and not isinstance(dataset, Data) and info(name).reader == "webkb")
    rows: dict[tuple[int, int], Row] = {}
    for members in _same_shape(chosen, full):
        for part in _parts(range(len(cases)), run.fitting(cases) if batch is None else batch):
            group = [cases[r] for r in part]
            done = until_it_fits(run, group, [full[k] for k in members], own_splits)
            for r, place in enumerate(part):
                for k, member in enumerate(members):
                    rows[member, place] = done[k][r]
    return [[rows[k, r] for r in range(len(cases))] for k in range(len(full))]


def _same_shape(method: Method, configs: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """Which settings can be trained side by side."""
    free = {*SIDE_BY_SIDE, *method.repairs, "normalize"}
    groups: dict[str, list[int]] = {}
    for place, config in enumerate(configs):
        shape = {name: value for name, value in config.items() if name not in free}
        groups.setdefault(json.dumps(shape, sort_keys=True), []).append(place)
    return list(groups.values())


def _parts(places: Sequence[int], size: int | None) -> list[Sequence[int]]:
    if size is not None and size < 1:
        raise ValueError(f"batch is {size}; at least 1 is needed")
    step = size or len(places)
    return [places[start : start + step] for start in range(0, len(places), step)]


def summary(rows: Sequence[Row]) -> dict[str, float]:
    """Mean and deviation (over repetitions, with n - 1) of the accuracies of some rows, in percent."""
    test = 100 * np.array([row["test_accuracy"] for row in rows])
    val = 100 * np.array([row["val_accuracy"] for row in rows])
    spread = float(test.std(ddof=1)) if len(test) > 1 else 0.0
    return {"test": float(test.mean()), "deviation": spread, "val": float(val.mean()), "repetitions": len(test)}
