"""Settings, configs and scores of the tables of node classification."""

from __future__ import annotations

from magnet.experiments.exhibits.base import Summary
from magnet.experiments.exhibits.classification import Setting, relative


def test_the_papers_numbers_and_the_stand_ins() -> None:
    found = Setting("cora", "inject-random").paper("table1", "magnet-gae")
    assert found is not None
    assert found.value == 79.07
    assert Setting("amazon-computers", "inject-random").paper("table1", "gcn") is None
    assert Setting("amazon-computers", "inject-random").title == "Amazon-Computers (for Wiki-CS)"
    assert relative(Summary(1.0), 2.0, 2.0) is None
