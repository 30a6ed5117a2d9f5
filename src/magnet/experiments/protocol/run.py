"""One row of any table: load, corrupt, repair, train, judge."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import torch
from torch_geometric.data import Data

from magnet.checks import one_of
from magnet.experiments import methods
from magnet.experiments.protocol.batch import Experiment, Row, run_experiments
from magnet.experiments.protocol.data import ExperimentData
from magnet.experiments.protocol.measure import chosen_device

#: Keys of a request that are not settings of the method.
NO_SETTINGS = (
    *("dataset", "corruption", "method", "seed", "corruption_options", "fixed_corruption"),
    *("split", "settings", "batch"),
)


def run_one(
    dataset: str | Data,
    corruption: str,
    method: str,
    seed: int = 0,
    *,
    corruption_options: Mapping[str, Any] | None = None,
    fixed_corruption: int | None = None,
    split: int | Literal["seed"] | None = None,
    settings: Literal["default", "tuned"] = "default",
    device: str | torch.device | None = None,
    folder: str | os.PathLike[str] | None = None,
    root: str | os.PathLike[str] | None = None,
    progress: bool = False,
    **config: Any,
) -> Row:
    """Run one method on one corrupted dataset.

    Args:
        dataset: a name of :func:`magnet.datasets.load`, or a graph with ``x``, ``y`` and the three masks.
        corruption: ``"none"`` or one of :data:`magnet.corruption.KINDS`.
        method: one of :data:`magnet.experiments.methods.METHODS`.
        seed: seed of the repetition: corruption, detector and initialization. (default: ``0``)
        corruption_options: options of the corruption (ratio, budget ...). (default: the paper's)
        fixed_corruption: corruption seed for every repetition, as in the paper. (default: the repetition's seed)
        split: which split of the dataset; ``"seed"`` for the one with the repetition's number. (default: 0; for
            Wisconsin and Texas the repetition's, of their ten)
        settings: ``"tuned"`` for those found by search, if available for this method and dataset.
            (default: ``"default"``)
        device: (default: a GPU if available)
        folder: cache of corrupted graphs. (default: the user's cache)
        root: folder of the raw data. (default: see :func:`magnet.datasets.load`)
        progress: show a progress bar. (default: ``False``)
        config: settings of the method.

    Returns:
        The row: ``dataset corruption method seed test_accuracy val_accuracy test_auroc epoch seconds peak_memory
        device config detection chosen ...``; accuracies are fractions.

    Example:
        >>> row = run_one("digits", "inject-random", "gcn", seed=0, epochs=30)
        >>> row["method"], 0.5 < row["test_accuracy"] < 1
        ('gcn', True)
    """
    request = {
        **{"dataset": dataset, "corruption": corruption, "method": method, "seed": seed, "split": split},
        **{"corruption_options": corruption_options, "fixed_corruption": fixed_corruption, "settings": settings},
        **config,
    }
    return next(run_many([request], device, folder, root, progress=progress))[1]


def run_many(
    requests: Sequence[Mapping[str, Any]],
    device: str | torch.device | None = None,
    folder: str | os.PathLike[str] | None = None,
    root: str | os.PathLike[str] | None = None,
    batch: int | None = None,
    progress: bool = False,
) -> Iterator[tuple[int, Row]]:
    """Run rows of different methods, corruptions, settings and seeds on one dataset. Models of the same shape are
    trained together; each row equals that of :func:`run_one` up to rounding.

    Args:
        requests: the arguments of :func:`run_one` for each row, all with the same ``dataset`` and ``split``.
        device: as for :func:`run_one`.
        folder: likewise.
        root: likewise.
        progress: likewise.
        batch: how many repetitions to train at once. (default: all, and fewer where they do not fit)

    Yields:
        The number of each request and its row, as soon as it is finished.
    """
    if not requests:
        raise ValueError("requests is empty; at least one is needed")
    first = requests[0]
    source = ExperimentData(first["dataset"], chosen_device(device), first.get("split"), folder, root)
    experiments = []
    for request in requests:
        options = dict(request.get("corruption_options") or {})
        repetition = source.repetition(request["corruption"], options, request["seed"], request.get("fixed_corruption"))
        settings = {name: value for name, value in request.items() if name not in NO_SETTINGS}
        config = _config(
            source, request["corruption"], request["method"], settings, request.get("settings") or "default"
        )
        experiments.append(Experiment(methods.get(request["method"]), repetition, config))
    yield from run_experiments(experiments, batch or first.get("batch"), progress)


def _config(
    source: ExperimentData, corruption: str, method: str, given: Mapping[str, Any], settings: str
) -> dict[str, Any]:
    """All settings of a run."""
    from magnet.experiments.tuning.settings import tuned

    chosen = methods.get(method)
    one_of("settings", settings, ("default", "tuned"))
    found = tuned(method, source.name, corruption) if settings == "tuned" else {}
    return chosen.config({**found, **given}, source.nodes)
