"""Why something was flagged, in data."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from magnet.detection.cells.numeric import NumericModel
from magnet.detection.options import MIN_WEIGHT
from magnet.detection.verdict import Verdict

_NAMES = ["node", "column", "kind", "observed", "expected", "neighbors", "unusual", "probability"]


def explain(verdict: Verdict, limit: int | None = None) -> pd.DataFrame:
    """See :meth:`Detector.explain <magnet.detection.base.Detector.explain>`."""
    frames = [_rows(verdict), _cells(verdict)]
    table = pd.concat([f for f in frames if len(f)] or [frames[0]], ignore_index=True)
    table = table.sort_values(["probability", "node", "column"], ascending=[False, True, True], kind="stable")
    return table.head(limit).reset_index(drop=True) if limit is not None else table.reset_index(drop=True)


def _rows(verdict: Verdict) -> pd.DataFrame:
    """The flagged rows; ``unusual`` is the log10 of the odds that they are swapped."""
    node = verdict.swapped_rows.cpu().nonzero().flatten().numpy()
    probability = verdict.swapped_probability.cpu().numpy()[node]
    certain = np.clip(probability, MIN_WEIGHT, 1 - MIN_WEIGHT)
    odds = np.log10(certain / (1 - certain))
    neighbors = verdict.data.num_neighbors.cpu().numpy()[node]
    return _frame(node, -1, "row", np.nan, np.nan, neighbors, odds, probability)


def _cells(verdict: Verdict) -> pd.DataFrame:
    """The flagged cells, one line for a category."""
    data = verdict.data
    model = NumericModel(verdict.context)
    number = np.full(data.num_features, -1)
    for index, c in enumerate(data.columns):
        number[c.start] = index
    starts = torch.from_numpy(number >= 0).to(data.device)
    parts = []
    for first, last in data.ranges():
        block = verdict.block(first, last)
        row, column = (block.flagged & starts[first:last]).nonzero(as_tuple=True)
        if row.numel() == 0:
            continue
        feature = column + first
        observed, expected, unusual = _describe(model, row, feature, first, last)
        parts.append(
            _frame(
                row.cpu().numpy(),
                number[feature.cpu().numpy()],
                "cell",
                observed.cpu().numpy(),
                expected.cpu().numpy(),
                data.num_neighbors[row].cpu().numpy(),
                unusual.cpu().numpy(),
                block.probability[row, column].cpu().numpy(),
            )
        )
    return pd.concat(parts, ignore_index=True) if parts else _frame(*([np.zeros(0)] * 2), "cell", *([np.zeros(0)] * 5))


def _describe(
    model: NumericModel, row: Tensor, feature: Tensor, first: int, last: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Observed and expected value and how unusual the first is, for cells of one range of features."""
    context, data = model.context, model.data
    block, spike = data.block(first, last), data.spike[feature]
    column = feature - first
    observed = block[row, column]
    probability = context.probability(first, last)
    p = probability[row, column]
    against = torch.where(observed != spike, 1 - p, p)
    expected, unusual = p.clone(), (against / (1 - against)).log10()
    for c, at in data.categories(first, last):
        here = feature == c.start
        if bool(here.any()):
            group, given = probability[row[here], at], block[row[here], at]
            observed[here] = given.argmax(dim=1).float()
            expected[here] = group.argmax(dim=1).float()
            q = (group * given).sum(dim=1) / group.sum(dim=1)
            unusual[here] = ((1 - q) / q.clamp_min(MIN_WEIGHT)).log10()
    numeric = data.numeric[feature]
    smooth = numeric & spike.isnan()
    if bool(smooth.any()):
        expected[smooth], unusual[smooth] = model.expected(row[smooth], feature[smooth])
    spiked = numeric & ~spike.isnan()
    if bool(spiked.any()):
        usual = torch.where(block != data.spike[first:last], block, torch.full_like(block, math.nan))
        middle = usual.nanmedian(dim=0).values.nan_to_num()[column[spiked]]
        expected[spiked] = torch.where(p[spiked] > 0.5, middle, spike[spiked])
        z = data.scales.standardize_cells(observed[spiked], feature[spiked])
        unusual[spiked] = (z - data.scales.standardize_cells(expected[spiked], feature[spiked])).abs()
    if data.units is not None:
        unit = data.units[0][row] * data.units[1][feature]
        observed, expected = observed * unit, expected * unit
    return observed, expected, unusual


def _frame(*columns: object) -> pd.DataFrame:
    return pd.DataFrame(dict(zip(_NAMES, columns, strict=True))).astype({"node": int, "column": int, "neighbors": int})
