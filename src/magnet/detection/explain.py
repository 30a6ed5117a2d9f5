"""Why something was flagged, in data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from magnet.detection.expectation import Expectation
from magnet.detection.numeric import Numbers

if TYPE_CHECKING:
    from magnet.detection.base import Detector

NAMES = ["node", "column", "kind", "observed", "expected", "neighbours", "unusual", "probability"]


def explain(detector: Detector, limit: int | None = None) -> pd.DataFrame:
    """See :meth:`Detector.explain`."""
    frames = [rows(detector), cells(detector)]
    table = pd.concat([f for f in frames if len(f)] or [frames[0]], ignore_index=True)
    table = table.sort_values(["probability", "node", "column"], ascending=[False, True, True], kind="stable")
    return table.head(limit).reset_index(drop=True) if limit is not None else table.reset_index(drop=True)


def rows(detector: Detector) -> pd.DataFrame:
    """The flagged rows: how well they would fit at other places is their ``unusual``."""
    flagged = detector.flagged_rows().cpu()
    node = flagged.nonzero().flatten().numpy()
    probability = detector.row_probability().cpu().numpy()[node]
    odds = np.log10(np.clip(probability, 1e-9, 1 - 1e-9) / (1 - np.clip(probability, 1e-9, 1 - 1e-9)))
    neighbours = detector._view.neighbours.cpu().numpy()[node]
    return frame(node, -1, "row", np.nan, np.nan, neighbours, odds, probability)


def cells(detector: Detector) -> pd.DataFrame:
    """The flagged cells, one line for a category."""
    view = detector._view
    expectation = detector.context_expectation()
    numbers = Numbers(expectation)
    number = np.full(view.features, -1)
    for index, c in enumerate(view.columns):
        number[c.start] = index
    starts = torch.from_numpy(number >= 0).to(view.device)
    widths = {c.start: c.stop - c.start for c in view.columns if c.kind == "categorical"}
    parts = []
    for first, last in view.ranges():
        _, probability, flagged = detector.judged(first, last)
        row, column = (flagged & starts[first:last]).nonzero(as_tuple=True)
        if row.numel() == 0:
            continue
        feature = column + first
        observed, expected, unusual = describe(expectation, numbers, row, feature, first, last, widths)
        parts.append(
            frame(
                row.cpu().numpy(),
                number[feature.cpu().numpy()],
                "cell",
                observed.cpu().numpy(),
                expected.cpu().numpy(),
                view.neighbours[row].cpu().numpy(),
                unusual.cpu().numpy(),
                probability[row, column].cpu().numpy(),
            )
        )
    return pd.concat(parts, ignore_index=True) if parts else frame(*([np.zeros(0)] * 2), "cell", *([np.zeros(0)] * 5))


def describe(
    expectation: Expectation,
    numbers: Numbers,
    row: Tensor,
    feature: Tensor,
    first: int,
    last: int,
    widths: dict[int, int],
) -> tuple[Tensor, Tensor, Tensor]:
    """Observed and expected value and how unusual the first is, for cells of one range of features."""
    view = expectation.view
    block = view.block(first, last)
    column = feature - first
    observed = block[row, column]
    chance = expectation.chance(first, last)
    event = observed != expectation.spike[feature]
    p = chance[row, column]
    against = torch.where(event, 1 - p, p)
    expected, unusual = p.clone(), (against / (1 - against)).log10()
    for start, width in widths.items():
        here = feature == start
        if first <= start < last and bool(here.any()):
            at = slice(start - first, start - first + width)
            group, given = chance[row[here], at], block[row[here], at]
            observed[here] = given.argmax(dim=1).float()
            expected[here] = group.argmax(dim=1).float()
            q = (group * given).sum(dim=1) / group.sum(dim=1)
            unusual[here] = ((1 - q) / q.clamp_min(1e-9)).log10()
    numeric = view.of_kind("count", "continuous")[feature]
    smooth = numeric & expectation.spike[feature].isnan()
    if bool(smooth.any()):
        expected[smooth], unusual[smooth] = numbers.expected(row[smooth], feature[smooth])
    spiked = numeric & ~expectation.spike[feature].isnan()
    if bool(spiked.any()):
        usual = torch.where(block != expectation.spike[first:last], block, torch.full_like(block, math.nan))
        middle = usual.nanmedian(dim=0).values.nan_to_num()[column[spiked]]
        expected[spiked] = torch.where(p[spiked] > 0.5, middle, expectation.spike[feature[spiked]])
        z = view.scales.standardise_cells(observed[spiked], feature[spiked])
        unusual[spiked] = (z - view.scales.standardise_cells(expected[spiked], feature[spiked])).abs()
    return observed, expected, unusual


def frame(*columns: object) -> pd.DataFrame:
    return pd.DataFrame(dict(zip(NAMES, columns, strict=True))).astype({"node": int, "column": int, "neighbours": int})
