"""The paper's numbers."""

from __future__ import annotations

import math

from magnet.experiments.exhibits.paper import printed, search_space
from magnet.experiments.methods import PAPER_SPACE


def test_a_number_has_its_deviation_where_the_paper_gives_one() -> None:
    known = printed("table1", "accuracy", setting="injection", dataset="cora", method="clean")
    assert known is not None
    assert (known.value, known.std) == (81.26, 0.65)
    seconds = printed("table4", "seconds", setting="injection", dataset="cora", method="appnp")
    assert seconds is not None
    assert seconds.value == 47.15
    assert math.isnan(seconds.std)


def test_out_of_memory_is_nan_and_a_missing_number_is_none() -> None:
    where = {"setting": "injection", "dataset": "ogbn-arxiv"}
    failed = printed("table1", "accuracy", method="appnp", **where)
    assert failed is not None
    assert math.isnan(failed.value)
    assert printed("table1", "accuracy", method="ugd", **where) is None


def test_the_search_space_is_the_one_that_methods_use() -> None:
    space = search_space()
    assert len(space) >= len(PAPER_SPACE)
    assert all(str(units) in " ".join(space.values()) for units in PAPER_SPACE["hidden"])
