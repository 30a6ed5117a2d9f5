"""How well a detector did, against the exact truth."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from magnet.detection.base import Detector


def metrics(detector: Detector, cells: Any, nodes: Any = None) -> dict[str, float]:
    """Areas under the curves, precision and recall at the detector's threshold, and its estimate of the share.

    Args:
        detector: a fitted detector.
        cells: bool ``[n, d]``, the cells that are wrong.
        nodes: bool ``[n]``, the nodes that are wrong. (default: those with a wrong cell)

    Areas are NaN where nothing (or everything) is wrong.
    """
    truth = np.asarray(cells.cpu() if hasattr(cells, "cpu") else cells, dtype=bool)
    rows = (
        truth.any(axis=1) if nodes is None else np.asarray(nodes.cpu() if hasattr(nodes, "cpu") else nodes, dtype=bool)
    )
    node_auroc, node_auprc = areas(rows, detector.node_scores_.cpu().numpy())
    scores = detector.scores_
    dense = scores.to_dense() if scores.layout != scores.new_empty(0).to_dense().layout else scores
    cell_auroc, cell_auprc = areas(truth.ravel(), dense.cpu().numpy().ravel())
    flagged, flagged_nodes = detector.flagged_.cpu().numpy(), detector.flagged_nodes_.cpu().numpy()
    return {
        "node_auroc": node_auroc,
        "node_auprc": node_auprc,
        "cell_auroc": cell_auroc,
        "cell_auprc": cell_auprc,
        "node_precision": ratio((rows & flagged_nodes).sum(), flagged_nodes.sum()),
        "node_recall": ratio((rows & flagged_nodes).sum(), rows.sum()),
        "node_flagged": float(flagged_nodes.mean()),
        "cell_precision": ratio((truth & flagged).sum(), flagged.sum()),
        "cell_recall": ratio((truth & flagged).sum(), truth.sum()),
        "cell_flagged": float(flagged.mean()),
        "share": float(detector.share_),
        "true_share": float(rows.mean()),
    }


def areas(truth: Any, scores: Any) -> tuple[float, float]:
    """AUROC and AUPRC (average precision); NaN where only one class is there.

    Example:
        >>> areas([False, True, True], [0.1, 0.9, 0.8])
        (1.0, 1.0)
    """
    truth = np.asarray(truth, dtype=bool)
    if truth.all() or not truth.any():
        return float("nan"), float("nan")
    return float(roc_auc_score(truth, scores)), float(average_precision_score(truth, scores))


def ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else float("nan")
