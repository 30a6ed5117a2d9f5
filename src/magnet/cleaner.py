"""``MAGnet``: find wrong cells, recover them. ``clean``: the same for data frames."""

from __future__ import annotations

import copy
import hashlib
import html
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from torch import Tensor
from torch_geometric.data import Data, HeteroData

from magnet import detection, tables
from magnet.arrays import checksum, is_sparse
from magnet.framelets import FrameletTransform
from magnet.graph import Graph
from magnet.recovery import propagate, recover
from magnet.tables.cells import FIXES, Findings, Fix, changes_of, list_cells
from magnet.tables.encoding import Encoded, as_data, encode, with_nearest_links
from magnet.tables.fields import Field
from magnet.tables.suggest import suggest

RECOVERIES = ("auto", "propagate", "framelet", "regression")
WITHIN = 2.5  # usual errors of a suggestion: so near to it a number is not wrong
AGREES = 0.95  # share of right cells that hold what is suggested, so nearly
NEAREST = 10  # rows that each row of a table without edges is linked to
LISTED_FROM = 0.5  # times the threshold: less probable cells are not worth a line


class MAGnet(BaseEstimator):  # type: ignore[misc]
    """Find wrong node attributes and recover them.

    Works on PyG ``Data`` (features as they are, recovered features out) and on a :class:`magnet.tables.Table` (any
    columns in, the same columns in the same units out). Only cells judged wrong, and missing ones, are touched; a cell
    of a table that holds what would be suggested for it is not wrong, whatever the detector says.

    Args:
        detector: name of a detector (see :func:`magnet.detection.make`), a detector, a given trust matrix ``[n, d]`` or
            ``[n]`` (1 = believed), or ``"none"`` to believe everything. (default: ``"auto"``)
        recovery: ``"propagate"`` extends the trusted values harmonically over the graph, ``"framelet"`` is the paper's
            sparse recovery, ``"regression"`` (tables only) predicts a cell from its neighbours and the rest of its row.
            (default: ``"auto"``: regression for tables, propagation for ``Data``)
        fix: which cells of a table are changed: ``"none"``, ``"confident"`` (those judged wrong; missing ones are
            filled) or ``"all"`` (every listed one). (default: ``"confident"``)
        max_share: never correct more than this share of a table's cells. (default: ``0.5``)
        threshold, fdr, contamination: what counts as wrong, as for :func:`magnet.detection.make`.
        options: further arguments of :func:`magnet.propagate` or :func:`magnet.recover`.
        seed, device, progress: as for :func:`magnet.detection.make`.

    After :meth:`fit`: ``scores_``, ``probability_``, ``flagged_``, ``trust_`` ``[n, d]``, ``x_`` (the recovered
    features), ``share_`` (the estimated share of wrong rows), ``gate_`` (whether the neighbourhood says anything about
    the rows), ``detector_``, ``columns_``.

    Example:
        >>> from magnet.datasets import synthetic
        >>> data = synthetic(nodes=60, features=12, seed=0)
        >>> trust = torch.ones(60, 12)
        >>> trust[3, 4] = 0
        >>> model = MAGnet(detector=trust).fit(data)
        >>> int((model.x_ != data.x).sum()) <= 1
        True
    """

    cells_: pd.DataFrame | None
    fields_: tuple[Field, ...] | None

    def __init__(
        self,
        detector: Any = "auto",
        *,
        recovery: Literal["auto", "propagate", "framelet", "regression"] = "auto",
        fix: Fix = "confident",
        max_share: float = 0.5,
        threshold: float | Literal["posterior"] = "posterior",
        fdr: float | None = None,
        contamination: float | None = None,
        options: dict[str, Any] | None = None,
        seed: int = 0,
        device: Any = None,
        progress: bool = False,
    ) -> None:
        self.detector = detector
        self.recovery = recovery
        self.fix = fix
        self.max_share = max_share
        self.threshold = threshold
        self.fdr = fdr
        self.contamination = contamination
        self.options = options
        self.seed = seed
        self.device = device
        self.progress = progress

    def fit(self, data: Data | tables.Table, y: Any = None, *, trusted: Any = None) -> Self:
        """Find what is wrong in ``data`` and recover it.

        Args:
            data: a graph with ``x`` and ``edge_index``, or a table.
            y: not used; there for scikit-learn's pipelines.
            trusted: bool ``[n, d]`` or ``[n]``, cells or rows known to be right (for a table ``[n, used columns]``).
        """
        self.check_parameters()
        self._work(data, trusted, None)
        return self

    def transform(self, data: Data | tables.Table) -> Any:
        """The recovered data: of the graph it was fitted on, what was found there; of another one with the same
        columns, what is found there with the fitted column scales and thresholds."""
        return self.judge(data)._output(data)

    def judge(self, data: Data | tables.Table) -> MAGnet:
        """A model that has judged ``data`` with the column scales and thresholds of this one: for the data that this
        model was fitted on, the model itself."""
        self._need_fit()
        if _fingerprint(data) == self.fingerprint_:
            return self
        other = copy.copy(self)
        other._work(data, None, self)
        return other

    def fit_transform(self, data: Data | tables.Table, y: Any = None, *, trusted: Any = None) -> Any:
        """:meth:`fit`, then :meth:`transform` of the same data."""
        return self.fit(data, trusted=trusted)._output(data)

    def suspicious_cells(self) -> pd.DataFrame:
        """One line per suspicious cell, the most probable first: node, column, observed, suggested, score, probability;
        for a table also action, reason and row."""
        self._need_fit()
        if self.cells_ is None:
            self.cells_ = _list_features(self)
        return self.cells_.copy()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was fitted to an ``.npz`` file: arrays and JSON, nothing that could run code."""
        from magnet.cleaner_files import save

        self._need_fit()
        save(self, Path(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> MAGnet:
        """Read what :meth:`save` wrote."""
        from magnet.cleaner_files import load

        return load(Path(path))

    def check_parameters(self) -> None:
        """Raise a ``ValueError`` for what :meth:`fit` would not accept, before any data are read."""
        if self.recovery not in RECOVERIES:
            raise ValueError(f"recovery is {self.recovery!r}; it must be one of {', '.join(map(repr, RECOVERIES))}")
        if self.fix not in FIXES:
            raise ValueError(f"fix is {self.fix!r}; it must be one of {', '.join(map(repr, FIXES))}")
        if not 0 <= self.max_share <= 1:
            raise ValueError(f"max_share is {self.max_share}; it must lie between 0 and 1")
        if isinstance(self.detector, str) and self.detector != "none":
            self._make_detector()
        if isinstance(self.device, str) and self.device.partition(":")[0] not in ("cpu", "cuda"):
            raise ValueError(f"device is {self.device!r}; it must be cpu or cuda")
        if self.device is not None and torch.device(self.device).type == "cuda" and not torch.cuda.is_available():
            raise ValueError(f"device is {self.device!r}, but there is no CUDA device")

    def _need_fit(self) -> None:
        if not hasattr(self, "fingerprint_"):
            raise ValueError("this MAGnet is not fitted yet; call fit or fit_transform first")

    def _work(self, data: Data | tables.Table, trusted: Any, like: MAGnet | None) -> None:
        table = data if isinstance(data, tables.Table) else None
        if table is not None:
            table = with_nearest_links(table, NEAREST)
            encoded = encode(table, like.fields_ if like is not None else None)
            graph_data, columns = as_data(table, encoded), encoded.columns
            if trusted is not None:
                trusted = np.asarray(trusted, dtype=bool)
                trusted = encoded.per_column(trusted) if trusted.ndim == 2 else trusted
        else:
            if self.recovery == "regression":
                raise ValueError(
                    "recovery is 'regression', which is for tables; for a Data there are 'propagate' and 'framelet'"
                )
            encoded, graph_data, columns = None, _checked(data), None
        graph = Graph.from_edges(graph_data.edge_index, graph_data.num_nodes, graph_data.get("edge_weight"))
        found = self._judge(graph_data, columns, trusted, like)
        self.detector_, self.columns_ = found.detector, found.columns
        self.scores_, self.probability_, self.flagged_ = found.scores, found.probability, found.flagged
        self.share_, self.gate_ = found.share, found.gate
        self.fields_ = encoded.fields if encoded is not None else None
        self.fingerprint_ = _fingerprint(data)
        if table is None or encoded is None:
            self.trust_ = found.trust
            self.x_ = self._recover(graph_data.x, found.trust, graph)
            self.cells_, self._observed = None, graph_data.x
            return
        self.findings_ = self._find(encoded, found, graph, context=table.links.kind != "nearest")
        self.trust_ = torch.from_numpy(encoded.per_column(self.findings_.trust).astype(np.float32))
        self.x_ = torch.from_numpy(self.findings_.recovered)
        self.encoded_ = encoded
        self.cells_ = list_cells(table, encoded, self.findings_, graph.adjacency, self.fix, self.max_share)

    def _make_detector(self) -> Any:
        choice = {"threshold": self.threshold, "fdr": self.fdr, "contamination": self.contamination}
        return detection.make(self.detector, seed=self.seed, device=self.device, progress=self.progress, **choice)

    def _judge(self, data: Data, columns: Any, trusted: Any, like: MAGnet | None) -> SimpleNamespace:
        """What the detector says, or the trust that was given instead of one."""
        if not isinstance(self.detector, str) and not hasattr(self.detector, "fit"):
            return _given(data, self.detector, columns)
        if isinstance(self.detector, str) and self.detector == "none":
            return _given(data, torch.ones(data.num_nodes), columns)
        detector = self._make_detector() if isinstance(self.detector, str) else copy.copy(self.detector)
        known = {"columns": columns, "trusted": trusted}
        if like is not None:
            known["reference"] = like.detector_
        detector.fit(data, **{name: value for name, value in known.items() if value is not None})
        return SimpleNamespace(
            detector=detector,
            columns=columns if columns is not None else detector.columns_,
            scores=detector.scores_,
            probability=detector.probability_,
            flagged=detector.flagged_,
            trust=detector.trust_,
            share=float(detector.share_),
            gate=getattr(detector, "gate_", None),
            threshold=float(detector.threshold_),
        )

    def _find(self, encoded: Encoded, found: SimpleNamespace, graph: Graph, context: bool) -> Findings:
        """The detector's verdict by field, and a suggestion for every cell that is not beyond suspicion."""
        per_field = {
            name: encoded.per_field(getattr(found, name).cpu().numpy())
            for name in ("flagged", "probability", "scores", "trust")
        }
        known = ~np.isnan(encoded.per_field(encoded.x.numpy()))
        per_field["probability"] = per_field["probability"].clip(0.0, 1.0)  # rounding may leave a little more
        flagged = per_field["flagged"] & known
        open_to_doubt = (per_field["probability"] > LISTED_FROM * found.threshold) & known
        listed = flagged | open_to_doubt | encoded.missing | encoded.unreadable
        trust = (per_field["trust"] > 0.5) & known & ~listed
        # a row that is not the node's own is one in which no value is evidence about it
        rows = ((per_field["trust"] <= 0.5) | ~known).all(axis=1) & (known.sum(axis=1) > 1)
        if self.recovery in ("auto", "regression"):
            judged = found.detector is not None  # what the user does not trust is not for us to trust
            suspects = listed & known & ~_foreign(found.detector, len(rows))[:, None] & judged
            acquitted = _explained(encoded, suspects, per_field["scores"], graph, context)
            listed, trust, rows = listed & ~acquitted, trust | acquitted, rows & ~acquitted.any(axis=1)
            weights = torch.from_numpy(encoded.per_column(trust).astype(np.float32))
            recovered, error = suggest(encoded.x, weights, graph, encoded.columns, context)
            acquitted |= listed & known & _acquitted(encoded, recovered, error, rows) & judged
            flagged, listed, trust = flagged & ~acquitted, listed & ~acquitted, trust | acquitted
            rows = rows & ~acquitted.any(axis=1)
            for name in ("probability", "scores"):
                per_field[name] = np.where(acquitted, 0.0, per_field[name])
            recovered = torch.where(torch.from_numpy(encoded.per_column(acquitted)), encoded.x, recovered)
        else:
            weights = torch.from_numpy(encoded.per_column(trust).astype(np.float32))
            recovered = self._recover(encoded.x, weights, graph)
        return Findings(
            flagged=flagged,
            listed=listed,
            score=per_field["scores"].astype(np.float64),
            probability=per_field["probability"].astype(np.float64),
            trust=trust,
            rows=rows,
            recovered=recovered.numpy(),
        )

    def _recover(self, x: Tensor, trust: Tensor, graph: Graph) -> Tensor:
        """``x`` with the cells that are not trusted replaced by what the trusted ones say."""
        if bool((trust >= 1).all()):
            return x
        options = {"coordinates": "degree", **(self.options or {})}
        if self.recovery == "framelet":
            W = FrameletTransform(graph)
            return recover(x, trust, W, **{"keep_trusted": True, "start": "propagated", **options}).x
        if not is_sparse(x):
            # no evidence: an isolated node takes the column's median instead of keeping a wrong value
            x = torch.where(trust > 0, x, torch.full_like(x, torch.nan))
        return propagate(x, trust, graph, **{"lam": 0.0, **options}).x

    def _output(self, data: Data | tables.Table) -> Any:
        if isinstance(data, tables.Table):
            assert self.cells_ is not None
            return data.with_changes(changes_of(self.cells_))
        result = copy.copy(data)
        result.x = self.x_.to(data.x.device)
        return result


def _foreign(detector: Any, nodes: int) -> NDArray[np.bool_]:
    """Rows ``[n]`` that were judged to be another node's by their neighbours."""
    if not hasattr(detector, "flagged_rows"):
        return np.zeros(nodes, dtype=bool)
    return np.asarray(detector.flagged_rows().cpu().numpy(), dtype=bool)


def _explained(
    encoded: Encoded, suspects: NDArray[np.bool_], scores: Any, graph: Graph, context: bool
) -> NDArray[np.bool_]:
    """Suspects ``[n, fields]`` that all hold what is suggested for them when only the worst one of their row is not
    believed: they look wrong because of it."""
    several = suspects.sum(axis=1) > 1
    if not several.any():
        return np.zeros_like(suspects)
    worst = np.zeros_like(suspects)
    worst[np.arange(len(worst)), np.where(suspects, scores, -np.inf).argmax(axis=1)] = several
    checked = suspects & several[:, None] & ~worst
    believed = encoded.per_column(~worst & ~np.isnan(encoded.per_field(encoded.x.numpy())))
    weights = torch.from_numpy(believed.astype(np.float32))
    guess, error = suggest(encoded.x, weights, graph, encoded.columns, context, encoded.per_column(checked))
    agrees = _agrees(encoded, encoded.x.numpy(), guess.numpy(), error)
    return checked & (agrees | ~checked).all(axis=1, keepdims=True)


def _acquitted(
    encoded: Encoded, suggested: Tensor, error: NDArray[np.float64], rows: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Cells ``[n, fields]`` that hold what is suggested for them when no suspicious cell is believed.

    One wrong cell makes others of its row look wrong, and these are right after all. In a row that is another node's as
    a whole (``rows``) right values are mere chance: there the row as a whole must agree more than other rows would.
    """
    x, guess = encoded.x.numpy(), suggested.numpy()
    out = _agrees(encoded, x, guess, error)
    doubted = np.flatnonzero(rows)
    if doubted.size:
        rng, known = np.random.default_rng(0), ~np.isnan(encoded.per_field(x))
        others = [_agrees(encoded, x[rng.choice(len(x), doubted.size)], guess[doubted], error) for _ in range(20)]
        chance = (np.sum(others, axis=(0, 1)) + 1) / (20 * doubted.size + 2)
        own, not_own = np.log(AGREES / chance), np.log((1 - AGREES) / (1 - chance))
        out[doubted[(np.where(out, own, not_own) * known)[doubted].sum(axis=1) < 0]] = False
    return out


def _agrees(encoded: Encoded, x: Any, guess: Any, error: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether encoded values are those that are suggested, field by field."""
    out = np.zeros((len(x), len(encoded.fields)), dtype=bool)
    for k, c in enumerate(encoded.columns):
        here = slice(c.start, c.stop)
        if c.kind == "categorical":
            out[:, k] = np.nan_to_num(x[:, here]).argmax(axis=1) == guess[:, here].argmax(axis=1)
        elif c.kind == "binary":
            out[:, k] = (x[:, c.start] >= 0.5) == (guess[:, c.start] >= 0.5)
        else:
            out[:, k] = np.abs(x[:, c.start] - guess[:, c.start]) <= WITHIN * error[c.start]
    return out


def _checked(data: Any) -> Data:
    if isinstance(data, HeteroData):
        raise ValueError("data is a HeteroData; MAGnet cleans one kind of node: take a homogeneous Data of that kind")
    x = getattr(data, "x", None)
    if not isinstance(x, Tensor) or x.dim() != 2:
        raise ValueError(f"data is a {type(data).__name__} without a feature matrix x [nodes, features]")
    if not x.is_floating_point():
        raise ValueError(f"data.x holds {x.dtype}; it must hold floating-point numbers (data.x.float())")
    return data


def _given(data: Data, trust: Any, columns: Any) -> SimpleNamespace:
    """The verdict that a given trust matrix stands for."""
    believed = torch.as_tensor(trust, dtype=torch.float32, device=data.x.device)
    shape = (data.x.shape[0], data.x.shape[1])
    if believed.dim() == 1:
        believed = believed[:, None]
    if believed.shape not in (shape, (shape[0], 1)):
        raise ValueError(f"the given trust has shape {list(believed.shape)}; x has {list(shape)}")
    if not bool(((believed >= 0) & (believed <= 1)).all()):
        raise ValueError("the given trust holds values outside 0 to 1, or missing ones")
    believed = believed.expand(shape)
    if not is_sparse(data.x):
        believed = torch.where(data.x.isnan(), believed.new_zeros(()), believed)
    doubt = 1 - believed
    return SimpleNamespace(
        detector=None,
        columns=columns,
        scores=doubt,
        probability=doubt,
        flagged=doubt > 0.5,
        trust=believed,
        share=float((doubt > 0.5).any(dim=1).float().mean()),
        gate=None,
        threshold=0.5,
    )


def _list_features(model: MAGnet) -> pd.DataFrame:
    """The flagged cells of a feature matrix."""
    row, column = model.flagged_.nonzero(as_tuple=True)

    def at(values: Tensor) -> Any:
        dense = values.to_dense() if is_sparse(values) else values
        return dense[row, column].detach().cpu().numpy()

    cells = pd.DataFrame(
        {
            "node": row.cpu().numpy(),
            "column": column.cpu().numpy(),
            "observed": at(model._observed),
            "suggested": at(model.x_),
            "score": at(model.scores_),
            "probability": at(model.probability_),
        }
    )
    return cells.sort_values(["probability", "score"], ascending=False, kind="stable", ignore_index=True)


def _fingerprint(data: Data | tables.Table) -> str:
    """What tells one graph from another."""
    if isinstance(data, tables.Table):
        rows = pd.util.hash_pandas_object(data.frame.astype("str"), index=False).to_numpy()
        parts, edges = rows.tobytes(), data.links.edge_index
    else:
        parts, edges = checksum(_checked(data).x).encode(), data.edge_index.cpu().numpy()
    return hashlib.sha256(parts + edges.tobytes()).hexdigest()


@dataclass(frozen=True, eq=False)
class CleanResult:
    """A cleaned table.

    Args:
        table: what was read.
        model: the fitted cleaner.
    """

    table: tables.Table
    model: MAGnet

    @cached_property
    def cleaned(self) -> pd.DataFrame:
        """The table with the changes made: same columns, order and types."""
        return self.table.changed(changes_of(self.suspicious_cells))

    @cached_property
    def suspicious_cells(self) -> pd.DataFrame:
        """One line per suspicious cell: node, column, observed, suggested, action, score, probability, reason, row."""
        return self.model.suspicious_cells()

    @property
    def counts(self) -> dict[str, int]:
        """How many cells were corrected, filled and kept."""
        actions = self.suspicious_cells["action"].value_counts()
        return {name: int(actions.get(name, 0)) for name in ("corrected", "filled", "kept")}

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the report, one HTML page that works offline."""
        from magnet.report import write_report  # a page about a result is made above it; here only for convenience

        return write_report(self, Path(path))

    def __repr__(self) -> str:
        counts = ", ".join(f"{number} {name}" for name, number in self.counts.items())
        return f"CleanResult({self.table}: {counts})"

    def _repr_html_(self) -> str:
        first = self.suspicious_cells.drop(columns=["row"]).head(20)
        style = {"score": "{:.3g}".format, "probability": "{:.2f}".format}
        return f"<p>{html.escape(repr(self))}</p>" + first.to_html(index=False, escape=True, formatters=style)


def clean(
    nodes: pd.DataFrame,
    edges: pd.DataFrame | None = None,
    *,
    id: str | None = None,
    label: str | None = None,
    trusted: Any = None,
    detector: Any = "auto",
    fix: Fix = "confident",
    seed: int = 0,
    reading: dict[str, Any] | None = None,
    **settings: Any,
) -> CleanResult:
    """Find and repair wrong cells of a table whose rows are linked.

    Args:
        nodes: one row per node; columns of any kind.
        edges: two columns of node ids and, where there is one, a weight. Without edges, rows are linked to those most
            like them.
        id: the column of ``nodes`` with the ids. (default: found)
        label: a column to leave alone.
        trusted: bool data frame or array ``[n, columns]``, or ``[n]`` for rows: known to be right.
        detector, fix, seed, settings: as for :class:`MAGnet`.
        reading: further arguments of :func:`magnet.tables.from_frames` (``exclude``, ``knn``, ``override`` ...).

    Example:
        >>> ages = pd.DataFrame({"id": list("abcdef"), "age": [41, 40, None, 42, 39, 43]})
        >>> pairs = pd.DataFrame({"source": list("abcdef"), "target": list("bcdefa")})
        >>> result = clean(ages, pairs, detector="none")
        >>> result.cleaned["age"].tolist()
        [41.0, 40.0, 41.0, 42.0, 39.0, 43.0]
    """
    table = tables.from_frames(nodes, edges, id=id, label=label, **(reading or {}))
    model = MAGnet(detector, fix=fix, seed=seed, **settings)
    return CleanResult(table, model.fit(table, trusted=_trusted_fields(table, trusted)))


def _trusted_fields(table: tables.Table, trusted: Any) -> Any:
    """Trusted cells by used column."""
    if trusted is None:
        return None
    if isinstance(trusted, pd.DataFrame):
        return np.stack(
            [
                trusted[f.name].to_numpy(dtype=bool) if f.name in trusted.columns else np.zeros(table.num_nodes, bool)
                for f in table.used
            ],
            axis=1,
        )
    array = np.asarray(trusted, dtype=bool)
    if array.shape == (table.num_nodes, len(table.fields)):
        return array[:, [k for k, f in enumerate(table.fields) if f.used]]
    if array.shape not in ((table.num_nodes,), (table.num_nodes, len(table.used))):
        raise ValueError(
            f"trusted has shape {list(array.shape)}; it must be [{table.num_nodes}] or [{table.num_nodes}, "
            f"{len(table.fields)}], one for each column"
        )
    return array
