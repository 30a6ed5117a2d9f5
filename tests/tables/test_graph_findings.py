"""Tables judged by detectors of graphs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from magnet import datasets, tables
from magnet.tables.graph_findings import judge_as_graph, swapped_rows


def people() -> tables.Table:
    rng = np.random.default_rng(0)
    size = rng.normal(170, 10, size=120)
    nodes = pd.DataFrame({"size": np.round(size, 1), "weight": np.round(size - 100 + rng.normal(0, 1, 120), 1)})
    nodes["smokes"] = np.where(rng.random(120) < 0.5, "yes", "no")
    nodes.loc[3, "weight"] = np.nan
    return tables.from_frames(nodes)


def test_distrusted_cells_and_blanks_get_a_suggestion_from_the_rest_of_the_row() -> None:
    table = people()
    trust = torch.ones(120, 3)
    trust[7, 1] = 0
    found = judge_as_graph(table, trust)
    assert [(c.row, c.column, c.kind) for c in found.findings] == [(3, "weight", "missing"), (7, "weight", "outlier")]
    blank, doubted = found.findings
    assert blank.probability == 119 / 120  # a blank should hold a value as often as other cells do
    for cell in (blank, doubted):
        assert abs(float(cell.suggested or "nan") - (table.frame["size"][cell.row] - 100)) < 4


def test_nothing_distrusted_and_nothing_blank_finds_nothing() -> None:
    table = people()
    whole = tables.from_frames(table.frame.drop(index=3).reset_index(drop=True))
    assert judge_as_graph(whole, torch.ones(119, 3)).findings == []


def test_what_a_column_cannot_hold_is_named() -> None:
    nodes = pd.DataFrame({"visits": [str(k % 20) for k in range(60)], "flag": ["yes", "no"] * 30})
    nodes.loc[5, "visits"] = "1o"
    found = judge_as_graph(tables.from_frames(nodes), torch.ones(60, 2)).findings
    assert [(c.row, c.column, c.kind, c.reason) for c in found] == [(5, "visits", "format", "1o is not a number")]


def digits(swapped: bool) -> tuple[tables.Table, set[int]]:
    """Pictures of digits, 100 of them in another one's place; their links are those of the right pictures."""
    data = datasets.load("digits")
    pixels = np.round(data.x.numpy() * 16).astype(int)
    rows = np.random.default_rng(0).choice(len(pixels), 100, replace=False)
    if swapped:
        pixels[rows] = pixels[np.roll(rows, 1)]
    nodes = pd.DataFrame(pixels, columns=[f"pixel {k}" for k in range(64)])
    nodes.insert(0, "id", range(len(nodes)))
    edges = pd.DataFrame(data.edge_index.T.numpy(), columns=["source", "target"])
    return tables.from_frames(nodes, edges, id="id"), set(rows.tolist())


def test_rows_of_other_nodes_are_listed_as_a_whole() -> None:
    """The pixels that happen to agree are no reason to believe the row."""
    table, wrong = digits(swapped=True)
    cells = swapped_rows(table)
    rows = {cell.row for cell in cells}
    assert len(rows & wrong) > 80
    assert len(rows - wrong) < 10
    assert {cell.kind for cell in cells} == {"swapped row"}
    assert cells[0].reason.startswith("the whole row does not fit its linked rows")


def test_without_given_links_no_row_is_swapped() -> None:
    assert swapped_rows(people()) == []
