"""What is read from a verdict: flags, trust, thresholds, sparse results."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from magnet import corruption, datasets


@pytest.mark.parametrize("name", ["auto", "context", "cell", "zscore", "fp-residual"])
def test_missing_cells_carry_no_evidence(name, fitted):
    data = datasets.synthetic(300, 12, 3, 8.0, 0.9, "continuous", signal=2.0, seed=1)
    hole = torch.rand(data.x.shape, generator=torch.Generator().manual_seed(0)) < 0.1
    data.x = data.x.masked_fill(hole, float("nan"))
    det = fitted(name, data)
    assert bool(torch.isfinite(det.probability_).all())
    assert not bool(det.flagged_[hole].any())
    assert float(det.trust_[hole].max()) == 0.0


@pytest.mark.parametrize("name", ["auto", "context", "cell", "zscore", "gae"])
def test_trusted_cells_are_never_flagged(name, replaced, fitted):
    trusted = torch.zeros(replaced.data.x.shape, dtype=torch.bool)
    trusted[:, ::3] = True
    trusted[:100] = True
    det = fitted(name, replaced.data, trusted=trusted)
    assert not bool(det.flagged_[trusted].any())
    assert float(det.probability_[trusted].max()) == 0.0
    assert float(det.trust_[trusted].min()) == 1.0
    rows = fitted(name, replaced.data, trusted=torch.arange(800) < 100)
    assert not bool(rows.flagged_[:100].any())


@pytest.mark.parametrize("name", ["auto", "context", "cell", "zscore", "cosine-centered", "rowsum", "duplicates"])
def test_sparse_input_gives_the_dense_answer_and_stays_sparse(name, replaced, fitted):
    sparse = replaced.data.clone()
    sparse.x = replaced.data.x.to_sparse_csr()
    options = {"rounds": 1} if name == "cell" else {}
    dense_det, sparse_det = fitted(name, replaced.data, **options), fitted(name, sparse, **options)
    assert sparse_det.scores_.layout == torch.sparse_csr
    if name != "auto":  # the second round of the cells needs a dense table
        torch.testing.assert_close(sparse_det.node_probability_, dense_det.node_probability_, atol=2e-3, rtol=0)
        stored = replaced.data.x != 0
        got = sparse_det.probability_.to_dense()[stored]
        torch.testing.assert_close(got, dense_det.probability_[stored], atol=2e-3, rtol=0)


def test_thresholds(replaced, fitted):
    rows = {c: fitted("context", replaced.data, contamination=c).swapped_rows_.float().mean() for c in (0.05, 0.2)}
    assert abs(float(rows[0.05]) - 0.05) < 0.02
    assert abs(float(rows[0.2]) - 0.2) < 0.05
    strict, loose = (fitted("context", replaced.data, fdr=q).swapped_rows_ for q in (0.02, 0.3))
    assert bool((loose | ~strict).all())
    assert int(strict.sum()) < int(loose.sum())
    wrong = float((~replaced.nodes[loose]).float().mean())
    assert wrong < 0.45
    cells = fitted("zscore", datasets.synthetic(200, 10, kind="continuous"), contamination=0.01)
    assert int(cells.flagged_.sum()) <= 25


@pytest.mark.parametrize("name", ["auto", "context", "cosine"])
@pytest.mark.parametrize("share", [0.01, 0.1])
def test_contamination_is_the_share_of_flagged_rows(name, share, fitted):
    """Also where many more cells are suspicious: heavy-tailed columns."""
    graph = datasets.synthetic(500, 16, 4, 8.0, 0.9, seed=0)
    x = torch.from_numpy(np.random.default_rng(0).standard_t(1.5, size=(500, 12))).float()
    found = fitted(name, Data(x=x, edge_index=graph.edge_index), contamination=share)
    assert int(found.flagged_nodes_.sum()) == round(500 * share)
    assert torch.equal(found.flagged_.any(dim=1), found.flagged_nodes_)
    top = found.node_scores_.argsort(descending=True)[: round(500 * share)]
    assert bool(found.flagged_nodes_[top].all())


def test_contamination_flags_the_wild_cell_and_not_its_row(town_table, fitted):
    data, columns, _ = town_table
    wild = data.clone()
    wild.x[0, 4] = 1e6
    found = fitted("auto", wild, columns, contamination=0.01)
    assert found.flagged_[0].tolist() == [False] * 4 + [True, False]


def test_what_is_freed_is_computed_again(replaced, fitted):
    verdict = fitted("auto", replaced.data).verdict_
    before = verdict.block(0, replaced.data.num_features)
    verdict.free_memory()
    again = verdict.block(0, replaced.data.num_features)
    assert float(before.probability.max()) > 0.5
    assert all(torch.equal(*pair) for pair in zip(before, again, strict=True))


@pytest.mark.parametrize("name", ["auto", "cell", "zscore", "context"])
@pytest.mark.parametrize("kind", ["binary", "continuous"])
def test_flagged_nodes_are_those_with_a_flagged_cell(name, kind, fitted):
    signal = 0.9 if kind == "binary" else 2.0
    clean = datasets.synthetic(400, 200, 4, 8.0, 0.9, kind, signal=signal, words=15, seed=1)
    wrong = corruption.corrupt_cells(clean, 0.05, "flip" if kind == "binary" else "outlier", 0, node_share=0.3)
    det = fitted(name, wrong.data)
    flagged = det.flagged_.any(dim=1)
    assert torch.equal(det.flagged_nodes_, flagged)
    assert name == "context" or bool(flagged.any()) or (name, kind) == ("zscore", "binary")
