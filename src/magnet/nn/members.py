r"""Members of a committee: networks on candidate features, weighted by their predictions on validation nodes.

.. math::
    p(y \mid i) = \sum_m w_m\, p_m(y \mid i), \qquad
    w_m \propto \exp\left(\frac{a_m - \max_k a_k}{s_a} + \frac{\ell_m - \max_k \ell_k}{s_\ell}\right)

with :math:`a_m` the accuracy of member m on the validation nodes and :math:`\ell_m` the mean logarithm of its
probability for their classes. The temperatures :math:`s` are standard errors of the difference of two members, which
fall with the number of validation nodes: with few of them the members are averaged, with many the best decide. Each
member is calibrated first (:func:`calibration`), so that :math:`\ell_m` measures its information, not its confidence:
otherwise networks that have learned from sure predictions win on PubMed, where they are not better (random rows, two
repetitions: 78.4 % without, 79.5 % with calibration; Cora and CiteSeer stay as they are).

Where validation nodes are few (:data:`FEW_VALIDATION`), every member is trained again on folds of all labelled nodes,
and its predictions on held-out nodes add the same two terms.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from magnet.graph import Graph
from magnet.nn.features import row_normalized, unit_scaled
from magnet.nn.model import Model
from magnet.nn.training import predict
from magnet.recovery.candidates import Candidate

#: Settings that may differ between models trained side by side.
SIDE_BY_SIDE = (
    *("learning_rate", "weight_decay", "epochs", "dropout", "input_dropout"),
    *("alpha", "lambda1", "lambda2", "amplitude", "memory"),
)
#: Settings of the training; all others are options of the model.
TRAINING = ("learning_rate", "weight_decay", "weight_decay_on", "epochs", "patience", "scaling", "components")
#: A class that a member thinks less likely counts as this likely, so that one node cannot rule out a member.
MIN_PROBABILITY = 1e-3
#: Share of the nodes of each predicted class that :func:`self_taught` takes for granted. (On Cora 97 % of them are
#: right, where a GCN is right about 81 % of all nodes; no other share was tried.)
TAUGHT_SHARE = 0.4
#: With fewer validation nodes members are cross-validated: the accuracies of two of them then differ by 3 points by
#: chance. (Wisconsin and Texas, 80 and 59 nodes, random and far rows, 17 repetitions: 61.3 % without, 62.6 % with it.)
FEW_VALIDATION = 200
#: Parts of the labelled nodes for that.
FOLDS = 5
#: What a file keeps of a member, beside its network.
FACTS = ("candidate", "recipe", "seed", "val_accuracy", "val_loss", "epoch", "temperature")
#: How many layers or steps a network of a file may ask for.
MAX_DEPTH = 1000
#: What ``scaling`` may be.
SCALINGS = {"none": lambda x: x, "rows": row_normalized, "unit": unit_scaled}


@dataclass(frozen=True, eq=False)
class Recipe:
    """A network and how it is trained.

    Args:
        name: what the member is called.
        model: the network.
        settings: options of the model, and ``learning_rate, weight_decay, weight_decay_on, epochs, patience,
            scaling``. The last is ``"none"``, ``"rows"`` (rows divided by their sum) or ``"unit"`` (one factor for
            the whole matrix, after which rows have a total variance of 1). With ``components`` repaired features are
            reduced to this many for the training (:func:`magnet.nn.features.principal`).
    """

    name: str
    model: type[Model]
    settings: Mapping[str, Any]

    @property
    def components(self) -> int:
        """To how many components repaired features are reduced; 0 where they are not."""
        return int(self.settings.get("components") or 0)

    @property
    def shape(self) -> tuple[Any, str]:
        """What must be the same for models to be trained side by side. (So is the number of epochs, though it need
        not: all would go on as long as the longest.)"""
        free = {*SIDE_BY_SIDE, "scaling"} - {"epochs"}
        return self.model, json.dumps({k: v for k, v in self.settings.items() if k not in free}, sort_keys=True)


@dataclass(frozen=True, eq=False)
class Problem:
    """Nodes to classify: one graph, its labels, and what may be tried.

    Args:
        graph: the graph.
        y: labels ``[n]``.
        train_mask: which nodes are for training.
        val_mask: which nodes are for choosing.
        inputs: number of features.
        outputs: number of classes.
        seed: of the networks.
        candidates: features to choose from; the first are those that were observed.
        recipes: networks to choose from; those of the first kind try every candidate.
        own_split: whether other problems that are trained side by side have other masks.
    """

    graph: Graph
    y: Tensor
    train_mask: Tensor
    val_mask: Tensor
    inputs: int
    outputs: int
    seed: int
    candidates: Sequence[Candidate]
    recipes: Sequence[Recipe]
    own_split: bool = False


@dataclass(eq=False)
class Member:
    """A trained network of a committee.

    Attributes:
        candidate: name of its features.
        recipe: name of its network.
        seed: of its initialization.
        val_accuracy: at its best epoch on validation.
        val_loss: at the same epoch.
        epoch: its best one.
        logits: class scores ``[n, classes]``.
        seconds: its share of the time of its batch.
        kind: the class of its network.
        settings: of its recipe.
        model: the network, where it was to be kept.
        temperature: by which its probabilities are calibrated on validation nodes (:func:`calibration`).
        held_out: labelled nodes, and its class scores for them when it was trained without them.
    """

    candidate: str
    recipe: str
    seed: int
    val_accuracy: float
    val_loss: float
    epoch: int
    logits: Tensor
    seconds: float
    kind: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    model: Model | None = None
    temperature: float = 1.0
    held_out: tuple[Tensor, Tensor] | None = None

    @property
    def name(self) -> str:
        return f"{self.candidate} + {self.recipe}"

    @property
    def key(self) -> tuple[str, str, int]:
        """Identifies it among the members of its problem."""
        return self.candidate, self.recipe, self.seed

    def probability(self, x: Any, graph: Graph, device: torch.device) -> Tensor:
        """Class probabilities ``[n, classes]`` on any graph, with features as its candidate makes them."""
        assert self.model is not None
        logits = predict(self.model.to(device), SCALINGS[str(self.settings["scaling"])](x), graph)[0]
        return self.probability_of(logits)

    def probability_of(self, logits: Tensor) -> Tensor:
        """Calibrated class probabilities in double precision; uniform for a network that diverged."""
        return torch.softmax(logits.double() / self.temperature, dim=1).nan_to_num(nan=1.0 / logits.shape[1])

    def described(self) -> dict[str, Any]:
        """Metadata for a saved file, in addition to the network parameters."""
        facts = {name: getattr(self, name) for name in FACTS}
        return {**facts, "model": type(self.model).__name__.lower(), "settings": dict(self.settings)}


def restored(
    described: Mapping[str, Any],
    state: Mapping[str, Tensor],
    kinds: Mapping[str, type[Model]],
    inputs: int,
    outputs: int,
) -> Member:
    """A member of a file, after a check that its network is as large as its parameters say.

    Args:
        described: what :meth:`Member.described` gave.
        state: the parameters of its network.
        kinds: the networks by name.
        inputs: number of features.
        outputs: number of classes.
    """
    settings = dict(described["settings"])
    if int(settings["layers"]) > MAX_DEPTH or int(settings.get("steps") or 0) > MAX_DEPTH:
        raise ValueError(f"a member has more than {MAX_DEPTH} layers or steps")
    expected = (inputs, 1, int(settings["hidden"]) if int(settings["layers"]) > 1 else outputs)
    if (first := tuple(state["layers.0.weight"].shape)) != expected:
        raise ValueError(f"the first layer of a member is {first}, not {expected}")
    options = {name: value for name, value in settings.items() if name not in TRAINING}
    model = kinds[described["model"]](inputs, outputs, seeds=[int(described["seed"])], **options)
    model.load_state_dict(dict(state))
    facts = {name: described[name] for name in FACTS}
    return Member(**facts, logits=torch.zeros(0, outputs), seconds=0.0, settings=settings, model=model)


def single(model: Model, recipe: Recipe, place: int, basis: Tensor | None = None) -> Model:
    """One network out of a batch, on the CPU.

    Args:
        model: the batch.
        recipe: of the network.
        place: which one it is.
        basis: what its features were multiplied with, which becomes part of its first layer.
    """
    options = {name: value for name, value in recipe.settings.items() if name not in TRAINING}
    inputs = model.in_channels if basis is None else basis.shape[0]
    alone = recipe.model(inputs, model.out_channels, seeds=[model.seeds[place]], **options)
    state = {name: value[:, place : place + 1].cpu().clone() for name, value in model.state_dict().items()}
    if basis is not None:
        state["layers.0.weight"] = (basis.cpu() @ state["layers.0.weight"][:, 0]).unsqueeze(1)
    alone.load_state_dict(state)
    return alone


def best(members: Sequence[Member]) -> int:
    """The member with the highest validation accuracy, the first among equals."""
    chosen = 0
    for place, member in enumerate(members):
        if member.val_accuracy > members[chosen].val_accuracy + 1e-9:
            chosen = place
    return chosen


def mean_accuracy(members: Sequence[Member]) -> dict[str, float]:
    """The validation accuracy of each kind of member by name, over its initializations."""
    found: dict[str, list[float]] = {}
    for member in members:
        found.setdefault(member.name, []).append(member.val_accuracy)
    return {name: float(np.mean(values)) for name, values in found.items()}


def on_best_features(members: Sequence[Member]) -> NDArray[np.float64]:
    """Equal weights for all initializations on the features with the best mean validation accuracy."""
    mean = mean_accuracy(members)
    chosen = max(mean, key=lambda name: round(mean[name], 9))
    return np.array([float(member.name == chosen) for member in members])


def weights(members: Sequence[Member], y: Tensor, val_mask: Tensor) -> NDArray[np.float64]:
    """The weight of each member; they sum to 1."""
    labels, nodes = y.cpu(), val_mask.cpu().nonzero().ravel()
    evidence = _evidence([member.probability_of(member.logits[nodes]) for member in members], labels[nodes])
    held_out = [member.held_out for member in members if member.held_out is not None]
    if len(held_out) == len(members):
        pairs = zip(members, held_out, strict=True)
        said = [member.probability_of(logits) for member, (_, logits) in pairs]
        evidence = evidence + _evidence(said, labels[held_out[0][0]])
    found: NDArray[np.float64] = torch.softmax(evidence, dim=0).numpy()
    return found


def _evidence(probability: Sequence[Tensor], y: Tensor) -> Tensor:
    """Evidence for each member from its predictions on nodes with known classes."""
    target = y.unsqueeze(1)
    right = torch.stack([each.argmax(dim=1) == y for each in probability]).double()
    said = torch.stack([each.gather(1, target)[:, 0].clamp(min=MIN_PROBABILITY).log() for each in probability])
    terms = [(each.mean(dim=1) - each.mean(dim=1).max()) / standard_error(each) for each in (right, said)]
    return terms[0] + terms[1]


def folded(problem: Problem) -> list[Problem]:
    """The problem with each fold of its labelled nodes for validation, the others for training."""
    labelled = (problem.train_mask | problem.val_mask).cpu()
    generator = torch.Generator().manual_seed(problem.seed)
    fold = torch.full(labelled.shape, -1)
    for group in range(problem.outputs):
        nodes = (labelled & (problem.y.cpu() == group)).nonzero().ravel()
        fold[nodes[torch.randperm(nodes.numel(), generator=generator)]] = (torch.arange(nodes.numel()) + group) % FOLDS
    parts = [fold == k for k in range(FOLDS)]
    return [
        replace(problem, train_mask=labelled & ~part, val_mask=part, own_split=True)
        for part in parts
        if part.any() and (labelled & ~part).any()
    ]


def self_taught(problem: Problem, members: Sequence[Member], candidates: Sequence[Candidate]) -> Problem | None:
    """The problem with the committee's most confident predictions as pseudo-labels, for a second round of training
    ("Deeper Insights into Graph Convolutional Networks for Semi-Supervised Learning", Li et al., AAAI 2018): of the
    nodes that are in neither split, the most confident :data:`TAUGHT_SHARE` of every predicted class.
    Every network learns from them with its weakest penalty: there are more labels.

    Returns:
        None where they would be no more than the training nodes: then there is little to learn from them.
    """
    sureness, label = average(members, weights(members, problem.y, problem.val_mask)).max(dim=1)
    y, train = problem.y.cpu().clone(), problem.train_mask.cpu().clone()
    free = ~(train | problem.val_mask.cpu())
    for group in range(problem.outputs):
        nodes = (free & (label == group)).nonzero().ravel()
        surest = nodes[sureness[nodes].argsort(descending=True, stable=True)][: int(TAUGHT_SHARE * nodes.numel())]
        y[surest], train[surest] = group, True
    if train.sum() <= 2 * problem.train_mask.sum():
        return None
    weakest: dict[type[Model], Recipe] = {}
    for recipe in problem.recipes:
        known = weakest.setdefault(recipe.model, recipe)
        if recipe.settings["weight_decay"] < known.settings["weight_decay"]:
            weakest[recipe.model] = recipe
    recipes = [replace(recipe, name=f"self-taught {recipe.name}") for recipe in weakest.values()]
    return replace(problem, y=y, train_mask=train, candidates=candidates, recipes=recipes, own_split=True)


def standard_error(score: Tensor) -> float:
    """The standard error of the difference between a member's mean score and that of the best one, for the typical
    (median) member. It follows from how much the two differ at a node, which is less than independent errors would.

    Args:
        score: ``[members, validation nodes]``, such as 1 where a member is right.
    """
    leader = score[score.mean(dim=1).argmax()]
    difference = (score - leader).square().mean(dim=1).median()
    nodes = score.shape[1]
    return float(torch.sqrt((difference + 1 / nodes) / nodes))


def average(members: Sequence[Member], weight: NDArray[np.float64]) -> Tensor:
    """Class probabilities ``[n, classes]`` of the committee, in double precision."""
    total = torch.zeros(members[0].logits.shape, dtype=torch.float64)
    for member, share in zip(members, weight, strict=True):
        if share > 0:
            total += share * member.probability_of(member.logits)
    return total


def calibration(probability: Tensor, y: Tensor) -> float:
    r"""The temperature T for which :math:`p^{1/T}`, normalized, fits labeled nodes best ("On Calibration of
    Modern Neural Networks", Guo et al., ICML 2017): above 1 where the committee is too sure of itself.

    Args:
        probability: class probabilities of labelled nodes ``[nodes, classes]``.
        y: their classes ``[nodes]``.
    """
    scores = probability.clamp(min=1e-12).log()
    choices = torch.logspace(-1, 1, 101, dtype=scores.dtype)
    # A standard normal prior on log T keeps a handful of nodes from deciding much.
    loss = [cross_entropy(scores / t, y, reduction="sum") + t.log() ** 2 / 2 for t in choices]
    return float(choices[torch.stack(loss).argmin()])


def calibrated(probability: Tensor, temperature: float) -> Tensor:
    """:math:`p^{1/T}`, normalized."""
    return torch.softmax(probability.clamp(min=1e-12).log() / temperature, dim=1)
