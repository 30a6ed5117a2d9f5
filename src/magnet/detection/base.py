"""The interface of all detectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import pandas as pd
import torch
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from magnet.checks import device_exists, thresholds, whole
from magnet.cluster import connected
from magnet.detection.data.columns import Column
from magnet.detection.data.dataset import DetectionData, stage_resources
from magnet.detection.data.read import read_data
from magnet.detection.data.scales import Scales
from magnet.detection.rows.gate import Gate
from magnet.detection.thresholds import FlagRule, Reference
from magnet.detection.verdict import Verdict
from magnet.freed_memory import return_freed_memory

if TYPE_CHECKING:
    from torch_geometric.data import Data

T = TypeVar("T")


@dataclass(kw_only=True, eq=False, repr=False)
class Detector(BaseEstimator, ABC):  # type: ignore[misc]
    """Finds wrong rows and cells without labels and without clean data.

    Args:
        threshold: minimum probability of being wrong for a cell to be flagged. (default: ``"posterior"``, which is 1/2)
        fdr: instead, target false discovery rate.
        contamination: instead, flag this share, by rank: of the rows, for detectors that judge rows (in a row that is
            not swapped, only its wrong cells); of the cells, for the others.
        seed: random seed. (default: ``0``)
        device: device of the computation. (default: that of ``data.x``)
        progress: show a progress bar. (default: ``False``)

    After :meth:`fit`, read from ``verdict_`` (a :class:`~magnet.detection.verdict.Verdict`): ``scores_``,
    ``probability_``, ``flagged_``, ``trust_``, ``soft_trust_`` for cells ``[n, d]``; ``node_scores_``,
    ``node_probability_``, ``flagged_nodes_`` for nodes ``[n]``; ``share_``, the estimated share of wrong rows;
    ``threshold_``; ``columns_``, ``scales_``; ``gate_``, if the detector has one.
    """

    threshold: float | Literal["posterior"] = "posterior"
    fdr: float | None = None
    contamination: float | None = None
    seed: int = 0
    device: Any = None
    progress: bool = False

    def check_parameters(self) -> None:
        """Raise a ``ValueError`` for parameters that :meth:`fit` would not accept."""
        thresholds(self.threshold, self.fdr, self.contamination)
        whole("seed", self.seed)
        device_exists(self.device)

    def fit(
        self,
        data: Data | DetectionData,
        columns: Sequence[Column] | None = None,
        trusted: Any = None,
        reference: Detector | Reference | None = None,
        cluster: str | None = None,
    ) -> Self:
        """Judge the cells and rows of ``data``.

        Args:
            data: a graph with ``x`` ``[n, d]`` (a tensor, NumPy array, memory map or SciPy matrix of numbers, or the
                path of a ``.npy``, sparse ``.npz`` or ``.parquet`` file; dense with NaN = missing, or sparse CSR) and
                ``edge_index``. Features in a file, or a memory map, may be larger than memory: ``auto``, ``context``
                and ``cell`` then keep matrices of their size in temporary files (in ``TMPDIR``), and at most some
                kilobytes per node and per feature in memory. Optionally ``edge_weight``;
                ``edges_from_rows = True`` marks edges that are nearest neighbors by ``x`` itself. Results are on the
                device of ``x``. Or data prepared by
                :meth:`read_data <magnet.detection.data.read.read_data>`.
            columns: description of the features. (default: :func:`~magnet.detection.infer_columns`)
            trusted: bool ``[n, d]`` or ``[n]``: cells, or rows, known to be correct. They are never flagged.
            reference: a fitted detector whose column scales and thresholds are used.
            cluster: process blocks of features on a Ray cluster (extra ``cluster``): its address, or
                ``"auto"`` for a running cluster, or else a new one on this machine. Rows are judged in this process.
                (default: none)
        """
        self.check_parameters()
        if isinstance(data, DetectionData):
            prepared, home = data, data.device
        else:
            scales = reference.scales_ if reference is not None else None
            prepared = read_data(data, columns, trusted, scales, self.device)
            home = getattr(data.x, "device", torch.device("cpu"))  # an array has none
        if cluster is not None:
            if prepared.device.type != "cpu":
                raise ValueError(f"cluster is for features on the CPU; these are on {prepared.device}")
            prepared = replace(prepared, cluster=cluster)
        return_freed_memory()  # of copies that were made to recognize the columns
        with stage_resources(prepared), connected(cluster):
            verdict = self._detect(prepared)
        return_freed_memory()
        self.verdict_: Verdict = replace(
            verdict,
            node_scores=verdict.node_scores.to(home),
            node_probability=verdict.node_probability.to(home),
            rule=FlagRule(self.threshold, self.fdr, self.contamination),
            reference=reference,
            device=home,
        )
        return self

    @abstractmethod
    def _detect(self, data: DetectionData) -> Verdict:
        """Judge the data; thresholds and the device of the results are added by :meth:`fit`."""

    def decision_function(self, data: Data, columns: Sequence[Column] | None = None) -> Tensor:
        """Node scores ``[n]`` of other data, higher = more suspicious, on the fitted column scales.

        Detectors compare rows within a graph, so the new graph is judged as a whole; only scales and thresholds are
        those of the data that the detector was fitted on.

        Args:
            data: another graph.
            columns: description of its features. (default: as in the fitted data)
        """
        return self._judge_other(data, columns).node_scores

    def predict(self, data: Data, columns: Sequence[Column] | None = None) -> Tensor:
        """Bool ``[n]``: the wrong rows of other data, by the fitted column scales and thresholds.

        Args:
            data: another graph.
            columns: description of its features. (default: as in the fitted data)
        """
        return self._judge_other(data, columns).flagged_nodes

    def _judge_other(self, data: Data, columns: Sequence[Column] | None) -> Verdict:
        columns = self.columns_ if columns is None else columns
        return clone(self).fit(data, columns, reference=self).verdict_

    @property
    def _fitted(self) -> Verdict:
        check_is_fitted(self, "verdict_")
        return self.verdict_

    @property
    def scores_(self) -> Tensor:
        """``[n, d]``, higher = more suspicious."""
        return self._fitted.scores

    @property
    def probability_(self) -> Tensor:
        """Probability ``[n, d]`` that a cell is wrong."""
        return self._fitted.probability

    @property
    def flagged_(self) -> Tensor:
        """Bool ``[n, d]``: the cells judged wrong."""
        return self._fitted.flagged

    @property
    def trust_(self) -> Tensor:
        """1 where the observed value is evidence about its node, else 0: ``[n, d]``."""
        return self._fitted.trust

    @property
    def soft_trust_(self) -> Tensor:
        """``(1 - P)^2``, so that the weight ``M^2`` of the recovery is ``(1 - P)^4``: ``[n, d]``."""
        return self._fitted.soft_trust

    @property
    def node_scores_(self) -> Tensor:
        """``[n]``, higher = more suspicious."""
        return self._fitted.node_scores

    @property
    def node_probability_(self) -> Tensor:
        """Probability ``[n]`` that a row is swapped or has a wrong cell."""
        return self._fitted.node_probability

    @property
    def flagged_nodes_(self) -> Tensor:
        """Bool ``[n]``: rows judged to be swapped, and rows with a cell judged wrong."""
        return self._fitted.flagged_nodes

    @property
    def share_(self) -> float:
        """The estimated share of wrong rows."""
        return self._fitted.share

    @property
    def gate_(self) -> Gate | None:
        """Whether the neighborhood carries information about the rows; None for detectors without a gate."""
        return self._fitted.gate

    @property
    def threshold_(self) -> float:
        """The probability above which a cell is flagged."""
        return self._fitted.threshold

    @property
    def row_threshold_(self) -> float:
        """The probability above which a row is flagged, for detectors of rows."""
        return self._fitted.row_threshold

    @property
    def columns_(self) -> list[Column]:
        return self._fitted.data.columns

    @property
    def scales_(self) -> Scales:
        return self._fitted.data.scales

    @property
    def swapped_probability_(self) -> Tensor:
        """Probability ``[n]`` that the whole row is that of another node; 0 for detectors of cells."""
        return self._fitted.swapped_probability

    @property
    def swapped_rows_(self) -> Tensor:
        """Bool ``[n]``: rows judged to be those of other nodes; :attr:`flagged_nodes_` adds rows with a wrong cell."""
        return self._fitted.swapped_rows

    def explain(self, limit: int | None = None) -> pd.DataFrame:
        """Flagged rows and cells with evidence, by decreasing probability.

        One line for each flagged cell (``kind`` "cell"; ``column`` numbers ``columns_``; ``observed`` and
        ``expected`` in the units of ``x``, category numbers for a categorical column) and one for each flagged row
        (``kind`` "row", ``column`` -1). ``neighbors`` is the number of neighbors behind the expectation,
        ``unusual`` the deviation from the expectation in spreads (for rows and 0/1 or categorical columns:
        the log10 of the odds against it).

        Args:
            limit: maximum number of lines. (default: all)
        """
        from magnet.detection.explain import explain

        return explain(self._fitted, limit)


def track(items: Sequence[T], title: str, show: bool) -> Iterable[T]:
    """The items, with a progress bar on the error stream if ``show``."""
    if not show:
        return items
    from rich.console import Console
    from rich.progress import track as rich_track

    return rich_track(items, title, console=Console(stderr=True))
