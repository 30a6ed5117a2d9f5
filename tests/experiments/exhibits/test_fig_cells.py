"""Pictures of wrong and flagged cells."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from magnet.experiments.exhibits import Document, Options
from magnet.experiments.protocol.detect import _picture


def result_of(config: dict[str, Any]) -> dict[str, Any]:
    """Of 20 x 10 cells two rows are wrong; one of them is flagged, and half of another row."""
    truth, flagged = torch.zeros(2, 20, 10, dtype=torch.bool)
    truth[3:5] = flagged[4] = flagged[9, :5] = True
    named = {"truth": truth, "hit": flagged & truth, "false": flagged & ~truth}
    return {"pictures": {name: _picture(cells) for name, cells in named.items()}}


def test_shares_and_a_figure_for_each_dataset(rendered: Callable[..., Document], tmp_path: Path) -> None:
    document = rendered("fig-cells", Options(datasets=("cora",)), result_of)
    cells = [cell for cell in document.tables[0].cells if cell.facts["detector"] == "gae"]
    assert [cell.ours and cell.ours.mean for cell in cells] == pytest.approx([10, 50, 5, 2.5])
    (figure,) = document.figures
    assert figure.name == "fig-cells-cora"
    figure.draw(tmp_path / "cells.svg")
    assert "5.000 % of the cells" in (tmp_path / "cells.svg").read_text()
