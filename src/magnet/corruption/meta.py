"""The meta attack on node attributes (Zuegner and Guennemann 2019), and its gradient-free control."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import torch
from rich.console import Console
from rich.progress import track
from torch import Generator, Tensor
from torch_geometric.data import Data

from magnet.arrays import CELLS_PER_BLOCK, dense_x, is_binary, is_sparse, like
from magnet.checks import at_least, one_of
from magnet.corruption.result import Corruption, check_features, finish
from magnet.corruption.surrogate import Surrogate

# (cells changed, of them per meta-gradient) such that a two-layer GCN falls about as far as in the paper's Table 1;
# results/meta_attack.md has the measurement.
CALIBRATED = {"cora": (575, 25), "citeseer": (4000, 10), "pubmed": (75, 2)}
STEPS = 50  # number of meta-gradients where neither is given

Ends = tuple[Tensor, Tensor]  # the least and the largest value of each column


def meta_attack(
    data: Data,
    budget: int | None = None,
    seed: int = 0,
    strategy: Literal["meta", "random"] = "meta",
    flips_per_step: int | None = None,
    train_steps: int = 100,
    hidden: int = 16,
    device: Any = None,
    tolerance: float | None = None,
    progress: bool = False,
    per_row: int | None = None,
) -> Corruption:
    """Poison attributes so that a GCN trained on them fails on the other nodes.

    In each step the surrogate is trained from a fresh start, and the gradient of its loss on the unlabeled
    nodes (with its own predictions on the clean graph as labels: Meta-Self) is taken with respect to the
    features, through the training. The cells with the largest predicted increase of that loss change: 0/1 features
    flip, others move to the end of their column's range. No cell changes twice; edges are unchanged.
    Sparse features are densified during the attack.

    Args:
        data: a graph with ``x``, ``edge_index``, ``y`` and ``train_mask``; it is not modified. Only the
            labels of the training nodes are used.
        budget: number of cells to change. (default: the calibrated number for a known dataset)
        seed: seed of the surrogate's starts, or of the random cells. (default: ``0``)
        strategy: ``"meta"``, or ``"random"`` for the control: as many cells, drawn at random.
            (default: ``"meta"``)
        flips_per_step: cells that change per meta-gradient. (default: the calibrated number where the budget is, else
            ``budget / 50``, at least 1)
        train_steps: training steps of the surrogate. (default: ``100``)
        hidden: its hidden width. (default: ``16``)
        device: where to compute. (default: the device of ``data.x``)
        tolerance: a cell counts as wrong when it moved by more than this. (default: the paper's value for a
            known dataset, else 0)
        progress: show a progress bar. (default: ``False``)
        per_row: maximum number of changed cells per row. Without it, a few rows take most of the budget (five rows
            half of it on Cora) and are recognizable by their length. (default: no limit)

    Example:
        >>> from magnet.datasets import synthetic
        >>> bad = meta_attack(synthetic(nodes=60, features=20), budget=30, train_steps=10)
        >>> int(bad.cells.sum())
        30
        >>> spread = meta_attack(synthetic(nodes=60, features=20), budget=30, train_steps=10, per_row=2)
        >>> int(spread.cells.sum(dim=1).max())
        2
    """
    nodes, columns = check_features(data)
    calibrated = CALIBRATED.get(getattr(data, "name", None) or "")
    if budget is None and calibrated is not None:
        budget, flips_per_step = calibrated[0], flips_per_step or calibrated[1]
    budget = _check_budget(budget, nodes * columns)
    one_of("strategy", strategy, ("meta", "random"))
    per_step = max(1, round(budget / STEPS)) if flips_per_step is None else flips_per_step
    for name, value in (("flips_per_step", per_step), ("train_steps", train_steps), ("hidden", hidden)):
        at_least(name, value, 1)
    if per_row is not None and (per_row < 1 or per_row * nodes < budget):
        raise ValueError(
            f"per_row is {per_row}: with {nodes} rows that allows {max(0, per_row * nodes)} cells, and the budget "
            f"is {budget}"
        )

    x = dense_x(data).detach().to(device).clone()
    ends = (torch.zeros_like(x[0]), torch.ones_like(x[0])) if is_binary(data.x) else (x.amin(dim=0), x.amax(dim=0))
    generator = Generator().manual_seed(seed)
    if strategy == "random":
        _change_at_random(x, ends, budget, per_row, generator)
    else:
        _check_labels(data)
        counts = [per_step] * (budget // per_step) + [budget % per_step] * (budget % per_step > 0)
        shown = track(counts, description="meta attack", disable=not progress, console=Console(stderr=True))
        _attack(data, x, ends, shown, per_row, generator, hidden=hidden, steps=train_steps)
    new = like(x.cpu().numpy(), data.x) if is_sparse(data.x) else x.to(data.x.device)
    settings = {"flips_per_step": per_step, "train_steps": train_steps, "hidden": hidden}
    return finish(
        data,
        new,
        tolerance,
        kind="meta" if strategy == "meta" else "meta-control",
        budget=budget,
        seed=int(seed),
        **(settings if strategy == "meta" else {}),
        **({} if per_row is None else {"per_row": int(per_row)}),
    )


def _attack(
    data: Data, x: Tensor, ends: Ends, counts: Iterable[int], per_row: int | None, generator: Generator, **options: int
) -> None:
    """Change cells of ``x`` in place, ``counts`` of them step by step."""
    y = data.y.to(x.device)
    surrogate = Surrogate.build(data.edge_index, data.train_mask, int(y.max()) + 1, x, **options)
    labels = surrogate.predict(x, y, generator)
    touched = torch.zeros_like(x, dtype=torch.bool)
    for count in counts:
        gradient = surrogate.meta_gradient(x, labels, surrogate.initial(x.shape[1], generator))
        cells = _best_cells(x, gradient, ends, touched, count, per_row)
        low, high = (end[cells % x.shape[1]] for end in ends)
        x.view(-1)[cells] = torch.where(gradient.view(-1)[cells] > 0, high, low)
        touched.view(-1)[cells] = True


def _best_cells(x: Tensor, gradient: Tensor, ends: Ends, touched: Tensor, count: int, per_row: int | None) -> Tensor:
    """Flat places of the untouched cells with the largest first-order gain ``gradient * (end - x)``, at most as many of
    a row as its cap leaves."""
    (low, high), gains, places = ends, [], []
    rows = max(1, CELLS_PER_BLOCK // x.shape[1])
    for start in range(0, x.shape[0], rows):
        block = slice(start, start + rows)
        slope = gradient[block]
        gain = slope * (torch.where(slope > 0, high, low) - x[block])
        gain.masked_fill_(touched[block], -1.0)
        if per_row is not None:
            remaining = per_row - touched[block].sum(dim=1)
            ranked = gain.topk(min(per_row, gain.shape[1]), dim=1)
            inside = torch.arange(ranked.indices.shape[1], device=x.device) < remaining[:, None]
            allowed = torch.full_like(gain, -1.0)
            gain = allowed.scatter_(1, ranked.indices, torch.where(inside, ranked.values, -1.0))
        best = gain.view(-1).topk(min(count, gain.numel()))
        gains.append(best.values)
        places.append(best.indices + start * x.shape[1])
    order = torch.cat(gains).topk(count).indices
    return torch.cat(places)[order]


def _change_at_random(x: Tensor, ends: Ends, budget: int, per_row: int | None, generator: Generator) -> None:
    """Move ``budget`` random cells to the end of their column's range that is farther away."""
    cells = torch.randperm(x.numel(), generator=generator)
    if per_row is not None:  # the first ``per_row`` cells of each row, in the order of the draw
        row = cells // x.shape[1]
        order = row.argsort(stable=True)
        start = torch.searchsorted(row[order], torch.arange(x.shape[0]))
        rank = torch.empty_like(cells)
        rank[order] = torch.arange(cells.numel()) - start[row[order]]
        cells = cells[rank < per_row]
    cells = cells[:budget].to(x.device)
    value, (low, high) = x.view(-1)[cells], (end[cells % x.shape[1]] for end in ends)
    x.view(-1)[cells] = torch.where(high - value >= value - low, high, low)


def _check_budget(budget: int | None, cells: int) -> int:
    if budget is None:
        raise ValueError(
            f"only {', '.join(CALIBRATED)} have a calibrated budget; give budget, the number of cells to change"
        )
    if isinstance(budget, bool) or int(budget) != budget or budget < 1:
        raise ValueError(f"budget is {budget!r}; it must be a number of cells, at least 1")
    if budget > cells:
        raise ValueError(f"budget is {budget}, but the feature matrix has {cells} cells")
    return int(budget)


def _check_labels(data: Data) -> None:
    for key in ("y", "train_mask"):
        if data.get(key) is None:
            raise ValueError(f"the meta attack needs data.{key}, which this graph does not have")
    if data.train_mask.dim() != 1 or not data.train_mask.any() or data.train_mask.all():
        raise ValueError("data.train_mask must be 1-D and hold some of the nodes, not all")
