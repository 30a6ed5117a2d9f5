"""The data of a detector: features, graph and known cells, on one device."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from magnet.arrays import csr_tensor
from magnet.cluster import results_in_order
from magnet.detection.data.columns import Column
from magnet.detection.data.edges import rows_of_product, sparse_product
from magnet.detection.data.scales import Scales, asinh_units, nan_median, robust_scales
from magnet.detection.data.scratch import over_cached_rows, row_ranges, scratch
from magnet.detection.data.sparse_rows import columns_of, row_pieces
from magnet.detection.options import DATA
from magnet.freed_memory import reuse_freed_memory
from magnet.graph import Graph
from magnet.scales import MAX_ZEROS
from magnet.threads import threads_for

NUMERIC_KINDS = ("count", "continuous")
SUM_GROUP = 64  # columns that sums over a row add as a group
ROW_RANK = 128  # singular vectors that rows are compared by, from design.md 2.6

T = TypeVar("T")


@dataclass(eq=False)
class DetectionData:
    """A graph with node features as detectors see it, made by :func:`~magnet.detection.data.read.read_data`.

    Args:
        graph: the undirected graph.
        x: dense features ``[n, d]`` with NaN where a value is missing, or None for sparse ones.
        matrix: sparse features (sorted indices, no stored zeros), or None for dense ones.
        columns: what the features are.
        trusted: bool ``[n, d]`` or ``[n, 1]``, cells known to be right; None for none.
        device: where the work is done.
        given_scales: column scales taken over from another graph. (default: from this one)
        edges_from_rows: whether the edges were chosen by the features themselves (nearest neighbors). Such neighbors
            agree with a wrong value as well as with a right one, so they are not evidence about single cells.
        units: what the rows ``[n]`` and the columns ``[d]`` were divided by, so that bags of words are 0/1 or counts
            here, whatever they were multiplied by; None for 1.
        cluster: the Ray cluster that works on ranges of features, see :func:`magnet.cluster.connected`; None for none.
        on_disk: the features may be larger than memory: they, and matrices of their size, are in temporary files.
    """

    graph: Graph
    x: Tensor | None
    matrix: sp.csr_matrix | None
    columns: list[Column]
    trusted: Tensor | None
    device: torch.device
    given_scales: Scales | None = None
    edges_from_rows: bool = False
    units: tuple[Tensor, Tensor] | None = None
    cluster: str | None = None
    on_disk: bool = False

    @property
    def num_nodes(self) -> int:
        return self.graph.num_nodes

    @property
    def num_features(self) -> int:
        return self.columns[-1].stop

    @cached_property
    def adjacency(self) -> Tensor:
        return csr_tensor(self.graph.adjacency, torch.float32, self.device)

    @cached_property
    def return_weight(self) -> Tensor:
        """Total weight ``[n]`` of the two-step walks that return to where they started."""
        a = self.graph.adjacency
        return torch.from_numpy(np.asarray(a.multiply(a).sum(axis=1), dtype=np.float32).ravel()).to(self.device)

    def neighbor_sums(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Sums ``[n, c]`` over neighbors and over two-step walks that do not return, of values ``[n, c]``."""
        one = self.neighbor_sum(values)
        two = self.neighbor_sum(one)
        back = self.return_weight[:, None]

        def without_return(rows: slice) -> None:
            two[rows] -= back[rows] * values[rows]

        over_cached_rows(values, without_return)
        return one, two

    def neighbor_sum(self, values: Tensor) -> Tensor:
        """Sums ``[n, c]`` over neighbors."""
        if self.device.type != "cpu":
            return self.adjacency @ values
        return torch.from_numpy(sparse_product(self.links, values.numpy()))

    def far_sums(self, one: Tensor, values: Tensor, rows: slice) -> Tensor:
        """Some rows of the sums over two-step walks that do not return, from those over neighbors: where they are used
        at once, there is no such matrix of all nodes."""
        if self.device.type != "cpu":
            return (self.adjacency @ one)[rows] - self.return_weight[rows, None] * values[rows]
        two = torch.from_numpy(rows_of_product(self.links, one.numpy(), rows))
        return two.sub_(self.return_weight[rows, None] * values[rows])

    @cached_property
    def links(self) -> sp.csr_matrix:
        """The adjacency as float32."""
        a = self.graph.adjacency
        return sp.csr_matrix((a.data.astype(np.float32), a.indices, a.indptr), a.shape)

    def walks_from(self, nodes: Tensor) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """The rows ``[nodes, n]`` of the adjacency and of its square (without walks that return) for some nodes."""
        a, at = self.graph.adjacency, nodes.cpu().numpy()
        back = (self.return_weight[nodes].cpu().numpy(), (np.arange(at.size), at))
        return a[at], sp.csr_matrix(a[at] @ a - sp.csr_matrix(back, shape=(at.size, self.num_nodes)))

    @cached_property
    def num_neighbors(self) -> Tensor:
        """Number of neighbors ``[n]``, whatever their weights."""
        return torch.from_numpy(np.diff(self.graph.adjacency.indptr).astype(np.float32)).to(self.device)

    @cached_property
    def edges(self) -> tuple[Tensor, Tensor]:
        """Both ends of every stored adjacency entry, sorted by the first."""
        a = self.graph.adjacency
        row = np.repeat(np.arange(self.num_nodes), np.diff(a.indptr))
        return torch.from_numpy(row).to(self.device), torch.from_numpy(a.indices.astype(np.int64)).to(self.device)

    def empty(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """A new matrix of the size of the features; in a temporary file where these are larger than memory."""
        return scratch(*shape, dtype=dtype) if self.on_disk else torch.empty(shape, dtype=dtype, device=self.device)

    @cached_property
    def by_column(self) -> sp.csc_matrix:
        """Sparse features, sorted by columns."""
        assert self.matrix is not None
        return columns_of(self.matrix, self.on_disk)

    def block(self, first: int, last: int) -> Tensor:
        """Features ``first .. last - 1`` as a dense ``[n, last - first]``."""
        if self.x is not None:
            block = self.x[:, first:last]
            return block.contiguous() if self.on_disk else block
        return torch.from_numpy(self.by_column[:, first:last].toarray()).to(self.device)

    def original(self, first: int, last: int) -> Tensor:
        """The same in the units in which the features were given."""
        block = self.block(first, last)
        return block if self.units is None else block * self.units[0][:, None] * self.units[1][first:last]

    def ranges(self, least: int = DATA.min_block_width) -> Iterator[tuple[int, int]]:
        """Consecutive ranges of features that fit in a block, or of this width at least; a categorical column is never
        split."""
        width = block_width(self.num_nodes, least)
        first = 0
        for c in self.columns:
            if c.stop - first > width and c.start > first:
                yield first, c.start
                first = c.start
        yield first, self.num_features

    def narrow_ranges(
        self, first: int = 0, last: int | None = None, width: int | None = None
    ) -> Iterator[tuple[int, int]]:
        """The ranges (or a given range) in pieces of a sixteenth of the features (or this width), for work that makes a
        dozen matrices of the size of a block: together they are then smaller than the features. Their width is a
        multiple of ``SUM_GROUP``, so that sums over rows are those of the whole range to the last bit."""
        if width is None:
            width = max(DATA.min_work_width, self.num_features // DATA.work_pieces // SUM_GROUP * SUM_GROUP)
        starts = [c.start for c in self.columns]
        for start, stop in self.ranges() if last is None else [(first, last)]:
            while stop - start > width:
                at = starts[bisect_right(starts, start + width) - 1]
                if at <= start:  # a category that is wider
                    at = starts[bisect_right(starts, start)] if starts[-1] > start else stop
                if at >= stop:
                    break
                yield start, at
                start = at
            yield start, stop

    def over_ranges(self, work: Callable[[int, int], T], narrow: bool = True) -> Iterator[tuple[int, int, T]]:
        """``work(first, last)`` of every range, by default of the narrow ones, in order. On a cluster every range is a
        task (the wide ones, for their number), but for the first one: what ``work`` computes once and keeps is then
        there when it is sent."""
        ranges = list(self.narrow_ranges() if narrow and self.cluster is None else self.ranges())
        yield *ranges[0], work(*ranges[0])
        rest = results_in_order(_work_on_range, work, ranges[1:], self.cluster)
        for (first, last), result in zip(ranges[1:], rest, strict=True):
            yield first, last, result

    def categories(self, first: int, last: int) -> Iterator[tuple[Column, slice]]:
        """The categorical columns of a range of features, and where they are in its block."""
        for c in self.columns:
            if c.kind == "categorical" and first <= c.start < last:
                yield c, slice(c.start - first, c.stop - first)

    def exempt(self, first: int, last: int) -> Tensor | None:
        """Bool ``[n, last - first]`` (or broadcastable): cells that are trusted or missing, so that no suspicion falls
        on them; None for none."""
        trusted = self.trusted if self.trusted is None or self.trusted.shape[1] == 1 else self.trusted[:, first:last]
        if self.missing is None:
            return trusted
        return self.missing[:, first:last] if trusted is None else self.missing[:, first:last] | trusted

    def out_of_domain(self, first: int, last: int) -> Tensor:
        """Bool ``[n, last - first]``: cells of 0/1 columns that hold another number."""
        block = self.block(first, last)
        binary = torch.tensor([kind == "binary" for kind in self.kinds[first:last]], device=self.device)
        return binary & (block != 0) & (block != 1) & ~block.isnan()

    @cached_property
    def in_domain(self) -> bool:
        """Whether all cells of 0/1 columns hold 0 or 1, or nothing."""
        return not any(bool(self.out_of_domain(*each).any()) for each in self.ranges())

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kind of each feature."""
        return tuple(c.kind for c in self.columns for _ in range(c.start, c.stop))

    @cached_property
    def numeric(self) -> Tensor:
        """Bool ``[d]``: counts and continuous features; the others are 0/1."""
        return torch.tensor([k in NUMERIC_KINDS for k in self.kinds], device=self.device)

    @cached_property
    def missing(self) -> Tensor | None:
        """Bool ``[n, d]``, or None where nothing is missing."""
        if self.x is None:
            return None
        if not any(bool(self.x[rows].isnan().any()) for rows in row_ranges(*self.x.shape)):
            return None
        missing = self.empty(*self.x.shape, dtype=torch.bool)
        for first, last in self.ranges():
            missing[:, first:last] = self.x[:, first:last].isnan()
        return missing

    @cached_property
    def spike(self) -> Tensor:
        """The value ``[d]`` that is not an event: 0 for 0/1 columns and categories; NaN for columns without one."""
        value = torch.zeros(self.num_features, device=self.device)
        if self.matrix is not None or not bool(self.numeric.any()):
            return value
        for first, last in self.ranges():
            block = self.block(first, last)
            known = (~block.isnan()).sum(dim=0).clamp_min(1)
            median = nan_median(block)
            candidates = torch.stack([torch.zeros_like(median), median])
            share = torch.stack([(block == v).sum(dim=0) / known for v in candidates])
            best, which = share.max(dim=0)
            found = candidates.gather(0, which[None])[0]
            has_spike = (best > DATA.spike_share) | self._has_second_group(block, share[0])
            found = torch.where(has_spike & (best < 1), found, torch.full_like(found, float("nan")))
            value[first:last] = torch.where(self.numeric[first:last], found, value[first:last])
        return value

    @staticmethod
    def _has_second_group(block: Tensor, zeros: Tensor) -> Tensor:
        """Bool ``[c]``: columns in which a share of zeros stands beside numbers that hardly recur, and each less often
        than 0: something is absent there."""
        out = zeros > MAX_ZEROS
        for j in out.nonzero().flatten().tolist():
            column = block[:, j]
            others = column[(column != 0) & ~column.isnan()]
            times = others.unique(return_counts=True)[1]
            out[j] = 2 * times.numel() > others.numel() and int((column == 0).sum()) > int(times.max())
        return out

    @cached_property
    def is_bag(self) -> bool:
        """Whether the rows are bags of words: many columns, no categories, most rows mostly 0, hardly any cell negative
        or in a column of another size (numbers in units of their own beside 0/1 columns are not words)."""
        if "categorical" in self.kinds or self.num_features < DATA.min_bag_columns:
            return False
        filled = torch.zeros(self.num_nodes, device=self.device)
        count: NDArray[Any] = np.zeros(self.num_features)
        log_size: NDArray[Any] = np.zeros(self.num_features)
        negative = 0
        if self.matrix is not None:
            filled += torch.from_numpy(self.matrix.getnnz(axis=1)).to(self.device)
            for _, piece in row_pieces(self.matrix):
                cells, column = piece.data, piece.indices
                negative += int((cells < 0).sum())
                count += np.bincount(column, minlength=self.num_features)
                # one after another, so that the sum does not depend on the pieces
                np.add.at(log_size, column, np.log(np.abs(np.where(cells != 0, cells, 1))).astype(np.float64))
        else:
            for first, last in self.ranges():
                block = self.block(first, last)
                filled += (block != 0).sum(dim=1)
                negative += int((block < 0).sum())
                size = block.nan_to_num().abs()
                count[first:last] = (size > 0).sum(dim=0).cpu().numpy()
                log_size[first:last] = size.masked_fill(size == 0, 1.0).log().sum(dim=0).cpu().numpy()
        log_size, count = (log_size / np.maximum(count, 1))[count > 0], count[count > 0]
        typical = np.median(log_size) if log_size.size else 0.0
        other_size = count[np.abs(log_size - typical) > math.log(DATA.max_comparable_ratio)].sum()
        return bool(
            float(filled.median()) <= DATA.max_bag_fill * self.num_features
            and negative <= DATA.max_exceptions * self.num_nodes * self.num_features
            and other_size <= DATA.max_exceptions * count.sum()
        )

    @property
    def is_table(self) -> bool:
        """Whether this is a table of few columns, each of which may depend on the neighbors in its own way."""
        return self.x is not None and self.num_features <= DATA.max_table_columns and not self.is_bag

    @property
    def is_narrow(self) -> bool:
        """Whether this is a table in which a single cell decides much about the rest of its row."""
        return self.is_table and self.num_features <= DATA.max_narrow_columns

    @cached_property
    def scales(self) -> Scales:
        if self.given_scales is not None:
            return self.given_scales
        center, spread, unit = (torch.zeros(self.num_features, device=self.device) for _ in range(3))
        for first, last in self.ranges():
            block = self.block(first, last)
            at = torch.nonzero(self.numeric[first:last]).flatten()
            if at.numel() and not self.is_bag:
                unit[at + first] = asinh_units(block[:, at])
            for is_numeric in (True, False):
                at = torch.nonzero(self.numeric[first:last] == is_numeric).flatten()
                if at.numel():
                    part = robust_scales(block[:, at], unit[at + first], not is_numeric)
                    center[at + first], spread[at + first] = part
        return Scales(center, spread, unit)


@contextmanager
def stage_resources(data: DetectionData) -> Iterator[None]:
    """Bound the threads by the largest dense arrays of detection, the rows on their singular vectors, and keep the
    memory of blocks of columns for the next ones."""
    block = torch.float32.itemsize * data.num_nodes * min(data.num_features, block_width(data.num_nodes))
    with threads_for(data.num_nodes * min(data.num_features, ROW_RANK)), reuse_freed_memory(block):
        yield


def block_width(nodes: int, least: int = DATA.min_block_width) -> int:
    """How many columns are worked on at a time."""
    return max(least, min(DATA.max_block_width, DATA.cells_per_block // nodes))


def _work_on_range(work: Callable[[int, int], T], first: int, last: int) -> T:
    return work(first, last)
