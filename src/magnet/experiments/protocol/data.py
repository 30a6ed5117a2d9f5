"""Repetitions of an experiment: a corrupted dataset, and the values that methods share."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from magnet.arrays import dense_x
from magnet.corruption import Corruption, corrupt_once
from magnet.datasets import info, load
from magnet.graph import Graph


@dataclass(eq=False)
class Repetition:
    """A corrupted graph, and the truth about it for the methods that are allowed to see it.

    Args:
        data: the graph as it is given to the method.
        graph: its operators.
        seed: of the repetition.
        corruption: the truth (None: nothing was corrupted).
        device: where to compute.
        dataset, kind, options: names of the dataset and the corruption, and the options of the latter.
        own_split: whether repetitions have different splits.
        saved: seconds of detection taken from the cache; they count for every method that uses it.
        cache: values computed once for all methods of a batch.
        detections: what detectors found, kept for the methods that follow.
    """

    data: Data
    graph: Graph
    seed: int
    corruption: Corruption | None
    device: torch.device
    dataset: str = ""
    kind: str = "none"
    options: dict[str, Any] = field(default_factory=dict)
    own_split: bool = False
    saved: float = 0.0
    cache: dict[Any, Any] = field(default_factory=dict, repr=False)
    detections: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def x(self) -> Tensor:
        """The features, dense and on the device."""
        if "x" not in self.cache:
            self.cache["x"] = dense_x(self.data).to(self.device)
        features: Tensor = self.cache["x"]
        return features


@dataclass(eq=False)
class ExperimentData:
    """Makes the repetitions of a dataset. Those with the same corruption and seed are one object, so that methods share
    what was computed for it.

    Args:
        dataset: a name, or a graph.
        device: where to compute.
        split: which split of the dataset; see :func:`magnet.experiments.run_one`.
        folder: where corrupted graphs are kept.
        root: folder of the raw data.
    """

    dataset: str | Data
    device: torch.device
    split: int | str | None = None
    folder: str | os.PathLike[str] | None = None
    root: str | os.PathLike[str] | None = None
    _splits: dict[int, Data] = field(default_factory=dict, repr=False)
    _graphs: list[tuple[Any, Graph]] = field(default_factory=list, repr=False)
    _repetitions: dict[str, Repetition] = field(default_factory=dict, repr=False)
    _detections: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        if isinstance(self.dataset, Data):
            return str(getattr(self.dataset, "name", None) or "graph")
        return info(self.dataset).name

    @property
    def nodes(self) -> int:
        return int(self.dataset.num_nodes or 0) if isinstance(self.dataset, Data) else info(self.name).nodes

    def repetition(self, corruption: str, options: dict[str, Any], seed: int, fixed: int | None) -> Repetition:
        """A repetition; ``fixed`` is the seed of the corruption, if it is not that of the repetition."""
        key = json.dumps([corruption, options, seed, fixed], sort_keys=True)
        if key not in self._repetitions:
            data, own_split = self._data(seed)
            for part in ("y", "train_mask", "val_mask", "test_mask"):
                if data.get(part) is None:
                    raise ValueError(f"{self.name} has no {part}; a classifier cannot be trained on it")
            bad = None
            if corruption != "none":
                folder = None if self.folder is None else Path(self.folder)
                bad = corrupt_once(data, corruption, seed if fixed is None else fixed, folder, **options)
            self._repetitions[key] = Repetition(
                data if bad is None else bad.data,
                self._graph(data),
                seed,
                bad,
                self.device,
                dataset=self.name,
                kind=corruption,
                options=options,
                own_split=own_split,
                detections=self._detections,
            )
        return self._repetitions[key]

    def _data(self, seed: int) -> tuple[Data, bool]:
        """The clean graph with the split of a repetition, and whether other repetitions have another one."""
        if isinstance(self.dataset, Data):
            return self.dataset, self.split == "seed"
        webkb = info(self.name).reader == "webkb"
        number = seed % (info(self.name).num_splits or 1) if webkb else 0
        if self.split is not None:
            number = seed if self.split == "seed" else int(self.split)
        if number not in self._splits:
            self._splits[number] = load(self.name, self.root, number)
        return self._splits[number], self.split == "seed" or (self.split is None and webkb)

    def _graph(self, data: Data) -> Graph:
        """The operators of a graph; repetitions on the same edges share them."""
        weight = data.get("edge_weight")
        for (edges, weights), graph in self._graphs:
            same = edges is data.edge_index or torch.equal(edges, data.edge_index)
            if same and weights is weight and graph.num_nodes == data.num_nodes:
                return graph
        graph = Graph.from_edges(data.edge_index, int(data.num_nodes or 0), weight)
        self._graphs.append(((data.edge_index, weight), graph))
        return graph
