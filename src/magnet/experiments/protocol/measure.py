"""Metrics of a run: accuracy, AUROC, device, memory."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor

from magnet.checks import device_exists


def accuracy(scores: Tensor, y: Tensor) -> float:
    """Share of rows whose highest score is that of the right class."""
    return float((scores.argmax(dim=1) == y).double().mean())


def auroc(scores: Tensor, y: Tensor) -> float:
    """Mean over the classes of the area under the ROC curve of each against the rest.

    Classes that no row or every row belongs to are left out; NaN where none is left.
    """
    probability = torch.softmax(scores.double(), dim=1).numpy()
    labels = y.numpy()
    areas = [
        roc_auc_score(labels == c, probability[:, c])
        for c in range(scores.shape[1])
        if 0 < int((labels == c).sum()) < labels.size
    ]
    return float(np.mean(areas)) if areas else float("nan")


def chosen_device(device: str | torch.device | None) -> torch.device:
    """The requested device, else a GPU if available."""
    device_exists(device)
    return torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))


def device_name(device: str | torch.device | None) -> str:
    """Name of the device. (default: a GPU if available)"""
    chosen = chosen_device(device)
    return torch.cuda.get_device_name(chosen) if chosen.type == "cuda" else "cpu"


def reset_peak_memory(device: torch.device) -> None:
    """Begin to watch the memory in use."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        return
    with contextlib.suppress(OSError):  # not Linux: the peak is then that of the whole process
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory(device: torch.device) -> int:
    """Most bytes in use since :func:`reset_peak_memory`: on the GPU, or by the process."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    try:
        line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    except (OSError, StopIteration):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return int(peak if sys.platform == "darwin" else peak * 1024)
