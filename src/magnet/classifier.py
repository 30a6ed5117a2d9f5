"""``MAGnetClassifier``: clean the features, then classify the nodes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from torch import Tensor
from torch_geometric.data import Data

from magnet import nn
from magnet.arrays import checksum, dense_x
from magnet.datasets.npz import save_arrays
from magnet.files import damaged
from magnet.framelets import FrameletTransform
from magnet.graph import Graph
from magnet.recovery import propagate, recover
from magnet.untrusted import open_npz

MODELS: dict[str, type[nn.Model]] = {
    "gcn": nn.GCN,
    "mlp": nn.MLP,
    "appnp": nn.APPNP,
    "gnnguard": nn.GNNGuard,
    "elasticgnn": nn.ElasticGNN,
    "airgnn": nn.AirGNN,
}

#: Amounts of smoothing that are tried on validation.
LAMBDAS = (1.0, 3.0, 10.0, 30.0)

Repair = tuple[str, Callable[[], Tensor]]


def repairs(
    x: Tensor,
    graph: Graph,
    trust: Tensor,
    soft_trust: Tensor,
    lambdas: Sequence[float] = LAMBDAS,
    strengths: Sequence[float] = (1.0,),
    iterations: int = 20,
    penalty: Literal["element", "group"] = "element",
) -> list[Repair]:
    r"""Candidates for the features of a classifier, each with its name, computed when called.

    In this order: ``"as it is"``; ``"feature propagation"`` of the cells with ``trust`` 0; ``"propagation <lambda>"``,
    weighted by :math:`(1 - P)^4`; ``"framelet <strength>"``, whose trust :math:`(1 - P)^2` gives the same weight.

    Args:
        x: features ``[n, d]``, dense.
        graph: the graph.
        trust: 0 or 1 for each cell.
        soft_trust: :math:`(1 - P)^2` for each cell.
        lambdas, strengths: amounts of smoothing to offer.
        iterations, penalty: of the framelet recovery.
    """
    weights = soft_trust.square()

    def framelet(strength: float) -> Tensor:
        if "framelets" not in graph.cache:
            graph.cache["framelets"] = FrameletTransform(graph)
        return recover(
            x,
            soft_trust,
            graph.cache["framelets"],
            strength=strength,
            max_iter=iterations,
            start="propagated",
            degree_weights=False,
            penalty=penalty,
            tol=0.0,
            history=False,
        ).x

    return [
        ("as it is", lambda: x),
        ("feature propagation", lambda: propagate(x, trust, graph, lam=0.0).x),
        *((f"propagation {lam:g}", lambda lam=lam: propagate(x, weights, graph, lam=lam).x) for lam in lambdas),
        *((f"framelet {strength:g}", lambda s=strength: framelet(s)) for strength in strengths),
    ]


class MAGnetClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Find wrong node features, repair them, and classify the nodes with a graph neural network.

    Whether and how much to repair is decided by validation accuracy, with leaving everything as it is among the
    choices; where the detector's gate is closed (the graph says nothing about the rows) nothing is touched.

    Args:
        model: ``"gcn"``, ``"mlp"``, ``"appnp"``, ``"gnnguard"``, ``"elasticgnn"`` or ``"airgnn"``. (default: ``"gcn"``)
        detector: name of a detector (see :func:`magnet.detection.make`), or ``"none"`` to repair nothing.
            (default: ``"auto"``)
        lambdas, strengths: amounts of smoothing to choose from, of propagation and of the framelet recovery.
        models: how many networks to train at once and average. (default: ``1``)
        hidden, dropout, rate, decay, epochs, patience: of the network and its training; see :func:`magnet.nn.fit`.
        normalize: divide rows by their sum. (default: ``False``)
        model_options: further arguments of the model, such as ``alpha`` of APPNP.
        detector_options: further arguments of the detector.
        seed: of everything. (default: ``0``)
        device: (default: a GPU where there is one)
        progress: show a progress bar.

    After :meth:`fit`: ``classes_``, ``chosen_`` (the repair), ``val_accuracy_`` of each candidate, ``x_`` (the features
    used), ``detector_``, ``remark_``, ``model_``.

    Example:
        >>> from magnet.corruption import inject_attributes
        >>> from magnet.datasets import load
        >>> bad = inject_attributes(load("digits"), ratio=0.5, select="random")
        >>> clf = MAGnetClassifier(detector="none", epochs=30).fit(bad.data)
        >>> clf.predict().shape, clf.score(bad.data) > 0.8
        ((1797,), True)
    """

    def __init__(
        self,
        model: str = "gcn",
        *,
        detector: str = "auto",
        lambdas: Sequence[float] = LAMBDAS,
        strengths: Sequence[float] = (1.0,),
        models: int = 1,
        hidden: int = 64,
        dropout: float = 0.5,
        rate: float = 5e-3,
        decay: float = 5e-3,
        epochs: int = 200,
        patience: int | None = None,
        normalize: bool = False,
        model_options: dict[str, Any] | None = None,
        detector_options: dict[str, Any] | None = None,
        seed: int = 0,
        device: str | None = None,
        progress: bool = False,
    ) -> None:
        self.model = model
        self.detector = detector
        self.lambdas = lambdas
        self.strengths = strengths
        self.models = models
        self.hidden = hidden
        self.dropout = dropout
        self.rate = rate
        self.decay = decay
        self.epochs = epochs
        self.patience = patience
        self.normalize = normalize
        self.model_options = model_options
        self.detector_options = detector_options
        self.seed = seed
        self.device = device
        self.progress = progress

    # -- fitting ---------------------------------------------------------------------------------------------

    def fit(self, data: Data, y: Any = None) -> Self:
        """Clean the features of a graph and train on its labelled nodes.

        Args:
            data: a graph with ``x`` (missing cells NaN), ``edge_index``, optionally ``edge_weight``, ``y``,
                ``train_mask`` and ``val_mask``. Without masks every labelled node is used; a fifth of the training
                nodes validates where there is no ``val_mask``.
            y: labels of all nodes, of any kind, instead of ``data.y``; -1, None or NaN where unknown.
        """
        if self.model not in MODELS:
            raise ValueError(f"model is {self.model!r}; it must be one of {', '.join(MODELS)}")
        if self.models < 1:
            raise ValueError(f"models is {self.models}; at least 1 is needed")
        graph = _graph(data)
        labels, known = _labels(data, y)
        self.classes_ = np.unique(labels[known])
        if self.classes_.size < 2:
            raise ValueError(f"y holds {self.classes_.size} classes; at least 2 are needed")
        codes = np.full(known.size, -1, dtype=np.int64)
        codes[known] = np.searchsorted(self.classes_, labels[known])
        train, val = self._parts(data, codes)
        x, candidates = self._candidates(data, graph)
        self.n_features_in_ = x.shape[1]
        self.val_accuracy_: dict[str, float] = {}
        best: tuple[float, nn.Fitted | None] = (-1.0, None)
        for name, make in candidates:
            features = make()
            model = self._network().to(self._place())
            fitted = nn.fit(
                model,
                nn.row_normalized(features) if self.normalize else features,
                graph,
                torch.from_numpy(codes),
                train,
                val,
                rate=self.rate,
                decay=self.decay,
                epochs=self.epochs,
                patience=self.patience,
                progress=self.progress,
            )
            self.val_accuracy_[name] = float(fitted.val_accuracy.mean())
            if self.val_accuracy_[name] > best[0] + 1e-9:
                best = (self.val_accuracy_[name], fitted)
                self.chosen_, self.x_, self.model_ = name, features, model
        assert best[1] is not None
        self.probability_ = _probabilities(best[1].logits)
        self._known = _fingerprint(data)
        return self

    def _parts(self, data: Data, codes: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Masks of the training and validation nodes."""
        labelled = torch.from_numpy(codes >= 0)
        train, val = data.get("train_mask"), data.get("val_mask")
        train = labelled.clone() if train is None else train.cpu() & labelled
        if val is not None:
            val = val.cpu() & labelled
            train = train & ~val
        else:
            nodes = train.nonzero().ravel()
            if nodes.numel() < 2:
                raise ValueError(f"{nodes.numel()} nodes are labelled for training; at least 2 are needed")
            order = nodes[torch.randperm(nodes.numel(), generator=torch.Generator().manual_seed(self.seed))]
            val = torch.zeros_like(train)
            val[order[: max(1, nodes.numel() // 5)]] = True
            train = train & ~val
        return train, val

    def _candidates(self, data: Data, graph: Graph, only: str | None = None) -> tuple[Tensor, list[Repair]]:
        """The features, and what they may become."""
        x = dense_x(data).to(self._place())
        if x.dim() != 2 or x.shape[0] != graph.num_nodes:
            raise ValueError(f"x has shape {tuple(x.shape)}; it must be [{graph.num_nodes}, features]")
        missing = torch.isnan(x)
        if bool(missing.any()):
            x = propagate(x, (~missing).to(x), graph, lam=0.0).x
        self.detector_, self.remark_ = None, ""
        untouched: list[Repair] = [("as it is", lambda: x)]
        if self.detector == "none" or only == "as it is":
            return x, untouched
        from magnet import detection

        options = dict(self.detector_options or {})
        self.detector_ = detection.make(self.detector, seed=self.seed, device=self._place(), **options).fit(data)
        gate = getattr(self.detector_, "gate_", None)
        if gate is not None and not gate.open:
            self.remark_ = f"left as it is: {gate.reason}"
            return x, untouched
        trust, soft = (torch.as_tensor(part).to(x) for part in (self.detector_.trust_, self.detector_.soft_trust_))
        return x, repairs(x, graph, trust, soft, self.lambdas, self.strengths)

    def _network(self) -> nn.Model:
        return MODELS[self.model](
            self.n_features_in_,
            len(self.classes_),
            hidden=self.hidden,
            dropout=self.dropout,
            seeds=[self.seed + place for place in range(self.models)],
            **(self.model_options or {}),
        )

    def _place(self) -> torch.device:
        return torch.device(self.device or ("cuda" if torch.cuda.is_available() else "cpu"))

    # -- predicting ------------------------------------------------------------------------------------------

    def predict_proba(self, data: Data | None = None) -> NDArray[np.float64]:
        """Probabilities ``[n, classes]``, in the order of ``classes_``.

        Args:
            data: a graph with the same features. (default: the graph of :meth:`fit`) Another graph is searched for
                wrong values by a detector of its own and repaired in the way that was chosen.
        """
        if not hasattr(self, "model_"):
            raise NotFittedError("this MAGnetClassifier is not fitted; call fit first")
        if data is None or _fingerprint(data) == self._known:
            return self.probability_
        graph = _graph(data)
        if dense_x(data).shape[1] != self.n_features_in_:
            raise ValueError(f"x has {data.x.shape[1]} columns; the classifier was fitted on {self.n_features_in_}")
        kept = self.detector_, self.remark_
        _, candidates = self._candidates(data, graph, only=self.chosen_)
        self.detector_, self.remark_ = kept
        make = dict(candidates).get(self.chosen_, candidates[0][1])
        features = make()
        features = nn.row_normalized(features) if self.normalize else features
        return _probabilities(nn.predict(self.model_.to(self._place()), features, graph))

    def predict(self, data: Data | None = None) -> NDArray[Any]:
        """The most probable class of every node."""
        best = self.predict_proba(data).argmax(axis=1)
        return self.classes_[best]

    def score(self, data: Data, y: Any = None) -> float:
        """Accuracy on the nodes of ``test_mask``, or on all labelled nodes where there is none."""
        predicted = self.predict(data)
        labels, known = _labels(data, y)
        if data.get("test_mask") is not None:
            known &= data.test_mask.cpu().numpy()
        if not known.any():
            raise ValueError("no node is labelled for the test; give y, or data with y and test_mask")
        return float((predicted[known] == labels[known]).mean())

    # -- files -----------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted classifier to an ``.npz`` file of plain arrays (no pickles)."""
        if not hasattr(self, "model_"):
            raise NotFittedError("this MAGnetClassifier is not fitted; call fit first")
        facts = {
            "format": "magnet-classifier-1",
            "parameters": self.get_params(),
            "chosen": self.chosen_,
            "features": self.n_features_in_,
            "val_accuracy": self.val_accuracy_,
            "remark": self.remark_,
            "known": self._known,
        }
        weights = {f"weight.{name}": value.cpu().numpy() for name, value in self.model_.state_dict().items()}
        arrays = {"classes": self.classes_, "probability": self.probability_, "facts": np.array(json.dumps(facts))}
        save_arrays(path, {**arrays, **weights})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what :meth:`save` wrote. (``x_`` and ``detector_``, the by-products of fitting, are not kept.)"""
        with damaged(Path(path)), open_npz(path) as arrays:
            facts = json.loads(str(arrays["facts"]))
            if facts.get("format") != "magnet-classifier-1":
                raise ValueError(f"its format is {facts.get('format')!r}, not 'magnet-classifier-1'")
            given: dict[str, Any] = facts["parameters"]
            for name in ("lambdas", "strengths"):  # JSON knows no tuples
                given[name] = tuple(given[name])
            self = cls(**given)
            self.classes_, self.probability_ = arrays["classes"], arrays["probability"]
            self.chosen_, self.n_features_in_ = facts["chosen"], facts["features"]
            self.val_accuracy_, self.remark_ = facts["val_accuracy"], facts["remark"]
            self._known, self.detector_ = facts["known"], None
            prefix = "weight."
            state = {name[len(prefix) :]: torch.from_numpy(arrays[name]) for name in arrays if name.startswith(prefix)}
            stored = sum(weight.numel() for weight in state.values())
            wanted = self.models * self.hidden * len(self.classes_)
            if stored < wanted:  # said by the file: a number of models that has no weights would be built for ever
                raise ValueError(f"its {self.models} models need {wanted} weights or more; it holds {stored}")
            self.model_ = self._network()
            self.model_.load_state_dict(state)
        return self


def _graph(data: Data) -> Graph:
    if data.get("x") is None or data.get("edge_index") is None:
        raise ValueError("data has no x or no edge_index; both are needed")
    return Graph.from_edges(data.edge_index, int(data.x.shape[0]), data.get("edge_weight"))


def _labels(data: Data, y: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The labels of all nodes, and where there is one."""
    given = data.get("y") if y is None else y
    if given is None:
        raise ValueError("data has no y and none was given; labels are needed")
    labels = given.cpu().numpy() if isinstance(given, Tensor) else np.asarray(given)
    if labels.shape != (int(data.x.shape[0]),):
        raise ValueError(f"y has shape {labels.shape}; it must be [{int(data.x.shape[0])}], one label for each node")
    if np.issubdtype(labels.dtype, np.number):
        known = ~np.isnan(labels) if np.issubdtype(labels.dtype, np.floating) else np.ones(labels.size, dtype=bool)
        known &= labels != -1
        return labels, known
    known = np.array([label is not None and label == label for label in labels])
    words = np.where(known, labels, "").astype(str)
    return words, known


def _probabilities(logits: Tensor) -> NDArray[np.float64]:
    """Mean over the models."""
    return torch.softmax(logits.double(), dim=2).mean(dim=0).numpy()


def _fingerprint(data: Data) -> list[str]:
    """By which a graph is known again."""
    edges = data.edge_index.to(torch.float64)
    weight = data.get("edge_weight")
    return [checksum(data.x), checksum(edges), "" if weight is None else checksum(weight.view(1, -1))]
