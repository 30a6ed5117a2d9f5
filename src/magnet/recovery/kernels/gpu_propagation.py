"""Weighted propagation on CUDA (Triton): each of the three passes in :mod:`magnet.recovery.kernels.propagation` is a
launch.

Every program adds up its own rows; the sums of the programs are added in float64, always in the same order.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from magnet.graph import Graph
from magnet.recovery.kernels.gpu import BLOCK, EDGES, device_matrix, sparse_row

#: Rows of one program: of the sparse product, and of the elementwise passes.
PRODUCT_ROWS, ROWS = 8, 32
#: Steps between two looks at which columns go on: a look waits for the GPU.
STEPS_PER_LOOK = 8


@triton.jit
def _image_kernel(
    order, indptr, indices, values, lam, d, s, q, sums, n, width,
    ROWS: tl.constexpr, EDGES: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """``q = d s - lam A s`` on the free cells, and ``<s, q>`` of these rows."""
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = cols < width
    weight = tl.load(lam)
    total = tl.zeros([BLOCK], dtype=s.dtype.element_ty)
    for k in range(ROWS):
        place = tl.program_id(0) + k * tl.num_programs(0)  # rows of high degree, which come first, are spread
        if place < n:
            row = tl.load(order + place)
            at = row * width + cols
            free = tl.load(d + at, mask=inside, other=0.0)
            direction = tl.load(s + at, mask=inside, other=0.0)
            around = sparse_row(indptr, indices, values, s, row, cols, inside, width, EDGES, BLOCK)
            image = tl.where(free > 0, free * direction - weight * around, 0.0)
            tl.store(q + at, image, mask=inside)
            total += direction * image
    tl.store(sums + tl.program_id(0) * width + cols, total, mask=inside)


@triton.jit
def _tile(n, width, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    at = rows.to(tl.int64)[:, None] * width + cols[None, :]
    return cols, at, (rows < n)[:, None] & (cols < width)[None, :]


@triton.jit
def _residual_kernel(d, alpha, q, r, sums, n, width, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """``r -= alpha q``, and ``<r, r / d>`` and ``<r, r>`` of these rows."""
    cols, at, inside = _tile(n, width, ROWS, BLOCK)
    ahead = tl.load(alpha + cols, mask=cols < width, other=0.0)
    residual = tl.load(r + at, mask=inside, other=0.0) - ahead[None, :] * tl.load(q + at, mask=inside, other=0.0)
    tl.store(r + at, residual, mask=inside)
    free = tl.load(d + at, mask=inside, other=0.0)
    square = residual * residual
    place = sums + tl.program_id(0) * 2 * width + cols
    tl.store(place, tl.sum(tl.where(free > 0, square / tl.where(free > 0, free, 1.0), 0.0), axis=0), mask=cols < width)
    tl.store(place + width, tl.sum(square, axis=0), mask=cols < width)


@triton.jit
def _direction_kernel(d, alpha, beta, r, U, s, n, width, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """``U += alpha s`` and ``s = r / d + beta s``."""
    cols, at, inside = _tile(n, width, ROWS, BLOCK)
    ahead = tl.load(alpha + cols, mask=cols < width, other=0.0)
    keep = tl.load(beta + cols, mask=cols < width, other=0.0)
    direction = tl.load(s + at, mask=inside, other=0.0)
    tl.store(U + at, tl.load(U + at, mask=inside, other=0.0) + ahead[None, :] * direction, mask=inside)
    free = tl.load(d + at, mask=inside, other=0.0)
    scaled = tl.where(free > 0, tl.load(r + at, mask=inside, other=0.0) / tl.where(free > 0, free, 1.0), 0.0)
    tl.store(s + at, scaled + keep[None, :] * direction, mask=inside)


def conjugate_gradients(
    graph: Graph, lam: float, d: Tensor, right: Tensor, start: Tensor, *, max_iter: int, tol: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Solve ``d U - lam A U = right`` on the cells with ``d > 0``; ``right`` and ``start`` are 0 on the others.

    Returns what :func:`magnet.recovery.cg.conjugate_gradients` returns.
    """
    n, width = right.shape
    kind, device = right.dtype, right.device
    tiny = torch.finfo(torch.float64).tiny
    sparse = device_matrix(graph, right, "normalized", 1.0)
    weight = torch.full((1,), lam, dtype=kind, device=device)
    d, r, U, s = d.contiguous(), right.contiguous().clone(), start.contiguous().clone(), start.contiguous().clone()
    q = torch.empty_like(r)
    block = min(BLOCK, max(16, triton.next_power_of_2(width)))
    columns = triton.cdiv(width, block)
    products, passes = triton.cdiv(n, PRODUCT_ROWS), triton.cdiv(n, ROWS)
    curvatures = torch.empty(products, width, dtype=kind, device=device)
    squares = torch.empty(passes, 2, width, dtype=kind, device=device)

    def image() -> Tensor:
        options: dict[str, Any] = {"ROWS": PRODUCT_ROWS, "EDGES": EDGES, "BLOCK": block, "num_warps": 1}
        _image_kernel[(products, columns)](*sparse, weight, d, s, q, curvatures, n, width, **options)
        return curvatures.sum(0, dtype=torch.float64)

    def residual(alpha: Tensor) -> tuple[Tensor, Tensor]:
        _residual_kernel[(passes, columns)](d, alpha, q, r, squares, n, width, ROWS=ROWS, BLOCK=block)
        rho, squared = squares.sum(0, dtype=torch.float64)
        return rho, squared

    def advance(alpha: Tensor, beta: Tensor) -> None:
        _direction_kernel[(passes, columns)](d, alpha, beta, r, U, s, n, width, ROWS=ROWS, BLOCK=block)

    image()  # of the start: r = right - q
    none, one = torch.zeros(width, dtype=kind, device=device), torch.ones(width, dtype=kind, device=device)
    rho, squared = residual(one)
    advance(none, none)
    size = right.double().square().sum(0)
    size = torch.where(size > 0, size, squared).clamp(min=tiny)
    steps = torch.zeros(width, dtype=torch.long, device=device)
    for step in range(max_iter):
        going = squared > tol**2 * size
        if step % STEPS_PER_LOOK == 0 and not bool(going.any()):
            break
        steps += going
        curvature = image()
        alpha = torch.where(going & (curvature > 0), rho / curvature.clamp(min=tiny), 0.0).to(kind)
        after, squared = residual(alpha)
        beta = torch.where(rho > 0, after / rho.clamp(min=tiny), 0.0).to(kind)
        advance(alpha, beta)
        rho = after
    return U, steps, (squared / size).sqrt()
