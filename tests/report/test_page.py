from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from magnet import MAGnet, tables
from magnet.cleaner import CleanResult
from magnet.report import render
from magnet.report.payload import payload


@pytest.fixture(scope="module")
def result() -> CleanResult:
    rng = np.random.default_rng(0)
    nodes = pd.DataFrame(
        {"id": [f"n{k}" for k in range(60)], "age": rng.normal(40, 3, 60), "kind": ["a", "b", "c"] * 20}
    )
    nodes.loc[0, "id"] = "</script><b>{{data}}"
    nodes.loc[5, "age"] = 400.0
    edges = pd.DataFrame({"source": nodes["id"], "target": np.roll(nodes["id"], 3)})
    table = tables.from_frames(nodes, edges, id="id")
    trust = torch.ones(60, 4)
    trust[5, 0] = trust[0, 0] = 0.0
    trust[7, 1:] = 0.4
    return CleanResult(table, MAGnet(trust).fit(table))


def content(page: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found[1])


def test_the_page_is_one_file_that_loads_nothing(result: CleanResult, tmp_path: Path) -> None:
    page = result.report(tmp_path / "new" / "r.html").read_text(encoding="utf-8")
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    script = re.search(r"<script>(.*?)</script>", page, re.S)
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert "default-src 'none'" in page
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["r.html"]


def test_data_cannot_leave_their_element(result: CleanResult, tmp_path: Path) -> None:
    page = result.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.count("</script>") == 2
    cells = content(page)["cells"]
    assert "</script><b>{{data}}" in cells["node"]


def test_counts_agree_with_the_list(result: CleanResult, tmp_path: Path) -> None:
    data = content(result.report(tmp_path / "r.html").read_text(encoding="utf-8"))
    cells = result.suspicious_cells
    assert len(data["cells"]["row"]) == len(cells) == 3
    assert data["above"][50] == int((cells["probability"] > 0.5).sum())
    assert sum(data["histogram"]) == 120  # type: ignore[call-overload]
    tiles = {label: value for value, label in data["tiles"]}  # type: ignore[attr-defined]
    assert tiles["corrected"] == result.counts["corrected"]
    place = data["cells"]["row"].index(5)
    neighbours = data["neighbours"][place]
    ages = result.table.frame["age"]
    assert sorted(neighbours[0]) == pytest.approx(sorted([ages[2], ages[8]]), rel=1e-3)


def test_nan_and_infinity_never_reach_the_page() -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        render({"a": float("nan")})


def test_the_slider_counts_the_cells_that_the_list_shows() -> None:
    """Also those whose probability is a hair above a step of the slider."""
    rng = np.random.default_rng(0)
    nodes = pd.DataFrame({"id": np.arange(300)} | {name: rng.normal(size=300) for name in "abcd"})
    table = tables.from_frames(nodes, pd.DataFrame({"u": np.arange(300), "v": np.roll(np.arange(300), 1)}), id="id")
    trust = torch.from_numpy(0.5 + 0.2 * rng.normal(size=(300, 4))).clamp(0, 1).float()
    trust[0], trust[1, 0] = 0.49996, 0.0
    result = CleanResult(table, MAGnet(trust).fit(table))
    data = payload(result)
    listed = np.array(data["cells"]["probability"])
    for step in range(26, 101):
        assert data["above"][step] == (listed > step / 100).sum()
    assert data["above"][50] == data["tiles"][0][0]
