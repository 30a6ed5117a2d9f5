"""The yardstick of classifier.py and pipeline.py: one training of a GCN as PyG's tutorials write it."""

from __future__ import annotations

import time
from typing import Any

import torch


def plain_gcn(data: Any, device: torch.device | str = "cpu", epochs: int = 200) -> tuple[float, float]:
    """Seconds and test accuracy: hidden 64, dense features, uncached ``GCNConv``, dropout 0.5 of the hidden layer,
    validation in every epoch."""
    from torch_geometric.nn import GCNConv

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = GCNConv(data.x.shape[1], 64)
            self.second = GCNConv(64, int(data.y.max()) + 1)

        def forward(self, x: Any, edges: Any) -> Any:
            h = torch.nn.functional.dropout(self.first(x, edges).relu(), training=self.training)
            return self.second(h, edges)

    torch.manual_seed(0)
    x = (data.x if data.x.layout == torch.strided else data.x.to_dense()).to(device)
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
