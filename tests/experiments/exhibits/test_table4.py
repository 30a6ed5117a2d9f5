"""Table 4 from made-up runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from magnet.experiments.exhibits import EXHIBITS, Document, Options
from magnet.experiments.methods.networks import PUBLISHED

OPTIONS = Options(datasets=("cora",), methods=("appnp",), repeats=10)


def test_runs_are_timed_one_at_a_time_with_published_settings() -> None:
    configs = EXHIBITS["table4"].configs(OPTIONS)
    assert {config["batch"] for config in configs} == {1}
    appnp = [config for config in configs if config["method"] == "appnp"]
    assert len(appnp) == 3
    assert all(config[name] == value for config in appnp for name, value in PUBLISHED["appnp"].items())


def test_time_and_memory_beside_the_paper(rendered: Callable[..., Document]) -> None:
    def result_of(config: dict[str, Any]) -> dict[str, Any]:
        return {"test_accuracy": 0.7, "seconds": 2.0 + config["seed"], "peak_memory": 3 << 20}

    document = rendered("table4", OPTIONS, result_of)
    cells = {cell.column: cell for cell in document.tables[0].cells if cell.row == "APPNP"}
    seconds, memory = cells["Cora: seconds"], cells["Cora: peak MiB"]
    assert seconds.ours is not None
    assert memory.ours is not None
    assert seconds.paper is not None
    assert (seconds.ours.mean, seconds.paper.value, memory.ours.mean) == (3.0, 47.15, 3.0)
    assert seconds.complete
    assert "run on cpu" in document.tables[0].words
