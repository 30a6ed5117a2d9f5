"""What ``magnet.clean`` returns."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import magnet
from magnet.report.page import data_of


def test_counts_text_and_report_agree(misspelled: tuple[pd.DataFrame, pd.DataFrame], tmp_path: Path) -> None:
    _, nodes = misspelled
    result = magnet.clean(nodes)
    assert result.counts == {"corrected": 2, "filled": 0, "kept": 0}
    assert repr(result) == f"CleanResult({result.table}: 2 corrected, 0 filled, 0 kept)"
    assert result._repr_html_().count("<tr") == 3  # a header and two cells
    page = result.report(tmp_path / "new" / "report.html")
    assert sorted(data_of(page)["cells"]["row"]) == [3, 9]
    assert set(result.record.judged) <= set(nodes.columns)


def test_a_graph_detector_reports_the_kinds_of_columns(misspelled: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    _, nodes = misspelled
    result = magnet.clean(nodes, detector="zscore")
    assert result.model.verdict_ is None
    assert {name: kind for name, (kind, _) in result.record.roles.items()} == {
        "code": "categorical",
        "city": "categorical",
        "visits": "count",
    }


def test_text_of_the_table_is_escaped_in_notebooks() -> None:
    nodes = pd.DataFrame({"code": ["a", "b"] * 30, "tag": ["<b>one</b>", "<i>two</i>"] * 30})
    nodes.loc[4, "tag"] = "<b>onee</b>"
    result = magnet.clean(nodes)
    assert result.suspicious_cells["row"].tolist() == [4]
    html = result._repr_html_()
    assert "&lt;b&gt;onee&lt;/b&gt;" in html
    assert "<b>" not in html
