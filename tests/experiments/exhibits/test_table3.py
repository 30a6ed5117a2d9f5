"""Table 3: search spaces, and settings from a file."""

from __future__ import annotations

from pathlib import Path

from magnet.experiments.exhibits import EXHIBITS, Options, Results
from magnet.experiments.methods import METHODS
from magnet.experiments.tuning.settings import write


def test_settings_of_the_users_file_replace_those_of_a_method(tmp_path: Path) -> None:
    entry = {"val_accuracy": 0.8, "trials": 4, "pruned": 2, "settings": {"alpha": 0.1, "scaling": "rows"}}
    write({"appnp": {"cora": {"inject-random": entry}}}, tmp_path / "settings.toml")
    document = EXHIBITS["table3"].document(Results(), Options(settings=tmp_path / "settings.toml"))
    _, spaces, chosen = document.tables
    texts = {(cell.row, cell.column): cell.text for cell in chosen.cells}
    assert texts["APPNP, Cora, inject-random", "alpha"] == "0.1"
    assert texts["APPNP, Cora, inject-random", "trials"] == "4"
    assert [row for row in chosen.rows if row.startswith("APPNP")] == ["APPNP, Cora, inject-random"]
    assert {(cell.row, cell.column): cell.text for cell in spaces.cells}["APPNP", "alpha"] == "0.05, 0.1, 0.2"
    assert document.summary is not None
    overview = {(cell.row, cell.column): cell.text for cell in document.summary.cells}
    assert overview["APPNP", "studies"] == "1"
    assert overview["APPNP", "of them pruned"] == "2"
    assert overview["APPNP", "settings searched"] == str(len(METHODS["appnp"].space))
