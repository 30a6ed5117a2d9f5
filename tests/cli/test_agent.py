"""``magnet mcp`` with a real client of the official package, over pipes."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from magnet.cli import app
from magnet.cli.agent import Workspace

pytest.importorskip("mcp")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A served folder with a table of which one cell is wrong, beside a table that is not served."""
    where = tmp_path_factory.mktemp("agent")
    rng = np.random.default_rng(0)
    smooth = 20 + 5 * np.sin(np.arange(150) / 12)
    nodes = pd.DataFrame(
        {"id": [f"s{k}" for k in range(150)], "reading": np.round(smooth + rng.normal(0, 0.3, 150), 2)}
    )
    nodes["level"] = np.round(2 * smooth + rng.normal(0, 0.5, 150), 2)
    nodes.loc[7, "reading"] = 900.0
    (where / "served").mkdir()
    nodes.to_csv(where / "served/nodes.csv", index=False)
    nodes.to_csv(where / "secret.csv", index=False)
    (where / "served/way-out.csv").symlink_to(where / "secret.csv")
    ends = pd.DataFrame({"source": nodes["id"], "target": np.roll(nodes["id"], 1)})
    ends.to_csv(where / "served/edges.csv", index=False)
    return where


def test_a_client_describes_finds_explains_and_applies(folder: Path) -> None:
    import anyio
    from mcp import Client, StdioServerParameters

    served = folder / "served"
    source = str(Path(__file__).resolve().parents[2] / "src")
    environment = {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1"}
    server = StdioServerParameters(command=sys.executable, args=["-m", "magnet", "mcp", str(served)], env=environment)

    async def talk() -> None:
        async with Client(server) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(tools) == {"describe_table", "find_suspicious_cells", "explain_cell", "apply_decisions"}
            assert [name for name, tool in tools.items() if not tool.annotations.read_only_hint] == ["apply_decisions"]

            async def call(name: str, **arguments: Any) -> Any:
                answer = await client.call_tool(name, arguments)
                return answer.content[0].text if answer.is_error else answer.structured_content

            table = {"nodes": "nodes.csv", "edges": "edges.csv"}
            described = await call("describe_table", **table)
            assert described["rows"] == 150
            assert described["links"] == "given"
            assert {c["name"]: c["kind"] for c in described["columns"]}["reading"] == "quantity"

            found = await call("find_suspicious_cells", **table)
            assert [(cell["row"], cell["column"]) for cell in found["cells"]] == [(7, "reading")]
            explained = await call("explain_cell", row=7, column="reading", **table)
            assert explained["suspicious"]
            assert {line["row"] for line in explained["linked_rows"]} == {6, 8}
            assert (await call("explain_cell", row=9, column="level", **table))["cell"] is None

            decision = {"decisions": [{"row": 7, "column": "reading"}], "output": "fixed.csv", **table}
            preview = await call("apply_decisions", **decision)
            assert preview["written"] is None
            assert not (served / "fixed.csv").exists()
            assert "does not match this preview" in await call("apply_decisions", confirm="0" * 12, **decision)
            other = {**decision, "decisions": [{"row": 8, "column": "reading", "value": "1"}]}
            assert "does not match this preview" in await call("apply_decisions", confirm=preview["confirm"], **other)
            assert not (served / "fixed.csv").exists()
            assert (await call("apply_decisions", confirm=preview["confirm"], **decision))["written"] == "fixed.csv"
            assert "exists; choose another name" in await call("apply_decisions", **decision)

            for name in ("../secret.csv", str(folder / "secret.csv"), "way-out.csv"):
                assert "outside the served folder" in await call("describe_table", nodes=name)
            assert "does not exist" in await call("describe_table", nodes="gone.csv")

    with ThreadPoolExecutor(1) as pool:  # a thread without the event loop that a browser test may have left
        pool.submit(anyio.run, talk).result()
    old, new = (pd.read_csv(served / name) for name in ("nodes.csv", "fixed.csv"))
    changed = np.argwhere((old != new).to_numpy())
    assert changed.tolist() == [[7, 1]]
    assert 10 < new.loc[7, "reading"] < 30


def test_nothing_is_written_outside_the_folder(folder: Path) -> None:
    workspace = Workspace(folder / "served")
    for output in ("../new.csv", str(folder / "new.csv"), "nodes.csv", "no/such/folder.csv", "new.parquet"):
        with pytest.raises(ValueError, match=r"outside|exists|its folder|must be a .csv file"):
            workspace.apply_decisions("nodes.csv", output, [{"row": 1, "column": "reading", "value": "3"}])
    with pytest.raises(ValueError, match="the table has no column"):
        workspace.apply_decisions("nodes.csv", "new.csv", [{"row": 1, "column": "gone", "value": "3"}])
    with pytest.raises(ValueError, match="rows 0 to 149"):
        workspace.explain_cell("nodes.csv", 150, "reading")
    assert sorted(path.name for path in folder.iterdir()) == ["secret.csv", "served"]


def test_a_missing_package_or_folder_is_reported_in_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = CliRunner().invoke(app, ["mcp", str(folder / "gone")])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    result = CliRunner().invoke(app, ["mcp", str(folder)])
    assert result.exit_code == 1
    assert "pip install 'magnet-gnn[agent]'" in result.stderr
