"""The data of a detector: features, graph and what is known about the cells, on one device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from magnet.arrays import csr_tensor, is_sparse, to_scipy
from magnet.detection.columns import Column, Scales, check_columns, infer_columns, logarithm_unit, robust_scales
from magnet.graph import Graph

# Columns are worked on in blocks of at most this many cells.
CELLS_PER_BLOCK = 1 << 23
# Tables of at most this many columns are predicted as a whole.
FEW = 256
# In tables of more columns than this no single cell decides about the rest of its row.
NARROW = 32


@dataclass(eq=False)
class View:
    """A graph with node features as detectors see it.

    Args:
        graph: the undirected graph.
        x: dense features ``[n, d]`` with NaN where a value is missing, or None for sparse ones.
        matrix: sparse features, or None for dense ones.
        columns: what the features are.
        trusted: bool ``[n, d]`` or ``[n, 1]``, cells known to be right; None for none.
        device: where the work is done.
        given_scales: column scales taken over from another graph. (default: from this one)
        from_rows: whether the edges were chosen by the features themselves (nearest neighbours). Such neighbours agree
            with a wrong value as well as with a right one, so they are no evidence about single cells.
    """

    graph: Graph
    x: Tensor | None
    matrix: sp.csr_matrix | None
    columns: list[Column]
    trusted: Tensor | None
    device: torch.device
    given_scales: Scales | None = None
    from_rows: bool = False

    @classmethod
    def of(
        cls,
        data: Data,
        columns: Sequence[Column] | None = None,
        trusted: Any = None,
        scales: Scales | None = None,
        device: Any = None,
    ) -> View:
        """Check the data and put it on the device (that of ``data.x`` unless another is named)."""
        x = getattr(data, "x", None)
        if not isinstance(x, Tensor) or x.dim() != 2 or x.shape[1] == 0:
            found = "missing" if x is None else f"of shape {tuple(x.shape)}"
            raise ValueError(f"data.x is {found}; it must be a tensor [nodes, features] with at least one feature")
        if getattr(data, "edge_index", None) is None:
            raise ValueError("data has no edge_index; a graph without links has an empty one of shape [2, 0]")
        where = torch.device(device) if device is not None else x.device
        weight = getattr(data, "edge_weight", None)
        graph = Graph.from_edges(data.edge_index, num_nodes=int(x.shape[0]), edge_weight=weight)
        dense, matrix = None, None
        if is_sparse(x):
            matrix = to_scipy(x).astype(np.float32)
            if not np.isfinite(matrix.data).all():
                raise ValueError("data.x is sparse and holds NaN or infinity; missing values need a dense matrix")
        else:
            dense = x.detach().to(where, torch.float32)
            if bool(dense.isinf().any()):
                row, column = dense.isinf().nonzero()[0].tolist()
                raise ValueError(
                    f"data.x holds {dense[row, column].item()} at node {row}, feature {column}; only NaN (missing) may"
                )
        chosen = infer_columns(x) if columns is None else check_columns(columns, int(x.shape[1]))
        if scales is not None and scales.centre.numel() != x.shape[1]:
            raise ValueError(f"the fitted detector knows {scales.centre.numel()} features; x has {x.shape[1]}")
        if trusted is not None:
            trusted = torch.as_tensor(trusted, dtype=torch.bool, device=where)
            trusted = trusted[:, None] if trusted.dim() == 1 else trusted
            if trusted.shape not in ((x.shape[0], 1), tuple(x.shape)):
                raise ValueError(
                    f"trusted has shape {tuple(trusted.shape)}; it must be [{x.shape[0]}] or {list(x.shape)}"
                )
        from_rows = bool(getattr(data, "edges_from_rows", False))
        return cls(graph, dense, matrix, chosen, trusted, where, scales, from_rows)

    @property
    def nodes(self) -> int:
        return self.graph.num_nodes

    @property
    def features(self) -> int:
        return self.columns[-1].stop

    @cached_property
    def adjacency(self) -> Tensor:
        return csr_tensor(self.graph.adjacency, torch.float32, self.device)

    @cached_property
    def back(self) -> Tensor:
        """Weight ``[n]`` of the ways that lead to a neighbour and back."""
        a = self.graph.adjacency
        return torch.from_numpy(np.asarray(a.multiply(a).sum(axis=1), dtype=np.float32).ravel()).to(self.device)

    @cached_property
    def neighbours(self) -> Tensor:
        """Number of neighbours ``[n]``, whatever their weights."""
        return torch.from_numpy(np.diff(self.graph.adjacency.indptr).astype(np.float32)).to(self.device)

    @cached_property
    def edges(self) -> tuple[Tensor, Tensor]:
        """Both ends of every stored adjacency entry, sorted by the first."""
        a = self.graph.adjacency
        row = np.repeat(np.arange(self.nodes), np.diff(a.indptr))
        return torch.from_numpy(row).to(self.device), torch.from_numpy(a.indices.astype(np.int64)).to(self.device)

    @cached_property
    def _transposed(self) -> sp.csc_matrix:
        assert self.matrix is not None
        return self.matrix.tocsc()

    def block(self, first: int, last: int) -> Tensor:
        """Features ``first .. last - 1`` as a dense ``[n, last - first]``."""
        if self.x is not None:
            return self.x[:, first:last]
        return torch.from_numpy(self._transposed[:, first:last].toarray()).to(self.device)

    def trusted_block(self, first: int, last: int) -> Tensor | None:
        if self.trusted is None or self.trusted.shape[1] == 1:
            return self.trusted
        return self.trusted[:, first:last]

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Consecutive ranges of features that fit in a block; a categorical column is never cut."""
        width = max(1, min(512, CELLS_PER_BLOCK // self.nodes))
        first = 0
        for c in self.columns:
            if c.stop - first > width and c.start > first:
                yield first, c.start
                first = c.start
        yield first, self.features

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kind of each feature."""
        return tuple(c.kind for c in self.columns for _ in range(c.start, c.stop))

    def of_kind(self, *kinds: str) -> Tensor:
        """Bool ``[d]``: the features of these kinds."""
        return torch.tensor([k in kinds for k in self.kinds], device=self.device)

    @cached_property
    def missing(self) -> Tensor | None:
        """Bool ``[n, d]``, or None where nothing is missing."""
        if self.x is None:
            return None
        missing = self.x.isnan()
        return missing if bool(missing.any()) else None

    @cached_property
    def bag(self) -> bool:
        """Whether the rows are bags: at least 16 columns, no categories, most rows at least half empty (0), and hardly
        any cells (2 %: they may be what is wrong) negative."""
        if "categorical" in self.kinds or self.features < 16:
            return False
        filled = torch.zeros(self.nodes, device=self.device)
        if self.matrix is not None:
            filled += torch.from_numpy(self.matrix.getnnz(axis=1)).to(self.device)
            negative = int((self.matrix.data < 0).sum())
        else:
            negative = 0
            for first, last in self.ranges():
                block = self.block(first, last)
                filled += (block != 0).sum(dim=1)
                negative += int((block < 0).sum())
        return float(filled.median()) <= 0.5 * self.features and negative <= 0.02 * self.nodes * self.features

    @property
    def table(self) -> bool:
        """Whether this is a table of few columns, each of which may depend on the neighbours in its own way."""
        return self.x is not None and self.features <= FEW and not self.bag

    @property
    def narrow(self) -> bool:
        """Whether this is a table in which a single cell decides much about the rest of its row."""
        return self.table and self.features <= NARROW

    @cached_property
    def scales(self) -> Scales:
        if self.given_scales is not None:
            return self.given_scales
        count, indicator = self.of_kind("count"), self.of_kind("binary", "categorical")
        centre, spread, unit = (torch.zeros(self.features, device=self.device) for _ in range(3))
        unit[count] = 1.0
        for first, last in self.ranges():
            block = self.block(first, last)
            numeric = ~(count | indicator)[first:last]
            if bool(numeric.any()) and not self.bag:
                at = torch.nonzero(numeric).flatten()
                unit[at + first] = logarithm_unit(block[:, at])
            for is_indicator in (False, True):
                at = torch.nonzero(indicator[first:last] == is_indicator).flatten()
                if at.numel():
                    part = robust_scales(block[:, at], unit[at + first], is_indicator)
                    centre[at + first], spread[at + first] = part
        return Scales(centre, spread, unit)
