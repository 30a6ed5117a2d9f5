from __future__ import annotations

import pytest

from magnet.experiments.exhibits.base import Cell, summarize
from magnet.experiments.exhibits.classification import TITLES
from magnet.experiments.exhibits.goals import goals_table, lines


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
def test_a_line_says_how_ours_stands_to_every_rival(rival: float, words: str, reached: bool) -> None:
    (line,) = lines([cell("magnet", 81.5), cell("airgnn", rival), cell("appnp", 70.0)])
    assert line.against_rivals.startswith(words)
    assert line.missing[0] == "gcn-tuned"
    assert "GADC" in line.against_rivals.partition("not run: ")[2]
    assert (line.goal, line.reached) == (81.0, True)


def test_a_rival_that_was_not_tuned_does_not_count() -> None:
    (line,) = lines([cell("magnet", 80.9), cell("airgnn", 90.0, note="untuned, not comparable")])
    assert line.rivals == {}
    assert line.against_rivals == "—"
    assert not line.reached


def test_the_goal_on_heterophilic_graphs_is_relative() -> None:
    cells = [cell("magnet", 57.0, "texas"), cell("mlp", 58.0, "texas"), cell("gcn", 50.0, "texas")]
    (line,) = lines(cells)
    assert line.goal == pytest.approx(56.5)
    assert line.reached
    assert lines(cells[:2])[0].goal is None


def test_the_table_counts() -> None:
    cells = [cell("magnet", 81.5), cell("airgnn", 80.0)]
    cells += [cell("magnet", 60.0, "citeseer"), cell("airgnn", 65.0, "citeseer"), cell("airgnn", 65.0, "pubmed")]
    table = goals_table(cells)
    assert len(table.rows) == 2
    assert "above every tuned rival that was run in 1 of 2 lines" in table.words
    assert "below such an interval in 1." in table.words
    assert "reaches 1 of 2 goals" in table.words
