"""Why something was flagged."""

from __future__ import annotations

import numpy as np
import pytest

from magnet import datasets, detection


def test_explanations_say_what_was_expected(town_table):
    data, columns, _ = town_table
    found = detection.make("auto").fit(data, columns)
    table = found.explain()
    assert list(table["probability"]) == sorted(table["probability"], reverse=True)
    cells = table[table["kind"] == "cell"].set_index(["node", "column"])
    assert len(cells) == int(found.flagged_[:, [0, 4, 5]].sum())
    graph = datasets.synthetic(1200, 16, 4, 8.0, 0.95, seed=0)
    neighbors = np.bincount(graph.edge_index[0].numpy(), minlength=1200)
    right = 0
    for (node, column), line in cells.iterrows():
        assert line["neighbors"] == neighbors[node]
        assert line["unusual"] > 0
        if column == 0:
            assert line["observed"] == int(data.x[node, :4].argmax())
            right += line["expected"] == int(graph.y[node])
        if column == 1:
            assert line["observed"] == pytest.approx(float(data.x[node, 4]))
            assert abs(line["expected"] - 100 * int(graph.y[node])) < 90
    assert right >= 0.8 * (cells.index.get_level_values("column") == 0).sum()
    assert len(found.explain(limit=3)) == 3
