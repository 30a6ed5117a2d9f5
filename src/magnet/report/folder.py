"""The folder of a cleaning run: the cleaned table, the suspicious cells, the report, and how it was made."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

from magnet import __version__
from magnet.files import package_version
from magnet.report.page import write_report
from magnet.tables.review import CleaningRecord, changes_of
from magnet.tables.write import whole_folder, write_cells

PACKAGES = ("torch", "torch_geometric", "numpy", "scipy", "pandas", "scikit-learn", "pyarrow")


def write_folder(record: CleaningRecord, target: Path, run: dict[str, Any], force: bool = False) -> list[Path]:
    """Write ``cleaned.*``, ``suspicious_cells.csv``, ``report.html`` and ``run.json`` into ``target``, all or none.

    Args:
        record: the cleaning record.
        target: the folder; it must be new or empty unless ``force``.
        run: how it was made, for the report and ``run.json``: ``title``, ``command``, ``nodes``, ``sha256``,
            ``encoding``, ``settings``, ``inputs``.
        force: replace files of an earlier run. (default: ``False``)
    """
    source = record.table.source
    assert source is not None
    name = f"cleaned{source.suffix}"
    with whole_folder(target, force) as work:
        source.write(work / name, changes_of(record.table, record.cells))
        write_cells(record.cells, work / "suspicious_cells.csv")
        write_report(record, work / "report.html", run)
        text = json.dumps(_run_record(record, run), indent=1, ensure_ascii=False, default=str)
        (work / "run.json").write_text(text + "\n", encoding="utf-8", errors="replace")
    return targets(target, source.suffix)


def targets(folder: Path, suffix: str) -> list[Path]:
    """The files that :func:`write_folder` writes for a table of a file with this suffix."""
    return [folder / name for name in (f"cleaned{suffix}", "suspicious_cells.csv", "report.html", "run.json")]


def _run_record(record: CleaningRecord, run: dict[str, Any]) -> dict[str, Any]:
    table = record.table
    return {
        "magnet": __version__,
        "command": run.get("command"),
        "settings": run.get("settings"),
        "inputs": run.get("inputs"),
        "versions": {"python": platform.python_version(), **{name: package_version(name) for name in PACKAGES}},
        "table": {**table.facts, **table.links.facts, "links": table.links.kind},
        "columns": {name: role for name, (role, _) in record.roles.items()},
        "not_judged": dict(record.not_judged),
        "judged_in_part": dict(record.judged_in_part),
        "counts": record.counts,
        "share": float(record.cells["row"].nunique() / max(1, table.num_nodes)),
        "limits": record.limits(),
        "seconds": run.get("seconds"),
    }
