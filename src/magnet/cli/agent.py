"""``magnet mcp``: tools for language-model agents over the Model Context Protocol (stdio only).

The server reads tables below one folder and writes one kind of file, a corrected copy of a table, after a call that
repeats the confirmation code of a preview. The code is bound to exactly the changes that were previewed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magnet.cli.check import cell_json
from magnet.cli.errors import USAGE, fail
from magnet.cli.options import Output, command

if TYPE_CHECKING:
    from magnet.clean_result import CleanResult

MOST_CELLS = 200  # cells in one answer
MOST_KEPT = 4  # judged tables that stay in memory

INSTRUCTIONS = """Finds wrong cells in tables (csv, tsv, parquet, graphml, npz, pt,
shop.sqlite::table), with or without links between rows.
Call describe_table, then find_suspicious_cells, then explain_cell for what matters. A listed cell is suspicious, not
proven wrong: ask the user about doubtful ones. apply_decisions previews first; it writes a new file only when called
again with the confirmation code of the preview, after the user agreed. The table itself is never changed."""


@command
def mcp(
    out: Output,
    folder: Annotated[Path, typer.Argument(help="Folder whose tables may be read; nothing outside it is accessible.")],
) -> None:
    """Serve tools for agents on standard input and output (Model Context Protocol)."""
    if not folder.is_dir():
        fail(f"{folder} is not a folder", USAGE)
    if out.as_json:
        out.result({"mcpServers": {"magnet": {"command": "magnet", "args": ["mcp", str(folder.resolve())]}}})
        return
    level = "ERROR" if out.quiet else "INFO" if out.verbose else "WARNING"
    make_server(Workspace(folder), level).run("stdio")


def make_server(workspace: Workspace, log_level: str = "WARNING") -> Any:
    """An MCP server whose tools are the methods of ``workspace``; log messages go to standard error."""
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.types import ToolAnnotations
    except ImportError:
        raise ImportError("magnet mcp needs the package mcp: pip install 'magnet-gnn[agent]'") from None
    from functools import wraps

    from magnet import __version__
    from magnet.tables.errors import BadTable

    def answering(tool: Any) -> Any:
        """The tool, with user errors returned as answers."""

        @wraps(tool)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return tool(*args, **kwargs)
            except (ValueError, OSError, BadTable, MemoryError) as error:
                raise ToolError(str(error)) from None

        return call

    server = MCPServer("magnet", instructions=INSTRUCTIONS, version=__version__, log_level=log_level)
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    writes = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
    for tool in (workspace.describe_table, workspace.find_suspicious_cells, workspace.explain_cell):
        server.add_tool(answering(tool), annotations=reads)
    server.add_tool(answering(workspace.apply_decisions), annotations=writes)
    return server


class Workspace:
    """What an agent can do with the tables below a folder.

    Args:
        folder: nothing outside it is read or written, also not through links.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._secret = secrets.token_bytes(32)
        self._kept: OrderedDict[tuple[str, ...], CleanResult] = OrderedDict()

    def describe_table(self, nodes: str, edges: str | None = None) -> dict[str, Any]:
        """Read a table and describe the roles of its columns, which of them can be judged, and its links.

        Args:
            nodes: path of the table, relative to the served folder.
            edges: path of a table with two columns of row ids, if rows are linked.
        """
        from magnet import tables
        from magnet.tables.posterior import infer_roles

        table = tables.read(self._inside(nodes), self._inside(edges) if edges else None)
        return {
            "rows": table.num_nodes,
            "columns": [
                {"name": name, "kind": role.name, "judged": name not in table.left_alone, "why": role.note}
                for name, role in infer_roles(table.text_columns(), table.roles).items()
            ],
            "links": table.links.kind,
            "facts": {name: str(value) for name, value in {**table.facts, **table.links.facts}.items()},
        }

    def find_suspicious_cells(
        self,
        nodes: str,
        edges: str | None = None,
        column: str | None = None,
        min_probability: float = 0.5,
        offset: int = 0,
        limit: int = 50,
    ) -> dict[str, Any]:
        """List cells that look wrong, the most probable first, with a suggested value and a reason for each.

        Args:
            nodes: path of the table, relative to the served folder.
            edges: path of the links between rows, if there are any.
            column: only cells of this column.
            min_probability: leave out cells that are wrong with a smaller probability.
            offset: how many cells to skip, to page through a long list.
            limit: how many cells to return, at most 200.
        """
        result = self._judged(nodes, edges)
        cells = result.suspicious_cells
        cells = cells[cells["probability"] >= min_probability]
        if column is not None:
            if column not in result.record.roles:
                raise ValueError(f"the table has no column {column!r}")
            cells = cells[cells["column"] == column]
        shown = cells.iloc[max(0, offset) : max(0, offset) + min(max(1, limit), MOST_CELLS)]
        return {
            "matching": len(cells),
            "judged_cells": result.table.num_nodes * len(result.record.judged),
            "not_judged": dict(result.record.not_judged),
            "cells": [cell_json(line) for line in shown.itertuples(index=False)],
        }

    def explain_cell(self, nodes: str, row: int, column: str, edges: str | None = None) -> dict[str, Any]:
        """Explain why a cell looks wrong or right: its whole row, the suggestion, and the values of linked rows.

        Args:
            nodes: path of the table, relative to the served folder.
            row: number of the data row, counted from 0.
            column: name of the column.
            edges: path of the links between rows, if there are any.
        """
        from magnet.tables.values import json_value

        result = self._judged(nodes, edges)
        frame, cells = result.table.frame, result.suspicious_cells
        if column not in frame.columns:
            raise ValueError(f"the table has no column {column!r}")
        if not 0 <= row < len(frame):
            raise ValueError(f"row is {row}; the table has rows 0 to {len(frame) - 1}")
        listed = cells[(cells["row"] == row) & (cells["column"] == column)]
        ends = result.table.links.edge_index
        around = ends[1][ends[0] == row].tolist() if result.table.links.kind == "given" else []
        return {
            "suspicious": len(listed) > 0,
            "cell": cell_json(next(listed.itertuples(index=False))) if len(listed) else None,
            "row": {str(name): json_value(value) for name, value in frame.iloc[row].items()},
            "linked_rows": [{"row": k, "value": json_value(frame[column].iloc[k])} for k in around[:24]],
        }

    def apply_decisions(
        self, nodes: str, output: str, decisions: list[dict[str, Any]], edges: str | None = None, confirm: str = ""
    ) -> dict[str, Any]:
        """Write a copy of the table with accepted changes. Without `confirm` it only previews them and returns a code;
        called again with the same arguments and that code, it writes. Show the preview to the user first.

        Args:
            nodes: path of the table, relative to the served folder.
            output: path of the new file, below the served folder; it must not exist.
            decisions: the cells to change: objects with `row`, `column` and, to write something else than the
                suggestion, `value`.
            edges: path of the links between rows, if there are any.
            confirm: the code that the preview returned.
        """
        from magnet.cli.apply import accepted
        from magnet.files import complete_or_absent, sha256_of
        from magnet.tables.readers.database import file_of
        from magnet.tables.readers.read import read_nodes
        from magnet.tables.values import json_value

        path, target = self._inside(nodes), self._inside(output, new=True)
        suffix = file_of(path).suffix
        if target.suffix.lower() != suffix.lower():
            raise ValueError(f"{output}: the output must be a {suffix} file, like the table")
        cells = self._with_suggestions(nodes, edges, decisions)
        source, _ = read_nodes(path)
        changes = accepted(cells, source, "decisions")
        preview = [
            {**cell, "observed": json_value(source.frame[cell["column"]].iloc[cell["row"]]), "accept": True}
            for cell in cells
        ]
        plan = json.dumps([sha256_of(file_of(path)), str(target), preview], sort_keys=True, default=str)
        code = hmac.new(self._secret, plan.encode(), hashlib.sha256).hexdigest()[:12]
        if not confirm:
            return {"written": None, "changes": preview, "confirm": code}
        if not hmac.compare_digest(confirm.encode(), code.encode()):
            raise ValueError("confirm does not match this preview; call without it, show the preview, then repeat")
        with complete_or_absent(target) as part:
            source.write(part, changes)
        return {"written": output, "changes": preview, "confirm": code}

    def _with_suggestions(self, nodes: str, edges: str | None, decisions: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Decisions in the form of a decisions file, with suggested values where none was given."""
        from magnet.tables.values import json_value

        suggested: dict[tuple[int, str], Any] = {}
        if any("value" not in decision for decision in decisions):
            listed = self._judged(nodes, edges).suspicious_cells
            keys = zip(listed["row"].tolist(), listed["column"].tolist(), strict=True)
            suggested = dict(zip(keys, listed["suggested"].tolist(), strict=True))
        cells = []
        for number, decision in enumerate(decisions):
            key = (decision.get("row"), decision.get("column"))
            if "value" not in decision and key not in suggested:
                raise ValueError(
                    f"decision {number + 1}: nothing is suggested for row {key[0]}, {key[1]}; give a value"
                )
            value = json_value(decision["value"] if "value" in decision else suggested[key])  # type: ignore[index]
            cells.append({"row": key[0], "column": key[1], "suggested": value, "accept": True})
        return cells

    def _inside(self, name: str, new: bool = False) -> Path:
        """A path inside the served folder; errors do not reveal whether files outside it exist."""
        from magnet.tables.readers.database import SEPARATOR

        name, mark, table = name.partition(SEPARATOR)
        path = (self.folder / name).resolve()
        if not path.is_relative_to(self.folder):
            raise ValueError(f"{name} lies outside the served folder")
        if new and path.exists():
            raise ValueError(f"{name} exists; choose another name")
        if new and not path.parent.is_dir():
            raise ValueError(f"{name}: its folder does not exist")
        if not new and not path.is_file():
            raise ValueError(f"{name} does not exist in the served folder")
        return Path(f"{path}{mark}{table}")

    def _judged(self, nodes: str, edges: str | None) -> CleanResult:
        """A judged table, from memory if the files are the same."""
        from magnet import tables
        from magnet.clean_result import CleanResult
        from magnet.cleaner import Cleaner
        from magnet.files import sha256_of
        from magnet.tables.readers.database import file_of

        paths = [self._inside(nodes), *([self._inside(edges)] if edges else [])]
        key = tuple(f"{path}:{sha256_of(file_of(path))}" for path in paths)
        if key not in self._kept:
            table = tables.read(*paths)
            self._kept[key] = CleanResult(table, Cleaner(fix="none").fit(table))
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]
