"""Training: full-batch, S models at once, each stopped at its own best epoch on validation."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from magnet.checks import at_least, one_of
from magnet.graph import Graph
from magnet.nn import memory
from magnet.nn.adam import Adam
from magnet.nn.features import Features
from magnet.nn.model import Inputs, Model, Numbers
from magnet.threads import threads_for

#: Whether the epochs of a training on a GPU are recorded once and replayed.
CUDA_GRAPHS = True
#: Epochs before the recording: libraries set themselves up in the first.
EAGER_EPOCHS = 3
#: Epochs between two looks at whether training on a GPU may stop: each look waits for the GPU.
LOOK_EVERY = 10
#: Accuracies are sums of equal weights: the same number of hits may differ by less than this.
SAME_ACCURACY = 1e-6


@dataclass(frozen=True, eq=False)
class Fitted:
    """What :func:`fit` returns.

    Attributes:
        logits: class scores ``[S, n, classes]`` of all nodes with the weights of the best epoch, on the CPU.
        epoch: the best epoch of each model, counted from 1.
        val_accuracy, val_loss: at that epoch.
        train_loss: ``[epochs, S]``.
        val_history: validation accuracy ``[epochs, S]``.
        seconds: how long the training took.
    """

    logits: Tensor
    epoch: np.ndarray[Any, Any]
    val_accuracy: np.ndarray[Any, Any]
    val_loss: np.ndarray[Any, Any]
    train_loss: np.ndarray[Any, Any]
    val_history: np.ndarray[Any, Any]
    seconds: float


@torch.enable_grad()
def fit(
    model: Model,
    x: Any,
    graph: Any,
    y: Any,
    train_mask: Any,
    val_mask: Any,
    *,
    learning_rate: Numbers = 0.01,
    weight_decay: Numbers = 5e-4,
    weight_decay_on: Literal["all", "first"] = "all",
    epochs: Numbers = 200,
    patience: int | None = None,
    progress: bool = False,
) -> Fitted:
    r"""Train a batch of models and keep the weights of each model's best epoch.

    Every epoch is one step of Adam on the mean cross-entropy of the training nodes, then an evaluation on the
    validation nodes; the best epoch has the highest validation accuracy and, among equals, the lowest validation loss.
    Only the nodes that training or validation nodes depend on are computed; all nodes once at the end.

    Numbers may be given for all models together or per model; models with different rates, decays, dropouts or numbers
    of epochs are trained side by side.

    Args:
        model: S models; they are trained in place, on their device (``model.to("cuda")`` first for a GPU).
        x: the features, without missing values: one matrix ``[n, d]``, or R matrices of which each serves S / R
            consecutive models.
        graph: a :class:`~magnet.graph.Graph`, a networkx graph or a scipy sparse matrix.
        y: labels ``[n]``, or ``[S, n]`` where each model has its own.
        train_mask: training nodes, bool ``[n]``, or ``[S, n]`` where each model has its own.
        val_mask: validation nodes, likewise.
        learning_rate: learning rate. (default: ``0.01``)
        weight_decay: weight of the l2 penalty. (default: ``5e-4``)
        weight_decay_on: ``"all"`` parameters, or the ``"first"`` layer only, as in the papers on GCN and APPNP.
        epochs: (default: ``200``)
        patience: stop after this many epochs without improvement of any model. (default: never)
        progress: show a progress bar.

    Example:
        >>> from magnet.datasets import load
        >>> from magnet.nn import GCN
        >>> data = load("digits")
        >>> graph = Graph.from_edges(data.edge_index, data.num_nodes)
        >>> fitted = fit(GCN(64, 10, seeds=[0, 1]), data.x, graph, data.y, data.train_mask, data.val_mask, epochs=20)
        >>> fitted.logits.shape, bool((fitted.val_accuracy > 0.8).all())
        (torch.Size([2, 1797, 10]), True)
    """
    began = time.perf_counter()
    count = len(model.seeds)
    limits = [int(value) for value in model.per_model("epochs", epochs)]
    at_least("epochs", min(limits), 1)
    optimizer = _optimizer(
        model,
        model.per_model("learning_rate", learning_rate),
        model.per_model("weight_decay", weight_decay),
        weight_decay_on,
    )
    y, train_mask, val_mask = (torch.as_tensor(each) for each in (y, train_mask, val_mask))
    with memory.explained(model, count):
        features = Features.of(x, model.like)
        graph = Graph.of(graph)
        _check(model, features, graph, y)
    # the largest arrays of an epoch: the features, and the hidden layer of all models
    cells = features.stored + graph.num_nodes * model.hidden * count
    with memory.explained(model, count), threads_for(cells):
        train = _Part.of("train", model, features, graph, y, train_mask)
        val = _Part.of("val", model, features, graph, y, val_mask, same=train)
        run = _Training(model, optimizer, train, val, _Best(model, limits), max(limits))
        numbers: Iterable[int] = range(1, max(limits) + 1)
        if progress:
            from rich.console import Console
            from rich.progress import track

            numbers = track(numbers, description="training", console=Console(stderr=True))
        with run.on_own_stream():
            for epoch in numbers:
                run.epoch()
                if patience is not None and run.best.idle(epoch, patience):
                    break
        best, losses, accuracies = run.best, run.losses[:epoch], run.accuracies[:epoch]
        best.restore()
        train.inputs.features.shared, train.inputs.features.known = False, None
        logits = predict(model, features, graph)
    return Fitted(
        logits=logits,
        epoch=best.epoch.cpu().numpy(),
        val_accuracy=best.accuracy.cpu().numpy(),
        val_loss=best.loss.cpu().numpy(),
        train_loss=losses.cpu().numpy(),
        val_history=accuracies.cpu().numpy(),
        seconds=time.perf_counter() - began,
    )


@torch.no_grad()
def predict(model: Model, x: Any, graph: Any) -> Tensor:
    """Class scores ``[S, n, classes]`` of all nodes, without dropout, on the CPU."""
    model.eval()
    inputs = model.prepare(Features.of(x, model.like), Graph.of(graph), once=True)
    return model.compute(inputs).transpose(0, 1).cpu().contiguous()


@dataclass(frozen=True, eq=False)
class _Part:
    """The training or the validation nodes: the nodes they depend on, their labels, and their weight for each model."""

    inputs: Inputs
    target: Tensor  # [nodes, S or 1]
    weight: Tensor  # [nodes, S or 1], each column summing to 1
    whole: bool  # whether every node is computed

    @classmethod
    def of(
        cls,
        name: str,
        model: Model,
        features: Features,
        graph: Graph,
        y: Tensor,
        mask: Tensor,
        same: _Part | None = None,
    ) -> _Part:
        masks = mask.cpu().bool()
        if masks.shape not in ((graph.num_nodes,), (len(model.seeds), graph.num_nodes)):
            raise ValueError(
                f"{name}_mask has shape {tuple(mask.shape)}; it must be [{graph.num_nodes}] "
                f"or [{len(model.seeds)}, {graph.num_nodes}]"
            )
        if not masks.any(dim=-1).all():
            raise ValueError(f"{name}_mask selects no node; at least one is needed")
        # If the models have different splits, every node is computed, so that the draws for dropout do not depend
        # on the splits of the other models.
        nodes = masks.nonzero().ravel().numpy() if masks.dim() == 1 else None
        model.train(same is None)
        shared = same is not None and nodes is None and same.whole and not any(model.p_input)
        inputs = same.inputs if same is not None and shared else model.prepare(features, graph, nodes)
        weight = masks[masks].float().unsqueeze(1) if masks.dim() == 1 else masks.T.float()
        labels = y.cpu().reshape(-1, graph.num_nodes).T
        target = labels if nodes is None else labels[nodes]
        wide = (target.shape[0], len(model.seeds))
        counted = target.expand(wide)[weight.expand(wide) > 0]
        if int(counted.min()) < 0 or int(counted.max()) >= model.out_channels:
            bad = int(counted.min()) if int(counted.min()) < 0 else int(counted.max())
            raise ValueError(f"y holds class {bad} at a {name} node; classes are 0 to {model.out_channels - 1}")
        target = target.clamp(0, model.out_channels - 1)
        return cls(inputs, target.to(model.like.device), (weight / weight.sum(dim=0)).to(model.like), nodes is None)

    def losses(self, scores: Tensor) -> Tensor:
        """Mean cross-entropy of each model."""
        nodes, count, classes = scores.shape
        target = self.target.expand(nodes, count).reshape(-1)
        each = cross_entropy(scores.reshape(-1, classes), target, reduction="none").view(nodes, count)
        return (each * self.weight).sum(dim=0)

    def accuracies(self, scores: Tensor) -> Tensor:
        right = (scores.argmax(dim=2) == self.target).to(self.weight)
        return (right * self.weight).sum(dim=0)


class _Training:
    """Epochs of one training. All that changes stays on the device, so that on a GPU an epoch can be replayed: a small
    graph would spend its time on launching a few hundred kernels."""

    def __init__(self, model: Model, optimizer: Adam, train: _Part, val: _Part, best: _Best, epochs: int) -> None:
        self.model, self.optimizer, self.train, self.val, self.best = model, optimizer, train, val, best
        count, device = len(model.seeds), model.like.device
        self.number = torch.ones(1, dtype=torch.long, device=device)
        self.losses, self.accuracies = (torch.zeros(epochs, count, device=device) for _ in range(2))
        self.replay: Callable[[], None] | None = None
        self.done, self.graphs = 0, CUDA_GRAPHS and device.type == "cuda" and epochs > 2 * EAGER_EPOCHS
        train.inputs.features.shared = train.inputs.features is val.inputs.features

    def epoch(self) -> None:
        """One more epoch."""
        if self.graphs and self.replay is None and self.done >= EAGER_EPOCHS:
            self._capture()
        (self.replay or self._compute)()
        self.done += 1

    def _compute(self) -> None:
        model = self.model
        model.train()
        self.optimizer.zero_grad()
        loss = self.train.losses(model.compute(self.train.inputs))
        loss.sum().backward()
        self.optimizer.step()
        model.eval()
        with torch.no_grad():
            scores = model.compute(self.val.inputs)
            val_loss, val_accuracy = self.val.losses(scores), self.val.accuracies(scores)
            self.best.update(self.number, val_accuracy, val_loss)
            self.losses.index_copy_(0, self.number - 1, loss.detach().unsqueeze(0))
            self.accuracies.index_copy_(0, self.number - 1, val_accuracy.unsqueeze(0))
            self.number += 1

    @contextmanager
    def on_own_stream(self) -> Iterator[None]:
        """On a GPU epochs run on a stream of their own, as the recording of a CUDA graph requires."""
        if not self.graphs:
            yield
            return
        self.stream = torch.cuda.Stream(self.number.device)
        self.stream.wait_stream(torch.cuda.current_stream(self.number.device))
        with torch.cuda.stream(self.stream):
            yield
        torch.cuda.current_stream(self.number.device).wait_stream(self.stream)
        self.replay = None

    def _capture(self) -> None:
        """Record an epoch; where that is not possible, epochs are computed as before."""
        states = [generator.get_state() for generator in self.model.generators]
        try:
            graph = torch.cuda.CUDAGraph()
            for generator in self.model.generators:
                graph.register_generator_state(generator)
            with torch.cuda.graph(graph, stream=self.stream):
                self._compute()
            self.replay = graph.replay
        except RuntimeError as error:
            if isinstance(error, torch.OutOfMemoryError):
                raise
            logging.getLogger(__name__).info("epochs are not recorded: %s", error)
            self.graphs = False
            self.model.continue_from(states)


class _Best:
    """The best epoch of each model so far, and its weights."""

    def __init__(self, model: Model, limits: Sequence[int]) -> None:
        device, count = model.like.device, len(model.seeds)
        self.limits = torch.tensor(list(limits), device=device)
        self.accuracy = torch.full((count,), -1.0, device=device)
        self.loss = torch.full((count,), torch.inf, device=device)
        self.epoch = torch.zeros(count, dtype=torch.long, device=device)
        self.current = [tensor for tensor in (*model.parameters(), *model.buffers()) if tensor.numel()]
        self.kept = [tensor.detach().clone() for tensor in self.current]

    @torch.no_grad()
    def update(self, epoch: Tensor, accuracy: Tensor, loss: Tensor) -> None:
        equal = (accuracy - self.accuracy).abs() < SAME_ACCURACY
        better = ((accuracy > self.accuracy) & ~equal) | (equal & (loss < self.loss))
        better &= epoch <= self.limits
        if better.device.type == "cpu" and not bool(better.any()):
            return
        self.accuracy.copy_(torch.where(better, accuracy, self.accuracy))
        self.loss.copy_(torch.where(better, loss, self.loss))
        self.epoch.copy_(torch.where(better, epoch, self.epoch))
        for kept, current in zip(self.kept, self.current, strict=True):
            if better.device.type == "cpu":
                kept[:, better] = current[:, better]
            else:
                kept.copy_(torch.where(better.view(1, -1, *(1 for _ in current.shape[2:])), current, kept))

    def idle(self, epoch: int, patience: int) -> bool:
        """Whether no model has improved for ``patience`` epochs."""
        if self.epoch.device.type != "cpu" and epoch % LOOK_EVERY:
            return False
        last = torch.minimum(self.limits, torch.full_like(self.limits, epoch))
        return bool((last - self.epoch >= patience).logical_or(self.limits <= epoch).all())

    @torch.no_grad()
    def restore(self) -> None:
        for kept, current in zip(self.kept, self.current, strict=True):
            current.copy_(kept)


def _optimizer(model: Model, learning_rate: list[float], weight_decay: list[float], weight_decay_on: str) -> Adam:
    one_of("weight_decay_on", weight_decay_on, ("all", "first"))
    if min(learning_rate) <= 0 or min(weight_decay) < 0:
        raise ValueError(
            f"learning_rate is {min(learning_rate)} and weight_decay {min(weight_decay)}; learning_rate must be "
            "positive, weight_decay not negative"
        )
    named = list(model.named_parameters())
    none = [0.0] * len(weight_decay)
    decays = [weight_decay if weight_decay_on == "all" or "layers.0." in name else none for name, _ in named]
    return Adam([parameter for _, parameter in named], learning_rate, decays)


def _check(model: Model, features: Features, graph: Graph, y: Tensor) -> None:
    if features.nodes != graph.num_nodes:
        raise ValueError(f"x has {features.nodes} rows; the graph has {graph.num_nodes} nodes")
    if features.columns != model.in_channels:
        raise ValueError(f"x has {features.columns} columns; the model was made for {model.in_channels}")
    if y.shape not in ((graph.num_nodes,), (len(model.seeds), graph.num_nodes)):
        raise ValueError(
            f"y has shape {tuple(y.shape)}; it must be [{graph.num_nodes}], or one such row for each model"
        )
    if y.is_floating_point() or y.is_complex():
        raise ValueError(f"y holds {y.dtype}; it must hold the numbers of the classes, as integers")
    finite = np.isfinite(features.sparse.data) if features.dense is None else features.dense.isfinite()  # type: ignore[union-attr]
    if not finite.all():  # the networks would be trained on nothing but NaN
        raise ValueError("x holds NaN or infinity; fill the gaps first, for example with magnet.propagate")
