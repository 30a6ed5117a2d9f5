"""The pool of words in one pass over the cells, against the same equations with array operations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from magnet.detection.cells.context_model import ContextModel
from magnet.detection.cells.linear_pool import log_ratio_of_words, mixing_weights
from magnet.detection.data.dataset import DetectionData
from magnet.detection.data.read import read_data
from magnet.detection.options import CELLS, CONTEXT


def bag(nodes: int = 60, words: int = 30, seed: int = 0) -> DetectionData:
    generator = torch.Generator().manual_seed(seed)
    x = (torch.rand(nodes, words, generator=generator) < 0.2).float()
    edge_index = torch.randint(0, nodes - 2, (2, 3 * nodes), generator=generator)  # the last two are isolated
    return read_data(Data(x=x, edge_index=edge_index))


@pytest.mark.parametrize("with_support", [False, True])
@pytest.mark.parametrize("with_wrong", [False, True])
def test_pooled_words_are_the_weighted_sum_of_the_predictors(with_support, with_wrong):
    data, generator = bag(), torch.Generator().manual_seed(1)
    w, support = torch.rand(2, 60, generator=generator).clamp_min(0.1)
    p_wrong = 0.2 * torch.rand(60, 30, generator=generator) if with_wrong else None
    context = ContextModel(data, w, p_wrong, support=support if with_support else None)
    assert context.mixture.numel() == 3 + with_support
    predictors = context._predictors(4, 19)
    expected = sum(a * part for a, part in zip(context.mixture, predictors, strict=True))
    expected = expected.clamp(CONTEXT.min_probability, 1 - CONTEXT.min_probability)
    torch.testing.assert_close(context.probability(4, 19), expected, rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(context.event_rate(4, 19), predictors[0])


def test_log_ratios_of_words():
    generator = torch.Generator().manual_seed(0)
    probability = torch.rand(200, 8, generator=generator).clamp(0.001, 0.999)
    events = (torch.rand(200, 8, generator=generator) < 0.3).float()
    events[:, 0] = 0
    events[0, 0] = 1  # too rare to be judged
    expected = torch.where(events > 0, (1 - probability).log() - probability.log(), torch.logit(probability))
    expected[0, 0] = 0
    expected[(expected > 0) & (expected < CELLS.min_bag_log_odds)] = 0
    torch.testing.assert_close(log_ratio_of_words(probability, events), expected, rtol=1e-4, atol=1e-5)


def test_some_rows_of_a_cooccurrence_are_those_of_all():
    data = bag(seed=3)
    context = ContextModel(data, torch.ones(60), support=torch.linspace(0, 1, 60))
    rest, rows = context.rest_of_row, np.array([3, 17, 59])
    torch.testing.assert_close(rest.probability_in(rows, 2, 9), rest.probability(2, 9)[rows])


def test_a_sample_of_the_events_gives_about_the_weights_of_all(monkeypatch):
    generator = torch.Generator().manual_seed(0)
    topic = torch.arange(400) % 4
    p = torch.where(topic[:, None] == torch.arange(320) % 4, 0.3, 0.02)
    x = (torch.rand(400, 320, generator=generator) < p).float()
    source, target = torch.randint(0, 400, (2, 6000), generator=generator)
    same = topic[source] == topic[target]
    data = read_data(Data(x=x, edge_index=torch.stack([source, target])[:, same]))
    found = {}
    for events in (10**9, 1000):
        monkeypatch.setattr("magnet.detection.cells.context_model.CONTEXT", replace(CONTEXT, mixture_events=events))
        context = ContextModel(data, torch.ones(400))
        ranges, step = context._sample()
        taken = sum(data.block(*each).count_nonzero() for each in ranges) / step
        assert events == 10**9 or 500 < taken < 4000
        found[events] = context.mixture
    assert float((found[1000] - found[10**9]).abs().max()) < 0.1


def test_mixing_weights_maximize_the_likelihood():
    values = torch.rand(500, 3, generator=torch.Generator().manual_seed(0))
    a = mixing_weights(values)
    best = (values @ a).log().sum()
    generator = torch.Generator().manual_seed(1)
    for _ in range(20):
        other = torch.rand(3, generator=generator).softmax(0)
        assert best >= (values @ other).log().sum() - 1e-3
