"""Upper bounds for the detection of replaced rows and flipped cells, by oracles that use the clean graph."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from magnet import corruption, datasets
from magnet.arrays import dense_x
from magnet.detection import areas
from magnet.detection.cells.context_model import ContextModel
from magnet.detection.data.read import read_data
from magnet.detection.data.row_vectors import duplicate_counts, low_rank_rows, unit_rows
from magnet.detection.rows.logistic import CrossFit

NEGATIVES = 16  # permuted pairs per node that the oracle is trained on


ROWS = ("cora", "citeseer", "pubmed")
CELLS = ("cora", "citeseer", "amazon-computers")


def flipped_cells(name: str, seed: int, folder: str | None = None) -> dict[str, float]:
    """Average precision of flipped cells (30 % x 2 %) by the odds that the context model gives against them, fitted on
    the clean graph, over all cells and over those of touched rows; and the median of these odds."""
    clean = datasets.load(name)
    bad = corruption.corrupt_once(clean, "cells-flip", seed, folder, node_share=0.3, ratio=0.02)
    data, x = read_data(clean), dense_x(bad.data)
    everything = torch.ones(data.num_nodes)
    model = ContextModel(data, everything, support=everything)
    scores = torch.empty(x.shape)
    for first, last in data.ranges():
        odds = -torch.logit(model.probability(first, last))
        scores[:, first:last] = torch.where(x[:, first:last] > 0, odds, -odds)
    cells, rows = bad.cells, bad.cells.any(dim=1)
    return {
        "all cells": areas(cells.flatten(), scores.flatten())[1],
        "cells of touched rows": areas(cells[rows].flatten(), scores[rows].flatten())[1],
        "median odds": float(scores[cells].median().exp()),
    }


def replaced_rows(name: str, seed: int, ratio: float = 0.5, folder: str | None = None) -> dict[str, float]:
    """Node AUROC of the oracle on rows replaced at random, by the context and the class alone, and with the true share
    of swapped rows among those that occur once, twice, more often."""
    clean = datasets.load(name)
    bad = corruption.corrupt_once(clean, "inject-random", seed, folder, ratio=ratio)
    n = clean.num_nodes
    generator = torch.Generator().manual_seed(seed)
    pairs = Pairs(clean)
    half = torch.randperm(n, generator=generator) % 2
    real = pairs.features(torch.arange(n), torch.arange(n))
    other = torch.randint(0, n, (n, NEGATIVES), generator=generator)
    permuted = torch.stack([pairs.features(torch.arange(n), other[:, k]) for k in range(NEGATIVES)], dim=1)
    use = other != torch.arange(n)[:, None]
    everything = torch.ones(n, dtype=torch.bool)
    model = CrossFit.of(real, torch.ones(n), [(permuted, use)], everything, half)
    logit = model.logit(pairs.features(torch.arange(n), source_of(clean, bad.data)), half)
    truth = bad.cells.any(dim=1)
    times = duplicate_counts(read_data(bad.data)).clamp_max(3)
    prior = torch.zeros(n)
    for count in times.unique():
        share = truth[times == count].float().mean().clamp(1e-3, 1 - 1e-3)
        prior[times == count] = torch.log(share / (1 - share))
    return {"context and class": areas(truth, -logit)[0], "with copies": areas(truth, prior - logit)[0]}


def source_of(clean: Data, bad: Data) -> Tensor:
    """The node ``[n]`` whose clean row each row of the corrupted graph is."""
    direction = torch.from_numpy(np.random.default_rng(0).standard_normal(clean.num_features))
    before, after = (dense_x(data).double() @ direction for data in (clean, bad))
    ordered, order = before.sort()
    nearest = order[torch.searchsorted(ordered, after).clamp_max(ordered.numel() - 1)]
    return torch.where(before == after, torch.arange(before.numel()), nearest)


class Pairs:
    """Features of pairs (node, row) on the clean graph: cosines with the mean of the neighbors over one and two hops
    and with the nearest neighbor, for rows as they are and on 128 singular vectors, and the log ratio of the row's
    words under the node's class to all classes, from the other half of the rows."""

    def __init__(self, clean: Data) -> None:
        data = read_data(clean)
        self.data = data
        rows = unit_rows(data)
        plain = rows.dense if rows.dense is not None else torch.from_numpy(rows.matrix.toarray())
        low = low_rank_rows(data)
        self.sets = [plain - plain.mean(dim=0)] + ([] if low is None else [low.dense - low.dense.mean(dim=0)])
        self.contexts = [[_unit(c) for c in data.neighbor_sums(z)] for z in self.sets]
        self.sets = [_unit(z) for z in self.sets]
        self.amount = data.num_neighbors.log1p()
        self.by_class = _class_log_ratios(dense_x(clean), clean.y)
        self.y = clean.y

    def features(self, node: Tensor, row: Tensor) -> Tensor:
        parts = [self.by_class[row, self.y[node]]]
        a = self.data.graph.adjacency
        for z, contexts in zip(self.sets, self.contexts, strict=True):
            parts += [(c[node] * z[row]).sum(dim=1) for c in contexts]
            left, right = self.data.edges
            cosine = (z[row[left]] * z[right]).sum(dim=1)
            cosine = torch.where(right == row[left], torch.full_like(cosine, -1.0), cosine)
            best = torch.segment_reduce(cosine, "max", lengths=torch.from_numpy(np.diff(a.indptr)), unsafe=True)
            parts.append(torch.where(self.data.num_neighbors > 0, best, torch.zeros_like(best))[node])
        x = torch.stack(parts, dim=1)
        amount = self.amount[node][:, None]
        return torch.cat([x, amount, x * amount, x.square()], dim=1).nan_to_num()


def _class_log_ratios(x: Tensor, y: Tensor) -> Tensor:
    """``log p(row | class) - log p(row)`` ``[n, classes]`` by naive Bayes on words, from the other half of the rows."""
    words = (x != 0).float()
    half = torch.arange(x.shape[0]) % 2
    classes = torch.nn.functional.one_hot(y).float()
    out = torch.zeros(x.shape[0], classes.shape[1])
    for side in (0, 1):
        seen = classes[half != side]
        rate = (seen.T @ words[half != side] + 0.5) / (seen.sum(dim=0)[:, None] + 1)
        overall = (words[half != side].sum(dim=0) + 0.5) / (int((half != side).sum()) + 1)
        gain = torch.logit(rate.clamp(1e-6, 1 - 1e-6)) - torch.logit(overall.clamp(1e-6, 1 - 1e-6))
        constant = torch.log((1 - rate) / (1 - overall)).sum(dim=1)
        out[half == side] = words[half == side] @ gain.T + constant
    return out / words.sum(dim=1, keepdim=True).clamp_min(1).sqrt()


def _unit(z: Tensor) -> Tensor:
    return z / z.norm(dim=1, keepdim=True).clamp_min(1e-9)
