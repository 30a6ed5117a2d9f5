r"""Votes of a committee: members are weighted by their predictions on validation nodes.

.. math::
    p(y \mid i) = \sum_m w_m\, p_m(y \mid i), \qquad
    w_m \propto \exp\left(\frac{a_m - \max_k a_k}{s_a} + \frac{\ell_m - \max_k \ell_k}{s_\ell}\right)

with :math:`a_m` the accuracy of member m on the validation nodes and :math:`\ell_m` the mean logarithm of its
probability for their classes. The temperatures :math:`s` are standard errors of the difference of two members, which
fall with the number of validation nodes: with few of them the members are averaged, with many the best decide. Each
member is calibrated first (:func:`calibration`), so that :math:`\ell_m` measures its information, not its confidence.

Where validation nodes are few (:data:`FEW_VALIDATION`), every member is trained again on folds of all labeled nodes,
and its predictions on held-out nodes add the same two terms.

Validation nodes may have other classes than the nodes to classify, for example equally many of each class. If the
committee's predictions for the two differ by more than chance, validation nodes are weighted (:func:`label_shift`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import chi2_contingency
from torch import Tensor
from torch.nn.functional import cross_entropy

from magnet.nn.members import Member, Problem, Recipe
from magnet.nn.model import Model
from magnet.recovery.candidates import Candidate

#: A class that a member thinks less likely counts as this likely, so that one node cannot rule out a member.
MIN_PROBABILITY = 1e-3
#: Shares of the nodes of each predicted class that :func:`self_taught` takes for granted; the members that learn from
#: either of them vote. (Accuracy with 0.4, 0.8 and both, random rows: Cora 80.8, 80.9, 81.0 %; CiteSeer 68.1, 67.8,
#: 68.1; PubMed 78.5, 79.0, 79.1; Amazon-Computers 80.5, 80.8, 80.8.)
TAUGHT_SHARES = (0.4, 0.8)
#: With fewer validation nodes members are cross-validated: the accuracies of two of them then differ by 3 points by
#: chance. (Wisconsin and Texas, 80 and 59 nodes, random and far rows, 17 repetitions: 61.3 % without, 62.6 % with it.)
FEW_VALIDATION = 200
#: Parts of the labeled nodes for that.
FOLDS = 5
#: Error rate of the test that validation nodes and nodes to classify have the same classes: random splits pass.
SHIFT_LEVEL = 1e-4
#: How often votes and importance weights are computed in turn. More change no weight in its second digit.
SHIFT_ROUNDS = 3
#: Decimal places to which validation accuracies are compared: means of the same hits may differ beyond.
PLACES = 9
#: How many temperatures from 0.1 to 10 calibration tries: in steps of 5 %.
TEMPERATURES = 101
TINY = 1e-12  # least probability whose logarithm is taken


def best(members: Sequence[Member]) -> int:
    """The member with the highest validation accuracy, the first among equals."""
    chosen = 0
    for place, member in enumerate(members):
        if member.val_accuracy > members[chosen].val_accuracy + 10**-PLACES:
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
    chosen = max(mean, key=lambda name: round(mean[name], PLACES))
    return np.array([float(member.name == chosen) for member in members])


def weights(
    members: Sequence[Member], y: Tensor, val_mask: Tensor, targets: Tensor | None = None
) -> NDArray[np.float64]:
    """The weight of each member; they sum to 1. ``targets`` are the nodes to classify, bool ``[n]``. (default: nodes
    like those of the validation)"""
    labels, nodes = y.cpu(), val_mask.cpu().nonzero().ravel()
    probabilities = [member.probability_of(member.logits[nodes]) for member in members]
    evidence = _evidence(probabilities, labels[nodes])
    for _ in range(SHIFT_ROUNDS if targets is not None and bool(targets.any()) else 0):
        vote = average(members, torch.softmax(evidence, dim=0).numpy())
        if (shift := label_shift(vote[nodes], labels[nodes], vote[targets])) is None:
            break
        evidence = _evidence(probabilities, labels[nodes], *shift)
    held_out = [member.held_out for member in members if member.held_out is not None]
    if len(held_out) == len(members):
        pairs = zip(members, held_out, strict=True)
        evidence = evidence + _evidence([m.probability_of(logits) for m, (_, logits) in pairs], labels[held_out[0][0]])
    found: NDArray[np.float64] = torch.softmax(evidence, dim=0).numpy()
    return found


def label_shift(probability: Tensor, y: Tensor, targets: Tensor) -> tuple[Tensor, float] | None:
    r"""Importance weights :math:`\pi_c / v_c` of validation nodes, with :math:`v_c` the share of their class c and
    :math:`\pi_c` that among the nodes to classify, estimated by the mean prediction ("Detecting and Correcting for
    Label Shift with Black Box Predictors", Lipton et al., ICML 2018).

    (Amazon-Computers, whose validation nodes lack 3 of 10 classes: accuracy 80.8 instead of 79.3 % with random rows,
    82.0 instead of 81.1 with far ones.)

    From class probabilities of the validation nodes, their classes, and class probabilities of the nodes to classify
    (``targets``) follow weights ``[nodes]`` that sum to 1, and the share of the nodes to classify whose class has a
    validation node; None where the predicted classes of the two differ no more than by chance.
    """
    classes = probability.shape[1]
    counts = torch.stack([torch.bincount(p.argmax(dim=1), minlength=classes) for p in (probability, targets)])
    counts = counts[:, counts.sum(dim=0) > 0]
    if counts.shape[1] < 2 or chi2_contingency(counts.numpy()).pvalue > SHIFT_LEVEL:
        return None
    share, present = targets.mean(dim=0), torch.bincount(y, minlength=classes)
    weight = (share / present)[y]
    return weight / weight.sum(), float(share[present > 0].sum())


def _evidence(probability: Sequence[Tensor], y: Tensor, weight: Tensor | None = None, covered: float = 1.0) -> Tensor:
    """Evidence for each member from its predictions on nodes with known classes; see :func:`label_shift`."""
    target = y.unsqueeze(1)
    right = torch.stack([each.argmax(dim=1) == y for each in probability]).double()
    log_probability = torch.stack(
        [each.gather(1, target)[:, 0].clamp(min=MIN_PROBABILITY).log() for each in probability]
    )
    weight = torch.full(y.shape, 1 / y.numel(), dtype=torch.float64) if weight is None else weight
    terms = []
    for score in (right, log_probability):
        mean = score @ weight
        terms.append(covered * (mean - mean.max()) / standard_error(score, weight, covered))
    return terms[0] + terms[1]


def folded(problem: Problem) -> list[Problem]:
    """The problem with each fold of its labeled nodes for validation, the others for training."""
    labeled = (problem.train_mask | problem.val_mask).cpu()
    generator = torch.Generator().manual_seed(problem.seed)
    fold = torch.full(labeled.shape, -1)
    for group in range(problem.outputs):
        nodes = (labeled & (problem.y.cpu() == group)).nonzero().ravel()
        fold[nodes[torch.randperm(nodes.numel(), generator=generator)]] = (torch.arange(nodes.numel()) + group) % FOLDS
    parts = [fold == k for k in range(FOLDS)]
    return [
        replace(problem, train_mask=labeled & ~part, val_mask=part, own_split=True)
        for part in parts
        if part.any() and (labeled & ~part).any()
    ]


def self_taught(
    problem: Problem, members: Sequence[Member], candidates: Sequence[Candidate], share: float
) -> Problem | None:
    """The problem with the committee's most confident predictions as pseudo-labels, for a second round of training
    ("Deeper Insights into Graph Convolutional Networks for Semi-Supervised Learning", Li et al., AAAI 2018): of the
    nodes that are in neither split, the most confident share (see :data:`TAUGHT_SHARES`) of every predicted class.
    Every network learns from them with its weakest penalty: there are more labels.

    Returns:
        None where they would be no more than the training nodes: then there is little to learn from them.
    """
    free = problem.unlabeled
    sureness, label = average(members, weights(members, problem.y, problem.val_mask, free)).max(dim=1)
    y, train = problem.y.cpu().clone(), problem.train_mask.cpu().clone()
    for group in range(problem.outputs):
        nodes = (free & (label == group)).nonzero().ravel()
        surest = nodes[sureness[nodes].argsort(descending=True, stable=True)][: int(share * nodes.numel())]
        y[surest], train[surest] = group, True
    if train.sum() <= 2 * problem.train_mask.sum():
        return None
    weakest: dict[type[Model], Recipe] = {}
    for recipe in problem.recipes:
        known = weakest.setdefault(recipe.model, recipe)
        if recipe.settings["weight_decay"] < known.settings["weight_decay"]:
            weakest[recipe.model] = recipe
    recipes = [replace(recipe, name=f"self-taught {share:.0%} {recipe.name}") for recipe in weakest.values()]
    return replace(problem, y=y, train_mask=train, candidates=candidates, recipes=recipes, own_split=True)


def standard_error(score: Tensor, weight: Tensor | None = None, covered: float = 1.0) -> float:
    """The standard error of the difference between a member's mean score and that of the best one, for the typical
    (median) member. It follows from how much the two differ at a node, which is less than independent errors would.

    Args:
        score: ``[members, validation nodes]``, such as 1 where a member is right.
        weight: of the nodes, summing to 1 (None: equal).
        covered: share of the nodes to classify that the validation nodes stand for; for the others the mean difference
            may be as large as the difference at a node.
    """
    weight = torch.full(score.shape[1:], 1 / score.shape[1], dtype=score.dtype) if weight is None else weight
    leader = score[(score @ weight).argmax()]
    difference = ((score - leader).square() @ weight).median()
    nodes = 1 / weight.square().sum()  # Kish's effective sample size
    seen = (difference + 1 / nodes) / nodes
    return float(torch.sqrt(covered**2 * seen + (1 - covered) ** 2 * difference))


def average(members: Sequence[Member], weight: NDArray[np.float64]) -> Tensor:
    """Class probabilities ``[n, classes]`` of the committee, in double precision."""
    total = torch.zeros(members[0].logits.shape, dtype=torch.float64)
    for member, share in zip(members, weight, strict=True):
        if share > 0:
            total += share * member.probability_of(member.logits)
    return total


def calibration(probability: Tensor, y: Tensor) -> float:
    r"""The temperature T for which :math:`p^{1/T}`, normalized, fits labeled nodes best ("On Calibration of
    Modern Neural Networks", Guo et al., ICML 2017): above 1 where the committee is too sure of itself."""
    scores = probability.clamp(min=TINY).log()
    choices = torch.logspace(-1, 1, TEMPERATURES, dtype=scores.dtype)
    # A standard normal prior on log T keeps a handful of nodes from deciding much.
    loss = [cross_entropy(scores / t, y, reduction="sum") + t.log() ** 2 / 2 for t in choices]
    return float(choices[torch.stack(loss).argmin()])


def calibrated(probability: Tensor, temperature: float) -> Tensor:
    """:math:`p^{1/T}`, normalized."""
    return torch.softmax(probability.clamp(min=TINY).log() / temperature, dim=1)
