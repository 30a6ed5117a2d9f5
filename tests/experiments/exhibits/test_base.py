"""The parts of a table or figure."""

from __future__ import annotations

from pathlib import Path

from magnet.experiments import exhibits
from magnet.experiments.store import RESULT_VERSIONS, Store, result_version


def test_a_cell_stands_on_one_result_version(tmp_path: Path) -> None:
    configs = [{"kind": "x", "dataset": "cora", "seed": seed} for seed in range(3)]
    newer = {**RESULT_VERSIONS, "networks": 99}
    for versions, seeds, value in ((RESULT_VERSIONS, (0, 1, 2), 0.5), (newer, (0,), 0.9)):
        with Store(tmp_path / "a.sqlite", versions) as store:
            for seed in seeds:
                store.add(configs[seed], {"test_accuracy": value})
    with Store(tmp_path / "a.sqlite", newer) as store:
        results = exhibits.Results(store)
        assert results.values(configs, "test_accuracy") == [0.5, 0.5, 0.5]
        assert results.used == {result_version(configs[0])}
        assert results.values(configs[:1], "test_accuracy") == [0.9]  # as many: the newer
