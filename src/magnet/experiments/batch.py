"""Repetitions of a method, repaired one by one and trained at once."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

import magnet
from magnet import nn
from magnet.corruption import Corruption, corrupt_once
from magnet.datasets import info, load
from magnet.experiments.measure import accuracy, auroc, peak_memory, reset_peak_memory
from magnet.experiments.methods.base import SIDE_BY_SIDE, Candidate, Case, Method, Repaired, untouched
from magnet.graph import Graph
from magnet.nn.memory import available

Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Batch:
    """What the rows of one call have in common."""

    method: Method
    dataset: str
    corruption: str
    corruption_options: dict[str, Any]
    device: torch.device
    progress: bool

    def case(
        self,
        dataset: str | Data,
        seed: int,
        fixed: int | None,
        split: int | str | None,
        folder: str | os.PathLike[str] | None,
        root: str | os.PathLike[str] | None,
    ) -> Case:
        if isinstance(dataset, Data):
            data = dataset
        else:
            entry = info(self.dataset)
            number = 0 if entry.reader != "webkb" else seed % (entry.num_splits or 1)
            if split is not None:
                number = seed if split == "seed" else int(split)
            data = _load(self.dataset, None if root is None else str(root), number)
        for part in ("y", "train_mask", "val_mask", "test_mask"):
            if data.get(part) is None:
                raise ValueError(f"{self.dataset} has no {part}; a classifier cannot be trained on it")
        bad: Corruption | None = None
        if self.corruption != "none":
            bad = corrupt_once(
                data, self.corruption, seed if fixed is None else fixed, folder, **self.corruption_options
            )
        kept = None if folder is None else Path(folder)
        return Case(data if bad is None else bad.data, _graph(data), seed, bad, self.device, kept)

    def fitting(self, cases: Sequence[Case]) -> int:
        """How many cases can be repaired at once: a repair holds a handful of dense copies of the features."""
        if self.method.repair is untouched:
            return len(cases)
        nodes, columns = cases[0].data.x.shape
        return max(1, int(available(self.device) / 2) // (6 * 4 * nodes * columns))

    def rows(self, cases: Sequence[Case], configs: Sequence[dict[str, Any]], own_splits: bool) -> list[list[Row]]:
        """All cases with settings that give models of one shape."""
        reset_peak_memory(self.device)
        repaired, seconds = [], []
        for case in cases:
            began = time.perf_counter()
            repaired.append(self.method.repair(case, configs[0]))
            seconds.append(time.perf_counter() - began)
        best: dict[tuple[int, int], Row] = {}
        for name in dict.fromkeys(candidate.name for each in repaired for candidate in each.candidates):
            members = [r for r, each in enumerate(repaired) if _named(each, name) is not None]
            features: list[Any] = []
            scaled: dict[int, Any] = {}  # repetitions on the same matrix share it afterwards too
            for r in members:
                began = time.perf_counter()
                candidate = _named(repaired[r], name)
                assert candidate is not None
                x = candidate.make()
                if configs[0]["normalize"] and id(x) not in scaled:
                    scaled[id(x)] = (x, nn.row_normalized(x))
                features.append(scaled[id(x)][1] if configs[0]["normalize"] else x)
                seconds[r] += time.perf_counter() - began
            began = time.perf_counter()
            judged = self._train([cases[r] for r in members], features, configs, own_splits)
            share = (time.perf_counter() - began) / len(judged)
            for (k, place), row in judged.items():
                key = (k, members[place])
                row |= {"chosen": name, "train_seconds": share}
                if key not in best or row["val_accuracy"] > best[key]["val_accuracy"] + 1e-9:
                    row["train_seconds"] += best[key]["train_seconds"] if key in best else 0.0
                    best[key] = row
                else:
                    best[key]["train_seconds"] += share
        memory = peak_memory(self.device)
        for (k, r), row in best.items():
            row |= self._facts(cases[r], repaired[r], configs[k], seconds[r], memory)
        return [[best[k, r] for r in range(len(cases))] for k in range(len(configs))]

    def _train(
        self, cases: Sequence[Case], features: list[Any], configs: Sequence[dict[str, Any]], own_splits: bool
    ) -> dict[tuple[int, int], Row]:
        """Train every setting on every case; models of one case lie next to each other."""
        first, count = configs[0], len(configs)
        seeds = [case.seed for case in cases for _ in configs]
        side = {
            name: [config[name] for _ in cases for config in configs]
            for name in SIDE_BY_SIDE
            if name in self.method.defaults
        }
        data = cases[0].data
        classes = int(data.y.max()) + 1
        shared = all(x is features[0] for x in features)
        model = self.method.build(data.x.shape[1], classes, seeds, {**first, **side}).to(self.device)
        masks = [
            _stack([case.data[f"{part}_mask"] for case in cases], count) if own_splits else data[f"{part}_mask"]
            for part in ("train", "val")
        ]
        fitted = nn.fit(
            model,
            features[0] if shared else features,
            cases[0].graph,
            data.y,
            masks[0],
            masks[1],
            rate=side["rate"],
            decay=side["decay"],
            decay_on=first["decay_on"],
            epochs=side["epochs"],
            patience=first["patience"],
            progress=self.progress,
        )
        rows = {}
        for place, case in enumerate(cases):
            test = case.data.test_mask.cpu()
            for k in range(count):
                s = place * count + k
                scores, y = fitted.logits[s][test], case.data.y.cpu()[test]
                rows[k, place] = {
                    "test_accuracy": accuracy(scores, y),
                    "val_accuracy": float(fitted.val_accuracy[s]),
                    "test_auroc": auroc(scores, y),
                    "epoch": int(fitted.epoch[s]),
                    "val_loss": float(fitted.val_loss[s]),
                }
        return rows

    def _facts(self, case: Case, repaired: Repaired, config: dict[str, Any], seconds: float, memory: int) -> Row:
        device = "cpu" if self.device.type == "cpu" else torch.cuda.get_device_name(self.device)
        facts: Row = {
            "dataset": self.dataset,
            "corruption": self.corruption,
            "method": self.method.name,
            "seed": case.seed,
            "repair_seconds": seconds,
            "peak_memory": memory,
            "device": device,
            "config": json.loads(json.dumps(config)),
            "corruption_options": json.loads(json.dumps(self.corruption_options)),
            "checksum": None if case.corruption is None else case.corruption.info["checksum"],
            "detection": repaired.detection,
            "remark": repaired.remark,
            "version": magnet.__version__,
        }
        return facts


def until_it_fits(
    run: Batch, cases: Sequence[Case], configs: Sequence[dict[str, Any]], own_splits: bool
) -> list[list[Row]]:
    """All at once, or in halves where memory is not enough."""
    try:
        rows = run.rows(cases, configs, own_splits)
    except nn.NotEnoughMemory:
        if len(cases) == 1:
            raise
        half = len(cases) // 2
        parts = [until_it_fits(run, part, configs, own_splits) for part in (cases[:half], cases[half:])]
        return [left + right for left, right in zip(*parts, strict=True)]
    for each in rows:
        for row in each:
            row["seconds"] = row["repair_seconds"] + row["train_seconds"]
    return rows


def _named(repaired: Repaired, name: str) -> Candidate | None:
    return next((candidate for candidate in repaired.candidates if candidate.name == name), None)


def _stack(masks: Sequence[Tensor], repeats: int) -> Tensor:
    return torch.stack([mask.cpu() for mask in masks]).repeat_interleave(repeats, dim=0)


@lru_cache(maxsize=16)
def _load(name: str, root: str | None, split: int) -> Data:
    return load(name, root, split)


_GRAPHS: list[tuple[Any, Graph]] = []


def _graph(data: Data) -> Graph:
    """The operators of a graph; repetitions on the same edges share them."""
    weight = data.get("edge_weight")
    for (edges, weights, nodes), graph in _GRAPHS:
        if edges is data.edge_index and weights is weight and nodes == data.num_nodes:
            return graph
    graph = Graph.from_edges(data.edge_index, int(data.num_nodes or 0), weight)
    _GRAPHS.append(((data.edge_index, weight, data.num_nodes), graph))
    del _GRAPHS[:-4]
    return graph
