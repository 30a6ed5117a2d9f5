"""The folder of a cleaning run: the cleaned table, the suspicious cells, the report, and how it was made."""

from __future__ import annotations

import json
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from magnet import __version__
from magnet.cleaner import CleanResult
from magnet.report.page import write_report
from magnet.tables.cells import changes_of
from magnet.tables.write import whole_folder, write_cells

PACKAGES = ("torch", "torch_geometric", "numpy", "scipy", "pandas", "scikit-learn", "pyarrow")


def write_folder(result: CleanResult, target: Path, run: dict[str, Any], force: bool = False) -> list[Path]:
    """Write ``cleaned.*``, ``suspicious_cells.csv``, ``report.html`` and ``run.json`` into ``target``, all or none.

    Args:
        result: what was found.
        target: the folder; it must be new or empty unless ``force``.
        run: how it was made, for the report and ``run.json``: ``title``, ``command``, ``nodes``, ``sha256``,
            ``encoding``, ``settings``, ``inputs``.
    """
    source = result.table.source
    assert source is not None
    name = f"cleaned{source.suffix}"
    with whole_folder(target, force) as work:
        source.write(work / name, changes_of(result.suspicious_cells))
        write_cells(result.suspicious_cells, work / "suspicious_cells.csv")
        write_report(result, work / "report.html", run)
        text = json.dumps(_record(result, run), indent=1, ensure_ascii=False, default=str)
        (work / "run.json").write_text(text + "\n", encoding="utf-8", errors="replace")
    return targets(target, source.suffix)


def targets(folder: Path, suffix: str) -> list[Path]:
    """The files that :func:`write_folder` writes for a table of a file with this suffix."""
    return [folder / name for name in (f"cleaned{suffix}", "suspicious_cells.csv", "report.html", "run.json")]


def _record(result: CleanResult, run: dict[str, Any]) -> dict[str, Any]:
    gate = result.model.gate_
    return {
        "magnet": __version__,
        "command": run.get("command"),
        "settings": run.get("settings"),
        "inputs": run.get("inputs"),
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        "table": {**result.table.facts, **result.table.links.facts, "links": result.table.links.kind},
        "columns": {f.name: f.kind for f in result.table.fields},
        "counts": result.counts,
        "share": result.model.share_,
        "threshold": getattr(result.model.detector_, "threshold_", 0.5),
        "gate": None if gate is None else {"open": gate.open, "power": gate.power, "reason": gate.reason},
        "seconds": run.get("seconds"),
    }


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
