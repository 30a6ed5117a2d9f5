"""The values that a report shows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from magnet import tables
from magnet.report import payload as module
from magnet.report.payload import payload
from magnet.tables.review import CleaningRecord

Make = Callable[..., CleaningRecord]


def test_the_slider_counts_the_cells_that_can_be_accepted(make_record: Make) -> None:
    """Also those whose probability is a hair below a step of the slider."""
    rng = np.random.default_rng(0)
    nodes = pd.DataFrame({"id": [str(k) for k in range(300)], "a": [f"{v:.3f}" for v in rng.normal(size=300)]})
    table = tables.from_frames(nodes, id="id")
    chances = np.clip(0.75 + 0.2 * rng.normal(size=300), 0, 1)
    chances[0] = 0.6 - 1e-12
    found = [(k, "a", "0.5" if k % 3 else None, float(p), 0.5) for k, p in enumerate(chances)]
    record = make_record(table, found)
    data = payload(record)
    listed = np.array([p for p, s in zip(data["cells"]["probability"], data["cells"]["suggested"], strict=True) if s])
    for step in range(50, 101):
        assert data["above"][step] == (listed >= step / 100).sum()


def test_whole_numbers_beyond_javascript_stay_exact(make_record: Make) -> None:
    table = tables.from_frames(pd.DataFrame({"n": [2**60 + 1] * 20 + [2**60 + 3]}))
    data = payload(make_record(table, [(20, "n", str(2**60 + 1), 0.9, 0.95)]))
    assert data["cells"]["observed"] == [str(2**60 + 3)]
    assert data["cells"]["suggested"] == [str(2**60 + 1)]


def test_a_small_table_in_numbers(make_record: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four rows in a cycle of links, of which two have wrong cells."""
    nodes = pd.DataFrame({"id": ["a", "b", "c", "d"], "size": ["10", "11", "900", "12"], "town": ["Ulm"] * 3 + ["Ul"]})
    edges = pd.DataFrame({"source": ["a", "b", "c", "d"], "target": ["b", "c", "d", "a"]})
    table = tables.from_frames(nodes, edges, id="id")
    record = make_record(
        table, [(2, "size", "11", 0.99, 0.95), (3, "town", "Ulm", 0.9, 0.95), (3, "size", None, 0.6, 0)]
    )
    data = payload(record, {"nodes": "my table.csv", "sha256": "0" * 64})
    assert data["tiles"][:2] == [[3, "cells listed as suspicious"], [2, "corrected"]]
    assert data["tiles"][-1] == [2, "of 4 rows with such cells"]
    assert [data["above"][k] for k in (0, 60, 90, 91, 99, 100)] == [2, 2, 2, 1, 1, 0]  # without the one to nothing
    assert data["rows_above"][90] == 2
    assert data["nodes"][0] == ["d", 2, 0.9]
    assert data["neighbors"][0] == [["11"], ["12"]]  # what b holds, and d, whose cell is listed itself
    assert data["apply"] == "magnet apply decisions.json 'my table.csv' -o FILE"
    assert data["decisions"]["sha256"] == "0" * 64
    assert data["linked"] is True
    monkeypatch.setattr(module, "MOST_CELLS", 1)
    short = payload(record)
    assert len(short["cells"]["row"]) == 1
    assert short["notes"][-1] == "This page shows the first 1 cells; suspicious_cells.csv holds 2 more."
