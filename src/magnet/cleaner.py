"""Find wrong cells, recover them: what ``MAGnet`` does, for the command line too."""

from __future__ import annotations

import copy
import hashlib
import inspect
import numbers
import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from magnet import tables
from magnet.arrays import Bools, is_tensor
from magnet.checks import device_exists, one_of, several, thresholds, whole
from magnet.cluster import connected
from magnet.tables.errors import TableWarning
from magnet.tables.findings import CellFinding, TableVerdict
from magnet.tables.options import LIST_FROM
from magnet.tables.readers.trusted import trusted_cells
from magnet.tables.review import FIXES, Fix, changes_of, list_cells
from magnet.tables.text_findings import judge_as_text

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from magnet.features import FeatureVerdict

RECOVERIES = ("auto", "propagate", "framelet", "regression")
MAX_SHARE = 0.5  # of the cells of a table, which are corrected at most
#: Attributes of a model fitted on ``Data``, or on a table that is judged as a graph.
ON_FEATURES = ("scores_", "probability_", "flagged_", "trust_", "x_", "columns_")


class Cleaner:
    """:class:`magnet.MAGnet` without scikit-learn's base class, for the command line: importing that class takes longer
    than cleaning a small table."""

    cells_: pd.DataFrame | None
    findings_: list[CellFinding]
    verdict_: TableVerdict | None
    reference_: dict[str, list[str]]
    fields_: tuple[tables.Field, ...] | None
    detector_: Any
    gate_: Any

    def __init__(
        self,
        detector: Any = "auto",
        *,
        recovery: Literal["auto", "propagate", "framelet", "regression"] = "auto",
        fix: Fix = "confident",
        fill: bool = False,
        link_by: str | Sequence[str] = (),
        rules: str | Sequence[Any] = (),
        decisions: Sequence[Any] | None = None,
        max_share: float = MAX_SHARE,
        threshold: float | Literal["posterior"] = "posterior",
        fdr: float | None = None,
        contamination: float | None = None,
        recovery_options: dict[str, Any] | None = None,
        seed: int = 0,
        device: Any = None,
        progress: bool | Callable[[str, float], None] = False,
        cluster: str | None = None,
    ) -> None:
        self.detector = detector
        self.recovery = recovery
        self.fix = fix
        self.fill = fill
        self.link_by = link_by
        self.rules = rules
        self.decisions = decisions
        self.max_share = max_share
        self.threshold = threshold
        self.fdr = fdr
        self.contamination = contamination
        self.recovery_options = recovery_options
        self.seed = seed
        self.device = device
        self.progress = progress
        self.cluster = cluster

    def fit(self, data: Data | tables.Table, y: Any = None, *, trusted: Any = None) -> Self:
        """Detect wrong cells of ``data`` and recover them.

        Args:
            data: a graph with ``x`` and ``edge_index``, or a table.
            y: ignored; for compatibility with scikit-learn pipelines.
            trusted: bool ``[n, d]`` or ``[n]``, cells or rows known to be correct.
        """
        self.check_parameters()
        with connected(self.cluster):
            self._judge(data, trusted, None)
        return self

    def transform(self, data: Data | tables.Table) -> Any:
        """The recovered data. Data other than those of :meth:`fit` must have the same columns; they are judged with the
        fitted data as reference."""
        return self.judge(data)._output(data)

    def judge(self, data: Data | tables.Table) -> Self:
        """A model that has judged ``data`` with the fitted data as reference; for the data of :meth:`fit`, this model
        itself."""
        self._need_fit()
        if _fingerprint(data) == self.fingerprint_:
            return self
        other = copy.copy(self)
        with connected(self.cluster):
            other._judge(data, None, self)
        return other

    def fit_transform(self, data: Data | tables.Table, y: Any = None, *, trusted: Any = None) -> Any:
        """:meth:`fit`, then :meth:`transform` of the same data."""
        return self.fit(data, trusted=trusted)._output(data)

    def suspicious_cells(self) -> pd.DataFrame:
        """One row per suspicious cell, by decreasing probability: node, column, observed, suggested, score, probability
        and, for a table, action, reason, row and kind."""
        self._need_fit()
        if self.cells_ is None:
            from magnet.features import list_features

            self.cells_ = list_features(self._observed, self.x_, self._verdict)
        return self.cells_.copy()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to an ``.npz`` file of arrays and JSON (no pickle)."""
        from magnet.cleaner_files import save

        self._need_fit()
        save(self, Path(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a model written by :meth:`save`."""
        from magnet.cleaner_files import load

        return load(Path(path), cls)

    def check_parameters(self) -> None:
        """Raise a ``ValueError`` for invalid parameters, before any data are read."""
        one_of("recovery", self.recovery, RECOVERIES)
        one_of("fix", self.fix, FIXES)
        if not (isinstance(self.max_share, numbers.Real) and 0 <= float(self.max_share) <= 1):
            raise ValueError(f"max_share is {self.max_share!r}; it must lie between 0 and 1")
        thresholds(self.threshold, self.fdr, self.contamination)
        if isinstance(self.detector, str) and self.detector not in ("none", "auto"):
            self._make_detector(1)
        if isinstance(self.decisions, str | os.PathLike):
            raise ValueError(f"decisions is {self.decisions!r}; it must be the list of cells of a decisions file")
        whole("seed", self.seed)
        device_exists(self.device)

    def _need_fit(self) -> None:
        if "fingerprint_" not in vars(self):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError("this MAGnet is not fitted yet; call fit or fit_transform first")

    if not TYPE_CHECKING:  # type checkers would accept any attribute

        def __getattr__(self, name: str) -> Any:
            """Called for missing attributes only: those that :meth:`fit` sets, such as ``trust_``, ask for it."""
            if name.endswith("_") and not name.startswith("_"):
                self._need_fit()
            reason = "; it was fitted on a table, whose results are in findings_" if name in ON_FEATURES else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{reason}")

    def _make_detector(self, nodes: int) -> Any:
        from magnet.features import make_detector

        choice = {"threshold": self.threshold, "fdr": self.fdr, "contamination": self.contamination}
        show_bar = self.progress is True  # a callback is called for tables; detectors draw their own bars
        return make_detector(self.detector, nodes, seed=self.seed, device=self.device, progress=show_bar, **choice)

    def _judge(self, data: Data | tables.Table, trusted: Any, reference: Cleaner | None) -> None:
        if isinstance(data, tables.Table):
            self._judge_table(data, trusted_cells(data, trusted), reference)
        else:
            self._judge_data(data, trusted, reference)
        self.fingerprint_ = _fingerprint(data)

    def _judge_data(self, data: Data, trusted: Any, reference: Cleaner | None) -> None:
        from magnet.features import check_features, judge_features, recover_features
        from magnet.graph import Graph

        if self.recovery == "regression":
            raise ValueError("recovery is 'regression', which is for tables; use 'propagate' or 'framelet' for a Data")
        self.check_graph_parameters()
        data = check_features(data)
        graph = Graph.from_edges(data.edge_index, int(data.x.shape[0]), data.get("edge_weight"))
        fitted = None if reference is None else reference.detector_
        shared = copy.copy(data)  # the detector works on the same graph
        shared.edge_index, shared.edge_weight = graph, None
        verdict = judge_features(shared, self._make_detector(int(data.x.shape[0])), None, trusted, fitted, self.cluster)
        self._store(verdict)
        self.x_ = recover_features(data.x, verdict.trust, graph, self.recovery, self.recovery_options, self.cluster)
        self.cells_, self.fields_ = None, None
        self._observed = data.x

    def check_graph_parameters(self) -> None:
        """Refuse ``fix="none"`` for a ``Data``, whose flagged cells are all changed; warn about unused arguments."""
        if self.fix == "none":
            raise ValueError("fix is 'none', which is for tables: every flagged cell of a Data is changed")
        from magnet.recovery import propagate, recover

        try:
            solver = recover if self.recovery == "framelet" else propagate
            inspect.signature(solver).bind_partial(**(self.recovery_options or {}))
        except TypeError as error:
            raise ValueError(f"recovery_options: {solver.__name__} {error}") from None
        for_tables = {
            "fill": self.fill,
            "max_share": self.max_share != MAX_SHARE,
            "link_by": len(self.link_by) > 0,
            "rules": len(self.rules) > 0,
            "decisions": bool(self.decisions),
        }
        _warn_without_effect([name for name, given in for_tables.items() if given], "a Data: for tables only")

    def _store(self, verdict: FeatureVerdict) -> None:
        self._verdict = verdict
        self.detector_, self.columns_ = verdict.detector, verdict.columns
        self.scores_, self.probability_, self.flagged_ = verdict.scores, verdict.probability, verdict.flagged
        self.trust_, self.share_, self.gate_ = verdict.trust, verdict.share, verdict.gate

    def _judge_table(self, table: tables.Table, trusted: Bools | None, reference: Cleaner | None) -> None:
        if isinstance(self.detector, str) and self.detector == "auto":
            self._judge_as_text(table, trusted, reference)
        else:
            self._judge_as_graph(table, trusted, reference)
        self.cells_ = list_cells(
            table,
            self.findings_,
            fix=self.fix,
            fill=self.fill,
            threshold=self._list_from(self.findings_),
            max_share=self.max_share,
        )
        self.share_ = float(self.cells_["row"].nunique() / max(1, table.num_nodes))

    def _judge_as_text(self, table: tables.Table, trusted: Bools | None, reference: Cleaner | None) -> None:
        if self.contamination is not None:
            raise ValueError("contamination is for graph detectors; use threshold or fdr for a table")
        given = {"recovery": self.recovery != "auto", "recovery_options": bool(self.recovery_options)}
        _warn_without_effect(
            [n for n in given if given[n]], "a table judged by 'auto': for graph detectors such as 'cell'"
        )
        judged = judge_as_text(
            table,
            trusted=trusted,
            reference={} if reference is None else reference.reference_,
            link_by=several(self.link_by),
            rules=several(self.rules),
            decisions=self.decisions or (),
            fill=self.fill,
            seed=self.seed,
            progress=self.progress if callable(self.progress) else None,
            cluster=self.cluster,
        )
        self.verdict_, self.findings_, self.reference_ = judged.verdict, judged.findings, judged.reference
        self.detector_ = self.gate_ = None

    def _judge_as_graph(self, table: tables.Table, trusted: Bools | None, reference: Cleaner | None) -> None:
        from magnet.tables.graph_findings import judge_as_graph

        given = [name for name in ("link_by", "rules", "decisions") if len(getattr(self, name) or ())]
        _warn_without_effect(given, f"a table judged by {self.detector!r}: for tables judged by 'auto'")
        judged = judge_as_graph(
            table,
            self._make_detector(table.num_nodes),
            recovery=self.recovery,
            options=self.recovery_options,
            trusted=trusted,
            reference=None if reference is None else reference.detector_,
            fields=None if reference is None else reference.fields_,
            cluster=self.cluster,
        )
        self._store(judged.verdict)
        self.fields_, self.x_ = judged.fields, judged.recovered
        self.verdict_, self.findings_ = None, judged.findings

    def _list_from(self, findings: Sequence[CellFinding]) -> float:
        """The probability from which cells are listed."""
        if self.fdr is None:
            return LIST_FROM if self.threshold == "posterior" else float(self.threshold)
        probability = np.sort([c.probability for c in findings])[::-1]
        false = np.cumsum(1 - probability) / np.arange(1, probability.size + 1)
        allowed = np.flatnonzero(false <= self.fdr)
        return float(probability[allowed[-1]]) if allowed.size else 1.0

    def _output(self, data: Data | tables.Table) -> Any:
        if isinstance(data, tables.Table):
            assert self.cells_ is not None
            return data.with_changes(changes_of(data, self.cells_))
        result = copy.copy(data)
        result.x = self.x_
        if is_tensor(data.x):  # recovered integers and bools are floating-point numbers
            dtype = data.x.dtype if data.x.is_floating_point() else self.x_.dtype
            result.x = self.x_.to(data.x.device, dtype)
        return result


def _fingerprint(data: Data | tables.Table) -> str:
    """A fingerprint of a table or graph."""
    if isinstance(data, tables.Table):
        columns = (pd.util.hash_array(_hashable(data.frame[name])) for name in data.frame)
        parts = b"".join(hashlib.sha256(column.tobytes()).digest() for column in columns)
        return hashlib.sha256(parts + data.links.edge_index.tobytes()).hexdigest()
    from magnet.features import check_features, fingerprint

    return fingerprint(check_features(data))


def _warn_without_effect(names: Sequence[str], on: str) -> None:
    if names:
        warnings.warn(f"{', '.join(names)} without effect on {on}", TableWarning, stacklevel=5)


def _hashable(column: pd.Series) -> NDArray[Any]:
    """The cells of a column as numbers, or else as texts."""
    plain = column.dtype.kind in "biufM" and isinstance(column.dtype, np.dtype)
    return column.to_numpy() if plain else column.astype("str").to_numpy(object)
