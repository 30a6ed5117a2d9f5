"""Means over related rows never contain the row itself."""

import numpy as np
import pytest
import scipy.sparse as sp

from magnet.tables.numbers.context import (
    MAX_RELATED,
    Category,
    Context,
    group_means,
    link_means,
    order_means,
    order_sides,
)


def test_means_do_not_change_with_the_own_value() -> None:
    rng = np.random.default_rng(0)
    links = sp.random(12, 12, 0.3, random_state=0, format="csr")
    links = ((links + links.T) > 0).astype(float).tocsr()
    links.setdiag(0)
    links.eliminate_zeros()
    value = rng.normal(size=(12, 1))
    known = np.ones((12, 1), dtype=bool)
    other = value.copy()
    other[4] += 100.0
    shift = 100.0 / 12 * 0.5  # the column's mean, which every row has half of
    for before, after in zip(link_means(links, value, known), link_means(links, other, known), strict=True):
        assert abs(after[4, 0] - before[4, 0]) <= shift / 0.5
    codes = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
    moved = group_means(codes, other[:, 0], known[:, 0]) - group_means(codes, value[:, 0], known[:, 0])
    assert abs(moved[4]) < 100.0 / 12
    assert moved[5] > 20


def test_blocks_offer_row_links_order_and_groups() -> None:
    cells = np.random.default_rng(1).normal(size=(30, 3))
    links = sp.csr_matrix((np.ones(30), (np.arange(30), (np.arange(30) + 1) % 30)), shape=(30, 30))
    category = Category("city", np.arange(30) % 3)
    context = Context(
        cells, cells, np.ones((30, 3), dtype=bool), np.zeros((30, 3)), [category], links, [("rows", np.arange(30))]
    )
    assert set(context.blocks(0)) == {"row", "squares", "links", "linked rows", "order:rows", "group:city"}


def test_link_means_are_those_of_dense_matrices() -> None:
    rng = np.random.default_rng(3)
    links = np.triu(rng.random((15, 15)) < 0.3, 1).astype(float)
    links += links.T
    value, known = rng.normal(size=(15, 3)), rng.random((15, 3)) < 0.8
    there, v = known.astype(float), np.where(known, value, 0.0)
    two_steps = links @ links - np.diag(np.diag(links @ links))
    mean = 0.5 * v.sum(axis=0) / there.sum(axis=0)
    near, far = link_means(sp.csr_matrix(links), value, known)
    assert np.allclose(near, (links @ v + mean) / (links @ there + 0.5))
    assert np.allclose(far, (two_steps @ v + mean) / (two_steps @ there + 0.5))


def test_rows_between_unknown_ones_take_the_nearest_known() -> None:
    rng = np.random.default_rng(3)
    order, value, known = rng.permutation(40), rng.normal(size=40), rng.random(40) < 0.5
    value = np.where(known, value, 0.0)
    means = order_means(order, value, known)
    for place in range(40):
        rows = {step: [p for p in (place - step, place + step) if 0 <= p < 40 and known[order[p]]] for step in (1, 2)}
        before = [p for p in range(place) if known[order[p]]][-1:]
        after = [p for p in range(place + 1, 40) if known[order[p]]][:1]
        for step in (1, 2):
            expected = np.mean([value[order[p]] for p in rows[step] or before + after])
            assert means[order[place], step - 1] == pytest.approx(expected)


def test_of_many_groups_and_orders_the_informative_ones_are_offered() -> None:
    rng = np.random.default_rng(5)
    group, order = rng.integers(5, size=100), rng.permutation(100)
    cells = np.column_stack([group + 0.1 * rng.normal(size=100), np.argsort(order) / 30, rng.normal(size=100)])
    noise = [Category(f"noise{k}", rng.integers(5, size=100)) for k in range(3 * MAX_RELATED)]
    known = rng.random((100, 3)) < 0.9
    context = Context(
        cells, cells, known, np.zeros((100, 3)), [*noise, Category("group", group)], None, [("time", order)]
    )
    offered = [context.blocks(j) for j in range(3)]
    assert "group:group" in offered[0]
    assert "order:time" in offered[1]
    assert all(len(blocks) == 2 + MAX_RELATED for blocks in offered)
    assert not any(name.startswith("order:") for name in context.blocks(1, orders=False))
    few = Context(cells, cells, known, np.zeros((100, 3)), noise[:MAX_RELATED])
    assert few.blocks(0) == ["row", "squares", *(f"group:{c.name}" for c in noise[:MAX_RELATED])]


def test_a_series_goes_on_as_the_three_rows_of_each_side() -> None:
    series = np.array([1.0, 2.0, 3.0, 4.0, 20.0, 18.0, 16.0, 14.0])
    sides = order_sides(np.arange(8), series, np.ones(8, dtype=bool))
    assert sides[3].tolist() == [2.0, 18.0, 4.0, 22.0]
    assert sides[4].tolist() == [3.0, 16.0, 5.0, 20.0]
    series[3] = -50.0  # one far value is no trend
    assert order_sides(np.arange(8), series, np.ones(8, dtype=bool))[4, 2] == 2.0
