"""The cleaner as a PyG transform."""

from __future__ import annotations

from typing import Any

import torch
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.transforms import BaseTransform

from magnet.estimator import MAGnet


class Clean(BaseTransform):  # type: ignore[misc]
    """Replaces node features judged wrong by values recovered from the graph.

    A ``Batch`` is cleaned as one graph: its members share no edges, so that each is judged by its own
    neighborhoods, with column scales from all of them.

    Args:
        keep_trust: also store ``trust`` ``[n, d]``, 1 where a feature was trusted. (default: ``False``)
        settings: arguments of :class:`magnet.MAGnet`, except those for tables.

    Example:
        >>> from magnet.datasets import synthetic
        >>> data = synthetic(nodes=60, features=12, seed=0)
        >>> bool(torch.equal(Clean(detector="none")(data).x, data.x))
        True
    """

    def __init__(self, keep_trust: bool = False, **settings: Any) -> None:
        self.keep_trust = keep_trust
        self.settings = settings
        model = MAGnet(**settings)  # an invalid argument is reported here, not in the middle of a pipeline
        model.check_parameters()
        model.check_graph_parameters()

    def forward(self, data: Data | Batch) -> Data | Batch:
        if isinstance(data, HeteroData):
            raise ValueError("Clean takes a homogeneous Data or Batch; clean one node type of a HeteroData at a time")
        model = MAGnet(**self.settings)
        with torch.no_grad():
            result = model.fit_transform(data)
        if self.keep_trust:
            result.trust = model.trust_
        return result

    def __repr__(self) -> str:
        given = {"keep_trust": True, **self.settings} if self.keep_trust else self.settings
        settings = ", ".join(f"{name}={value!r}" for name, value in given.items())
        return f"{type(self).__name__}({settings})"
