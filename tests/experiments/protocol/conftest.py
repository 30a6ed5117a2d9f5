"""A small graph, and the rows of some repetitions on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from magnet.datasets import synthetic
from magnet.experiments import run_many

Rows = list[dict[str, Any]]


@pytest.fixture(scope="session")
def small() -> Any:
    data = synthetic(nodes=160, features=40, classes=3, average_degree=6, signal=0.6, words=8, seed=1)
    index = torch.arange(160)
    data.train_mask, data.val_mask, data.test_mask = index < 30, (index >= 30) & (index < 80), index >= 80
    return data


@pytest.fixture(scope="session")
def repeat() -> Callable[..., Rows]:
    def rows_of(
        dataset: Any,
        corruption: str,
        method: str,
        seeds: Sequence[int],
        device: str = "cpu",
        folder: Path | None = None,
        **settings: Any,
    ) -> Rows:
        """The rows of some repetitions, run together."""
        common = {"dataset": dataset, "corruption": corruption, "method": method, **settings}
        rows = dict(run_many([{**common, "seed": seed} for seed in seeds], device, folder))
        return [rows[number] for number in range(len(seeds))]

    return rows_of
