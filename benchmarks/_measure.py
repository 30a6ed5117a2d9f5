"""Measurements that several benchmarks make: in a process of their own, of memory, and of a GCN."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

import torch

CPU = torch.device("cpu")


def in_own_process(script: str, *arguments: object, environment: Mapping[str, str] | None = None) -> Any:
    """Run a benchmark with some arguments in a new process and return what it prints as JSON in its last line; None,
    after a message, if it fails."""
    words = [str(argument) for argument in arguments]
    process = subprocess.run([sys.executable, script, *words], capture_output=True, text=True, env=environment)
    if process.returncode:
        reason = (process.stderr.strip().splitlines() or ["killed"])[-1]
        print(f"  {' '.join(words)}: failed ({reason})", file=sys.stderr)
        return None
    return json.loads(process.stdout.strip().splitlines()[-1])


class PeakMemory:
    """Most memory taken above what there was at the start, as the kernel counts it: nothing runs beside the work."""

    def __enter__(self) -> PeakMemory:
        from magnet.experiments.protocol.measure import peak_memory, reset_peak_memory
        from magnet.freed_memory import return_freed_memory

        return_freed_memory()  # what the run before has freed would otherwise be used again unseen
        reset_peak_memory(CPU)
        self.base, self.peak = peak_memory(CPU), 0
        return self

    def __exit__(self, *_: object) -> None:
        from magnet.experiments.protocol.measure import peak_memory

        self.peak = peak_memory(CPU) - self.base


def highest_memory() -> float:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def with_replaced_rows(dataset: str) -> Any:
    """A dataset with dense features after attribute injection (far rows, ratio 0.5, seed 0)."""
    from magnet import datasets
    from magnet.arrays import dense_x
    from magnet.corruption import inject_attributes

    data = inject_attributes(datasets.load(dataset), ratio=0.5, candidates=100, seed=0).data
    data.x = dense_x(data)
    return data


def gcn_accuracies(data: Any, seeds: int, device: str = "cpu") -> Any:
    """Test accuracy of a two-layer GCN at the epoch with the best validation accuracy, one number per seed."""
    from magnet.graph import Graph
    from magnet.nn import GCN, fit

    graph = Graph.from_edges(data.edge_index, data.num_nodes)
    model = GCN(data.x.shape[1], int(data.y.max()) + 1, hidden=64, dropout=0.5, seeds=range(seeds)).to(device)
    masks = (data.train_mask, data.val_mask)
    fitted = fit(model, data.x, graph, data.y, *masks, learning_rate=5e-3, weight_decay=5e-3, epochs=200)
    right = fitted.logits.argmax(dim=2) == data.y.cpu()
    return right[:, data.test_mask.cpu()].double().mean(dim=1).numpy()


def plain_gcn(data: Any, device: torch.device | str = "cpu", epochs: int = 200) -> tuple[float, float]:
    """Seconds and test accuracy of one GCN training as in PyG's tutorials: hidden 64, dense features, uncached
    ``GCNConv``, dropout 0.5 of the hidden layer, validation in every epoch."""
    from torch_geometric.nn import GCNConv

    from magnet.arrays import dense_x

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = GCNConv(data.x.shape[1], 64)
            self.second = GCNConv(64, int(data.y.max()) + 1)

        def forward(self, x: Any, edges: Any) -> Any:
            h = torch.nn.functional.dropout(self.first(x, edges).relu(), training=self.training)
            return self.second(h, edges)

    torch.manual_seed(0)
    x = dense_x(data).to(device)
    edges, y = data.edge_index.to(device), data.y.to(device)
    masks = {name: data[f"{name}_mask"].to(device) for name in ("train", "val", "test")}
    net = Net().to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.005, weight_decay=0.005)
    began, best, test = time.perf_counter(), -1.0, 0.0
    for _ in range(epochs):
        net.train()
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x, edges)[masks["train"]], y[masks["train"]])
        loss.backward()
        optimizer.step()
        net.eval()
        with torch.no_grad():
            right = net(x, edges).argmax(dim=1) == y
        val = float(right[masks["val"]].float().mean())
        if val > best:
            best, test = val, float(right[masks["test"]].float().mean())
    return time.perf_counter() - began, test
