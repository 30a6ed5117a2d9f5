"""Work in narrow ranges of columns, in one matrix: the same to the last bit as in one range, in a matrix for each."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from magnet import datasets, detection
from magnet.corruption import inject_attributes
from magnet.detection.cells.cell import CellModel
from magnet.detection.data import dataset
from magnet.detection.data.columns import Column
from magnet.detection.data.read import read_data


@pytest.fixture(scope="module")
def bag():
    return inject_attributes(datasets.synthetic(600, 300, seed=1), ratio=0.2, select="random").data


def test_narrow_ranges_cover_all_features_and_split_no_category():
    columns = [*(Column(f"c{k}", "binary", k, k + 1) for k in range(50)), Column("wide", "categorical", 50, 250)]
    columns += [Column(f"d{k}", "binary", k, k + 1) for k in range(250, 400)]
    data = replace(read_data(datasets.synthetic(50, 400, seed=0)), columns=columns)
    found = list(data.narrow_ranges())
    assert found[0][0] == 0
    assert found[-1][1] == 400
    assert [last for _, last in found[:-1]] == [first for first, _ in found[1:]]
    assert not any(50 < first < 250 for first, _ in found)
    assert list(data.narrow_ranges(250, 400)) == [(250, 314), (314, 378), (378, 400)]


def test_results_do_not_depend_on_the_width(bag, monkeypatch):
    narrow = detection.make("auto").fit(bag)
    assert len(list(narrow.verdict_.data.narrow_ranges())) > 2
    monkeypatch.setattr(dataset, "DATA", replace(dataset.DATA, min_work_width=512))
    whole = detection.make("auto").fit(bag)
    assert len(list(whole.verdict_.data.narrow_ranges())) == 1
    for name in ("trust_", "soft_trust_", "scores_", "probability_", "flagged_", "node_scores_"):
        assert torch.equal(getattr(narrow, name), getattr(whole, name)), name


def test_one_matrix_gives_what_separate_ones_give(bag, monkeypatch):
    data = read_data(bag)
    in_place = CellModel(data)
    assert in_place._in_place
    monkeypatch.setattr(CellModel, "_in_place", False)
    separate = CellModel(data)
    assert torch.equal(in_place.node_scores, separate.node_scores)
    assert torch.equal(in_place.probability(0, 300), separate.probability(0, 300))
    monkeypatch.setattr(CellModel, "_keeps", False)
    assert torch.equal(CellModel(data).probability(0, 300), separate.probability(0, 300))


def test_trust_of_both_kinds_at_once(bag):
    verdict = detection.make("auto").fit(bag).verdict_
    trust, soft = verdict.trust_and_soft_trust()
    assert trust.dtype == torch.bool
    assert torch.equal(trust.float(), verdict.trust)
    assert torch.equal(soft, verdict.soft_trust)
    assert torch.equal(verdict.trust, 1 - verdict.block(0, 300).distrusted.float())
