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
    assert "</script><b>{{data}}" in cells["node"]  # type: ignore[index]


def test_counts_agree_with_the_list(result: CleanResult, tmp_path: Path) -> None:
    data = content(result.report(tmp_path / "r.html").read_text(encoding="utf-8"))
    cells = result.suspicious_cells
    assert len(data["cells"]["row"]) == len(cells) == 3  # type: ignore[index]
    assert data["above"][50] == int((cells["probability"] > 0.5).sum())  # type: ignore[index]
    assert sum(data["histogram"]) == 120  # type: ignore[call-overload]
    tiles = {label: value for value, label in data["tiles"]}  # type: ignore[attr-defined]
    assert tiles["corrected"] == result.counts["corrected"]
    place = data["cells"]["row"].index(5)  # type: ignore[index]
    neighbours = data["neighbours"][place]  # type: ignore[index]
    ages = result.table.frame["age"]
    assert sorted(neighbours[0]) == pytest.approx(sorted([ages[2], ages[8]]), rel=1e-3)


def test_nan_and_infinity_never_reach_the_page() -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        render({"a": float("nan")})
