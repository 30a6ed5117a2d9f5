"""``MAGnetClassifier``: clean the features, then classify the nodes."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from torch import Tensor
from torch_geometric.data import Data

from magnet import detection
from magnet.arrays import dense_x
from magnet.checks import at_least, device_exists, one_of, whole
from magnet.datasets.npz import save_arrays
from magnet.detection.data.scratch import row_ranges
from magnet.features import check_features, fingerprint
from magnet.files import OtherContent, damaged
from magnet.freed_memory import return_freed_memory, return_memory_at_once
from magnet.graph import Graph
from magnet.nn import voting
from magnet.nn.committee import Committee
from magnet.nn.features import has_dominant_column
from magnet.nn.members import Problem, restored
from magnet.nn.recipes import MODELS, check_options, recipes_of
from magnet.recovery import propagate
from magnet.recovery.candidates import AS_IT_IS, LAMBDAS, Candidate, repair_candidates
from magnet.untrusted import open_npz, read_object

FORMAT = "magnet-classifier-5"
#: One in this many training nodes is used for validation if the data have no validation nodes.
VALIDATION_DIVISOR = 5
#: Members of smaller weight do not change a probability in its third digit; they are not kept.
MIN_WEIGHT = 1e-3
#: Arguments that are settings of every network.
SETTINGS = ("hidden", "dropout", "learning_rate", "weight_decay", "epochs", "patience", "scaling")
#: Maximum number of members in a file.
MAX_MEMBERS = 1000


class MAGnetClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Find wrong node features, repair them, and classify the nodes with a committee of graph neural networks.

    With ``model="auto"`` GCN, APPNP, ElasticGNN, AirGNN, MLP and, where links join different classes, SIGN are trained
    on repairs, and once more with their most confident predictions as pseudo-labels
    (:class:`magnet.nn.committee.Committee`); their probabilities are averaged with validation weights
    (:mod:`magnet.nn.voting`). A single network uses the repair and, unless it is given, the weight decay with the best
    validation accuracy. If the detector's gate is closed, nothing is repaired.

    Args:
        model: ``"auto"``, or one of ``"gcn"``, ``"mlp"``, ``"appnp"``, ``"gnnguard"``, ``"elasticgnn"``,
            ``"airgnn"`` and ``"sign"``. (default: ``"auto"``)
        detector: name of a detector (see :func:`magnet.detection.make`), a detector, a trust matrix ``[n, d]``, or
            ``"none"`` to repair nothing. (default: ``"auto"``)
        lambdas: candidate amounts of smoothing by propagation. (default: ``(1, 3, 10, 30)``)
        strengths: candidate amounts of smoothing by framelet recovery. (default: ``(1,)``)
        initializations: random initializations of each network on each repair. (default: ``1``)
        hidden: width of the networks. (default: that of :mod:`magnet.nn.recipes`, as for the next six)
        dropout: share of hidden units that are dropped.
        learning_rate: learning rate of Adam.
        weight_decay: weight of the l2 penalty.
        epochs: training epochs; see :func:`magnet.nn.fit`.
        patience: epochs without improvement before training stops.
        scaling: ``"none"``, ``"rows"`` (rows divided by their sum), ``"unit"`` (total variance 1) or ``"columns"``
            (every column on a scale of its own). (default: ``"columns"`` if one column has most of the variance, else
            ``"unit"``)
        model_options: further arguments of the model, such as ``alpha`` of APPNP; not for ``"auto"``.
        detector_options: further arguments of a detector that is given by name.
        seed: random seed. (default: ``0``)
        device: (default: a GPU if available)
        progress: show a progress bar over the members. (default: ``False``)

    After :meth:`fit`: ``classes_``, ``members_`` and their ``weights_``, ``val_accuracy_`` of each member by name,
    ``chosen_`` (the repair of the leading member), ``x_`` (its features), ``detector_``, ``remark_``, and
    ``temperature_`` (calibrates the probabilities on the validation nodes).

    Example:
        >>> from magnet.corruption import inject_attributes
        >>> from magnet.datasets import load
        >>> bad = inject_attributes(load("digits"), ratio=0.5, select="random")
        >>> clf = MAGnetClassifier("gcn", detector="none", epochs=30).fit(bad.data)
        >>> clf.predict().shape, clf.score(bad.data) > 0.8
        ((1797,), True)
    """

    def __init__(
        self,
        model: str = "auto",
        *,
        detector: Any = "auto",
        lambdas: Sequence[float] = LAMBDAS,
        strengths: Sequence[float] = (1.0,),
        initializations: int = 1,
        hidden: int | None = None,
        dropout: float | None = None,
        learning_rate: float | None = None,
        weight_decay: float | None = None,
        epochs: int | None = None,
        patience: int | None = None,
        scaling: str | None = None,
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
        self.initializations = initializations
        self.hidden = hidden
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.epochs = epochs
        self.patience = patience
        self.scaling = scaling
        self.model_options = model_options
        self.detector_options = detector_options
        self.seed = seed
        self.device = device
        self.progress = progress

    def fit(self, data: Data, y: Any = None) -> Self:
        """Clean the features of a graph and train on its labeled nodes.

        Args:
            data: a graph with ``x`` (missing cells NaN), ``edge_index``, optionally ``edge_weight``, ``y``,
                ``train_mask`` and ``val_mask``. Without ``train_mask`` every labeled node outside ``test_mask`` is
                used; a fifth of the training nodes is held out if there is no ``val_mask``.
            y: labels of all nodes, of any kind, instead of ``data.y``; -1, None or NaN where unknown.
        """
        self._check_parameters()
        data = check_features(data)
        graph = _graph(data)
        labels, labeled = _labels(data, y)
        self.classes_ = np.unique(labels[labeled])
        if self.classes_.size < 2:
            raise ValueError(f"y holds {self.classes_.size} classes; at least 2 are needed")
        codes = torch.full((labeled.size,), -1)
        codes[labeled] = torch.from_numpy(np.searchsorted(self.classes_, labels[labeled]))
        train, val = self._parts(data, codes >= 0)
        settings = self._settings()
        with return_memory_at_once(4 * data.x.numel()):
            x, candidates, self.detector_, self.remark_ = self._candidates(data, graph)
            if self.scaling is None and has_dominant_column(x):
                settings["scaling"] = "columns"
        homophily = graph.adjusted_homophily(codes.where(train | val, -1).numpy())
        recipes = recipes_of(self.model, settings, self.model_options, int(train.sum()), homophily)
        self.n_features_in_, classes = int(x.shape[1]), len(self.classes_)
        problem = Problem(graph, codes, train, val, self.n_features_in_, classes, self.seed, candidates, recipes)
        committee = Committee([problem], self._device(), self.initializations, keep_models=True, progress=self.progress)
        members = committee.train().members[0]
        self.val_accuracy_ = voting.mean_accuracy(members)
        if self.model == "auto":
            weight = voting.weights(members, codes, val, problem.unlabeled)
        else:
            weight = voting.on_best_features(members)
        weight = np.where(weight < MIN_WEIGHT * weight.max(), 0.0, weight)
        self.weights_ = weight[weight > 0] / weight.sum()
        self.members_ = [member for member, share in zip(members, weight, strict=True) if share > 0]
        self.chosen_ = self.members_[self.weights_.argmax()].candidate
        with return_memory_at_once(4 * data.x.numel()):
            self.x_ = next(candidate for candidate in candidates if candidate.name == self.chosen_).make()
        probability = voting.average(self.members_, self.weights_)
        self.temperature_ = voting.calibration(probability[val], codes[val])
        self.probability_ = voting.calibrated(probability, self.temperature_).numpy()
        self._fingerprint = fingerprint(data)
        return self

    def _check_parameters(self) -> None:
        """Name wrong arguments before the detection, which takes the longest."""
        one_of("model", self.model, ("auto", *MODELS))
        at_least("initializations", self.initializations, 1)
        for name in ("lambdas", "strengths"):
            amounts = getattr(self, name)
            if isinstance(amounts, int | float):
                raise ValueError(f"{name} is {amounts}; it must be a sequence of numbers, such as ({amounts},)")
            for amount in amounts:
                at_least(name, amount, 0)
        whole("seed", self.seed)
        device_exists(self.device)
        check_options(self.model, self._settings(), self.model_options)

    def _settings(self) -> dict[str, Any]:
        """The settings of the networks that were given."""
        return {name: value for name in SETTINGS if (value := getattr(self, name)) is not None}

    def _parts(self, data: Data, labeled: Tensor) -> tuple[Tensor, Tensor]:
        """Masks of the training and validation nodes."""
        train, val = (_mask(data, name) for name in ("train_mask", "val_mask"))
        if train is None:  # nodes to test on are not trained on
            test = _mask(data, "test_mask")
            train = labeled if test is None else ~test
        train = train & labeled
        if val is None:
            nodes = train.nonzero().ravel()
            if nodes.numel() < 2:
                raise ValueError(f"{nodes.numel()} nodes are labeled for training; at least 2 are needed")
            order = nodes[torch.randperm(nodes.numel(), generator=torch.Generator().manual_seed(self.seed))]
            val = torch.zeros_like(train)
            val[order[: max(1, nodes.numel() // VALIDATION_DIVISOR)]] = True
        val = val & labeled
        train = train & ~val
        if not train.any() or not val.any():
            missing = "validation" if train.any() else "training"
            raise ValueError(
                f"no labeled node is left for {missing}: {int(train.sum())} are for training, {int(val.sum())} "
                "for validation, and a node in both masks counts for validation"
            )
        return train, val

    def _candidates(self, data: Data, graph: Graph, repair: bool = True) -> tuple[Tensor, list[Candidate], Any, str]:
        """The observed features, the candidate repairs, the fitted detector, and why nothing is repaired."""
        x = dense_x(data).to(self._device())
        if x.dim() != 2 or x.shape[0] != graph.num_nodes:
            raise ValueError(f"x has shape {tuple(x.shape)}; it must be [{graph.num_nodes}, features]")
        complete = not any(bool(x[rows].isnan().any()) for rows in row_ranges(*x.shape))
        if not complete:
            x = propagate(x, (~x.isnan()).to(x), graph, lam=0.0).x
        detector: Any = None
        sparse = data.x.layout != torch.strided and complete
        untouched = [Candidate(AS_IT_IS, lambda: data.x if sparse else x)]  # networks are faster on a sparse matrix
        if not repair or (isinstance(self.detector, str) and self.detector == "none"):
            return x, untouched, None, ""
        if isinstance(self.detector, Tensor | np.ndarray):
            trust = soft = torch.as_tensor(self.detector).to(x)
            if trust.shape != x.shape:
                raise ValueError(f"detector is a trust matrix {tuple(trust.shape)}; it must be {tuple(x.shape)}")
        else:
            if isinstance(self.detector, str):
                options = self.detector_options or {}
                detector = detection.make(self.detector, seed=self.seed, device=self._device(), **options)
            else:
                detector = clone(self.detector)
            gate = getattr(detector.fit(data), "gate_", None)
            if gate is not None and not gate.open:
                return x, untouched, detector, f"left as it is: {gate.reason}"
            if isinstance(detector, detection.Detector):
                trust, soft = (part.to(x.device) for part in detector.verdict_.trust_and_soft_trust())
                detector.verdict_.free_memory()
            else:
                trust, soft = (torch.as_tensor(part).to(x) for part in (detector.trust_, detector.soft_trust_))
            return_freed_memory()
        repairs = repair_candidates(x, graph, trust, soft, self.lambdas, self.strengths)[1:]
        return x, [*untouched, *repairs], detector, ""

    def _device(self) -> torch.device:
        return torch.device(self.device or ("cuda" if torch.cuda.is_available() else "cpu"))

    def predict_proba(self, data: Data | None = None) -> NDArray[np.float64]:
        """Probabilities ``[n, classes]``, in the order of ``classes_``.

        Args:
            data: a graph with the same features. (default: the graph of :meth:`fit`) Another graph is searched for
                wrong values by a new detector and repaired in the ways that the members need; where its gate
                is closed, or a trust matrix was given for the graph of :meth:`fit`, it is left as it is.
        """
        self._check_fitted()
        data = None if data is None else check_features(data)
        if data is None or fingerprint(data) == self._fingerprint:
            return self.probability_
        graph = _graph(data)
        if dense_x(data).shape[1] != self.n_features_in_:
            raise ValueError(f"x has {data.x.shape[1]} columns; the classifier was fitted on {self.n_features_in_}")
        needed = any(member.candidate != AS_IT_IS for member in self.members_)
        repair = needed and not isinstance(self.detector, Tensor | np.ndarray)
        makes = {candidate.name: candidate.make for candidate in self._candidates(data, graph, repair)[1]}
        total = torch.zeros((graph.num_nodes, len(self.classes_)), dtype=torch.float64)
        for name in dict.fromkeys(member.candidate for member in self.members_):
            x = makes.get(name, makes[AS_IT_IS])()
            for member, share in zip(self.members_, self.weights_, strict=True):
                if member.candidate == name:
                    total += share * member.probability(x, graph, self._device())
        return np.asarray(voting.calibrated(total, self.temperature_))

    def predict(self, data: Data | None = None) -> NDArray[Any]:
        """The most probable class of every node."""
        return np.asarray(self.classes_[self.predict_proba(data).argmax(axis=1)])

    def score(self, data: Data, y: Any = None) -> float:
        """Accuracy on the nodes of ``test_mask``, or on all labeled nodes if there is none."""
        predicted = self.predict(data)
        labels, labeled = _labels(data, y)
        if (test := _mask(data, "test_mask")) is not None:
            labeled &= test.numpy()
        if not labeled.any():
            raise ValueError("no node is labeled for the test; give y, or data with y and test_mask")
        return float((predicted[labeled] == labels[labeled]).mean())

    def summary(self) -> pd.DataFrame:
        """Features, network, validation accuracy and weight of every member, by decreasing weight."""
        self._check_fitted()
        names = ("features", "network", "seed", "val_accuracy")
        rows = [(member.candidate, member.recipe, member.seed, member.val_accuracy) for member in self.members_]
        table = pd.DataFrame(rows, columns=names).assign(weight=self.weights_)
        return table.sort_values("weight", ascending=False, ignore_index=True)

    def _check_fitted(self) -> None:
        if "members_" not in vars(self):
            raise NotFittedError("this MAGnetClassifier is not fitted; call fit first")

    if not TYPE_CHECKING:  # which would take every name for an attribute

        def __getattr__(self, name: str) -> Any:
            """For attributes that do not exist: say whether they would after :meth:`fit`."""
            if name.endswith("_") and not name.startswith("_"):
                self._check_fitted()
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted classifier to an ``.npz`` file of plain arrays (no pickles)."""
        self._check_fitted()
        if not isinstance(self.detector, str):
            raise ValueError("only a classifier whose detector was given by name can be saved")
        facts = {
            "format": FORMAT,
            "parameters": self.get_params(),
            "chosen": self.chosen_,
            "features": self.n_features_in_,
            "val_accuracy": self.val_accuracy_,
            "remark": self.remark_,
            "temperature": self.temperature_,
            "known": self._fingerprint,
            "members": [member.described() for member in self.members_],
        }
        arrays: dict[str, Any] = {"classes": self.classes_, "probability": self.probability_, "weights": self.weights_}
        for number, member in enumerate(self.members_):
            assert member.model is not None
            for name, value in member.model.state_dict().items():
                arrays[f"member.{number}.{name}"] = value.cpu().numpy()
        save_arrays(path, {**arrays, "facts": np.array(json.dumps(facts))})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what :meth:`save` wrote. (``x_`` and ``detector_``, the by-products of fitting, are not kept.)"""
        with damaged(Path(path)), open_npz(path) as arrays:
            if "facts" not in arrays:
                raise OtherContent(f"{path} holds no classifier; it was not written by MAGnetClassifier.save")
            facts = read_object(str(arrays["facts"]))
            if facts.get("format") != FORMAT:
                raise OtherContent(f"{path}: its format is {facts.get('format')!r}, not {FORMAT!r}; fit and save again")
            parameters: dict[str, Any] = facts["parameters"]
            for name in ("lambdas", "strengths"):  # JSON has no tuples
                parameters[name] = tuple(parameters[name])
            self = cls(**parameters)
            self.classes_, self.probability_ = arrays["classes"], arrays["probability"]
            self.chosen_, self.n_features_in_ = facts["chosen"], int(facts["features"])
            self.val_accuracy_, self.remark_ = facts["val_accuracy"], facts["remark"]
            self._fingerprint, self.detector_, self.temperature_ = facts["known"], None, float(facts["temperature"])
            self.weights_ = np.asarray(arrays["weights"], dtype=np.float64)
            described = facts["members"]
            if not 0 < len(described) <= MAX_MEMBERS or self.weights_.shape != (len(described),):
                raise ValueError(f"it has {len(described)} members and {self.weights_.size} weights")
            self.members_ = []
            for number, description in enumerate(described):
                prefix = f"member.{number}."
                own = [name for name in arrays if name.startswith(prefix)]
                state = {name.removeprefix(prefix): torch.from_numpy(arrays[name]) for name in own}
                self.members_.append(restored(description, state, MODELS, self.n_features_in_, len(self.classes_)))
        return self


def _graph(data: Data) -> Graph:
    return Graph.from_edges(data.edge_index, int(data.x.shape[0]), data.get("edge_weight"))


def _mask(data: Data, name: str) -> Tensor | None:
    """A mask of the data as bool ``[n]`` on the CPU; None if there is none."""
    if data.get(name) is None:
        return None
    mask, nodes = torch.as_tensor(data[name]).cpu(), int(data.x.shape[0])
    if mask.dtype != torch.bool or mask.shape != (nodes,):
        raise ValueError(
            f"{name} is {mask.dtype} of shape {tuple(mask.shape)}; it must be bool [{nodes}], one value for each node "
            "(of several splits, choose a column)"
        )
    return mask


def _labels(data: Data, y: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The labels of all nodes, and which nodes are labeled."""
    values = data.get("y") if y is None else y
    if values is None:
        raise ValueError("data has no y and none was given; labels are needed")
    labels = values.cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)
    if labels.ndim == 2 and labels.shape[1] == 1:  # as in the datasets of OGB
        labels = labels[:, 0]
    if labels.shape != (int(data.x.shape[0]),):
        raise ValueError(f"y has shape {labels.shape}; it must be [{int(data.x.shape[0])}], one label for each node")
    if np.issubdtype(labels.dtype, np.number):
        labeled = ~np.isnan(labels) if np.issubdtype(labels.dtype, np.floating) else np.ones(labels.size, dtype=bool)
        labeled &= labels != -1
        return labels, labeled
    labeled = np.array([label is not None and label == label for label in labels])
    return np.where(labeled, labels, "").astype(str), labeled
