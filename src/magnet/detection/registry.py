"""Detectors by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from magnet.detection.auto import Auto
from magnet.detection.base import Detector
from magnet.detection.cell import Cell
from magnet.detection.context import Context
from magnet.detection.cosine import Cosine
from magnet.detection.duplicates import Duplicates
from magnet.detection.fp_residual import FPResidual
from magnet.detection.gae import GAE
from magnet.detection.row_residual import RowResidual
from magnet.detection.rowsum import RowSum
from magnet.detection.zscore import ZScore

DETECTORS: dict[str, Callable[..., Detector]] = {
    "auto": Auto,
    "context": Context,
    "cell": Cell,
    "gae": GAE,
    "zscore": ZScore,
    "cosine": Cosine,
    "cosine-centred": partial(Cosine, centred=True),
    "rowsum": RowSum,
    "duplicates": Duplicates,
    "fp-residual": FPResidual,
    "row-residual": RowResidual,
}


def names() -> list[str]:
    return list(DETECTORS)


def make(name: str, **options: Any) -> Detector:
    """A detector by name.

    Example:
        >>> make("context", rounds=2).rounds
        2
    """
    if name not in DETECTORS:
        raise ValueError(f"there is no detector {name!r}; there are {', '.join(DETECTORS)}")
    try:
        return DETECTORS[name](**options)
    except TypeError as error:
        raise ValueError(f"detector {name!r}: {str(error).split('() ')[-1]}") from None
