"""Cells against what their context expects."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
import torch
from sklearn.metrics import average_precision_score, roc_auc_score
from torch_geometric.data import Data

from magnet import corruption, datasets, detection
from magnet.detection import Column
from magnet.detection.cell import Cell, mixture
from magnet.detection.columns import infer_columns, robust_scales
from magnet.detection.expectation import Expectation, mixing_weights
from magnet.detection.numeric import freedom, log_cauchy, log_t, spiked_ratio
from magnet.detection.regression import regress
from magnet.detection.tail import tail_probability
from magnet.detection.view import View


def test_chance_is_the_mixture_of_column_one_hop_and_two_hop_means():
    generator = torch.Generator().manual_seed(0)
    x = (torch.rand(40, 25, generator=generator) < 0.2).float()
    edge_index = torch.randint(0, 38, (2, 90), generator=generator)
    view = View.of(Data(x=x, edge_index=edge_index))
    assert view.bag
    w = torch.rand(40, generator=generator).clamp_min(0.1)
    expectation = Expectation(view, w)
    A = torch.from_numpy(view.graph.adjacency.toarray()).float()
    base = (w[:, None] * x).sum(0) / w.sum()
    two = A @ A
    two.fill_diagonal_(0.0)
    one_hop = (A @ (w[:, None] * x) + 0.5 * base) / ((A @ w)[:, None] + 0.5)
    two_hop = (two @ (w[:, None] * x) + 0.5 * base) / ((two @ w)[:, None] + 0.5)
    a = expectation.mixture
    assert abs(float(a.sum()) - 1) < 1e-5
    torch.testing.assert_close(expectation.chance(0, 25), a[0] * base + a[1] * one_hop + a[2] * two_hop)
    likelihood = lambda v: float((x * (v[0] * base + v[1] * one_hop + v[2] * two_hop).log()).sum())  # noqa: E731
    for other in ([1, 0, 0], [0, 1, 0], [0.3, 0.3, 0.4]):
        assert likelihood(a) >= likelihood(torch.tensor(other, dtype=torch.float32).clamp_min(1e-6)) - 0.05


def test_mixing_weights_maximise_the_likelihood():
    values = torch.rand(500, 3, generator=torch.Generator().manual_seed(0))
    a = mixing_weights(values)
    best = (values @ a).log().sum()
    for _ in range(20):
        other = torch.rand(3).softmax(0)
        assert best >= (values @ other).log().sum() - 1e-3


def test_rows_share_their_rate_of_wrong_cells():
    """Two rows with the same doubtful cell: beside other doubtful cells it is more suspicious."""
    likelihood = torch.zeros(1000, 3, 1)
    likelihood[:, 1:] = -2.0
    likelihood[:50, 1:] = 8.0
    joint, odds, share = mixture(likelihood)
    assert abs(share - 0.05) < 0.02
    assert float(odds[0]) > 5
    assert float(odds[-1]) < -3
    assert abs(float(joint.sum(dim=(1, 2)).mean()) - 1) < 1e-5


def test_flipped_cells_are_found_and_clean_ones_left_alone():
    data = datasets.synthetic(1500, 300, 5, 8.0, 0.9, signal=0.6, words=25, seed=1)
    bad = corruption.corrupt_cells(data, 0.04, "flip", node_share=0.2, seed=0)
    result = detection.metrics(Cell().fit(bad.data), bad.cells)
    assert result["node_auroc"] > 0.95
    assert result["cell_auprc"] > 0.4
    assert result["cell_precision"] > 0.6
    assert 0.15 < result["share"] < 0.4
    clean = Cell().fit(data)
    assert float(clean.flagged_.float().mean()) < 0.001
    assert float(clean.flagged_nodes_.float().mean()) < 0.02


def test_outliers_are_found_better_than_by_the_column():
    data = datasets.synthetic(1500, 30, 5, 8.0, 0.9, "continuous", signal=1.5, seed=1)
    bad = corruption.corrupt_cells(data, 0.05, "outlier", node_share=0.3, seed=0)
    ours = detection.metrics(Cell().fit(bad.data), bad.cells)
    column = detection.metrics(detection.make("zscore").fit(bad.data), bad.cells)
    assert ours["cell_auprc"] > column["cell_auprc"] + 0.05
    assert ours["cell_precision"] > 0.9


@pytest.fixture(scope="module")
def town_table():
    """Towns with a colour each; numbers that depend on the town; some cells wrong."""
    rng = np.random.default_rng(0)
    graph = datasets.synthetic(1200, 16, 4, 8.0, 0.95, seed=0)
    town = graph.y.numpy()
    colour, price = town.copy(), rng.normal(100 * town, 15)
    flag = (rng.random(1200) < np.where(town < 2, 0.02, 0.98)).astype(float)
    wrong = rng.choice(1200, 60, replace=False)
    truth = np.zeros((1200, 6), bool)
    colour[wrong[:20]] = (town[wrong[:20]] + 2) % 4
    truth[wrong[:20], :4] = True
    price[wrong[20:40]] = rng.normal(100 * ((town[wrong[20:40]] + 2) % 4), 15)
    truth[wrong[20:40], 4] = True
    flag[wrong[40:]] = 1 - flag[wrong[40:]]
    truth[wrong[40:], 5] = True
    x = np.hstack([np.eye(4)[colour], price[:, None], flag[:, None]])
    columns = [
        Column("colour", "categorical", 0, 4),
        Column("price", "continuous", 4, 5),
        Column("flag", "binary", 5, 6),
    ]
    return Data(x=torch.from_numpy(x).float(), edge_index=graph.edge_index), columns, truth


def test_contextual_errors_in_a_mixed_table(town_table):
    data, columns, truth = town_table
    found = detection.make("auto").fit(data, columns)
    scores = found.scores_.numpy()
    assert (scores[:, :4] == scores[:, :1]).all()
    for j in (0, 4):
        assert average_precision_score(truth[:, j], scores[:, j]) > 0.95
    # 2 % of the right flags are not those of the town either: nobody can tell them from the wrong ones, only from the
    # others
    town = datasets.synthetic(1200, 16, 4, 8.0, 0.95, seed=0).y
    unlike_town = ((data.x[:, 5] > 0.5) == (town < 2)).numpy()
    assert average_precision_score(unlike_town, scores[:, 5]) > 0.95
    assert found.probability_.numpy()[unlike_town, 5].mean() < 0.5
    column = detection.make("zscore").fit(data, columns).scores_.numpy()
    assert average_precision_score(truth[:, 4], column[:, 4]) < 0.2
    flagged = found.flagged_.numpy()
    assert truth[flagged].mean() > 0.8
    assert flagged[truth[:, 0], 0].mean() > 0.7


def test_explanations_say_what_was_expected(town_table):
    data, columns, _ = town_table
    found = detection.make("auto").fit(data, columns)
    table = found.explain()
    assert list(table["probability"]) == sorted(table["probability"], reverse=True)
    cells = table[table["kind"] == "cell"].set_index(["node", "column"])
    assert len(cells) == int(found.flagged_[:, [0, 4, 5]].sum())
    graph = datasets.synthetic(1200, 16, 4, 8.0, 0.95, seed=0)
    neighbours = np.bincount(graph.edge_index[0].numpy(), minlength=1200)
    right = 0
    for (node, column), line in cells.iterrows():
        assert line["neighbours"] == neighbours[node]
        assert line["unusual"] > 0
        if column == 0:
            assert line["observed"] == int(data.x[node, :4].argmax())
            right += line["expected"] == int(graph.y[node])
        if column == 1:
            assert line["observed"] == pytest.approx(float(data.x[node, 4]))
            assert abs(line["expected"] - 100 * int(graph.y[node])) < 90
    assert right >= 0.8 * (cells.index.get_level_values("column") == 0).sum()
    assert len(found.explain(limit=3)) == 3


def test_wild_cell_does_not_condemn_its_row(town_table):
    data, columns, _ = town_table
    wild = data.clone()
    wild.x[0, 4] = 1e6
    found = detection.make("auto").fit(wild, columns)
    assert bool(found.flagged_[0, 4])
    assert not bool(found.flagged_rows()[0])
    assert float(found.trust_[0, 0]) == 1.0


def test_regression_is_ridge_on_everything_else_in_all_other_rows():
    generator = torch.Generator().manual_seed(0)
    z, one, two = (torch.randn(80, 5, generator=generator) for _ in range(3))
    z[:, 1] += 0.8 * z[:, 0]
    columns = [Column("a", "continuous", 0, 1), Column("b", "categorical", 1, 3)] + [
        Column(str(j), "continuous", j, j + 1) for j in (3, 4)
    ]
    found, leverage = regress(z, one, two, columns, ridge=0.05)
    F = torch.cat([z - z.mean(0), one - one.mean(0), two - two.mean(0)], dim=1).double()
    for c in columns:
        rest = [k for k in range(15) if not c.start <= k < c.stop]
        X, y = F[:, rest], F[:, c.start : c.stop]
        for row in (0, 17, 79):
            others = torch.arange(80) != row
            A = X[others]
            inverse = torch.linalg.inv(A.T @ A / 80 + 0.05 * torch.eye(len(rest)))
            b = inverse @ A.T @ y[others] / 80
            expected = X[row] @ b + z.mean(0)[c.start : c.stop]
            torch.testing.assert_close(found[row, c.start : c.stop], expected.float(), atol=1e-4, rtol=1e-4)
            h = X[row] @ torch.linalg.inv(X.T @ X / 80 + 0.05 * torch.eye(len(rest))) @ X[row] / 80
            torch.testing.assert_close(leverage[row, c.start], h.float(), atol=1e-5, rtol=1e-4)


def test_regression_in_blocks_of_rows_is_the_same(monkeypatch):
    generator = torch.Generator().manual_seed(0)
    z, one, two = (torch.randn(80, 5, generator=generator) for _ in range(3))
    columns = [Column("a", "categorical", 0, 3), Column("b", "continuous", 3, 4), Column("c", "continuous", 4, 5)]
    at_once = regress(z, one, two, columns)
    monkeypatch.setattr("magnet.detection.regression.ROWS", 32)
    torch.testing.assert_close(regress(z, one, two, columns), at_once)


def test_extreme_rows_are_predicted_from_values_as_they_stand_and_wild_cells_are_not():
    generator = torch.Generator().manual_seed(1)
    whole = torch.randn(300, 1, generator=generator) + 0.05 * torch.randn(300, 3, generator=generator)
    whole[0] = 6.0  # extreme throughout
    whole[1] = torch.tensor([0.5, 0.5, 500.0])
    columns = [Column(str(j), "continuous", j, j + 1) for j in range(3)]
    z, nothing = whole.clamp(-3, 3), torch.zeros(300, 3)
    cut, _ = regress(z, nothing, nothing, columns)
    found, _ = regress(z, nothing, nothing, columns, whole=whole)
    assert (cut[0] - 6).abs().min() > 2
    assert (found[0] - 6).abs().max() < 0.2
    torch.testing.assert_close(found[1], cut[1], atol=0.01, rtol=0)
    usual = (whole == z).all(dim=1)
    torch.testing.assert_close(found[usual], cut[usual])


def test_rows_are_not_judged_by_neighbours_that_were_chosen_to_be_like_them():
    data = datasets.load("digits")
    bad = corruption.corrupt(data, "inject-random", seed=0, ratio=0.3).data
    assert int(detection.make("auto").fit(bad).flagged_rows().sum()) > 100
    bad.edges_from_rows = True
    assert int(detection.make("auto").fit(bad).flagged_rows().sum()) == 0


def test_densities_are_those_of_scipy():
    u = torch.linspace(-6, 6, 25)
    np.testing.assert_allclose(log_t(u, torch.tensor(4.0)), scipy.stats.t.logpdf(u.numpy(), 4), atol=1e-5)
    np.testing.assert_allclose(log_cauchy(u, 3.0), scipy.stats.cauchy.logpdf(u.numpy(), scale=3), atol=1e-5)


@pytest.mark.parametrize("nu", [1.5, 3.0, 30.0])
def test_heavy_tails_are_recognised(nu):
    u = torch.from_numpy(scipy.stats.t.rvs(nu, size=(20_000, 2), random_state=0)).float()
    assert (freedom(u) - nu).abs().max() <= {1.5: 0.5, 3.0: 1.0, 30.0: 20.0}[nu]


def test_ratio_of_spiked_columns():
    away = torch.zeros(400, 1)
    away[:40, 0] = torch.exp(torch.randn(40, generator=torch.Generator().manual_seed(0)) * 0.4)
    away[40, 0] = -1.0  # the only one below the spike
    chance = torch.full((400, 1), 0.1)
    chance[0] = 0.001
    ratio = spiked_ratio(away, chance)[:, 0]
    assert ratio[0] > ratio[1:40].max() - 3  # where no event is expected
    assert ratio[40] > ratio[1:40].median() + 2  # on the side where nothing else lies
    assert (ratio[41:] < 0).all()


def test_scales_are_robust_and_know_skewed_columns():
    torch.manual_seed(0)
    x = torch.randn(1000, 3) * torch.tensor([1.0, 5.0, 0.0]) + 2
    x[:20] = 1e6
    centre, spread = robust_scales(x, torch.zeros(3), indicator=False)
    assert abs(float(spread[0]) - 1) < 0.15
    assert abs(float(spread[1]) - 5) < 0.6
    assert abs(float(centre[0]) - 2) < 0.15
    income = torch.cat([torch.exp(torch.randn(500, 1) + 10), torch.randn(500, 1), torch.full((500, 1), 3.5)], dim=1)
    view = View.of(Data(x=income, edge_index=torch.zeros(2, 0, dtype=torch.long)))
    assert (view.scales.unit > 0).tolist() == [True, False, False]
    z = view.scales.standardise(income)
    assert float(z[:, 2].abs().max()) == 0
    features = torch.tensor([0, 1])
    torch.testing.assert_close(view.scales.natural(z[7, :2], features), income[7, :2], rtol=1e-3, atol=1e-4)


def test_kinds_of_columns():
    x = torch.tensor([[0.0, 2.0, -1.0, 1.0], [1.0, 0.0, 2.5, 1.0], [float("nan"), 7.0, 0.0, 1.0]])
    assert [c.kind for c in infer_columns(x)] == ["binary", "count", "continuous", "binary"]
    sparse = torch.tensor([[0.0, 2.0, -1.0], [1.0, 0.0, 2.5]]).to_sparse_csr()
    assert [c.kind for c in infer_columns(sparse)] == ["binary", "count", "continuous"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([Column("a", "binary", 0, 1)], "describe 1 features; x has 2"),
        ([Column("a", "binary", 0, 2)], "only a category"),
        ([Column("a", "binary", 0, 1), Column("b", "date", 1, 2)], "kind 'date'"),
        ([Column("a", "binary", 0, 1), Column("b", "binary", 2, 3)], "from 1"),
    ],
)
def test_bad_columns_are_named(columns, message):
    data = Data(x=torch.zeros(3, 2), edge_index=torch.tensor([[0], [1]]))
    with pytest.raises(ValueError, match=message):
        detection.make("zscore").fit(data, columns)


def test_areas_are_scikit_learns():
    rng = np.random.default_rng(0)
    for _ in range(5):
        truth, scores = rng.random(200) < 0.2, rng.integers(0, 12, 200) / 10  # many ties
        found = detection.areas(torch.from_numpy(truth), torch.from_numpy(scores))
        expected = roc_auc_score(truth, scores), average_precision_score(truth, scores)
        np.testing.assert_allclose(found, expected, atol=1e-9)
    assert np.isnan(detection.areas(torch.zeros(3, dtype=torch.bool), torch.rand(3))[0])


def test_tail_probability_keeps_to_the_upper_end():
    scores = torch.cat([torch.randn(1000, generator=torch.Generator().manual_seed(0)), torch.tensor([15.0, -15.0])])
    p, share = tail_probability(scores)
    assert p[-2] > 0.99
    assert p[-1] < 0.01
    assert share < 0.02
    assert float(tail_probability(torch.ones(10))[0].max()) == 0


def test_an_event_that_says_nothing_is_wrong_at_the_rate_of_its_row():
    """Also in rows that are shorter or longer than expected: a rare word of a short row is no evidence against it."""
    bad = corruption.corrupt(
        datasets.synthetic(600, 200, 4, 8.0, 0.8, seed=0), "cells-flip", node_share=0.2, ratio=0.02
    )
    x = bad.data.x.clone()
    x[:, :5] = 0
    for column in range(5):
        x[100 * column : 100 * column + 3, column] = 1
    found = Cell().fit(Data(x=x, edge_index=bad.data.edge_index))
    rate = found._joint.sum(dim=2) @ found._rates
    row, column = x[:, :5].nonzero(as_tuple=True)
    assert found._counts_events()
    assert row.numel() == 15
    torch.testing.assert_close(found.probability_[row, column], rate[row], rtol=1e-4, atol=1e-8)


def test_a_row_with_wrong_cells_among_its_neighbours_is_still_the_nodes_own():
    graph = datasets.synthetic(800, 300, 4, 8.0, 0.9, signal=0.7, seed=0)
    flipped = detection.make("auto").fit(corruption.corrupt(graph, "cells-flip", node_share=0.2, ratio=0.05).data)
    own = flipped._single.among_neighbours()
    assert own.max() > 0.9
    torch.testing.assert_close(flipped.row_probability(), flipped._rows._rho * (1 - own))
    replaced = corruption.corrupt(graph, "inject-random", ratio=0.3)
    found = detection.make("auto").fit(replaced.data)
    assert found._single.among_neighbours()[replaced.nodes].mean() < 0.05


def test_probabilities_stay_within_their_bounds():
    """Sums of many float32 products round above 1, and the recovery refuses a trust that is not in [0, 1]."""
    graph = datasets.synthetic(400, 150, 4, 8.0, 0.9, signal=0.7, seed=0)
    found = detection.make("auto").fit(corruption.corrupt(graph, "cells-flip", node_share=0.9, ratio=0.2).data)
    for value in (found.probability_, found.soft_trust_, found.row_probability(), found._single.among_neighbours()):
        assert float(value.min()) >= 0
        assert float(value.max()) <= 1
