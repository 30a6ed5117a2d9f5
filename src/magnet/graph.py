"""Graphs as normalized operators, built from edge lists."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from magnet.arrays import Bools, Floats, Ints, csr_tensor, is_tensor

if TYPE_CHECKING:
    import torch


DENSE_NODES = 64  # graphs up to here have their eigenvalues computed at once
LANCZOS_TOLERANCE, MARGIN = 1e-3, 1.01  # relative error of the largest eigenvalue, and the factor that covers it


@dataclass(frozen=True, eq=False)
class Graph:
    r"""An undirected weighted graph and its normalized operators.

    With the symmetric adjacency :math:`A` (no loops) and :math:`D = \mathrm{diag}(A 1)`,

    .. math::
        \hat A = D^{-1/2} A D^{-1/2}, \qquad L = I_{[d > 0]} - \hat A,

    so that an isolated node has :math:`L_{ii} = 0`: it is its own component and a pure low-pass signal.

    Use :meth:`from_edges`; the constructor takes an adjacency that is already symmetric and loop-free.

    Args:
        adjacency: symmetric CSR matrix with positive weights and an empty diagonal.
        lambda_max: upper end of the spectrum that the filters are stretched over. (default: ``2.0``,
            the bound that holds for every graph)
        cache: operators in other forms (per dtype and device, for the kernels), made on first use.
    """

    adjacency: sp.csr_matrix
    lambda_max: float = 2.0
    cache: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_edges(
        cls,
        edge_index: Any,
        num_nodes: int | None = None,
        edge_weight: Any = None,
        lambda_max: float | Literal["lanczos"] | None = None,
    ) -> Graph:
        """Build a graph from an edge list.

        Directed input is symmetrized; of several weights for one pair the largest counts; self-loops and
        edges of weight zero are dropped.

        Args:
            edge_index: ``[2, edges]`` integers (tensor or array); or a whole graph, as for :func:`edge_list`.
            num_nodes: number of nodes. (default: the largest index + 1)
            edge_weight: ``[edges]`` non-negative weights. (default: ones)
            lambda_max: ``None`` for the bound 2, ``"lanczos"`` for an estimate, or a number.

        Example:
            >>> g = Graph.from_edges([[0, 1, 1], [1, 0, 2]], num_nodes=4)
            >>> g.degree.tolist(), g.isolated.tolist()
            ([1.0, 2.0, 1.0, 0.0], [False, False, False, True])
        """
        if is_whole_graph(edge_index):
            if edge_weight is not None:
                raise ValueError(f"edge_weight belongs to the {type(edge_index).__name__} that is given")
            whole_graph = edge_index
            edge_index, edge_weight, names = edge_list(whole_graph)
            if num_nodes not in (None, len(names)):
                raise ValueError(f"num_nodes is {num_nodes}; the given graph has {len(names)} nodes")
            if isinstance(whole_graph, Graph) and lambda_max is None:
                return whole_graph
            num_nodes = len(names)
        rows, cols, num_nodes = _check_edges(edge_index, num_nodes)
        weight = _check_weights(edge_weight, rows.size)
        keep = (rows != cols) & (weight > 0)
        rows, cols, weight = rows[keep], cols[keep], weight[keep]
        one_way = _largest_weight(np.minimum(rows, cols), np.maximum(rows, cols), weight, num_nodes)
        graph = cls((one_way + one_way.T).tocsr())
        if lambda_max is None:
            return graph
        if lambda_max == "lanczos":
            return cls(graph.adjacency, graph.estimate_lambda_max())
        if not np.isfinite(lambda_max) or lambda_max <= 0:
            raise ValueError(f"lambda_max is {lambda_max}; it must be positive, 'lanczos' or None")
        return cls(graph.adjacency, float(lambda_max))

    @classmethod
    def of(cls, graph: Any) -> Graph:
        """Convert a graph in any form that :func:`edge_list` takes."""
        if isinstance(graph, Graph):
            return graph
        edges, weights, names = edge_list(graph)
        return cls.from_edges(edges, len(names), weights)

    @property
    def num_nodes(self) -> int:
        return int(self.adjacency.shape[0])

    @property
    def num_edges(self) -> int:
        """Number of undirected edges."""
        return int(self.adjacency.nnz // 2)

    @cached_property
    def degree(self) -> Floats:
        """Weighted degree ``D_ii``, 0 for isolated nodes."""
        return np.asarray(self.adjacency.sum(axis=1), dtype=np.float64).ravel()

    @cached_property
    def isolated(self) -> Bools:
        return self.degree == 0

    @cached_property
    def degree_weights(self) -> Floats:
        """``d_i`` of the graph norms: the degree, 1 for isolated nodes."""
        return np.where(self.isolated, 1.0, self.degree)

    @cached_property
    def normalized(self) -> sp.csr_matrix:
        r""":math:`\hat A = D^{-1/2} A D^{-1/2}`."""
        scale = sp.diags(1.0 / np.sqrt(self.degree_weights))
        return (scale @ self.adjacency @ scale).tocsr()

    @cached_property
    def laplacian(self) -> sp.csr_matrix:
        r""":math:`L = I_{[d > 0]} - \hat A`."""
        return (sp.diags((~self.isolated).astype(np.float64)) - self.normalized).tocsr()

    @cached_property
    def self_looped(self) -> sp.csr_matrix:
        r""":math:`\tilde A = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}`, the propagation of GCN, APPNP and their kin."""
        looped = (self.adjacency + sp.identity(self.num_nodes)).tocsr()
        scale = sp.diags(1.0 / np.sqrt(self.degree + 1.0))
        return (scale @ looped @ scale).tocsr()

    @cached_property
    def shifted(self) -> sp.csr_matrix:
        r""":math:`\tilde L = 2 L / \lambda_{\max} - I`, with its spectrum in [-1, 1] (zeros not stored)."""
        matrix = (self.laplacian * (2.0 / self.lambda_max) - sp.identity(self.num_nodes)).tocsr()
        matrix.eliminate_zeros()
        matrix.sort_indices()
        return matrix

    @cached_property
    def components(self) -> NDArray[np.int32]:
        """The connected component of each node, numbered from 0."""
        return sp.csgraph.connected_components(self.adjacency, directed=False)[1]

    def adjusted_homophily(self, y: NDArray[Any]) -> float:
        """How much more often than by chance edges join nodes of the same class: 1 if always, 0 as often as by chance
        ("Characterizing Graph Datasets for Node Classification", Platonov et al., NeurIPS 2023).

        Only edges between nodes of known class count, ``y`` being -1 elsewhere; without any the answer is 0.

        Example:
            >>> path = Graph.from_edges([[0, 1, 2], [1, 2, 3]])
            >>> [path.adjusted_homophily(np.array(y)) for y in ([0, 1, 0, 1], [0, 0, -1, 1], [0, -1, 0, -1])]
            [-1.0, 1.0, 0.0]
        """
        edges = self.adjacency.tocoo()
        ends = np.stack([y[edges.row], y[edges.col]])
        ends = ends[:, (ends >= 0).all(axis=0)]
        if ends.size == 0:
            return 0.0
        chance = float(np.square(np.bincount(ends[0]) / ends.shape[1]).sum())
        same = float((ends[0] == ends[1]).mean())
        return (same - chance) / (1 - chance) if chance < 1 else 1.0

    def estimate_lambda_max(self) -> float:
        """Largest eigenvalue of ``L`` by Lanczos, with a 1 % margin and never above the bound 2."""
        if self.num_edges == 0:
            return 2.0
        if self.num_nodes <= DENSE_NODES:
            largest = float(np.linalg.eigvalsh(self.laplacian.toarray())[-1])
        else:
            start = np.random.default_rng(0).standard_normal(self.num_nodes)
            largest = float(
                sp.linalg.eigsh(
                    self.laplacian, k=1, which="LA", tol=LANCZOS_TOLERANCE, v0=start, return_eigenvectors=False
                )[0]
            )
        return min(2.0, MARGIN * largest)

    def operator(self, name: Literal["shifted", "normalized"], like: torch.Tensor) -> torch.Tensor:
        """One of the matrices as a torch CSR tensor with the dtype and device of ``like`` (cached)."""
        key = (name, like.dtype, like.device)
        if key not in self.cache:
            matrix: sp.csr_matrix = getattr(self, name)
            self.cache[key] = csr_tensor(matrix, like.dtype, like.device)
        return self.cache[key]

    def __repr__(self) -> str:
        return f"Graph(num_nodes={self.num_nodes}, num_edges={self.num_edges}, lambda_max={self.lambda_max:g})"


def is_whole_graph(graph: Any) -> bool:
    """Whether ``graph`` is a graph object (ours, networkx or a scipy sparse matrix), not an edge list."""
    return isinstance(graph, Graph) or sp.issparse(graph) or _is_networkx(graph)


def _is_networkx(graph: Any) -> bool:
    # duck typing: networkx is not a dependency
    return all(hasattr(graph, name) for name in ("nodes", "edges", "adj", "is_directed"))


def edge_list(graph: Any) -> tuple[Ints, Floats | None, list[Any]]:
    """Edges ``[2, edges]``, weights ``[edges]`` (None: all 1) and the names of the nodes, of a graph in any form.

    Args:
        graph: a :class:`Graph`, a networkx graph (nodes in its order; the edge attribute ``weight`` counts), or a
            square scipy sparse matrix (its entries are the weights).

    Example:
        >>> edge_list(sp.coo_matrix(([2.0], ([0], [2])), shape=(3, 3)))
        (array([[0],
               [2]]), array([2.]), [0, 1, 2])
    """
    if _is_networkx(graph):
        names = list(graph.nodes)
        number = {name: k for k, name in enumerate(names)}
        weighted_edges = [(number[a], number[b], 1.0 if w is None else w) for a, b, w in graph.edges(data="weight")]
        ends = np.array([pair[:2] for pair in weighted_edges], dtype=np.int64).reshape(-1, 2).T
        return ends, np.array([weight for _, _, weight in weighted_edges], dtype=np.float64), names
    matrix = graph.adjacency if isinstance(graph, Graph) else graph
    if not sp.issparse(matrix) or matrix.shape[0] != matrix.shape[1]:
        what = f"a matrix of shape {list(matrix.shape)}" if sp.issparse(matrix) else f"a {type(graph).__name__}"
        raise ValueError(f"graph is {what}; it must be a Graph, a networkx graph or a square scipy sparse matrix")
    entries = matrix.tocoo()
    ends = np.stack([entries.row, entries.col]).astype(np.int64)
    return ends, entries.data.astype(np.float64), list(range(matrix.shape[0]))


def need_edges(data: Any) -> None:
    """Raise a ``ValueError`` if a PyG ``Data`` has no ``edge_index``."""
    if getattr(data, "edge_index", None) is None:
        hint = "a graph without links has an empty one of shape [2, 0]"
        hint = "it has an adj_t: use ToSparseTensor afterwards" if hasattr(data, "adj_t") else hint
        raise ValueError(f"data has no edge_index; {hint}")


def _check_edges(edge_index: Any, num_nodes: int | None) -> tuple[NDArray[Any], NDArray[Any], int]:
    if hasattr(edge_index, "edge_index"):
        raise ValueError(f"edge_index is a {type(edge_index).__name__}; give its edge_index and num_nodes")
    edges = np.asarray(edge_index.cpu() if is_tensor(edge_index) else edge_index)
    if edges.ndim != 2 or edges.shape[0] != 2:
        raise ValueError(f"edge_index has shape {tuple(edges.shape)}; it must be [2, edges]")
    if edges.size and not np.issubdtype(edges.dtype, np.integer):
        raise ValueError(f"edge_index has dtype {edges.dtype}; it must hold integers")
    edges = edges.astype(np.int64)
    if num_nodes is None:
        num_nodes = int(edges.max()) + 1 if edges.size else 0
    if num_nodes < 1:
        raise ValueError(f"num_nodes is {num_nodes}: the graph is empty; at least one node is needed")
    if edges.size and (edges.min() < 0 or edges.max() >= num_nodes):
        bad = int(edges.min()) if edges.min() < 0 else int(edges.max())
        raise ValueError(f"edge_index holds node {bad}; nodes are 0 to {num_nodes - 1} (num_nodes={num_nodes})")
    return edges[0], edges[1], int(num_nodes)


def _check_weights(edge_weight: Any, num_edges: int) -> Floats:
    if edge_weight is None:
        return np.ones(num_edges)
    values = edge_weight.detach().cpu() if is_tensor(edge_weight) else edge_weight
    weight = np.asarray(values, dtype=np.float64)
    if weight.shape != (num_edges,):
        raise ValueError(f"edge_weight has shape {tuple(weight.shape)}; it must be [{num_edges}], one per edge")
    if not np.isfinite(weight).all() or (weight < 0).any():
        bad = weight[~np.isfinite(weight) | (weight < 0)][0]
        raise ValueError(f"edge_weight holds {bad}; weights must be finite and nonnegative")
    return weight


def _largest_weight(low: NDArray[Any], high: NDArray[Any], weight: Floats, num_nodes: int) -> sp.csr_matrix:
    """Strictly upper-triangular adjacency in which each pair carries its largest weight."""
    pair = low * np.int64(num_nodes) + high
    order = np.lexsort((-weight, pair))
    first = np.ones(order.size, dtype=bool)
    first[1:] = pair[order][1:] != pair[order][:-1]
    chosen = order[first]
    return sp.csr_matrix((weight[chosen], (low[chosen], high[chosen])), shape=(num_nodes, num_nodes))
