"""Values of linked rows, worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from magnet.tables.coded import CodedColumn, CodedTable
from magnet.tables.experts.base import ColumnContext
from magnet.tables.experts.links import Links, fit

TEXTS = ["a", "a", "b", "a"]
EDGES = sp.csr_array(np.array([[0, 1, 1, 0], [1, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]], dtype=float))


def test_linked_rows_vote_beside_the_column() -> None:
    links = Links(CodedColumn.of("x", TEXTS), EDGES, kappa=0.5)
    # row 0 is linked to an a and a b; of the other three rows two say a and one b
    rows = np.array([0, 0])
    expected = [(1 + 0.5 * 2 / 3) / 2.5, (1 + 0.5 * 1 / 3) / 2.5]
    assert links.probability(rows, np.array([0, 1])) == pytest.approx(expected)
    assert links.own()[2] == pytest.approx((0 + 0.5 * 0) / 1.5)
    assert links.evidence(0, 1) == "1 of 2 linked rows have 'b'"


def test_the_values_of_linked_rows_are_proposed() -> None:
    links = Links(CodedColumn.of("x", TEXTS), EDGES, kappa=0.5)
    assert set(links.proposals()[0].tolist()) == {0, 1, -1}
    assert links.proposals()[1].tolist() == [0, -1, -1]


def test_several_linked_rows_that_agree_speak_with_one_voice() -> None:
    star = np.zeros((7, 7))
    star[0, 1:] = star[1:, 0] = 1
    links = Links(CodedColumn.of("x", ["b", *"aaaaaa"]), sp.csr_array(star), kappa=0.5)
    leader, votes, _ = links.agreement()
    assert leader.tolist() == [1, *[-1] * 6]
    assert votes[0] == 6


def test_a_row_is_not_its_own_neighbor_and_no_links_make_no_expert() -> None:
    table = CodedTable.of({"x": TEXTS})
    assert fit(ColumnContext(table, 0)) == []
    table = replace(table, links=sp.csr_array(EDGES + sp.eye_array(4)))
    assert fit(ColumnContext(table, 0))[0].own()[2] == pytest.approx(0.0)


def test_links_that_tell_no_more_than_frequency_make_no_expert() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(20), 10)
    table = CodedTable.of({"x": ["abcd"[g % 4] for g in groups]})
    same = sp.csr_array((groups[:, None] == groups[None]).astype(float))
    order = rng.permutation(200)
    table = replace(table, links=same)
    assert len(fit(ColumnContext(table, 0))) == 1
    table = replace(table, links=sp.csr_array(same[order][:, order]))
    assert fit(ColumnContext(table, 0)) == []


def test_links_that_say_nothing_are_looked_at_again_after_a_repair(coded: Any) -> None:
    n = 40
    ring = sp.csr_array((np.ones(n), (np.arange(n), np.roll(np.arange(n), 1))), shape=(n, n))
    table = replace(coded({"x": ["a", "b", "c", "b", "a"] * (n // 5)}), links=ring)
    memory: dict[str, object] = {}
    assert fit(ColumnContext(table, 0, memory)) == fit(ColumnContext(table, 0, memory)) == []
    table.columns[0].repair(np.repeat([0, 1], n // 2))
    assert len(fit(ColumnContext(table, 0, memory))) == 1
