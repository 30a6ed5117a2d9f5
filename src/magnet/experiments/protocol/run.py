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

#: Keys of a config that are not settings of the method.
NO_SETTINGS = (
    *("kind", "dataset", "corruption", "method", "seed", "corruption_options", "fixed_corruption"),
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
    **options: Any,
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
        options: settings of the method.

    Returns:
        The row: ``dataset corruption method seed test_accuracy val_accuracy test_auroc epoch seconds peak_memory
        device config detection chosen ...``; accuracies are fractions.

    Example:
        >>> row = run_one("digits", "inject-random", "gcn", seed=0, epochs=30)
        >>> row["method"], 0.5 < row["test_accuracy"] < 1
        ('gcn', True)
    """
    config = {
        **{"dataset": dataset, "corruption": corruption, "method": method, "seed": seed, "split": split},
        **{"corruption_options": corruption_options, "fixed_corruption": fixed_corruption, "settings": settings},
        **options,
    }
    return next(run_many([config], device, folder, root, progress=progress))[1]


def run_many(
    configs: Sequence[Mapping[str, Any]],
    device: str | torch.device | None = None,
    folder: str | os.PathLike[str] | None = None,
    root: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Iterator[tuple[int, Row]]:
    """Run rows of different methods, corruptions, settings and seeds on one dataset. Models of the same shape are
    trained together; each row equals that of :func:`run_one` up to rounding.

    Args:
        configs: the arguments of :func:`run_one` for each row, all with the same ``dataset`` and ``split``. The
            ``batch`` of the first one says how many repetitions are trained at once. (default: all that fit)
        device, folder, root, progress: as for :func:`run_one`.

    Yields:
        The number of each config and its row, as soon as it is finished.
    """
    if not configs:
        raise ValueError("configs is empty; at least one is needed")
    first = configs[0]
    source = ExperimentData(first["dataset"], chosen_device(device), first.get("split"), folder, root)
    experiments = []
    for config in configs:
        options = dict(config.get("corruption_options") or {})
        repetition = source.repetition(config["corruption"], options, config["seed"], config.get("fixed_corruption"))
        experiments.append(Experiment(methods.get(config["method"]), repetition, _settings(config, source)))
    yield from run_experiments(experiments, first.get("batch"), progress)


def _settings(config: Mapping[str, Any], source: ExperimentData) -> dict[str, Any]:
    """All settings of the method of a run."""
    from magnet.experiments.tuning.settings import tuned

    given = {name: value for name, value in config.items() if name not in NO_SETTINGS}
    which = config.get("settings") or "default"
    one_of("settings", which, ("default", "tuned"))
    found = tuned(config["method"], source.name, config["corruption"]) if which == "tuned" else {}
    return methods.get(config["method"]).config({**found, **given}, source.nodes)
