"""Tables 6 and 7, from the runs of table 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from magnet.experiments.exhibits import Options
from magnet.experiments.exhibits.make import make_exhibits
from magnet.experiments.exhibits.render import cell_text


def test_tables_share_their_runs(tmp_path: Path, pretend: Any, options: Options) -> None:
    run = pretend()
    documents = make_exhibits(["table1", "table6"], tmp_path / "a.sqlite", None, options, run=run).documents
    assert len(run.seen) == len({repr(sorted(config.items())) for config in run.seen}) == 15
    cells = [cell for table in documents[1].tables for cell in table.cells if cell.row == "MAGnet-gae"]
    absolute, relative_score = cells
    assert absolute.ours is not None
    assert relative_score.ours is not None
    assert absolute.ours.mean == pytest.approx(100 * 8 / 70)
    assert relative_score.ours.mean == pytest.approx(80)
    assert relative_score.paper is not None
    assert relative_score.paper.value == 82.05


def test_there_is_no_relative_score_where_nothing_was_lost(tmp_path: Path, options: Options) -> None:
    def run(configs: Sequence[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        for config in configs:
            yield config, {"test_accuracy": 0.7, "seconds": 1.0, "device": "cpu"}

    (document,) = make_exhibits(["table6"], tmp_path / "a.sqlite", None, options, run=run).documents
    absolute, score = (cell for table in document.tables for cell in table.cells if cell.row == "APPNP")
    assert absolute.filled
    assert not absolute.impossible
    assert cell_text(score, "; ").startswith("n/a: nothing lost; paper")
