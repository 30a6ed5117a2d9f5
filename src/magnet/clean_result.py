"""``clean``: wrong cells of data frames, found and repaired in one call."""

from __future__ import annotations

import html
import inspect
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from magnet import tables
from magnet.checks import unknown
from magnet.cleaner import Cleaner
from magnet.tables.frames import native_frame, to_edges, to_pandas
from magnet.tables.review import CleaningRecord, Fix, changes_of

SHOWN_CELLS = 20  # suspicious cells that a notebook shows


@dataclass(frozen=True, eq=False)
class CleanResult:
    """A cleaned table.

    Args:
        table: the input table.
        model: the fitted cleaner.
        native: the original frame if it is not a pandas frame.
    """

    table: tables.Table
    model: Cleaner
    native: Any = None

    @cached_property
    def cleaned(self) -> Any:
        """The table with the changes made: same kind of frame, columns, order, types and index."""
        changes = changes_of(self.table, self.suspicious_cells)
        if self.native is not None:
            return native_frame(self.native, changes)
        return self.table.changed(changes)

    @cached_property
    def suspicious_cells(self) -> pd.DataFrame:
        """One line per suspicious cell: node, column, observed, suggested, action, score, probability, reason, row,
        kind."""
        return self.model.suspicious_cells()

    @property
    def counts(self) -> dict[str, int]:
        """Number of cells that were corrected, filled and kept."""
        return self.record.counts

    @cached_property
    def record(self) -> CleaningRecord:
        """Content of the report: suspicious cells, column roles, and what was not judged."""
        verdict, fields = self.model.verdict_, self.table.fields
        if verdict is None:
            roles: dict[str, tuple[str, str]] = {f.name: (f.kind, f.note) for f in fields}
            not_judged = {f.name: f.note or f.kind for f in fields if not f.used}
            return CleaningRecord(self.table, self.suspicious_cells, roles, not_judged)
        alone = self.table.left_alone
        described = {name: (role.name, role.note) for name, role in verdict.roles.items()}
        roles = {f.name: ("other", "") if f.name in alone else described[f.name] for f in fields}
        not_judged = {**alone, **verdict.not_judged}
        more = (verdict.judged_in_part, verdict.repeated_rows, verdict.repeated_keys)
        return CleaningRecord(self.table, self.suspicious_cells, roles, not_judged, *more)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the report, one HTML page that works offline."""
        from magnet.report import write_report

        return write_report(self.record, Path(path))

    def __repr__(self) -> str:
        counts = ", ".join(f"{number} {name}" for name, number in self.counts.items())
        return f"CleanResult({self.table}: {counts})"

    def _repr_html_(self) -> str:
        first = self.suspicious_cells.drop(columns=["row"]).head(SHOWN_CELLS)
        style = {"score": "{:.3g}".format, "probability": "{:.2f}".format}
        return f"<p>{html.escape(repr(self))}</p>" + first.to_html(index=False, escape=True, formatters=style)


def clean(
    nodes: Any,
    edges: Any = None,
    *,
    id: str | None = None,
    label: str | None = None,
    trusted: Any = None,
    detector: Any = "auto",
    fix: Fix = "confident",
    fill: bool = False,
    link_by: str | Sequence[str] = (),
    rules: str | Sequence[Any] = (),
    columns: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] | None = None,
    seed: int = 0,
    reading: dict[str, Any] | None = None,
    **settings: Any,
) -> CleanResult:
    """Find and repair wrong cells of a table.

    Args:
        nodes: table with one row per record: a pandas or polars frame, any other eager frame supported by narwhals, or
            an object with ``__arrow_c_stream__``, such as a Hugging Face ``Dataset`` (``cleaned`` is an Arrow table).
        edges: two columns of row ids and optionally a weight; or a networkx graph of the ids; or a scipy
            sparse matrix over the rows. (default: none)
        id: the column of ``nodes`` with the row ids. (default: detected)
        label: a column that is never changed.
        trusted: bool data frame or array ``[n, columns]``, or ``[n]`` for rows: ``True`` where known to be correct.
        detector: see :class:`MAGnet`. (default: ``"auto"``)
        fix: ``"none"``, ``"confident"`` or ``"all"``; see :class:`MAGnet`. (default: ``"confident"``)
        fill: write suggestions into blanks. (default: ``False``)
        link_by: a column, or columns, whose equal values link rows. (default: none; dependencies are discovered)
        rules: known dependencies, one or several, such as ``"zip -> city"``. (default: none)
        columns: judge only this column, or these. (default: all that can be)
        exclude: a column, or columns, that are not judged. (default: none)
        seed: random seed. (default: ``0``)
        reading: further arguments of :func:`magnet.tables.from_frames` (``source``, ``override`` ...).
        settings: further arguments of :class:`MAGnet`.

    Example:
        >>> sizes = pd.DataFrame({"state": ["Ohio"] * 20 + ["Iowa"] * 20, "code": ["OH"] * 20 + ["IA"] * 20})
        >>> sizes.loc[3, "state"] = "Ohoi"
        >>> clean(sizes).cleaned.loc[3, "state"]
        'Ohio'
    """
    from magnet.estimator import MAGnet  # with scikit-learn, which the command line does not wait for

    known = dict.fromkeys([*inspect.signature(clean).parameters, *inspect.signature(MAGnet).parameters])
    absent = next((name for name in settings if name not in known), None)
    if absent is not None:
        raise TypeError(str(unknown("argument of magnet.clean", absent, known)))
    frame = to_pandas(nodes)
    chosen: dict[str, Any] = {"columns": columns, "exclude": exclude}
    table = tables.from_frames(frame, to_edges(edges), id=id, label=label, **chosen, **(reading or {}))
    model = MAGnet(detector, fix=fix, fill=fill, link_by=link_by, rules=rules, seed=seed, **settings)
    return CleanResult(table, model.fit(table, trusted=trusted), None if frame is nodes else nodes)
