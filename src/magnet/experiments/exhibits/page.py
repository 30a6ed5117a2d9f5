"""One page about all exhibits: ``results/README.md``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from magnet.experiments.exhibits.base import Document
from magnet.experiments.exhibits.render import in_words
from magnet.experiments.store import Store
from magnet.files import write_text

BEGIN, END = "<!-- made by magnet reproduce all -->", "<!-- end -->"


def write_page(documents: Sequence[Document], folder: Path, store: str | os.PathLike[str], shown: set[str]) -> Path:
    """Write or renew the list of exhibits in ``README.md``; what stands around the marks is kept. Beside it goes
    ``runs.csv``: the runs that are shown, and all searches."""
    with Store(store, read_only=True) as opened:
        runs = [run for run in opened.runs() if run.key in shown or run.config["kind"] == "search"]
        exported = opened.export(folder / "runs.csv", {run.key for run in runs})
    devices = sorted({str(run.result.get("device")) for run in runs if run.result.get("device")})
    lines = [BEGIN, "", "| exhibit | cells filled | with every repetition | figures |", "|---|---|---|---|"]
    for document in documents:
        cells = [cell for table in document.tables for cell in table.cells]
        possible = [cell for cell in cells if not cell.impossible]
        filled, complete = (sum(getattr(cell, what) for cell in possible) for what in ("filled", "complete"))
        figures = " ".join(f"[{figure.name}]({figure.name}.png)" for figure in document.figures) or "-"
        link = f"[{document.name}]({document.name}.md): {document.title}"
        lines.append(f"| {link} | {filled} of {len(possible)} | {complete} | {figures} |")
    versions = in_words(run.code for run in runs)
    seconds = sum(float(run.result.get("seconds") or 0) for run in runs)
    lines += [
        "",
        f"{exported} finished runs ({seconds / 3600:.1f} hours of computing) on {', '.join(devices) or 'no device'}, "
        f"every one a line of [runs.csv](runs.csv). Result versions: {versions}; every cell uses runs of one "
        "version; superseded runs that no cell uses are omitted. Cells without a number were not run (cells that no "
        "run could fill are not counted: datasets without files, relative scores where nothing was lost).",
        "",
        END,
    ]
    path = folder / "README.md"
    old = path.read_text(encoding="utf-8") if path.is_file() else f"# Results\n\n{BEGIN}\n{END}\n"
    before, _, rest = old.partition(BEGIN)
    _, _, after = rest.partition(END)
    write_text(path, before + "\n".join(lines) + after)
    return path
