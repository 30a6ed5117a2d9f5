"""What a method is: how it prepares the features, which networks it trains, and what may be tuned."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch_geometric.data import Data

from magnet.experiments.protocol.data import Repetition
from magnet.graph import Graph
from magnet.nn import GCN, Model
from magnet.nn.members import Recipe
from magnet.nn.recipes import check_training
from magnet.recovery.candidates import AS_IT_IS, Candidate

Config = Mapping[str, Any]

#: How the paper's methods train: one setting of its search space.
PAPER_TRAINING: dict[str, Any] = {
    "learning_rate": 5e-3,
    "weight_decay": 5e-3,
    "weight_decay_on": "all",
    "epochs": 200,
    "patience": None,
    "scaling": "none",
}

#: The shape of the network behind MAGnet and its rivals.
NETWORK: dict[str, Any] = {"hidden": 64, "dropout": 0.5, "input_dropout": 0.0, "layers": 2}

#: The paper's GCN.
PAPER_GCN: dict[str, Any] = {**PAPER_TRAINING, **NETWORK, "batch_norm": False}

#: Settings that differ on graphs as large as ogbn-arxiv, where the paper uses three layers.
LARGE_NODES = 100_000
LARGE: dict[str, Any] = {"layers": 3, "batch_norm": True, "weight_decay": 1e-4}

#: The search space of the paper's Table 3, which is common to all methods.
PAPER_SPACE: dict[str, list[Any]] = {
    "learning_rate": [1e-3, 5e-3, 1e-4],
    "weight_decay": [1e-3, 5e-3, 1e-4],
    "hidden": [64, 128],
    "dropout": [0.5],
    "epochs": [200, 500],
}


@dataclass(frozen=True, eq=False)
class RepairCandidates:
    """The repaired features that a method offers for a repetition.

    Args:
        candidates: features to choose from, in order of preference among equals.
        detection: metrics of the detector, for a table (None: there is no detector).
        remark: an explanation, such as why nothing is repaired.
        graph: the changed graph. (default: the graph is unchanged)
    """

    candidates: Sequence[Candidate]
    detection: dict[str, Any] | None = None
    remark: str = ""
    graph: Graph | None = None


def as_it_is(repetition: Repetition) -> Candidate:
    return Candidate(AS_IT_IS, lambda: repetition.data.x)


def untouched(repetition: Repetition, config: Config) -> RepairCandidates:
    """The data as they are."""
    return RepairCandidates([as_it_is(repetition)])


@dataclass(frozen=True, eq=False)
class Method:
    """A row of a table: repair the features, train networks on them.

    Args:
        name: what :func:`magnet.experiments.run_one` takes.
        title: name in tables.
        settings: the settings of the networks, with their default values.
        repair_settings: those that only ``repair`` reads: models that differ in them can be trained together.
        space: what a search may choose from: ``{setting: list of choices}``.
        model: the network, if any.
        repair: ``(repetition, config) -> RepairCandidates``.
        repair_all: the same for several repetitions and configs at once, where that is faster.
        committee: makes the networks of a committee: ``(data, config) -> recipes``. A committee predicts the weighted
            average of its members; a single network uses the candidate with the best validation accuracy.
        source: where the space comes from, in words.
        settings_of: the method whose settings, found by search, it runs with. (default: its own)
    """

    name: str
    title: str
    settings: dict[str, Any]
    repair_settings: dict[str, Any] = field(default_factory=dict)
    space: dict[str, Any] = field(default_factory=lambda: dict(PAPER_SPACE))
    model: type[Model] = GCN
    repair: Callable[[Repetition, Config], RepairCandidates] = untouched
    repair_all: Callable[[Sequence[tuple[Repetition, Config]]], list[RepairCandidates]] | None = None
    committee: Callable[[Data | None, Config], list[Recipe]] | None = None
    source: str = ""
    settings_of: str = ""

    @property
    def defaults(self) -> dict[str, Any]:
        """Every setting and its default value."""
        return {**self.settings, **self.repair_settings}

    @property
    def average(self) -> bool:
        return self.committee is not None

    def recipes(self, data: Data | None, config: Config) -> list[Recipe]:
        """The networks that are trained on each candidate."""
        if self.committee is not None:
            return self.committee(data, config)
        chosen = {name: value for name, value in config.items() if name not in self.repair_settings}
        return [Recipe(self.model.__name__, self.model, chosen)]

    def config(self, given: Config, nodes: int = 0) -> dict[str, Any]:
        """The defaults (for a graph of this size) updated with the given settings, after a check of their names."""
        unknown = [name for name in given if name not in self.defaults]
        if unknown:
            raise ValueError(f"{self.name} has no setting {unknown[0]!r}; it has {', '.join(sorted(self.defaults))}")
        for name, value in given.items():
            check_kind(self.name, name, value, self.defaults[name])
        check_training(given)
        large = LARGE if nodes >= LARGE_NODES and "batch_norm" in self.defaults else {}
        return {**self.defaults, **large, **given}


_KINDS: dict[Any, str] = {
    **{bool: "true or false", (int, float): "a number", str: "a word"},
    **{(list, tuple): "a list", dict: "a table of settings"},
}


def check_kind(method: str, name: str, value: Any, default: Any) -> None:
    """Raise a ``ValueError`` unless a setting is of the same kind as its default; a number must be finite."""
    if default is None or value is None:
        return
    types, kind = next((types, kind) for types, kind in _KINDS.items() if isinstance(default, types))
    wrong = not isinstance(value, types) or (isinstance(value, bool) and types is not bool)
    if wrong or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError(f"{name} of {method} is {value!r}; it must be {kind} like {default!r}")
