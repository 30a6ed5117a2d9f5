"""What the figures about detected cells have in common."""

from __future__ import annotations

from typing import Any

from magnet.experiments.exhibits.base import Options
from magnet.experiments.exhibits.classification import GAE, Setting
from magnet.experiments.exhibits.datasets import QUICK, shown
from magnet.experiments.store.jobs import Config

LOSSES = {"mae": "MAE", "mse": "MSE"}


def names(options: Options, datasets: tuple[str, ...]) -> list[str]:
    """The datasets of a figure."""
    known = [*dict.fromkeys([*shown(datasets), *datasets, *QUICK])]
    if options.datasets is not None:
        return options.choose("datasets", known)
    return list(QUICK) if options.quick else shown(datasets)


def gae(options: Options, dataset: str, loss: str, seed: int = 0, **more: Any) -> Config:
    """The paper's autoencoder with a loss."""
    given = {"loss": loss, **({"epochs": 20} if options.quick else GAE)}
    return config(dataset, "gae", seed, options=given, **more)


def config(dataset: str, method: str, seed: int = 0, **more: Any) -> Config:
    setting = Setting(dataset, "inject-random")
    names = {"kind": "detect", "dataset": setting.dataset, "corruption": setting.corruption}
    return {**names, "method": method, "seed": seed, **more}


def repeats(options: Options) -> int:
    """Detection varies little between seeds: three do."""
    return min(options.repeats, 1 if options.quick else 3)
