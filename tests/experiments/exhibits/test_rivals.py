from __future__ import annotations

import pytest

from magnet.experiments.exhibits.base import Cell, summarize
from magnet.experiments.exhibits.classification import TITLES
from magnet.experiments.exhibits.rivals import comparisons, rivals_table


def cell(method: str, mean: float, dataset: str = "cora", corruption: str = "inject-random", note: str = "") -> Cell:
    """Five runs: 95 % interval of the mean of about one point to either side."""
    facts = {"method": method, "dataset": dataset, "corruption": corruption}
    ours = summarize([mean + step for step in (-1.0, -0.5, 0.0, 0.5, 1.0)])
    return Cell(TITLES[method], dataset.title(), ours, note=note, facts=facts)


@pytest.mark.parametrize(
    ("rival", "words", "reached"),
    [
        (80.0, "above all 2", True),
        (81.9, "within the interval of AirGNN", True),
        (83.5, "**below** AirGNN (2.0)", True),
    ],
)
def test_a_row_says_how_ours_stands_to_every_rival(rival: float, words: str, reached: bool) -> None:
    (row,) = comparisons([cell("magnet", 81.5), cell("airgnn", rival), cell("appnp", 70.0)])
    assert row.against_rivals.startswith(words)
    assert row.against_rivals.partition("not run: ")[2].startswith("GCN, tuned, MLP, GNNGuard")
    assert (row.target, row.reached) == (81.0, True)


def test_a_rival_that_was_not_tuned_does_not_count() -> None:
    (row,) = comparisons([cell("magnet", 80.9), cell("airgnn", 90.0, note="untuned, not comparable")])
    assert row.rivals == {}
    assert row.against_rivals == "—"
    assert not row.reached


def test_the_target_on_heterophilic_graphs_is_relative() -> None:
    cells = [cell("magnet", 57.0, "texas"), cell("mlp", 58.0, "texas"), cell("gcn", 50.0, "texas")]
    (row,) = comparisons(cells)
    assert row.target == pytest.approx(56.5)
    assert row.reached
    assert comparisons(cells[:2])[0].target is None


def test_the_table_counts() -> None:
    cells = [cell("magnet", 81.5), cell("airgnn", 80.0)]
    cells += [cell("magnet", 60.0, "citeseer"), cell("airgnn", 65.0, "citeseer"), cell("airgnn", 65.0, "pubmed")]
    table = rivals_table(cells)
    assert table is not None
    assert len(table.rows) == 2
    assert "above every tuned rival that was run in 1 of 2 rows" in table.words
    assert "below such an interval in 1." in table.words
    assert "is reached in 1 of 2 rows" in table.words


def test_there_is_no_table_where_nothing_is_compared() -> None:
    assert rivals_table([cell("magnet", 60.0, "texas"), cell("gcn", 50.0, "texas")]) is None
    assert rivals_table([cell("mlp", 60.0)]) is None
