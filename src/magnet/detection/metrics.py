"""How well a detector did, against the exact truth."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from magnet.detection.base import Detector


def metrics(detector: Detector, cells: Any, nodes: Any = None) -> dict[str, float]:
    """Areas under the curves, precision and recall at the detector's threshold, and its estimate of the share.

    Args:
        detector: a fitted detector.
        cells: bool ``[n, d]``, the cells that are wrong.
        nodes: bool ``[n]``, the nodes that are wrong. (default: those with a wrong cell)

    Areas are NaN where nothing (or everything) is wrong.
    """
    device = detector.node_scores_.device
    truth = torch.as_tensor(cells, dtype=torch.bool, device=device)
    wanted = [detector.verdict_.data.num_nodes, detector.verdict_.data.num_features]
    if list(truth.shape) != wanted:
        raise ValueError(f"cells has shape {list(truth.shape)}; the detector judged {wanted}")
    rows = truth.any(dim=1) if nodes is None else torch.as_tensor(nodes, dtype=torch.bool, device=device)
    if list(rows.shape) != wanted[:1]:
        raise ValueError(f"nodes has shape {list(rows.shape)}; the detector judged {wanted[:1]}")
    scores = torch.empty(truth.shape, device=device)
    flagged = torch.empty_like(truth)
    verdict = detector.verdict_
    for first, last in verdict.data.ranges():
        block = verdict.block(first, last)
        scores[:, first:last], flagged[:, first:last] = block.scores.to(device), block.flagged.to(device)
    flagged_nodes = flagged.any(dim=1) | detector.swapped_rows_
    node_auroc, node_auprc = areas(rows, detector.node_scores_)
    cell_auroc, cell_auprc = areas(truth.flatten(), scores.flatten())
    return {
        "node_auroc": node_auroc,
        "node_auprc": node_auprc,
        "cell_auroc": cell_auroc,
        "cell_auprc": cell_auprc,
        "node_precision": _ratio(rows & flagged_nodes, flagged_nodes),
        "node_recall": _ratio(rows & flagged_nodes, rows),
        "node_flagged": float(flagged_nodes.float().mean()),
        "cell_precision": _ratio(truth & flagged, flagged),
        "cell_recall": _ratio(truth & flagged, truth),
        "cell_flagged": int(flagged.sum()) / flagged.numel(),
        "share": float(detector.share_),
        "true_share": float(rows.float().mean()),
    }


def areas(truth: Tensor, scores: Tensor) -> tuple[float, float]:
    """AUROC and AUPRC (average precision), ties counting as one step; NaN where only one class is present.

    Example:
        >>> areas(torch.tensor([False, True, True, False]), torch.tensor([0.1, 0.9, 0.8, 0.8]))
        (0.875, 0.8333333333333333)
    """
    total, wrong = truth.numel(), int(truth.sum())
    if wrong in (0, total):
        return float("nan"), float("nan")
    ordered, order = scores.sort(descending=True)
    hits = truth[order].cumsum(0)
    # the last place of each run of equal scores
    last = torch.ones(total, dtype=torch.bool, device=scores.device)
    last[:-1] = ordered[1:] != ordered[:-1]
    place = last.nonzero().flatten() + 1
    found = hits[last].double()
    zero = torch.zeros(1, dtype=torch.float64, device=scores.device)
    before = torch.cat([zero, found[:-1]])
    false = place.double() - found
    false_before = torch.cat([zero, false[:-1]])
    auroc = float(((found + before) / 2 * (false - false_before)).sum()) / (wrong * (total - wrong))
    auprc = float(((found - before) * found / place).sum()) / wrong
    return auroc, auprc


def _ratio(part: Tensor, whole: Tensor) -> float:
    count = int(whole.sum())
    return int(part.sum()) / count if count else float("nan")
