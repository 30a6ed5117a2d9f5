"""Rows and cells together."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score, roc_auc_score
from torch_geometric.data import Data

from magnet import corruption, datasets, detection
from magnet.detection.auto import RankingWeights
from magnet.detection.cells.cell import CellModel
from magnet.detection.metrics import areas
from magnet.detection.options import ROWS
from magnet.detection.rows.gate import Gate
from magnet.detection.rows.judgment import context_weights, judge_rows


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


def test_a_wild_cell_does_not_make_its_row_look_swapped(town_table):
    data, columns, _ = town_table
    wild = data.clone()
    wild.x[0, 4] = 1e6
    found = detection.make("auto").fit(wild, columns)
    assert bool(found.flagged_[0, 4])
    assert not bool(found.swapped_rows_[0])
    assert float(found.trust_[0, 0]) == 1.0


def test_rows_are_not_judged_by_neighbors_that_were_chosen_to_be_like_them():
    data = datasets.load("digits")
    bad = corruption.corrupt(data, "inject-random", seed=0, ratio=0.3).data
    assert int(detection.make("auto").fit(bad).swapped_rows_.sum()) > 100
    bad.edges_from_rows = True
    assert int(detection.make("auto").fit(bad).swapped_rows_.sum()) == 0


def test_a_row_with_wrong_cells_that_follows_its_neighbors_is_not_swapped():
    graph = datasets.synthetic(800, 300, 4, 8.0, 0.9, signal=0.7, seed=0)
    flipped = corruption.corrupt(graph, "cells-flip", node_share=0.2, ratio=0.05)
    rows, own = rows_and_own(flipped.data)
    assert own.max() > 0.9
    found = detection.make("auto").fit(flipped.data)
    torch.testing.assert_close(found.swapped_probability_, rows.p_row_swapped * (1 - own))
    replaced = corruption.corrupt(graph, "inject-random", ratio=0.3)
    assert rows_and_own(replaced.data)[1][replaced.nodes].mean() < 0.05


def rows_and_own(data):
    """The judgment of the rows, and the probabilities that they are not swapped because of what the cells say."""
    prepared = detection.read_data(data)
    rows = judge_rows(prepared).gated()
    cells = CellModel(prepared, context_weights(rows.p_row_swapped, rows.duplicates), context=rows.gate.cells)
    return rows, cells.p_own_row()


def test_probabilities_stay_within_their_bounds():
    """Sums of many float32 products round above 1, and the recovery refuses a trust that is not in [0, 1]."""
    graph = datasets.synthetic(400, 150, 4, 8.0, 0.9, signal=0.7, seed=0)
    found = detection.make("auto").fit(corruption.corrupt(graph, "cells-flip", node_share=0.9, ratio=0.2).data)
    for value in (found.probability_, found.soft_trust_, found.swapped_probability_):
        assert float(value.min()) >= 0
        assert float(value.max()) <= 1


@pytest.mark.parametrize("homophily", [0.2, 0.1])
@pytest.mark.parametrize("ratio", [0.0, 0.5])
def test_no_rows_are_flagged_where_the_graph_carries_no_information(homophily, ratio):
    data = datasets.synthetic(800, 100, 5, 8.0, homophily, signal=0.5, seed=1)
    if ratio:
        data = corruption.inject_attributes(data, ratio=ratio, candidates=1, select="random", seed=0).data
    found = detection.make("auto").fit(data)
    assert not found.gate_.open
    assert "AUROC" in found.gate_.reason
    assert not bool(found.swapped_rows_.any())
    assert float(found.flagged_.float().mean()) < 0.001
    if ratio:  # without the gate many of the right rows would be gone
        assert detection.make("context", gated=False).fit(data).share_ > 0.1


def test_half_of_the_rows_replaced_still_passes():
    data = datasets.synthetic(1500, 200, 5, 10.0, 0.9, signal=0.8, seed=2)
    bad = corruption.inject_attributes(data, ratio=0.7, candidates=1, select="random", seed=0)
    assert float(bad.nodes.float().mean()) > 0.45
    assert detection.make("auto").fit(bad.data).gate_.open


def test_numbers_impossible_for_their_column_are_flagged_with_the_gate_closed():
    data = datasets.synthetic(600, 8, 4, 6.0, 0.25, "continuous", signal=0.3, seed=0)
    data.x[17, 3] = 80.0
    found = detection.make("auto").fit(data)
    assert not found.gate_.open
    assert bool(found.flagged_[17, 3])
    assert int(found.flagged_.sum()) <= 3
    assert torch.equal(found.trust_ == 0, found.flagged_)


@pytest.mark.parametrize("change", [lambda x: 2 * x, torch.Tensor.double, lambda x: x / x.sum(dim=1, keepdim=True)])
def test_the_answer_does_not_depend_on_how_a_bag_is_written(change, replaced, fitted):
    other = replaced.data.clone()
    other.x = change(replaced.data.x)
    found, expected = fitted("auto", other), fitted("auto", replaced.data)
    torch.testing.assert_close(found.node_probability_, expected.node_probability_, atol=1e-3, rtol=0)
    assert torch.equal(found.flagged_, expected.flagged_)
    cells = found.explain().query("kind == 'cell'")
    observed = other.x[torch.from_numpy(cells["node"].to_numpy()), torch.from_numpy(cells["column"].to_numpy())]
    assert cells["observed"].to_numpy() == pytest.approx(observed.numpy(), rel=1e-5)


def test_the_answer_does_not_depend_on_the_unit_of_numbers(fitted):
    data = datasets.synthetic(300, 6, 3, 8.0, 0.9, "continuous", signal=2.0, seed=1)
    rng = np.random.default_rng(0)
    sizes, counts = np.exp(rng.normal(0, 1, 300)), rng.poisson(20, 300)
    data.x = torch.cat([data.x, torch.from_numpy(np.stack([sizes, counts], axis=1)).float()], dim=1)
    data.x[7, 6], data.x[8, 7], data.x[9, 0] = 5000.0, 900.0, 70.0
    expected = fitted("auto", data)
    data.x = 2 * data.x
    found = fitted("auto", data)
    assert [c.kind for c in found.columns_] == [c.kind for c in expected.columns_]
    torch.testing.assert_close(found.probability_, expected.probability_, atol=1e-3, rtol=0)
    assert found.flagged_.nonzero().tolist() == [[7, 6], [8, 7], [9, 0]]


def test_a_few_false_alarms_of_cells_do_not_silence_the_ranking_of_rows():
    rng = np.random.default_rng(0)
    group, n = rng.integers(0, 8, 1500), 1500
    i, j = rng.integers(0, n, (2, 40 * n))
    near = (rng.random(i.size) < np.where(group[i] == group[j], 0.9, 0.05)) & (i != j)
    edges = torch.from_numpy(np.stack([i[near], j[near]])[:, : 3 * n])
    x = rng.poisson(rng.gamma(2, 2, (8, 30))[group])
    swapped = np.sort(rng.choice(n, n // 20, replace=False))
    x[swapped] = x[rng.permutation(swapped)]
    x[rng.choice(n, 2, replace=False), [3, 4]] = 60  # wrong cells, far fewer than swapped rows
    data = Data(x=torch.from_numpy(x).float(), edge_index=edges)
    truth = torch.zeros(n, dtype=torch.bool)
    truth[swapped] = True
    by_rows, together = (areas(truth, detection.make(name).fit(data).node_scores_)[0] for name in ("context", "auto"))
    assert by_rows > 0.9
    assert together > by_rows - 0.02  # (0.15 less, when any alarm counted)


def test_where_neighbors_say_little_and_nothing_is_found_cells_decide_the_ranking():
    graph = datasets.synthetic(200, 300, 4, 4.0, 0.6, signal=0.5, seed=0)
    flipped = corruption.corrupt(graph, "cells-flip", node_share=0.2, ratio=0.05)
    truth = flipped.cells.any(dim=1).numpy()
    found = {name: detection.make(name).fit(flipped.data) for name in ("auto", "cell", "context")}
    area = {name: roc_auc_score(truth, one.node_scores_.numpy()) for name, one in found.items()}
    assert area["cell"] > area["context"] + 0.1
    assert area["auto"] > area["cell"] - 0.02


def test_cells_rank_behind_swapped_rows_that_explain_them():
    gate = Gate(True, 0.8, "", adjusted=0.85, cells=True, false_share=0.2)
    few_cells = RankingWeights.of(found_rows=0.1, found_cells=0.008, found_bursts=0.0, gate=gate)
    assert few_cells.rows == 1
    # 0.8 % of 10 - 2 * 2 %, and 0.2 % by chance
    assert few_cells.cells == pytest.approx(ROWS.cell_confidence * 0.01 / 0.062)
    many_cells = RankingWeights.of(found_rows=0.1, found_cells=0.2, found_bursts=0.0, gate=gate)
    assert many_cells.cells == ROWS.cell_confidence
    assert many_cells.rows == pytest.approx(0.1 / 0.2, abs=0.01)


def test_without_information_about_rows_their_ranking_does_not_count():
    closed = Gate(False, 0.5, "neighbors carry no information about the rows")
    weight = RankingWeights.of(found_rows=0.0, found_cells=0.0, found_bursts=0.0, gate=closed)
    assert weight.rows == weight.bursts == ROWS.silent_expert_weight
    assert weight.cells == ROWS.cell_confidence
