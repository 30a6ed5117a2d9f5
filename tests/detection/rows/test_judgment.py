"""How well rows fit their nodes; rows of large graphs are forced on a small one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from magnet import corruption, datasets, detection
from magnet.detection.options import ROWS
from magnet.detection.rows import judgment
from magnet.detection.rows.judgment import _expand, _pair_logits, _share_of_long_rows, _share_of_single_rows
from magnet.detection.rows.logistic import CrossFit

NODES = 4000


def test_logits_of_pairs_are_those_of_the_products_of_their_features():
    generator = torch.Generator().manual_seed(0)
    n, m, f = 40, 7, 3
    features, amount = torch.randn(n, m, f, generator=generator), torch.rand(n, 2, generator=generator)
    half = torch.randint(0, 2, (n,), generator=generator)
    size = 4 * f + 2
    center, spread = torch.randn(size, generator=generator), torch.rand(size, generator=generator) + 0.5
    model = CrossFit(center, spread, torch.randn(2, size + 1, generator=generator))
    columns = list(features.unbind(dim=2))
    at_nodes = _pair_logits(model, columns, amount[:, None], half[:, None])
    at_places = _pair_logits(model, columns, amount[None, :m], half[None, :m])
    for k in range(m):
        torch.testing.assert_close(at_nodes[:, k], model.logit(_expand(features[:, k], amount), half))
        moved = _expand(features[:, k], amount[k].expand(n, 2))
        torch.testing.assert_close(at_places[:, k], model.logit(moved, half[k].expand(n)))


def test_misfits_among_the_rows_that_hold_little_are_not_swapped():
    rng = np.random.default_rng(0)
    norms, null = rng.random(2000), rng.normal(0, 1, (2000, 64))
    short = np.argsort(norms)[:1000]
    for misfits, expected in (
        (rng.choice(short, 200, replace=False), 0.0),
        (rng.choice(2000, 200, replace=False), 0.1),
    ):
        real = rng.normal(4, 1, 2000)
        real[misfits] = rng.normal(0, 1, 200)
        all_rows = _share_of_single_rows(real, null)
        assert all_rows.share == pytest.approx(0.1, abs=0.03)
        assert _share_of_long_rows(all_rows, real, null, norms).share == pytest.approx(expected, abs=0.03)


@pytest.fixture
def as_if_large(monkeypatch):
    """As many probes and training pairs for each node as in a graph of a million nodes."""
    monkeypatch.setattr(judgment, "ROWS", replace(ROWS, max_pairs=ROWS.min_probes * NODES, training_pairs=0))


def _graph(ratio, seed=0):
    data = datasets.synthetic(
        NODES, 32, average_degree=10.0, homophily=0.9, degree="power", kind="continuous", signal=0.7, seed=seed
    )
    return corruption.inject_attributes(data, ratio=ratio, candidates=1, select="random", seed=seed) if ratio else data


def test_few_probes_do_not_mean_less_power(as_if_large, monkeypatch):
    bad = _graph(0.1)
    large = detection.make("context").fit(bad.data)
    monkeypatch.undo()
    small = detection.make("context").fit(bad.data)
    assert large.gate_.open
    assert abs(large.gate_.power - small.gate_.power) < 0.02
    assert abs(large.share_ - small.share_) < 0.02
    area = {found: detection.areas(bad.nodes, found.node_scores_)[0] for found in (large, small)}
    assert area[large] > area[small] - 0.01
    flagged = large.swapped_rows_
    assert float(bad.nodes[flagged].float().mean()) > 0.8
    assert float(flagged[bad.nodes].float().mean()) > 0.5


@pytest.mark.parametrize("seed", range(3))
def test_clean_rows_are_left_alone(as_if_large, seed):
    assert float(detection.make("context", seed=seed).fit(_graph(0.0, seed)).swapped_rows_.float().mean()) < 0.005


def test_the_share_of_a_small_or_clustered_sample_has_a_low_limit():
    rng = np.random.default_rng(0)
    null = rng.normal(0, 1, (2000, 64))
    clustered = null + rng.normal(0, 1, 64)

    def limit(rows, null):
        real = np.concatenate([rng.normal(5, 1, rows * 9 // 10), rng.normal(0, 1, rows // 10)])
        found = _share_of_single_rows(real, null)
        assert 0 <= found.least <= found.share <= 0.2
        return found.least

    assert 0.08 < limit(20_000, null) < 0.1
    assert limit(20_000, clustered) < 0.9 * limit(20_000, null)
    assert limit(60, null) < 0.06


def test_rows_that_changed_places_are_found():
    """No row is a copy of another one, as it is after :func:`inject_attributes`."""
    data = datasets.synthetic(2500, 300, average_degree=8.0, homophily=0.9, kind="continuous", signal=0.7, seed=0)
    rng = np.random.default_rng(0)
    for share in (0.1, 0.3, 0.45):
        nodes = torch.from_numpy(rng.permutation(2500)[: int(share * 2500)])
        moved = data.clone()
        moved.x[nodes] = data.x[nodes.roll(1)]
        swapped = (moved.x != data.x).any(dim=1)
        flagged = detection.make("context").fit(moved).swapped_rows_
        assert float(swapped[flagged].float().mean()) > 0.9, share
        assert float(flagged[swapped].float().mean()) > 0.6, share


def test_rounds_that_would_change_nothing_are_left_out(monkeypatch):
    clean = datasets.synthetic(600, 16, homophily=0.9, kind="continuous", signal=0.7, seed=0)
    fitted, of = [], judgment._RoundFit.of

    def counted(drawn, p_row_swapped, last, before):
        fitted.append(last)
        return of(drawn, p_row_swapped, last, before)

    monkeypatch.setattr(judgment._RoundFit, "of", counted)
    early = detection.make("context").fit(clean)
    assert fitted == [False, True]
    monkeypatch.setattr(judgment, "ROWS", replace(ROWS, settled=0.0))
    all_rounds = detection.make("context").fit(clean)
    assert fitted[2:] == [False, False, False, True]
    assert torch.allclose(early.node_scores_, all_rounds.node_scores_, atol=1e-4)


def test_a_tenth_of_the_rows_changes_places_and_is_found_with_most_seeds():
    """Moved rows have no copies that give them away; their share is known roughly."""
    found = []
    for seed in range(5):
        data = datasets.synthetic(1200, 150, 5, 8.0, 0.85, signal=0.5, words=25, seed=seed)
        generator = torch.Generator().manual_seed(seed)
        rows = torch.randperm(1200, generator=generator)[:120]
        x = data.x.to_dense().clone()
        x[rows] = x[rows.roll(1)]
        data.x, moved = x, torch.zeros(1200, dtype=torch.bool)
        moved[rows] = True
        flagged = detection.make("context", seed=seed).fit(data).swapped_rows_
        found.append((float(flagged[moved].float().mean()), float(moved[flagged].float().mean())))
    recall, precision = np.array(found).T
    assert np.median(recall) > 0.4, found
    assert (recall > 0.1).sum() >= 4, found
    assert precision[recall > 0].min() > 0.7, found


def test_rows_without_values_are_not_swapped():
    data = datasets.synthetic(800, 20, 4, 8.0, 0.9, kind="continuous", seed=0)
    data.x = data.x.clone()
    data.x[:60] = float("nan")
    found = detection.make("auto").fit(data)
    assert not bool(found.swapped_rows_[:60].any())
    assert float(found.node_probability_[:60].max()) < 0.5


def test_where_every_row_looks_swapped_the_gate_is_closed():
    """Real pairs that fit worse than permuted ones: the share of swapped rows is estimated as all."""
    rng = np.random.default_rng(0)
    real, null = rng.normal(-1, 1, 300), rng.normal(0, 1, (300, 20))
    assert 0.5 < _share_of_single_rows(real, null).share < 1
