"""Settings found by search."""

from __future__ import annotations

from pathlib import Path

from magnet.experiments import methods
from magnet.experiments.tuning import settings


def test_settings_are_written_and_found_again(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    entry = {
        "val_accuracy": 0.8,
        "settings": {"learning_rate": 0.01, "scaling": "rows", "norm": "l21", "lambdas": [1.0, 3.0]},
    }
    settings.write({"gcn": {"cora": {"none": entry, "meta": {"settings": {"learning_rate": 0.1}}}}}, path)
    assert settings.tuned("gcn", "cora", "none", path) == entry["settings"]
    assert settings.tuned("gcn", "cora", "meta", path) == {"learning_rate": 0.1}
    assert settings.tuned("gcn", "nowhere", "none", path) == {}
    assert settings.tuned("gcn", "texas", "none", path) == settings.tuned("gcn", "texas", "none") != {}
    assert settings.tuned("gcn", "cora", "none") != entry["settings"]


def test_the_settings_that_are_shipped_fit_their_methods() -> None:
    for name, method in methods.METHODS.items():
        for dataset in ("cora", "citeseer", "pubmed", "coauthor-cs", "wisconsin", "texas"):
            for corruption in ("none", "inject-random", "meta"):
                found = settings.tuned(name, dataset, corruption)
                method.config(found)
                assert all(value in method.space.get(key, [value]) for key, value in found.items())
    assert settings.tuned("gcn", "cora", "none")
    assert (
        settings.tuned("magnet-gcn", "cora", "inject-far")
        == settings.tuned("magnet-gcn", "cora", "inject-random")
        != {}
    )
