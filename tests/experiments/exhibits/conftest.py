"""Runs that are made up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from magnet.experiments.exhibits import Document, Options
from magnet.experiments.exhibits.make import make_exhibits

ACCURACY = {"gcn": 0.7, "magnet-gae": 0.78, "appnp": 0.6, "magnet": 0.8}


class Pretend:
    """Accuracies that depend on method and seed in a known way."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    def __call__(self, configs: Sequence[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        for config in configs:
            self.seen.append(config)
            mean = 0.8 if config["corruption"] == "none" else ACCURACY[config["method"]]
            yield config, {"test_accuracy": mean + 0.01 * (config["seed"] - 1), "seconds": 1.0, "device": "cpu"}


@pytest.fixture
def pretend() -> type[Pretend]:
    return Pretend


@pytest.fixture
def options() -> Options:
    methods = ("appnp", "magnet-gae", "magnet")
    return Options(datasets=("cora",), methods=methods, corruptions=("inject-random",), repeats=3)


@pytest.fixture
def rendered(tmp_path: Path) -> Callable[..., Document]:
    """Renders an exhibit from made-up results: ``rendered(name, options, result_of)`` with ``result_of(config)``."""

    def render(name: str, options: Options, result_of: Callable[[dict[str, Any]], dict[str, Any]]) -> Document:
        def run(configs: Sequence[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
            for config in configs:
                yield config, {"seconds": 1.0, "device": "cpu", **result_of(config)}

        return make_exhibits([name], tmp_path / "runs.sqlite", None, options, run=run, echo=None).documents[0]

    return render
