"""What ``magnet.clean`` returns."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import magnet
from magnet.cli import app
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


def test_a_result_can_be_pickled(misspelled: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    result = magnet.clean(misspelled[1])
    assert len(result.cleaned) == len(pickle.loads(pickle.dumps(result)).cleaned)


def test_a_report_without_findings_says_that_this_is_no_proof(tmp_path: Path) -> None:
    result = magnet.clean(pd.DataFrame({"state": ["Ohio", "Iowa"] * 20}))
    assert len(result.suspicious_cells) == 0
    assert "This does not prove that the table is clean." in result.report(tmp_path / "report.html").read_text()


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


@pytest.mark.parametrize("kind", ["float64", "float32", "Float64", "Int64", "double[pyarrow]", "object"])
def test_codes_for_missing_numbers_become_the_null_of_their_column(kind: str) -> None:
    numbers = _with_sentinels()
    nodes = pd.DataFrame({"id": range(300), "t": pd.array(numbers, dtype=kind)})
    cleaned = magnet.clean(nodes).cleaned["t"]
    assert cleaned.isna().to_numpy().nonzero()[0].tolist() == [0, 1, 2, 3]
    assert cleaned.dtype == nodes["t"].dtype
    assert cleaned[4:].tolist() == nodes["t"][4:].tolist()


def test_a_column_without_a_null_keeps_its_codes() -> None:
    nodes = pd.DataFrame({"id": range(300), "t": _with_sentinels()})
    result = magnet.clean(nodes)
    assert result.suspicious_cells["row"].tolist() == [0, 1, 2, 3]
    assert result.counts["kept"] == 4
    pd.testing.assert_frame_equal(result.cleaned, nodes)


def test_codes_for_missing_numbers_in_parquet_and_polars(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    nodes = pd.DataFrame({"id": range(300), "t": _with_sentinels(), "u": _with_sentinels().astype(float)})
    nodes.to_parquet(tmp_path / "nodes.parquet")
    arguments = ["clean", str(tmp_path / "nodes.parquet"), "-o", str(tmp_path / "out"), "-q"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    written = pd.read_parquet(tmp_path / "out" / "cleaned.parquet")
    assert written[["t", "u"]].isna().sum().tolist() == [4, 4]
    assert magnet.clean(polars.from_pandas(nodes)).cleaned["u"].null_count() == 4


def _with_sentinels() -> np.ndarray:
    """Whole numbers of which four stand for a missing value."""
    numbers = np.random.default_rng(0).normal(20, 3, 300).round().astype(int)
    numbers[:4] = -999
    return numbers


def test_an_unknown_argument_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(TypeError, match=r"unknown argument of magnet.clean 'link'; did you mean 'link_by'\?"):
        magnet.clean(pd.DataFrame({"a": [1, 2]}), link="a")
