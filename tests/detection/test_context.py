"""Rows against their contexts: the fast computation against slow ones, and what it finds."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from magnet import corruption, datasets, detection
from magnet.detection.context import Context, permuted_pairs
from magnet.detection.edges import largest_neighbour, pair_products
from magnet.detection.logistic import fit_logistic
from magnet.detection.pairs import Pairs, largest
from magnet.detection.rows import Rows, copies, low_rank_rows, unit_rows
from magnet.detection.two_groups import leak, null_share, posterior, without_leak
from magnet.detection.view import View


def small_view(seed: int = 0) -> View:
    generator = torch.Generator().manual_seed(seed)
    x = (torch.rand(30, 20, generator=generator) < 0.3).float()
    edge_index = torch.randint(0, 28, (2, 70), generator=generator)  # two nodes stay alone
    weight = torch.rand(70, generator=generator) + 0.5
    return View.of(Data(x=x, edge_index=edge_index, edge_weight=weight))


@pytest.mark.parametrize("sparse", [False, True])
def test_features_of_pairs_are_those_of_the_equations(sparse):
    view = small_view()
    z = torch.randn(30, 7, generator=torch.Generator().manual_seed(1)).double()
    rows = (
        Rows(None, __import__("scipy.sparse").sparse.csr_matrix(z.float().numpy()), view.device)
        if sparse
        else Rows(z.float(), None, view.device)
    )
    probes = torch.tensor([3, 8, 21])
    w = torch.rand(30, generator=torch.Generator().manual_seed(2)).clamp_min(0.1)
    real, permuted = Pairs(view, rows, probes).features(w)

    A = torch.from_numpy(view.graph.adjacency.toarray())
    wd = w.double()
    centred = z - (wd[:, None] * z).sum(0) / wd.sum()
    r = (A * A).sum(1)
    cosine = torch.nn.functional.cosine_similarity
    for i in range(30):
        if A[i].sum() == 0:
            continue
        c1 = sum(A[i, j] * wd[j] * centred[j] for j in range(30))
        c2 = (
            sum(A[i, j] * A[j, k] * wd[k] * centred[k] for j in range(30) for k in range(30))
            - r[i] * wd[i] * centred[i]
        )
        for place, k in [(None, i), *enumerate(probes.tolist())]:
            best = max(wd[j] * cosine(centred[j], centred[k], dim=0) for j in range(30) if A[i, j] > 0)
            expected = torch.stack([cosine(c1, centred[k], dim=0), cosine(c2, centred[k], dim=0), best]).float()
            found = real[i] if place is None else permuted[i, place]
            torch.testing.assert_close(found, expected, atol=2e-4, rtol=1e-3)


def test_loops_over_edges_agree_with_torch():
    view = small_view()
    left, right = view.edges
    z = torch.randn(30, 7, generator=torch.Generator().manual_seed(1)) - 2  # maxima below 0 count as well
    torch.testing.assert_close(
        torch.from_numpy(pair_products(left.numpy(), right.numpy(), z.numpy())), (z[left] * z[right]).sum(dim=1)
    )
    a = view.graph.adjacency
    found = torch.from_numpy(largest_neighbour(a.indptr, a.indices, z.numpy()))
    torch.testing.assert_close(found, largest(z[right], view.neighbours.long()), rtol=0, atol=0)


def test_permuted_pairs_leave_out_the_node_and_its_neighbours():
    view = small_view()
    probes = torch.arange(0, 30, 4)
    allowed = permuted_pairs(view, probes)
    A = view.graph.adjacency.toarray()
    for i in range(30):
        for place, k in enumerate(probes.tolist()):
            assert bool(allowed[i, place]) == (i != k and A[i, k] == 0)


def test_logistic_regression_is_scikit_learns():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(300, 3)), rng.uniform(0.5, 2, 300)
    y = (rng.random(300) < 1 / (1 + np.exp(-x @ [1, -2, 0.5] - 0.3))).astype(float)
    ours = fit_logistic(torch.from_numpy(x), torch.from_numpy(y), torch.from_numpy(w), ridge=0.01)
    theirs = LogisticRegression(C=1 / (0.01 * w.sum()), tol=1e-10, max_iter=1000).fit(x, y, sample_weight=w)
    np.testing.assert_allclose(ours[:3].numpy(), theirs.coef_[0], atol=1e-4)
    assert abs(float(ours[3]) - theirs.intercept_[0]) < 1e-3


@pytest.mark.parametrize("share", [0.0, 0.1, 0.4, 0.8])
def test_two_groups_recover_the_share_and_the_probabilities(share):
    rng = np.random.default_rng(1)
    n = 20_000
    wrong = rng.random(n) < share
    real = np.where(wrong, rng.normal(0, 1, n), rng.normal(3.5, 1, n))
    null = rng.normal(0, 1, 50_000)
    estimate = null_share(real, null)
    assert abs(estimate - share) < 0.03
    rho = posterior(real, null, estimate)
    assert (np.diff(rho[np.argsort(real)]) <= 1e-12).all()
    for low in (0.1, 0.4, 0.7):
        inside = (rho >= low) & (rho < low + 0.3)
        if inside.sum() > 200:
            assert abs(rho[inside].mean() - wrong[inside].mean()) < 0.12


def test_a_shifted_bulk_is_not_taken_for_replaced_rows():
    """A context that says a little about every row (AUROC 0.86) and no replaced rows: the median rule would say 13
    %."""
    rng = np.random.default_rng(2)
    real, null = rng.normal(1.5, 1, 5000), rng.normal(0, 1, 50_000)
    assert 2 * (real < np.median(null)).mean() > 0.12
    assert null_share(real, null) < 0.09


def test_copies_count_only_where_they_are_no_coincidence():
    x = torch.rand(40, 6, generator=torch.Generator().manual_seed(0))
    x[7] = x[3]
    x[9] = x[3]
    edges = torch.tensor([[0], [1]])
    assert copies(View.of(Data(x=x, edge_index=edges))).tolist() == [3.0 if i in (3, 7, 9) else 1.0 for i in range(40)]
    flags = (torch.rand(200, 3, generator=torch.Generator().manual_seed(0)) < 0.5).float()  # eight possible rows
    assert copies(View.of(Data(x=flags, edge_index=edges))).max() == 1
    bag = (torch.rand(300, 60, generator=torch.Generator().manual_seed(0)) < 0.2).float()
    bag[5] = bag[2]
    for layout in (bag, bag.to_sparse_csr()):
        counted = copies(View.of(Data(x=layout, edge_index=edges)))
        assert counted[2] == counted[5] == 2
        assert counted.sum() == 302


def test_low_rank_rows_keep_the_angles_of_a_low_rank_table():
    z = torch.randn(400, 5) @ torch.randn(5, 200)
    rows = low_rank_rows(View.of(Data(x=z, edge_index=torch.tensor([[0], [1]]))), rank=20)
    standard = View.of(Data(x=z, edge_index=torch.tensor([[0], [1]]))).scales.standardise(z).clamp(-5, 5)
    unit = standard / standard.norm(dim=1, keepdim=True)
    torch.testing.assert_close(rows.dense @ rows.dense.T, unit @ unit.T, atol=0.08, rtol=0)
    assert float(unit_rows(small_view()).square.max()) < 1 + 1e-5


@pytest.mark.parametrize("kind", ["binary", "continuous"])
@pytest.mark.parametrize("ratio", [0.1, 0.5])
def test_replaced_rows_are_found(kind, ratio):
    data = datasets.synthetic(1500, 150, 5, 10.0, 0.9, kind, signal=0.8, seed=3)
    bad = corruption.inject_attributes(data, ratio=ratio, candidates=1, select="random", seed=1)
    found = Context().fit(bad.data)
    assert found.gate_.open
    # a tenth to a fifth of replaced rows come from the same class: no context can tell them
    assert detection.areas(bad.nodes, found.node_scores_)[0] > 0.85
    flagged = found.flagged_rows()
    assert float(bad.nodes[flagged].float().mean()) > 0.9
    assert abs(found.share_ - float(bad.nodes.float().mean())) < 0.12


def test_clean_graphs_are_left_alone():
    for seed in range(3):
        data = datasets.synthetic(1200, 100, 5, 8.0, 0.85, signal=0.7, seed=seed)
        assert float(Context().fit(data).flagged_rows().float().mean()) <= 0.02


def test_isolated_and_empty_rows_are_believed():
    data = datasets.synthetic(600, 80, 4, 8.0, 0.9, signal=0.8, seed=0)
    keep = (data.edge_index != 5).all(dim=0)
    data.edge_index = data.edge_index[:, keep]
    data.x[9] = 0
    found = Context().fit(data)
    assert found.node_probability_[5] == 0
    assert found.node_probability_[9] == 0
    assert not found.flagged_rows()[[5, 9]].any()


@pytest.mark.data
@pytest.mark.parametrize(("name", "select", "bar"), [("cora", "random", 0.91), ("cora", "farthest", 0.935)])
def test_bars_on_cora(raw_data, name, select, bar):
    bad = corruption.inject_attributes(datasets.load(name), ratio=0.5, select=select, seed=0)
    assert detection.areas(bad.nodes, Context().fit(bad.data).node_scores_)[0] >= bar


@pytest.mark.parametrize("seed", [0, 1])
def test_rows_that_were_copied_to_many_places_do_not_vouch_for_each_other(seed):
    """Two of five rows replaced by one of eight long rows: counted one by one they would look like the right ones."""
    rng = np.random.default_rng(seed)
    graph = datasets.synthetic(1000, 16, 5, 8.0, 0.8, seed=seed)
    rate = 0.5 * rng.uniform(0.05, 0.8, 150) + 0.5 * rng.uniform(0.05, 0.8, (5, 150))
    length = np.exp(rng.normal(0, 0.5, 1000))[:, None]
    true = (rng.random((1000, 150)) < (rate[graph.y.numpy()] * length).clip(0, 0.98)).astype(np.float32)
    x, wrong = true.copy(), rng.permutation(1000)[:400]
    x[wrong] = true[rng.choice(np.argsort(-true.sum(axis=1))[:8], 400)]
    found = detection.make("context").fit(Data(x=torch.from_numpy(x), edge_index=graph.edge_index))
    measured = detection.metrics(found, torch.from_numpy(x != true))
    assert measured["node_auroc"] > 0.9
    assert measured["node_recall"] > 0.9


@pytest.mark.parametrize("width", [0.7, 1.0, 1.2])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.3])
def test_right_values_that_lie_low_are_not_counted_as_wrong(width, share):
    rng = np.random.default_rng(3)
    null = rng.normal(0, 1, 200_000)
    right = rng.normal(2.3, width, int(50_000 * (1 - share)))
    real = np.concatenate([right, rng.normal(0, 1, int(50_000 * share))])
    raw = null_share(real, null)
    estimate = without_leak(raw, leak(real, null, raw))
    assert abs(estimate - share) <= 0.006 + 0.05 * share
    if width > 1:
        assert raw - share > 0.01


def test_a_share_that_is_all_stays_all():
    rng = np.random.default_rng(0)
    null = rng.normal(0, 1, 10_000)
    assert leak(null, null, 1.0) == 0.0
    assert without_leak(1.0, 1.0) == 1.0
    assert without_leak(0.3, 1.0) == 0.0
    assert leak(np.full(100, 9.0), null, 0.0) < 1e-6  # above everything, without any width


def test_two_wrong_rows_in_a_hundred_are_found_among_rows_that_fit_badly():
    data = datasets.synthetic(2500, 150, 6, 8.0, 0.85, signal=0.8, seed=4)
    bad = corruption.inject_attributes(data, ratio=0.02, candidates=1, select="random", seed=0)
    found = detection.make("context").fit(bad.data)
    flagged = found.flagged_rows()
    assert float(bad.nodes[flagged].float().mean()) > 0.75
    assert float(flagged[bad.nodes].float().mean()) > 0.5
    assert not bool(detection.make("context").fit(data).flagged_rows().float().mean() > 0.002)


@pytest.mark.parametrize("sparse", [False, True])
def test_full_rows_among_bags_do_not_hide_that_they_are_bags(sparse):
    generator = torch.Generator().manual_seed(0)
    x = (torch.rand(200, 40, generator=generator) < 0.3).float()
    x[:90] = 1.0  # more than half of the cells are filled now
    assert float((x != 0).float().mean()) > 0.5
    edge_index = torch.randint(0, 200, (2, 600), generator=generator)
    assert View.of(Data(x=x.to_sparse_csr() if sparse else x, edge_index=edge_index)).bag
    x[:120] = 1.0
    assert not View.of(Data(x=x.to_sparse_csr() if sparse else x, edge_index=edge_index)).bag
