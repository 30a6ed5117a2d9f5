"""The paper's tables and figures. To add one: an ``Exhibit`` in a file, and its name here."""

from __future__ import annotations

from magnet.experiments.exhibits import (
    fig_accuracy,
    fig_cells,
    fig_detection,
    fig_image,
    improvement,
    table1,
    table2,
    table3,
    table4,
    table5,
)
from magnet.experiments.exhibits.base import Document, Exhibit, Options, Results

#: By name, in the order of ``all``.
EXHIBITS: dict[str, Exhibit] = {
    exhibit.name: exhibit
    for exhibit in (
        *(table1.TABLE1, table2.TABLE2, table3.TABLE3, table4.TABLE4, table5.TABLE5),
        *(improvement.TABLE6, improvement.TABLE7),
        *(fig_detection.SPARSITY, fig_accuracy.LEVEL, fig_accuracy.LOSS),
        *(fig_cells.CELLS, fig_detection.ERRORS, fig_image.IMAGE),
    )
}

__all__ = ["EXHIBITS", "Document", "Exhibit", "Options", "Results"]
