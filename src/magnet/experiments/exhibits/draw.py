"""Figures in one style, as PNG and SVG."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from magnet.files import complete_or_absent

#: Colors that remain distinguishable in print and for color-blind readers (Okabe and Ito).
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")

_STYLE = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.5,
    "figure.dpi": 100,
    "svg.fonttype": "none",
    "svg.hashsalt": "magnet",
}


@contextlib.contextmanager
def figure(path: Path, rows: int = 1, columns: int = 1, size: tuple[float, float] = (3.4, 2.4)) -> Iterator[Any]:
    """Axes ``[rows, columns]`` to draw on, each of ``size`` inches. The figure is then written to ``path``,
    atomically."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with matplotlib.rc_context(_STYLE):
        drawn, axes = pyplot.subplots(
            rows, columns, figsize=(size[0] * columns, size[1] * rows), squeeze=False, layout="constrained"
        )
        try:
            yield axes
            metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
            with complete_or_absent(path) as part:
                drawn.savefig(part, dpi=160, metadata=metadata, format=path.suffix[1:])
        finally:
            pyplot.close(drawn)


def box(left: float, top: float, width: float, height: float, **style: Any) -> Any:
    """A rectangle to add to an axis; by default the red frame of the magnified part."""
    from matplotlib.patches import Rectangle

    return Rectangle((left, top), width, height, **(style or {"fill": False, "edgecolor": "red", "linewidth": 0.8}))
