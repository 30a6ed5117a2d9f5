"""What the models have in common: S of them side by side, and only the nodes that are asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from magnet.checks import at_least
from magnet.graph import Graph
from magnet.nn.features import Features
from magnet.nn.layers import Dropout, Linear
from magnet.nn.sparse import Sparse

Numbers = float | Sequence[float]
Nodes = np.ndarray[Any, Any]

#: Added to the seed of the weights for that of dropout, so that the two draw different numbers.
DROPOUT_SEED = 1 << 31


@dataclass(eq=False)
class Inputs:
    """What a model computes from, made once and used in every epoch."""

    features: Features  # of the nodes that are needed
    operators: list[Sparse] = field(default_factory=list)  # one propagation for each hop, the first one in front
    propagated: bool = False  # whether the first propagation is already in the features
    keep: Tensor | None = None  # which rows of the output were asked for (None: all of them)
    extra: Any = None  # what else a model prepares

    def kept(self, h: Tensor) -> Tensor:
        return h if self.keep is None else h[self.keep]


class Model(nn.Module):
    r"""S models of one shape side by side, all trained and evaluated by one computation.

    Activations are ``[n, S, k]``, weights ``[in, S, out]``: a propagation of all models is one sparse product with
    ``[n, S k]``. Every model has its own random numbers, so that model s of a batch is the model that its seed gives
    alone, up to rounding.

    Args:
        in_channels: number of features.
        out_channels: number of classes.
        hidden: width of the hidden layers. (default: ``64``)
        dropout: of the hidden layers, one number or one for each model. (default: ``0.5``)
        input_dropout: of the features. (default: ``0``)
        seeds: one seed, or one for each model. (default: ``0``)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        hidden: int = 64,
        dropout: Numbers = 0.5,
        input_dropout: Numbers = 0.0,
        seeds: int | Sequence[int] = 0,
    ) -> None:
        super().__init__()
        for name, width in (("in_channels", in_channels), ("out_channels", out_channels), ("hidden", hidden)):
            at_least(name, width, 1)
        self.single = isinstance(seeds, int)
        self.seeds = [seeds] if isinstance(seeds, int) else [int(seed) for seed in seeds]
        if not self.seeds:
            raise ValueError("seeds is empty; at least one is needed")
        self.in_channels, self.out_channels, self.hidden = in_channels, out_channels, hidden
        self.p = self.per_model("dropout", dropout)
        self.p_input = self.per_model("input_dropout", input_dropout)
        self._start = [torch.Generator().manual_seed(seed) for seed in self.seeds]
        self._running: list[torch.Generator] = []
        self._kinds: Tensor | None = None
        self._vectors: dict[Any, Tensor] = {}
        # Makes the device and dtype known before there is any weight.
        self.register_buffer("like", torch.zeros(0), persistent=False)

    like: Tensor

    def per_model(self, name: str, value: Numbers) -> list[float]:
        """One number for each model."""
        values = [float(value)] * len(self.seeds) if isinstance(value, int | float) else [float(v) for v in value]
        if len(values) != len(self.seeds):
            raise ValueError(f"{name} holds {len(values)} numbers; there are {len(self.seeds)} models")
        return values

    def vector(self, values: Sequence[float]) -> Tensor:
        """One number for each model, ready to be multiplied with ``[n, S, k]``; made once for a device."""
        key = (tuple(values), self.like.dtype, self.like.device)
        if key not in self._vectors:
            numbers = torch.tensor(list(values), dtype=self.like.dtype, device=self.like.device)
            self._vectors[key] = numbers.view(1, -1, 1)
        return self._vectors[key]

    def stacked(self, layers: int, kind: str = "uniform") -> Any:
        """Linear layers from the features through hidden layers to the classes."""
        at_least("layers", layers, 1)
        widths = [self.in_channels, *[self.hidden] * (layers - 1), self.out_channels]
        return nn.ModuleList(Linear(*pair, self._start, kind) for pair in pairwise(widths))

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles omit caches and random generators, which cannot be copied and are created anew."""
        return {**self.__dict__, "_start": [], "_running": [], "_vectors": {}}

    @property
    def generators(self) -> list[torch.Generator]:
        """One stream of random numbers for each model, on the model's device."""
        device = self.like.device
        if not self._running or self._running[0].device != device:
            self._running = [torch.Generator(device).manual_seed(seed + DROPOUT_SEED) for seed in self.seeds]
        return self._running

    def continue_from(self, states: Sequence[Tensor]) -> None:
        """New streams of random numbers in the states of former ones."""
        self._running = [torch.Generator(self.like.device) for _ in states]
        for generator, state in zip(self._running, states, strict=True):
            generator.set_state(state)

    def dropout(self, input: bool = False) -> Dropout:
        """Dropout as it is now: none outside of training."""
        p = self.p_input if input else self.p
        return Dropout(p if self.training else [0.0] * len(p), self.generators, self._shared_dropout())

    def _shared_dropout(self) -> tuple[list[int], Tensor] | None:
        """Models with the same seed and dropout drop the same, unless features are dropped, too: each may have its own.

        Returns:
            The first of each kind, and for every model the number of its kind; None where all differ.
        """
        streams = list(zip(self.seeds, self.p, strict=True))
        kinds = list(dict.fromkeys(streams))
        if any(self.p_input) or len(kinds) == len(streams):
            return None
        if self._kinds is None or self._kinds.device != self.like.device:
            self._kinds = torch.tensor([kinds.index(stream) for stream in streams], device=self.like.device)
        return [streams.index(kind) for kind in kinds], self._kinds

    @abstractmethod
    def prepare(self, features: Features, graph: Graph, nodes: Nodes | None = None, once: bool = False) -> Inputs:
        """What :meth:`compute` needs for the output of some nodes (None: all). Where it will be used ``once``, nothing
        is worth computing in advance."""

    @abstractmethod
    def compute(self, inputs: Inputs) -> Tensor:
        """The class scores ``[nodes, S, classes]``."""

    def forward(self, x: Any, edge_index: Any, edge_weight: Any = None) -> Tensor:
        """Class scores (logits) of all nodes.

        Args:
            x: features ``[n, d]``, or one matrix for each model ``[S, n, d]``.
            edge_index: ``[2, edges]``, or a :class:`~magnet.graph.Graph`, which is not built again at every call.
            edge_weight: ``[edges]``. (default: ones)

        Returns:
            ``[n, classes]``, or ``[S, n, classes]`` where ``seeds`` was a sequence.
        """
        features = Features.of(x, self.like)
        inputs = self.prepare(features, Graph.from_edges(edge_index, features.nodes, edge_weight), once=True)
        scores = self.compute(inputs).transpose(0, 1)
        return scores[0] if self.single else scores

    def whole_inputs(self, features: Features, graph: Graph, nodes: Nodes | None, extra: Any = None) -> Inputs:
        """Inputs of a model with many propagations: the whole graph, and which nodes of its output are wanted."""
        key = ("operator", self.like.dtype, self.like.device)
        if key not in graph.cache:
            graph.cache[key] = Sparse.of(graph.self_looped, self.like, symmetric=True)
        keep = None if nodes is None else torch.as_tensor(nodes, device=self.like.device)
        return Inputs(features, [graph.cache[key]], keep=keep, extra=extra)
