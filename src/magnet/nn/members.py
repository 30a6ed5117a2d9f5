"""Members of a committee: networks on candidate features, and the problem that they are trained for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from magnet.graph import Graph
from magnet.nn.features import column_scaled, row_normalized, unit_scaled
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
#: What a file keeps of a member, beside its network.
FACTS = ("candidate", "recipe", "seed", "val_accuracy", "val_loss", "epoch", "temperature")
#: How many layers or steps a network of a file may ask for.
MAX_DEPTH = 1000
#: What ``scaling`` may be.
SCALINGS = {"none": lambda x, in_place=False: x, "rows": row_normalized, "unit": unit_scaled, "columns": column_scaled}


@dataclass(frozen=True, eq=False)
class Recipe:
    """A network and how it is trained: options of the model, and those in :data:`TRAINING`.

    ``scaling`` is a key of :data:`SCALINGS`; with ``components`` repaired features are reduced to this many for the
    training (:func:`magnet.nn.features.principal`).
    """

    name: str
    model: type[Model]
    settings: Mapping[str, Any]

    @property
    def shape(self) -> tuple[Any, str]:
        """What must be the same for models to be trained side by side. (So is the number of epochs, though it need
        not be: all would run as long as the longest.)"""
        free = {*SIDE_BY_SIDE, "scaling"} - {"epochs"}
        return self.model, json.dumps({k: v for k, v in self.settings.items() if k not in free}, sort_keys=True)


@dataclass(frozen=True, eq=False)
class Problem:
    """Nodes to classify: one graph, its labels, and what may be tried."""

    graph: Graph
    y: Tensor
    train_mask: Tensor
    val_mask: Tensor
    inputs: int  # number of features
    outputs: int  # number of classes
    seed: int
    candidates: Sequence[Candidate]  # features to choose from; the first are those that were observed
    recipes: Sequence[Recipe]  # networks to choose from; those of the first kind try every candidate
    own_split: bool = False  # whether other problems that are trained side by side have other masks

    @property
    def unlabeled(self) -> Tensor:
        """The nodes to classify: in neither split, bool ``[n]``."""
        return ~(self.train_mask | self.val_mask).cpu()


@dataclass(eq=False)
class Member:
    """A trained network of a committee."""

    candidate: str  # the name of its features
    recipe: str  # the name of its network
    seed: int
    val_accuracy: float  # on validation nodes at its best epoch, as the next
    val_loss: float
    epoch: int
    logits: Tensor  # class scores [n, classes]
    seconds: float  # its share of the time of its batch
    kind: str = ""  # the class of its network
    settings: Mapping[str, Any] = field(default_factory=dict)
    model: Model | None = None  # if networks are kept
    temperature: float = 1.0  # calibrates its probabilities on validation nodes
    held_out: tuple[Tensor, Tensor] | None = None  # labeled nodes, and its scores for them when trained without them

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
    """A member from a file: what :meth:`Member.described` gave, and the ``state`` of its network, after a check that
    the network is as large as its settings say."""
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
    """The network number ``place`` of a batch, alone and on the CPU. The ``basis`` that its features were multiplied
    with becomes part of its first layer."""
    options = {name: value for name, value in recipe.settings.items() if name not in TRAINING}
    inputs = model.in_channels if basis is None else basis.shape[0]
    alone = recipe.model(inputs, model.out_channels, seeds=[model.seeds[place]], **options)
    state = {name: value[:, place : place + 1].cpu().clone() for name, value in model.state_dict().items()}
    if basis is not None:
        state["layers.0.weight"] = (basis.cpu() @ state["layers.0.weight"][:, 0]).unsqueeze(1)
    alone.load_state_dict(state)
    return alone
