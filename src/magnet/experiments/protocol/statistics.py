"""What a dataset holds, counted from its files."""

from __future__ import annotations

import time
from typing import Any

from magnet.datasets import homophily, load, to_scipy


def dataset_statistics(name: str) -> dict[str, Any]:
    """Counts of a dataset as :func:`magnet.datasets.load` gives it; edges are undirected."""
    began = time.perf_counter()
    data = load(name)
    values = to_scipy(data.x)
    parts = {part: int(data[f"{part}_mask"].sum()) for part in ("train", "val", "test")}
    return {
        "nodes": int(data.num_nodes),
        "edges": int(data.edge_index.shape[1]) // 2,
        "features": int(data.x.shape[1]),
        "classes": int(data.y.max()) + 1,
        **parts,
        "label_rate": parts["train"] / data.num_nodes,
        "homophily": homophily(data),
        "low": float(min(values.min(), 0.0)),
        "high": float(values.max()),
        "stored_share": values.nnz / (values.shape[0] * values.shape[1]),
        "seconds": time.perf_counter() - began,
        "device": "cpu",
    }
