"""Detectors by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from magnet.detection.auto import Auto
from magnet.detection.base import Detector
from magnet.detection.baselines.cosine import Cosine
from magnet.detection.baselines.duplicates import Duplicates
from magnet.detection.baselines.residuals import FPResidual, RowResidual
from magnet.detection.baselines.row_sum import RowSum
from magnet.detection.baselines.zscore import ZScore
from magnet.detection.cells.cell import Cell
from magnet.detection.gae import GAE
from magnet.detection.rows.context import Context

DETECTORS: dict[str, Callable[..., Detector]] = {
    "auto": Auto,
    "context": Context,
    "cell": Cell,
    "gae": GAE,
    "zscore": ZScore,
    "cosine": Cosine,
    "cosine-centered": partial(Cosine, centered=True),
    "rowsum": RowSum,
    "duplicates": Duplicates,
    "fp-residual": FPResidual,
    "row-residual": RowResidual,
}


def names() -> list[str]:
    """The names that :func:`make` knows."""
    return list(DETECTORS)


def make(name: str, **options: Any) -> Detector:
    """A detector by name.

    Args:
        name: ``"auto"``, ``"context"``, ``"cell"``, ``"gae"`` or a baseline; an unknown name lists all.
        options: arguments of the detector, such as ``seed``, ``fdr``, ``contamination`` or ``device``.

    Example:
        >>> make("context", rounds=2).rounds
        2
    """
    if name not in DETECTORS:
        raise ValueError(f"unknown detector {name!r}; choose from {', '.join(DETECTORS)}")
    try:
        detector = DETECTORS[name](**options)
    except TypeError as error:
        raise ValueError(f"detector {name!r}: {str(error).split('() ')[-1]}") from None
    detector.check_parameters()
    return detector
