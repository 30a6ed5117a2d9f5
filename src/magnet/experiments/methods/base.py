"""What a method is: how it prepares the features, which model it trains, and what may be tuned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from magnet.corruption import Corruption
from magnet.graph import Graph
from magnet.nn import GCN, Model

Config = Mapping[str, Any]

#: How every method trains unless it says otherwise.
TRAINING: dict[str, Any] = {
    "rate": 5e-3,
    "decay": 5e-3,
    "decay_on": "all",
    "epochs": 200,
    "patience": None,
    "normalize": False,
}

#: The shape of the network behind MAGnet and its rivals.
NETWORK: dict[str, Any] = {"hidden": 64, "dropout": 0.5, "input_dropout": 0.0, "layers": 2}

#: The same for networks that end in a GCN.
CONVOLUTIONS: dict[str, Any] = {**NETWORK, "batch_norm": False}

#: What is different on graphs as large as ogbn-arxiv, where the paper, like everyone, takes three layers.
LARGE_NODES = 100_000
LARGE: dict[str, Any] = {"layers": 3, "batch_norm": True, "decay": 1e-4}

#: Table 3 of the paper, which holds for every method.
PAPER_SPACE: dict[str, list[Any]] = {
    "rate": [1e-3, 5e-3, 1e-4],
    "decay": [1e-3, 5e-3, 1e-4],
    "hidden": [64, 128],
    "dropout": [0.5],
    "epochs": [200, 500],
}

#: Settings of the network and its training that may differ between models trained side by side.
SIDE_BY_SIDE = (
    "rate",
    "decay",
    "epochs",
    "dropout",
    "input_dropout",
    "alpha",
    "lambda1",
    "lambda2",
    "amplitude",
    "memory",
)


@dataclass(eq=False)
class Case:
    """One repetition: a corrupted graph, and the truth about it for the methods that are allowed to see it.

    Args:
        data: the graph as it is given to the method.
        graph: its operators.
        seed: of the repetition.
        corruption: the truth (None: nothing was corrupted).
        device: where to compute.
        folder: where results of detectors may be kept between runs.
        saved: seconds of work that an earlier run on the same case did and this one was spared.
        dataset, kind, options: names of the dataset and the corruption, and the options of the latter.
        own_split: whether repetitions have different splits.
    """

    data: Data
    graph: Graph
    seed: int
    corruption: Corruption | None
    device: torch.device
    folder: Path | None = None
    saved: float = 0.0
    dataset: str = ""
    kind: str = "none"
    options: dict[str, Any] = field(default_factory=dict)
    own_split: bool = False
    cache: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def x(self) -> Tensor:
        """The features, dense and on the device."""
        if "x" not in self.cache:
            x = self.data.x
            self.cache["x"] = (x if x.layout == torch.strided else x.to_dense()).to(self.device)
        return self.cache["x"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """Features that a method might use, computed when it is their turn."""

    name: str
    make: Callable[[], Any]


@dataclass(frozen=True, eq=False)
class Repaired:
    """What a method makes of a case: candidates, of which the one with the best validation accuracy is used.

    Args:
        candidates: in order of preference among equals.
        detection: what the detector said, in numbers for a table (None: there was none).
        remark: why it is so, in words.
    """

    candidates: Sequence[Candidate]
    detection: dict[str, Any] | None = None
    remark: str = ""


def untouched(case: Case, config: Config) -> Repaired:
    """The data as they are."""
    return Repaired([Candidate("as it is", lambda: case.data.x)])


def network(model: type[Model], *options: str) -> Callable[[int, int, Sequence[int], Config], Model]:
    """A method's ``build``: the model with the settings that are its options."""

    def build(inputs: int, outputs: int, seeds: Sequence[int], config: Config) -> Model:
        return model(inputs, outputs, seeds=seeds, **{name: config[name] for name in options})

    return build


_GCN = network(GCN, *CONVOLUTIONS)  # one object for all methods that end in it: they are trained side by side


@dataclass(frozen=True, eq=False)
class Method:
    """A row of a table: repair the features, train a model on them.

    Args:
        name: what :func:`magnet.experiments.run_one` takes.
        title: what a table prints.
        defaults: every setting and its value.
        space: what a search may choose from: ``{setting: list of choices, or (low, high, "log")}``.
        build: ``(in_channels, classes, seeds, config) -> Model``.
        repair: ``(case, config) -> Repaired``.
        repairs: the settings that only ``repair`` reads: models that differ in them can be trained side by side.
        source: where the space comes from, in words.
        settings_of: the method whose settings, found by search, it runs with. (default: its own)
        sees_truth: whether it is told which cells are wrong (an upper bound, not a competitor).
    """

    name: str
    title: str
    defaults: dict[str, Any]
    space: dict[str, Any] = field(default_factory=lambda: dict(PAPER_SPACE))
    build: Callable[[int, int, Sequence[int], Config], Model] = _GCN
    repair: Callable[[Case, Config], Repaired] = untouched
    repairs: tuple[str, ...] = ()
    source: str = ""
    settings_of: str = ""
    sees_truth: bool = False

    def config(self, given: Config, nodes: int = 0) -> dict[str, Any]:
        """The defaults (for a graph of this size) with what is given, after a check that there are such settings."""
        unknown = [name for name in given if name not in self.defaults]
        if unknown:
            raise ValueError(f"{self.name} has no setting {unknown[0]!r}; it has {', '.join(sorted(self.defaults))}")
        large = LARGE if nodes >= LARGE_NODES and "batch_norm" in self.defaults else {}
        return {**self.defaults, **large, **given}
