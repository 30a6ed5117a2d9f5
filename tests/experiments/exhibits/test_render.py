"""Cells in words, and the page about all exhibits."""

from __future__ import annotations

import csv
from pathlib import Path

from magnet.experiments.exhibits import Document, Options
from magnet.experiments.exhibits.base import Cell, Table, summarize
from magnet.experiments.exhibits.make import make_exhibits
from magnet.experiments.exhibits.render import cell_text, write_page
from magnet.experiments.store import Store


def test_the_page_exports_what_is_shown_and_every_search(tmp_path: Path) -> None:
    config = {"kind": "classify", "dataset": "cora", "corruption": "none", "method": "gcn", "seed": 0}
    for version in (1, 2):
        with Store(tmp_path / "a.sqlite", {"datasets": 1, "networks": version}) as store:
            store.add(config, {"test_accuracy": 0.5, "seconds": 3600, "device": "cpu"})
            store.add({**config, "kind": "search"}, {"trials": []})
    options = Options(datasets=("cora",), methods=("gcn",), corruptions=("inject-random",), repeats=1)
    made = make_exhibits(["table1"], tmp_path / "a.sqlite", None, options, show_only=True)
    (tmp_path / "README.md").write_text("before\n<!-- made by magnet reproduce all -->\nold\n<!-- end -->\nafter\n")
    page = write_page(made.documents, tmp_path, tmp_path / "a.sqlite", made.shown).read_text()
    with (tmp_path / "runs.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert sorted((line["kind"], line["code"]) for line in lines) == [
        ("classify", "datasets 1, networks 2"),
        ("search", "datasets 1, networks 1"),
        ("search", "datasets 1, networks 2"),
    ]
    assert page.startswith("before\n")
    assert page.endswith("after\n")
    assert "3 finished runs (1.0 hours of computing) on cpu" in page


def test_the_page_counts_what_could_be_there(tmp_path: Path) -> None:
    cells = [
        Cell("a", "x", summarize([1.0, 2.0]), planned=2),
        Cell("a", "y", summarize([1.0]), planned=2),
        Cell("a", "z", planned=2),
        Cell("b", "x", planned=2, impossible="no files"),
        Cell("b", "y", text="yes"),
    ]
    with Store(tmp_path / "a.sqlite"):
        pass
    document = Document("table9", "Some table", [Table("t", cells)])
    page = write_page([document], tmp_path, tmp_path / "a.sqlite", set()).read_text()
    assert "| [table9](table9.md): Some table | 3 of 4 | 2 | - |" in page
    assert [cell_text(cell) for cell in cells[2:]] == ["—", "no files", "yes"]
