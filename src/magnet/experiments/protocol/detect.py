"""One run of a detector against the truth: curves over the threshold, areas, and small pictures of the cells."""

from __future__ import annotations

import base64
import time
import zlib
from typing import Any

import numpy as np
import torch
from torch import Tensor

from magnet import detection
from magnet.arrays import Bools, Floats, dense
from magnet.corruption import corrupt_once
from magnet.datasets import load
from magnet.detection.gae import PAPER_TAU
from magnet.experiments.protocol.measure import chosen_device, device_name

#: Thresholds on the score |x - x'| of the autoencoder, as in the paper's figures.
TAUS = tuple(round(0.02 * k, 2) for k in range(1, 51))
#: AUROC and AUPRC are computed on at most this many cells, sampled by rows.
MOST_CELLS = 20_000_000
#: The pictures show the first 3000 nodes and features, like the paper's. Side of their grid, and of what is magnified.
SHOWN, GRID, REGION = 3000, 160, 200
#: Shares of the grid are stored in so many steps.
GRID_STEPS = 10_000


def judge_detector(
    dataset: str,
    corruption: str,
    method: str,
    seed: int = 0,
    options: dict[str, Any] | None = None,
    corruption_options: dict[str, Any] | None = None,
    device: str | None = None,
    folder: str | None = None,
) -> dict[str, Any]:
    """Fit a detector to a corrupted dataset and compare it with the truth.

    Args:
        dataset, corruption, seed: as for :func:`magnet.experiments.run_one`.
        method: name of a detector.
        options: of the detector.
        corruption_options: of the corruption.
        device: (default: a GPU if available)
        folder: where corrupted graphs are kept.
    """
    device_used = str(chosen_device(device))
    data = load(dataset)
    bad = corrupt_once(data, corruption, seed, folder, **(corruption_options or {}))
    began = time.perf_counter()
    prepared = detection.read_data(bad.data, device=device_used)
    paper = {"tau": PAPER_TAU} if method == "gae" else {}  # flags as in the paper's figures
    fitted = detection.make(method, seed=seed, **paper | (options or {})).fit(prepared)
    seconds = time.perf_counter() - began
    truth = bad.cells.to(device_used)
    scores = dense(fitted.scores_).to(device_used)
    flagged = dense(fitted.flagged_).to(device_used).bool()
    cell_auroc, cell_auprc = _cell_areas(scores, truth, seed)
    node_auroc, node_auprc = detection.areas(bad.nodes.to(device_used), fitted.node_scores_.to(device_used))
    result = {
        "cell_auroc": cell_auroc,
        "cell_auprc": cell_auprc,
        "node_auroc": node_auroc,
        "node_auprc": node_auprc,
        "share": float(fitted.share_),
        "true_share": float(bad.nodes.float().mean()),
        "true_cells": int(truth.sum()),
        "flagged_cells": int(flagged.sum()),
        "hit_cells": int((flagged & truth).sum()),
        "cells": int(truth.numel()),
        "threshold": float(fitted.threshold_) if np.isfinite(float(fitted.threshold_)) else None,
        **_curves(scores, truth),
        "seconds": seconds,
        "device": device_name(device_used),
    }
    if seed == 0:  # the one that is drawn
        named = {"truth": truth, "hit": flagged & truth, "false": flagged & ~truth}
        result["pictures"] = {name: _picture(cells[:SHOWN, :SHOWN]) for name, cells in named.items()}
    return result


def _curves(scores: Tensor, truth: Tensor) -> dict[str, Any]:
    """Cells above each threshold: all of them, and the wrong ones."""
    edges = torch.tensor((*TAUS,), dtype=scores.dtype, device=scores.device)
    above, hits = [], []
    for tau in edges:
        over = scores > tau
        above.append(int(over.sum()))
        hits.append(int((over & truth).sum()))
    return {"taus": list(TAUS), "above": above, "true_positives": hits}


def _cell_areas(scores: Tensor, truth: Tensor, seed: int) -> tuple[float, float]:
    rows = max(1, MOST_CELLS // scores.shape[1])
    if rows < scores.shape[0]:
        generator = torch.Generator().manual_seed(seed)
        chosen = torch.randperm(scores.shape[0], generator=generator)[:rows].to(scores.device)
        scores, truth = scores[chosen], truth[chosen]
    return detection.areas(truth.flatten(), scores.flatten())


def _picture(cells: Tensor) -> dict[str, Any]:
    """Where cells are: their share in each field of a grid, and a magnified region bit by bit."""
    rows, columns = cells.shape
    tall, wide = min(GRID, rows), min(GRID, columns)
    share = torch.nn.functional.adaptive_avg_pool2d(cells.float()[None, None], (tall, wide))[0, 0]
    top, left = max(0, (rows - REGION) // 2), max(0, (columns - REGION) // 2)
    region = cells[top : top + REGION, left : left + REGION]
    counted = (share * GRID_STEPS).round().to(torch.int32).cpu().numpy().astype(np.uint16)
    return {
        "grid": _pack(counted.tobytes(), counted.shape),
        "region": _pack(np.packbits(region.cpu().numpy()).tobytes(), tuple(region.shape)),
        "corner": [top, left],
        "shape": [rows, columns],
        "share": float(cells.float().mean()),
    }


def _pack(content: bytes, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"shape": list(shape), "content": base64.b64encode(zlib.compress(content, 9)).decode()}


def unpack_grid(packed: dict[str, Any]) -> Floats:
    """The share of cells in each field of the grid."""
    content = zlib.decompress(base64.b64decode(packed["content"]))
    return np.frombuffer(content, dtype=np.uint16).reshape(packed["shape"]) / GRID_STEPS


def unpack_region(packed: dict[str, Any]) -> Bools:
    """The magnified region."""
    content = zlib.decompress(base64.b64decode(packed["content"]))
    rows, columns = packed["shape"]
    bits = np.unpackbits(np.frombuffer(content, dtype=np.uint8), count=rows * columns)
    return bits.reshape(rows, columns).astype(bool)
