"""The input of a batch of models: one feature matrix for all of them, or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from magnet.arrays import csr_tensor, density, is_sparse, to_scipy
from magnet.framelets import sparse_product
from magnet.nn.layers import Dropout
from magnet.nn.sparse import Sparse

#: Features with a smaller share of non-zeros are multiplied as sparse matrices: where that is faster.
SPARSE_BELOW = {"cpu": 0.2, "cuda": 0.05}
#: Of the randomized iteration for a subspace (Halko et al. 2011): further directions, for precision, and rounds.
OVERSAMPLING, POWER_ROUNDS = 8, 3
#: One column with a larger part of the variance hides the others (of the datasets of table 1 none has more than .05).
MAX_VARIANCE_SHARE = 0.5
#: Columns on a scale of their own are clipped at this many spreads, so that outliers and heavy tails do not dominate.
MAX_SPREADS = 5.0
NORMAL_RANGE = 2.563  # between the 10 % and 90 % points of a normal distribution, in deviations
COLUMNS_AT_ONCE = 64  # of a matrix that is sorted or copied in double precision. Set by memory


@dataclass(eq=False)
class Features:
    r"""``R`` feature matrices for ``S`` models, matrix r serving the models ``r S/R`` to ``(r + 1) S/R - 1``.

    Sparse ones are woven into one of shape ``[n R, d R]``, row ``i R + r`` being row i of matrix r, so that its product
    with weights ``[d, R, ...]`` is the layer's output ``[n, R, ...]`` as it lies in memory.
    """

    dense: Tensor | None  # [R, n, d]
    sparse: sp.csr_matrix | None
    count: int  # R
    like: Tensor
    shared: bool = False  # keep x @ weight of an evaluation for the training step that follows with the same weight
    known: Tensor | None = field(default=None, repr=False)  # what was kept; None before the first evaluation
    cache: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, x: Any, like: Tensor) -> Features:
        """From one matrix ``[n, d]`` of any layout, a sequence of them, or a tensor ``[R, n, d]``."""
        if isinstance(x, Features):
            return x
        if isinstance(x, Tensor) and x.layout == torch.strided and (x.requires_grad or x.dim() == 3):
            return cls((x if x.dim() == 3 else x.unsqueeze(0)).to(like), None, x.shape[0] if x.dim() == 3 else 1, like)
        parts: Sequence[Any] = x if isinstance(x, list | tuple) else [x]
        shapes = {tuple(part.shape) for part in parts}
        if len(shapes) != 1 or len(next(iter(shapes))) != 2:
            raise ValueError(f"x has matrices of shapes {sorted(shapes)}; they must all be the same [nodes, features]")
        if all(stays_sparse(part, like.device) for part in parts):
            return cls(None, weave([to_scipy(part) for part in parts]), len(parts), like)
        dense = [_dense(part, like) for part in parts]
        stacked = torch.stack(dense) if len(dense) > 1 else dense[0].unsqueeze(0)
        return cls(stacked, None, len(parts), like)

    @property
    def nodes(self) -> int:
        return self.dense.shape[1] if self.dense is not None else self.sparse.shape[0] // self.count  # type: ignore[union-attr]

    @property
    def columns(self) -> int:
        return self.dense.shape[2] if self.dense is not None else self.sparse.shape[1] // self.count  # type: ignore[union-attr]

    def take(self, rows: np.ndarray[Any, Any] | None) -> Features:
        """Some of the nodes; ``None`` for all."""
        if rows is None:
            return self
        if self.dense is not None:
            index = torch.as_tensor(rows, device=self.dense.device)
            return Features(self.dense[:, index], None, self.count, self.like)
        assert self.sparse is not None
        woven = (rows[:, None] * self.count + np.arange(self.count)).ravel()
        return Features(None, self.sparse[woven], self.count, self.like)

    def propagated(self, matrix: sp.csr_matrix) -> Features:
        """``matrix @ x`` for each of the feature matrices."""
        if self.dense is not None:
            operator = Sparse.of(matrix, self.like)
            return Features(torch.stack([operator @ x for x in self.dense]), None, self.count, self.like)
        woven = sp.kron(matrix, sp.identity(self.count), format="csr").astype(np.float32)
        return Features(None, (woven @ self.sparse).tocsr(), self.count, self.like)

    @property
    def stored(self) -> int:
        """How many numbers one product with them reads."""
        return self.dense.numel() if self.dense is not None else int(self.sparse.nnz)  # type: ignore[union-attr]

    def linear(self, weight: Tensor, dropout: Dropout | None = None) -> Tensor:
        """``x @ weight`` ``[n, S, out]`` for ``weight`` ``[d, S, out]``, with dropout of the features' cells."""
        models = weight.shape[1]
        if models % self.count:
            raise ValueError(f"{self.count} feature matrices cannot serve {models} models in equal shares")
        if dropout is not None and dropout.active:
            return self._dropped(weight, dropout)
        if self.known is not None and torch.is_grad_enabled():
            return _Known.apply(weight, self.known, self)  # type: ignore[no-untyped-call]
        out = self._product(weight.reshape(self.columns, self.count, -1)).view(self.nodes, models, -1)
        if self.shared and not torch.is_grad_enabled():
            if out.is_cuda and self.known is not None:
                self.known.copy_(out)  # a CUDA graph reads it where it was when the graph was made
            else:
                self.known = out
        return out

    def _product(self, flat: Tensor, transposed: bool = False) -> Tensor:
        """``[d, R, k] -> [n, R, k]``, or back."""
        rows = self.columns if transposed else self.nodes
        if self.dense is not None:
            side = self.dense.transpose(1, 2) if transposed else self.dense
            if self.count == 1:
                return (side[0] @ flat[:, 0]).unsqueeze(1)
            return torch.bmm(side, flat.transpose(0, 1)).transpose(0, 1).contiguous()
        if "product" not in self.cache:
            self.cache["product"] = Sparse.of(self.sparse, self.like)
        operator: Sparse = self.cache["product"]
        return ((operator.t if transposed else operator) @ flat.reshape(-1, flat.shape[2])).view(rows, self.count, -1)

    def _dropped(self, weight: Tensor, dropout: Dropout) -> Tensor:
        models = weight.shape[1]
        if self.dense is not None:
            each = self.dense.repeat_interleave(models // self.count, dim=0)
            dropped = each * dropout.mask((self.nodes, self.columns), self.like)
            return torch.bmm(dropped, weight.transpose(0, 1)).transpose(0, 1)
        if "blocks" not in self.cache or self.cache["blocks"].models != models:
            self.cache["blocks"] = _Blocks.build(self, models)
        blocks: _Blocks = self.cache["blocks"]
        return blocks.product(weight, dropout)


class _Known(torch.autograd.Function):
    """``x @ weight`` whose value is known already; its gradient is :math:`x^\\top g`."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, value: Tensor, features: Features) -> Tensor:
        ctx.features, ctx.shape = features, weight.shape
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        features: Features = ctx.features
        flat = grads[0].reshape(features.nodes, features.count, -1)
        return features._product(flat, transposed=True).reshape(ctx.shape), None, None


@dataclass(frozen=True, eq=False)
class _Blocks:
    """The sparse features of all models as one block-diagonal matrix ``[S n, S d]``: each drops different cells."""

    models: int
    forward: tuple[Tensor, Tensor, tuple[int, int]]
    backward: tuple[Tensor, Tensor, tuple[int, int]]
    values: Tensor
    turned: Tensor  # where the entries of the transpose are among the values
    cells: list[int]

    @classmethod
    def build(cls, features: Features, models: int) -> _Blocks:
        like, repeats = features.like, models // features.count
        parts = [part for part in unweave(features.sparse, features.count) for _ in range(repeats)]
        matrix = sp.block_diag(parts, format="csr")
        numbered = sp.csr_matrix((np.arange(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
        back = numbered.T.tocsr()
        forward, backward = (
            (*(torch.from_numpy(a.astype(np.int64)).to(like.device) for a in (side.indptr, side.indices)), side.shape)
            for side in (matrix, back)
        )
        values, turned = torch.from_numpy(matrix.data).to(like), torch.from_numpy(back.data).to(like.device)
        return cls(models, forward, backward, values, turned, [part.nnz for part in parts])

    def product(self, weight: Tensor, dropout: Dropout) -> Tensor:
        values = self.values * dropout.mask_of(self.cells, self.values)
        flat = weight.transpose(0, 1).reshape(-1, weight.shape[2])
        out = sparse_product(_csr(self.forward, values), _csr(self.backward, values[self.turned]), flat)
        return out.view(self.models, -1, weight.shape[2]).transpose(0, 1)


def _csr(index: tuple[Tensor, Tensor, tuple[int, int]], values: Tensor) -> Tensor:
    return torch.sparse_csr_tensor(index[0], index[1], values, size=index[2], check_invariants=False)


def weave(parts: Sequence[sp.csr_matrix]) -> sp.csr_matrix:
    """R matrices ``[n, d]`` as one ``[n R, d R]``: row i of matrix r is row ``i R + r``, in columns ``j R + r``."""
    count = len(parts)
    if count == 1:
        return parts[0]
    rows, columns = (np.arange(count * size).reshape(count, size).T.ravel() for size in parts[0].shape)
    return sp.block_diag(parts, format="csr")[rows][:, columns].sorted_indices()


def unweave(woven: sp.csr_matrix, count: int) -> list[sp.csr_matrix]:
    """What :func:`weave` wove."""
    if count == 1:
        return [woven]
    parts = []
    for r in range(count):
        part = woven[r::count]
        shape = (part.shape[0], woven.shape[1] // count)
        parts.append(sp.csr_matrix((part.data, part.indices // count, part.indptr), shape=shape))
    return parts


def stays_sparse(x: Any, device: torch.device) -> bool:
    """Whether so few cells are not zero that a sparse product is faster."""
    return density(x) < SPARSE_BELOW.get(device.type, SPARSE_BELOW["cuda"])


def _dense(x: Any, like: Tensor) -> Tensor:
    if isinstance(x, Tensor) and x.layout == torch.strided:
        return x.detach().to(like)
    return torch.from_numpy(to_scipy(x).toarray() if is_sparse(x) else np.asarray(x)).to(like)


def row_normalized(x: Any, in_place: bool = False) -> Any:
    """Rows divided by the sum of their absolute values where that is above 1, in the layout they came in.

    For features that are not negative that is PyG's ``NormalizeFeatures``.

    Args:
        x: features ``[n, d]``.
        in_place: dense features may be overwritten, as in the two functions below. (default: ``False``)
    """
    if is_sparse(x):
        matrix = to_scipy(x)
        total = np.asarray(abs(matrix).sum(axis=1)).ravel()
        return _in_layout_of(x, sp.diags(1.0 / np.where(total > 1, total, 1.0)) @ matrix)
    values = torch.as_tensor(x)
    size = values.abs().sum(dim=-1, keepdim=True).clamp(min=1.0)
    return values.div_(size) if in_place else values / size


def _in_layout_of(x: Any, scaled: Any) -> Any:
    """A scaled SciPy matrix as what ``x`` is, a CSR tensor or a SciPy matrix; whole numbers become float32."""
    if isinstance(x, Tensor):
        return csr_tensor(scaled.tocsr(), x.dtype, x.device)
    return scaled.tocsr().astype(x.dtype if x.dtype.kind == "f" else np.float32)


def unit_scaled(x: Any, in_place: bool = False) -> Any:
    r"""All features times one factor, so that rows have a total variance of 1.

    .. math:: x / \sqrt{\textstyle\sum_j \mathrm{Var}(x_j)}

    What weight decay and learning rate do depends on the scale of the features. With this scale the same settings
    serve bags of words with ten or with three hundred words in a row, tf-idf, and embeddings.
    """
    if is_sparse(x):
        matrix = to_scipy(x)
        mean = np.asarray(matrix.mean(axis=0)).ravel()
        total = float(matrix.multiply(matrix).sum()) / matrix.shape[0] - float((mean**2).sum())
        return _in_layout_of(x, matrix * (1.0 / np.sqrt(total) if total > 0 else 1.0))
    values = torch.as_tensor(x)
    total = float(values.var(dim=0, correction=0).double().sum())
    if total <= 0:
        return values
    return values.div_(total**0.5) if in_place else values / total**0.5


def column_scaled(x: Any, in_place: bool = False) -> Any:
    """Every column on a scale of its own, within :data:`MAX_SPREADS` spreads of its median (the spread between the 10 %
    and 90 % points), then all times one factor as :func:`unit_scaled`. Sparse features keep their zeros: their columns
    are divided by their deviations.

    For columns in different units: with one factor, the largest column hides the others.
    """
    if is_sparse(x):
        size = np.sqrt(_column_variances(x))
        return unit_scaled(_in_layout_of(x, to_scipy(x) @ sp.diags(1.0 / np.where(size > 0, size, 1.0))))
    values = torch.as_tensor(x)
    values = values if in_place else values.clone()
    for at in range(0, values.shape[1], COLUMNS_AT_ONCE):
        block = values[:, at : at + COLUMNS_AT_ONCE]
        ordered = block.sort(dim=0).values
        low, center, high = (ordered[int(q * (len(ordered) - 1))] for q in (0.1, 0.5, 0.9))
        spread, deviation = (high - low) / NORMAL_RANGE, block.std(dim=0, correction=0)
        spread = torch.where(spread > 0, spread, torch.where(deviation > 0, deviation, 1.0))
        block.sub_(center).div_(spread).clamp_(-MAX_SPREADS, MAX_SPREADS)
    return unit_scaled(values, in_place=True)


def has_dominant_column(x: Any) -> bool:
    """Whether one column has most of the variance of all, so that one factor for the whole matrix would hide the rest.

    Example:
        >>> x = torch.eye(6)
        >>> has_dominant_column(x), has_dominant_column(x * torch.tensor([1, 1, 1, 1, 1, 1000]))
        (False, True)
    """
    variance = _column_variances(x)
    return bool(variance.max(initial=0.0) > MAX_VARIANCE_SHARE * variance.sum())


def _column_variances(x: Any) -> NDArray[np.float64]:
    if is_sparse(x):
        matrix = to_scipy(x)
        mean, square = (np.asarray(part.mean(axis=0)).ravel() for part in (matrix, matrix.multiply(matrix)))
        return np.maximum(square - mean**2, 0.0).astype(np.float64)
    values = torch.as_tensor(x)
    ranges = range(0, values.shape[1], COLUMNS_AT_ONCE)
    parts = [values[:, at : at + COLUMNS_AT_ONCE].double().var(dim=0, correction=0) for at in ranges]
    return torch.cat(parts).numpy(force=True)


def principal(x: Tensor, count: int) -> Tensor:
    r"""An orthonormal basis ``[d, count]`` of the subspace in which features vary most, rotated at random.

    Networks learn as well from :math:`X B` as from repaired features :math:`X`, with a tenth of the work: the part
    left out is damped by the smoothing. The basis is rotated since Adam scales every coordinate separately: in the
    coordinates of the principal components it learns the last one as fast as the first (Cora, random rows, propagation
    10, GCN with weak decay, two seeds: 78.1 %; rotated 81.6 %; all features 79.7 %).

    The subspace is found by iteration from random directions ("Finding structure with randomness", Halko et al., SIAM
    Review 2011).
    """
    generator = torch.Generator().manual_seed(0)
    wide = min(count + OVERSAMPLING, *x.shape)
    found = torch.randn(x.shape[1], wide, generator=generator).to(x)
    for _ in range(POWER_ROUNDS):
        found = torch.linalg.qr(x.T @ (x @ found))[0]
    inside = x @ found
    leading = torch.linalg.eigh(inside.T @ inside)[1][:, -count:]
    turn = torch.linalg.qr(torch.randn(leading.shape[1], leading.shape[1], generator=generator))[0]
    return found @ leading @ turn.to(x)
