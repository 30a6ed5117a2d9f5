"""Table 5 from made-up counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from magnet.experiments.exhibits import EXHIBITS, Document, Options, Results, table5


def test_counts_beside_the_paper(rendered: Callable[..., Document], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table5, "available", lambda name: True)

    def result_of(config: dict[str, Any]) -> dict[str, Any]:
        assert config["kind"] == "statistics"
        return dict.fromkeys(table5.QUANTITIES, 7)

    (table,) = rendered("table5", Options(datasets=("cora",)), result_of).tables
    cells = {cell.row: cell for cell in table.cells}
    assert list(cells) == list(table5.QUANTITIES.values())
    assert cells["nodes"].difference == 7 - 2708
    assert cells["homophily"].digits == 3


def test_a_dataset_without_files_is_not_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table5, "available", lambda name: name != "wiki-cs")
    options = Options(datasets=("cora", "wiki-cs"))
    (table,) = EXHIBITS["table5"].document(Results(), options).tables
    assert {cell.impossible for cell in table.cells if cell.column == "Wiki-CS"} == {"no files"}
    assert {cell.impossible for cell in table.cells if cell.column == "Cora"} == {""}
    assert [config["dataset"] for config in EXHIBITS["table5"].configs(options)] == ["cora"]
