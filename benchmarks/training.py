"""Ten models trained at once, against ten runs of the plain loop.

The plain loop is what one writes with PyG: dense features, every node, one forward and backward pass for training and
one forward pass for validation in each epoch, one seed after the other. GCN, MLP and APPNP use PyG's own layers; for
the others the plain loop applies the equations with one sparse product a step. Ratios are of times measured in the same
process, alternating. Written to results/training.csv and .md; rows not measured again are kept.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from _pages import command, header, made_by, save, with_earlier_rows
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, cross_entropy, dropout
from torch_geometric.nn import APPNP as PropagateAPPNP
from torch_geometric.nn import GCNConv

import magnet.nn as many
from magnet.arrays import dense_x
from magnet.datasets import load
from magnet.graph import Graph
from magnet.nn.sparse import incidence

HIDDEN, STEPS, DROP = 64, 10, 0.5
#: Rows that agree in these columns replace one another.
KEY = ("where", "features", "dataset", "seeds", "epochs", "model")


class Plain(nn.Module):
    """One model as one would write it with PyG."""

    def __init__(self, kind: str, graph: Graph, edge_index: Tensor, columns: int, classes: int) -> None:
        super().__init__()
        self.kind, self.edge_index = kind, edge_index
        device = edge_index.device
        if kind == "GCN":
            self.one, self.two = GCNConv(columns, HIDDEN, cached=True), GCNConv(HIDDEN, classes, cached=True)
        else:
            self.one, self.two = nn.Linear(columns, HIDDEN), nn.Linear(HIDDEN, classes)
        if kind == "APPNP":
            self.propagate = PropagateAPPNP(STEPS, 0.1, cached=True)
        like = torch.zeros(0, device=device)
        self.a = many.Sparse.of(graph.self_looped, like, symmetric=True)
        self.delta = many.Sparse.of(incidence(graph), like)

    def forward(self, x: Tensor) -> Tensor:
        if self.kind == "GCN":
            h = dropout(self.one(x, self.edge_index).relu(), DROP, self.training)
            return self.two(h, self.edge_index)
        if self.kind == "GNNGuard":
            h = dropout(self.guarded(x, self.one).relu(), DROP, self.training)
            return self.guarded(h, self.two)
        h = self.two(dropout(self.one(x).relu(), DROP, self.training))
        if self.kind == "APPNP":
            return self.propagate(h, self.edge_index)
        return {"MLP": lambda h: h, "ElasticGNN": self.elastic, "AirGNN": self.air}[self.kind](h)

    def guarded(self, h: Tensor, layer: nn.Module) -> Tensor:
        to, source = self.edge_index
        with torch.no_grad():
            s = cosine_similarity(h[to], h[source])
            s = torch.where(s >= 0.1, s, 0.0)
            total = torch.zeros(len(h), device=h.device).index_add(0, to, s)
            alike = torch.zeros(len(h), device=h.device).index_add(0, to, (s > 0).float())
            weight = s / total.clamp(min=1e-12)[to] * (alike / (alike + 1))[to]
        h = layer(h)
        return (h / (alike + 1).unsqueeze(1)).index_add(0, to, weight.unsqueeze(1) * h[source])

    def elastic(self, h: Tensor) -> Tensor:
        f, z = h, h.new_zeros(self.delta.shape[0], h.shape[1])
        for _ in range(STEPS):
            y = 0.25 * h + 0.75 * (self.a @ f)
            bar = z + 2 * (self.delta @ (y - 0.25 * (self.delta.t @ z)))
            z = bar * (3 / torch.linalg.vector_norm(bar, dim=1, keepdim=True).clamp(min=1e-12)).clamp(max=1)
            f = y - 0.25 * (self.delta.t @ z)
        return f

    def air(self, h: Tensor) -> Tensor:
        f = h
        for _ in range(STEPS):
            move = self.a @ f - h
            f = h + move * (1 - 0.5 / torch.linalg.vector_norm(move, dim=1, keepdim=True).clamp(min=1e-12)).clamp(min=0)
        return f


def plain_loop(kind: str, data: Any, graph: Graph, seed: int, epochs: int) -> float:
    """Test accuracy at the best epoch on validation."""
    torch.manual_seed(seed)
    model = Plain(kind, graph, data.edge_index, data.x.shape[1], int(data.y.max()) + 1).to(data.x.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=5e-3)
    best, test = -1.0, 0.0
    for _ in range(epochs):
        model.train()
        optimizer.zero_grad()
        cross_entropy(model(data.x)[data.train_mask], data.y[data.train_mask]).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            right = (model(data.x).argmax(dim=1) == data.y).float()
        accuracy = float(right[data.val_mask].mean())
        if accuracy > best:
            best, test = accuracy, float(right[data.test_mask].mean())
    return test


def at_once(kind: str, data: Any, graph: Graph, seeds: int, epochs: int) -> float:
    model = getattr(many, kind)(data.x.shape[1], int(data.y.max()) + 1, hidden=HIDDEN, seeds=range(seeds))
    model = model.to(data.x.device)
    masks = (data.train_mask, data.val_mask)
    fitted = many.fit(model, data.x, graph, data.y, *masks, learning_rate=5e-3, weight_decay=5e-3, epochs=epochs)
    right = (fitted.logits.argmax(dim=2) == data.y.cpu())[:, data.test_mask.cpu()]
    return float(right.float().mean())


def timed(work: Callable[[], Any], device: str) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start, result


def measure(kind: str, data: Any, graph: Graph, features: str, options: argparse.Namespace) -> dict[str, Any]:
    timed(lambda: plain_loop(kind, data, graph, 0, 3), options.device)
    timed(lambda: at_once(kind, data, graph, options.seeds, 3), options.device)
    plain, ours, accuracy_plain, accuracy_ours = [], [], [], 0.0
    for seed in range(options.plain_seeds):
        seconds, accuracy = timed(lambda s=seed: plain_loop(kind, data, graph, s, options.epochs), options.device)
        plain.append(seconds)
        accuracy_plain.append(accuracy)
        if seed % max(1, options.plain_seeds // options.rounds) == 0:
            seconds, accuracy_ours = timed(
                lambda: at_once(kind, data, graph, options.seeds, options.epochs), options.device
            )
            ours.append(seconds)
    ten, once = options.seeds * statistics.median(plain), statistics.median(ours)
    threads = f"{torch.get_num_threads()} CPU threads".replace("1 CPU threads", "one CPU thread")
    place = options.where or (torch.cuda.get_device_name() if options.device == "cuda" else threads)
    row = {
        "where": place,
        "features": features,
        "model": kind,
        "plain": ten,
        "at_once": once,
        "ratio": ten / once,
        "smallest": options.seeds * min(plain) / max(ours),
        "largest": options.seeds * max(plain) / min(ours),
        "accuracy_plain": 100 * statistics.mean(accuracy_plain),
        "accuracy_at_once": 100 * accuracy_ours,
        "dataset": options.dataset,
        "seeds": options.seeds,
        "epochs": options.epochs,
        "plain_runs": len(plain),
        "at_once_runs": len(ours),
        "torch": torch.__version__,
        "command": command(),
    }
    print(row, flush=True)
    return row


def as_markdown(frame: pd.DataFrame) -> str:
    lines = [
        "# Training many models at once",
        "",
        f"Against the plain PyG loop, one seed after the other, on the same data in the same process, "
        f"alternating (hidden {HIDDEN}, learning rate and weight decay 5e-3, dropout {DROP}, {STEPS} steps). Plain: "
        "the median of the timed runs times the number of seeds; at once: the median of its runs. The smallest and "
        "largest ratio come from the extreme times. Accuracies are means over the runs, in percent; the two sides draw "
        "different random numbers. `no zeros`: tiny noise added, so that nothing is gained from sparse features.",
    ]
    for (where, features, dataset, seeds, epochs), group in frame.groupby(
        ["where", "features", "dataset", "seeds", "epochs"], sort=False
    ):
        lines += [
            "",
            f"## {where}: {dataset}, {features}, {seeds} seeds x {epochs} epochs",
            "",
            *header(
                *("model", f"{seeds} plain runs", "at once", "ratio (smallest - largest)"),
                *("accuracy plain", "at once", "timed"),
            ),
        ]
        lines += [
            f"| {row.model} | {row.plain:.1f} s | {row.at_once:.2f} s | **{row.ratio:.1f}** ({row.smallest:.1f} - "
            f"{row.largest:.1f}) | {row.accuracy_plain:.1f} | {row.accuracy_at_once:.1f} | {row.plain_runs} and "
            f"{row.at_once_runs} runs |"
            for row in group.itertuples()
        ]
        lines += made_by(group["command"].unique())[:-1]
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="cora")
    parser.add_argument("--models", default="GCN,MLP,APPNP,GNNGuard,ElasticGNN,AirGNN")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--plain-seeds", type=int, default=10, help="how many plain runs to time")
    parser.add_argument("--rounds", type=int, default=3, help="how often to time the batch")
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--no-zeros", action="store_true", help="add tiny noise, so that no cell of x is zero")
    parser.add_argument("--where", help="what to call the machine (default: its GPU, or the number of CPU threads)")
    parser.add_argument("--output", type=Path, default=Path("results"))
    options = parser.parse_args()
    warnings.filterwarnings("ignore", "Sparse", UserWarning)
    data = load(options.dataset)
    data.x = dense_x(data)
    features = f"{data.x.shape[1]} dense features"
    if options.no_zeros:
        data.x = data.x + 1e-6 * torch.rand(data.x.shape, generator=torch.Generator().manual_seed(0))
        features += ", no zeros"
    graph = Graph.from_edges(data.edge_index, data.num_nodes)
    data = data.to(options.device)
    options.output.mkdir(parents=True, exist_ok=True)
    path, rows = options.output / "training.csv", []
    for kind in options.models.split(","):
        rows.append(measure(kind, data, graph, features, options))
        frame = with_earlier_rows(pd.DataFrame(rows), path, KEY)
        frame.to_csv(path, index=False, float_format="%.4g")
        save(as_markdown(frame), path.with_suffix(".md"))
    print(path.with_suffix(".md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
