"""One row of any table: load, corrupt, repair, train, judge."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch_geometric.data import Data

from magnet.experiments import methods
from magnet.experiments.batch import Place, Row, Run, run_all
from magnet.experiments.methods.base import Case
from magnet.experiments.settings import tuned

Settings = Literal["default", "tuned"]

#: What :func:`run_one` takes that is no setting of the method.
NO_SETTINGS = (
    "dataset",
    "corruption",
    "method",
    "seed",
    "corruption_options",
    "fixed_corruption",
    "split",
    "settings",
    "batch",
)


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
    if not seeds:
        raise ValueError("seeds is empty; at least one is needed")
    place = Place(dataset, _device(device), split, folder, root)
    full = [_full(place, corruption, method, config, settings) for config in configs]
    options = dict(corruption_options or {})
    cases = [place.case(corruption, options, seed, fixed_corruption) for seed in seeds]
    runs = [Run(methods.get(method), case, config) for config in full for case in cases]
    rows = [row for _, row in sorted(run_all(runs, batch, progress), key=lambda found: found[0])]
    return [rows[start : start + len(cases)] for start in range(0, len(rows), len(cases))]


def run_mixed(
    asked: Sequence[Mapping[str, Any]],
    device: str | torch.device | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> Iterator[tuple[int, Row]]:
    """Run rows of different methods, corruptions and settings on one dataset; those that end in models of one shape
    are trained at once. Yields the number of each and its row as soon as it is there.

    Args:
        asked: the arguments of :func:`run_one` for each row, all with the same ``dataset``, ``split`` and ``batch``.
        device, folder: as for :func:`run_many`.
    """
    first = asked[0]
    place = Place(first["dataset"], _device(device), first.get("split"), folder)
    cases: dict[str, Case] = {}
    runs = []
    for each in asked:
        options, fixed = dict(each.get("corruption_options") or {}), each.get("fixed_corruption")
        key = json.dumps([each["corruption"], options, each["seed"], fixed], sort_keys=True)
        if key not in cases:
            cases[key] = place.case(each["corruption"], options, each["seed"], fixed)
        given = {name: value for name, value in each.items() if name not in NO_SETTINGS}
        config = _full(place, each["corruption"], each["method"], given, each.get("settings", "default"))
        runs.append(Run(methods.get(each["method"]), cases[key], config))
    yield from run_all(runs, first.get("batch"))


def _full(place: Place, corruption: str, method: str, given: Mapping[str, Any], settings: str) -> dict[str, Any]:
    """All settings of a run."""
    chosen = methods.get(method)
    if settings not in ("default", "tuned"):
        raise ValueError(f"settings is {settings!r}; it must be 'default' or 'tuned'")
    found = tuned(method, place.name, corruption) if settings == "tuned" else {}
    return chosen.config({**found, **given}, place.nodes)


def _device(device: str | torch.device | None) -> torch.device:
    return torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))


def summary(rows: Sequence[Row]) -> dict[str, float]:
    """Mean and deviation (over repetitions, with n - 1) of the accuracies of some rows, in percent."""
    test = 100 * np.array([row["test_accuracy"] for row in rows])
    val = 100 * np.array([row["val_accuracy"] for row in rows])
    spread = float(test.std(ddof=1)) if len(test) > 1 else 0.0
    return {"test": float(test.mean()), "deviation": spread, "val": float(val.mean()), "repetitions": len(test)}
