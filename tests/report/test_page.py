from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from magnet import tables
from magnet.report import render, write_report
from magnet.tables.review import CleaningRecord

Make = Callable[..., CleaningRecord]


@pytest.fixture(scope="module")
def record(make_record: Make) -> CleaningRecord:
    rng = np.random.default_rng(0)
    ages = [f"{age:.1f}" for age in rng.normal(40, 3, 60)]
    nodes = pd.DataFrame({"id": [f"n{k}" for k in range(60)], "age": ages, "kind": ["a", "b", "c"] * 20})
    nodes.loc[0, "id"] = "</script><b>{{data}}"
    nodes.loc[5, "age"] = "400.0"
    edges = pd.DataFrame({"source": nodes["id"], "target": np.roll(nodes["id"], 3)})
    table = tables.from_frames(nodes, edges, id="id")
    found = [(5, "age", "40.0", 0.99, 0.95), (0, "age", None, 0.7, 0.0), (7, "kind", "c", 0.6, 0.6)]
    return make_record(table, found)


def content(page: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found[1])


def test_the_page_is_one_file_that_loads_nothing(record: CleaningRecord, tmp_path: Path) -> None:
    page = write_report(record, tmp_path / "new" / "r.html").read_text(encoding="utf-8")
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    script = re.search(r"<script>(.*?)</script>", page, re.S)
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert "default-src 'none'" in page
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["r.html"]


def test_data_cannot_leave_their_element(record: CleaningRecord, tmp_path: Path) -> None:
    page = write_report(record, tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.count("</script>") == 2
    cells = content(page)["cells"]
    assert "</script><b>{{data}}" in cells["node"]


def test_counts_agree_with_the_list(record: CleaningRecord, tmp_path: Path) -> None:
    data = content(write_report(record, tmp_path / "r.html").read_text(encoding="utf-8"))
    assert len(data["cells"]["row"]) == len(record.cells) == 3
    assert data["above"][50] == 2  # one of the three has no suggestion that could be accepted
    assert data["above"][61] == 1
    assert sum(data["histogram"]) == 3
    tiles = {label: value for value, label in data["tiles"]}
    assert tiles["corrected"] == record.counts["corrected"] == 1
    place = data["cells"]["row"].index(5)
    ages = record.table.frame["age"]
    assert sorted(data["neighbors"][place][0]) == sorted([ages[2], ages[8]])
    assert data["errors"][0][:4] == ["age", "typo", 2, 1]
    assert data["notes"][0].startswith("Not judged: column 'id'")


def test_nan_and_infinity_never_reach_the_page() -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        render({"a": float("nan")})
