"""Tables judged as graphs: the detectors of node features, asked about the cells of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from magnet import detection
from magnet.arrays import Bools
from magnet.features import FeatureVerdict, judge_features, recover_features
from magnet.tables.encoding import Encoded, as_graph, encode, with_nearest_links
from magnet.tables.fields import Field, numbers
from magnet.tables.findings import CellFinding
from magnet.tables.suggest import suggest
from magnet.tables.table import Table
from magnet.tables.values import cell_text

NEAREST = 10  # rows that each row of a table without links is linked to, as in PyG's KNNGraph examples


@dataclass(frozen=True, eq=False)
class GraphJudgment:
    """The verdict of a graph detector on a table.

    Args:
        findings: the cells judged wrong, with suggestions; and every blank.
        verdict: the detector's own verdict on the encoded features.
        fields: the columns that were judged.
        recovered: ``[n, encoded columns]``, the suggested features.
    """

    findings: list[CellFinding]
    verdict: FeatureVerdict
    fields: tuple[Field, ...]
    recovered: Tensor


def judge_as_graph(
    table: Table,
    detector: Any,
    *,
    recovery: str = "auto",
    options: dict[str, Any] | None = None,
    trusted: NDArray[np.bool_] | None = None,
    reference: Any = None,
    fields: tuple[Field, ...] | None = None,
    cluster: str | None = None,
) -> GraphJudgment:
    """Judge the columns that can be encoded as features by a detector, or by a given trust matrix.

    Args:
        table: the table; without links its rows are linked to those most like them.
        detector: a detector, or a trust matrix ``[n, encoded columns]`` or ``[n]``.
        recovery: where suggestions come from: ``"regression"`` on the neighbors and the rest of the row,
            ``"propagate"`` or ``"framelet"``. (default: ``"auto"``, which is regression)
        options: further arguments of :func:`magnet.propagate` or :func:`magnet.recover`.
        trusted: bool ``[n, columns]``, cells known to be right.
        reference: a fitted detector whose scales and thresholds are used.
        fields: the code of another table's columns. (default: this table's own)
        cluster: work on ranges of features as tasks of this Ray cluster. (default: none)
    """
    table = with_nearest_links(table, NEAREST)
    encoded = encode(table, fields)
    data = as_graph(table, encoded)
    if trusted is not None:
        place = {f.name: k for k, f in enumerate(table.fields)}
        trusted = encoded.per_column(trusted[:, [place[f.name] for f in encoded.fields]])
    verdict = judge_features(data, detector, encoded.columns, trusted, reference, cluster)
    graph = data.edge_index
    trust = verdict.trust.cpu()
    if recovery in ("auto", "regression"):
        # links to the nearest rows were made from the very cells that are judged
        recovered = suggest(encoded.x, (trust > 0.5).float(), graph, encoded.columns, not data.edges_from_rows)
    else:
        recovered = recover_features(encoded.x, trust, graph, recovery, options, cluster)  # type: ignore[arg-type]
    flagged, probability = (
        encoded.per_field(values.cpu().numpy()) for values in (verdict.flagged, verdict.probability.to_dense())
    )
    cells = flagged | encoded.unreadable | encoded.missing
    findings = _findings(table, encoded, cells, probability, recovered)
    return GraphJudgment(findings, verdict, encoded.fields, recovered)


def _findings(table: Table, encoded: Encoded, cells: Bools, probability: Any, recovered: Tensor) -> list[CellFinding]:
    """Some cells ``[n, fields]``, each with a suggestion."""
    found: list[CellFinding] = []
    for k, (f, column) in enumerate(zip(encoded.fields, encoded.columns, strict=True)):
        missing, unreadable = encoded.missing[:, k], encoded.unreadable[:, k]
        rows = np.flatnonzero(cells[:, k])
        if not rows.size:
            continue
        # a blank should hold a value as often as the other cells of its column do
        filled = 1 - float(missing.mean())
        suggested = [cell_text(value) for value in f.decode(recovered[rows, column.start : column.stop].numpy())]
        for row, value in zip(rows.tolist(), suggested, strict=True):
            seen = cell_text(table.column(f.name).iloc[row])
            if missing[row]:
                found.append(
                    CellFinding(row, f.name, seen, value, filled, 0.0, "missing", f"expected {value}, but blank")
                )
                continue
            if value == seen.strip():
                continue
            sure = 1.0 if unreadable[row] else float(np.clip(probability[row, k], 0.0, 1.0))
            kind, reason = ("format", _unreadable(f, seen)) if unreadable[row] else ("outlier", "")
            reason = reason or f"expected {value} from linked rows and the rest of the row, observed {seen}"
            found.append(CellFinding(row, f.name, seen, value, sure, sure, kind, reason))
    return found


def _unreadable(f: Field, observed: str) -> str:
    import pandas as pd

    if f.kind == "binary":
        return f"{observed} is neither {f.values[0]} nor {f.values[1]}"
    number = numbers(pd.Series([observed], dtype="str"), f.comma, f.group)[0]
    return f"{observed} is negative, unlike all other values" if np.isfinite(number) else f"{observed} is not a number"


def swapped_rows(table: Table, seed: int = 0, cluster: str | None = None) -> list[CellFinding]:
    """Cells of rows that belong to another node, judged by their linked rows.

    Only links given by the user are evidence: rows are compared with their neighbors by
    :class:`~magnet.detection.rows.context.Context`, whose gate must be open.
    """
    if table.links.kind != "given" or len(table.used) < 2:
        return []
    encoded = encode(table)
    data = as_graph(table, encoded)
    verdict = detection.make("context", seed=seed).fit(data, encoded.columns, cluster=cluster).verdict_
    own = verdict.node_probability.numpy()
    swapped = own > 0.5
    if not swapped.any():  # the usual case; suggestions would take many times as long
        return []
    recovered = suggest(encoded.x, (verdict.trust > 0.5).float(), data.edge_index, encoded.columns)
    cells = (encoded.per_field(verdict.flagged.numpy()) | encoded.unreadable) & ~encoded.missing & swapped[:, None]
    reason = "the whole row does not fit its linked rows"
    return [
        CellFinding(
            c.row, c.column, c.observed, c.suggested, float(own[c.row]), 0.0, "swapped row", f"{reason}; {c.reason}"
        )
        for c in _findings(table, encoded, cells, np.broadcast_to(own[:, None], cells.shape), recovered)
    ]
