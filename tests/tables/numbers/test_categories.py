"""Categories that linked rows contradict."""

import numpy as np
import scipy.sparse as sp

from magnet.tables.numbers import judge_category


def _linked(seed: int = 0, rows: int = 400) -> tuple[np.ndarray, sp.csr_matrix]:
    rng = np.random.default_rng(seed)
    place = rng.integers(12, size=rows)
    same = (place[:, None] == place[None]) & (rng.random((rows, rows)) < 0.3)
    links = sp.csr_matrix(np.triu(same, 1).astype(float))
    return place % 3, (links + links.T).tocsr()


def test_categories_that_all_linked_rows_contradict_are_wrong() -> None:
    codes, links = _linked(rows=1200)
    right = codes.copy()
    wrong = np.arange(0, 1200, 150)
    codes[wrong] = (right[wrong] + 1) % 3
    found = judge_category(codes, links, np.zeros((1200, 0)))
    assert found is not None
    assert np.flatnonzero(found.wrong >= 0.5).tolist() == wrong.tolist()
    assert (found.suggestion[wrong] == right[wrong]).all()


def test_links_that_mean_nothing_judge_nothing() -> None:
    codes, links = _linked(1)
    order = np.random.default_rng(2).permutation(400)
    assert judge_category(codes, links[order][:, order].tocsr(), np.zeros((400, 0))) is None


def test_many_exceptions_are_how_the_column_is() -> None:
    codes, links = _linked(3)
    rng = np.random.default_rng(4)
    other = rng.random(400) < 0.08
    codes[other] = rng.integers(3, size=int(other.sum()))
    found = judge_category(codes, links, np.zeros((400, 0)))
    assert found is not None
    assert not (found.wrong >= 0.5).any()
