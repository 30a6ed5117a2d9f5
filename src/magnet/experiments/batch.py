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
from torch_geometric.data import Data

import magnet
from magnet import nn
from magnet.corruption import Corruption, corrupt_once
from magnet.datasets import info, load
from magnet.experiments.measure import accuracy, auroc, device_name, peak_memory, reset_peak_memory
from magnet.experiments.methods.base import SIDE_BY_SIDE, Candidate, Case, Method, Repaired, untouched
from magnet.graph import Graph
from magnet.nn.memory import available

Row = dict[str, Any]
#: A candidate for the features of a case: its place among them, the case, the settings that use it, and itself.
Offer = tuple[int, int, list[int], Candidate]
#: A feature matrix and the models on it: (setting, case, name of the candidate).
Group = tuple[Any, list[tuple[int, int, str]]]

#: The features of a batch may take this part of what is free on a GPU: training needs some copies, and other processes
#: may be on it.
FEATURE_SHARE = 32


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
            bad = self._corrupted(data, seed if fixed is None else fixed, folder)
        kept = None if folder is None else Path(folder)
        return Case(data if bad is None else bad.data, _graph(data), seed, bad, self.device, kept)

    def _corrupted(self, data: Data, seed: int, folder: str | os.PathLike[str] | None) -> Corruption:
        """The corrupted graph; those of the last setting are kept, since all methods are given the same."""
        kept, of = _CORRUPTED
        setting = (id(data.x), self.corruption, json.dumps(self.corruption_options, sort_keys=True), str(folder))
        if of[:1] != [setting]:
            kept.clear()
            of[:] = [setting, data.x]  # as long as it is here no other matrix can get its id
        if seed not in kept:
            kept[seed] = corrupt_once(data, self.corruption, seed, folder, **self.corruption_options)
        return kept[seed]

    def fitting(self, cases: Sequence[Case]) -> int:
        """How many cases can be repaired at once: a repair holds a handful of dense copies of the features."""
        if self.method.repair is untouched:
            return len(cases)
        nodes, columns = cases[0].data.x.shape
        return max(1, int(available(self.device) / 2) // (6 * 4 * nodes * columns))

    def rows(self, cases: Sequence[Case], configs: Sequence[dict[str, Any]], own_splits: bool) -> list[list[Row]]:
        """All cases with settings that give models of one shape: every candidate of every case is one more model of
        the batch, as far as their features fit."""
        reset_peak_memory(self.device)
        repaired: dict[tuple[int, int], Repaired] = {}
        seconds: dict[tuple[int, int], float] = {}
        offers = self._offers(cases, configs, repaired, seconds)
        best: dict[tuple[int, int], Row] = {}
        spent: dict[tuple[int, int], float] = {}
        for part in _parts(offers, self._at_once(cases)):
            groups = self._made(part, configs, seconds)
            models = [model for _, members in groups for model in members]
            began = time.perf_counter()
            judged = self._train(cases, configs, groups, own_splits)
            share = (time.perf_counter() - began) / len(models)
            for (k, r, name), row in zip(models, judged, strict=True):
                spent[k, r] = spent.get((k, r), 0.0) + share
                if (k, r) not in best or row["val_accuracy"] > best[k, r]["val_accuracy"] + 1e-9:
                    best[k, r] = row | {"chosen": name}
        memory = peak_memory(self.device)
        for (k, r), row in best.items():
            row["train_seconds"] = spent[k, r]
            row |= self._facts(cases[r], repaired[k, r], configs[k], seconds[k, r], memory)
        return [[best[k, r] for r in range(len(cases))] for k in range(len(configs))]

    def _offers(
        self,
        cases: Sequence[Case],
        configs: Sequence[dict[str, Any]],
        repaired: dict[tuple[int, int], Repaired],
        seconds: dict[tuple[int, int], float],
    ) -> list[Offer]:
        """The candidates of every case, the first of each in front; settings that repair alike share them."""
        alike: dict[str, list[int]] = {}
        for k, config in enumerate(configs):
            same = json.dumps({name: config[name] for name in self.method.repairs}, sort_keys=True)
            alike.setdefault(same, []).append(k)
        offers = []
        for r, case in enumerate(cases):
            for users in alike.values():
                began, case.saved = time.perf_counter(), 0.0
                found = self.method.repair(case, configs[users[0]])
                for k in users:
                    repaired[k, r], seconds[k, r] = found, time.perf_counter() - began + case.saved
                offers += [(place, r, users, candidate) for place, candidate in enumerate(found.candidates)]
        return sorted(offers, key=lambda offer: offer[0])

    def _at_once(self, cases: Sequence[Case]) -> int:
        """How many feature matrices to hold at once: where launching kernels is what takes time, as many as fit."""
        if self.device.type == "cpu":
            return len(cases)
        nodes, columns = cases[0].data.x.shape
        return max(len(cases), available(self.device) // FEATURE_SHARE // (4 * nodes * columns))

    def _made(
        self, offers: Sequence[Offer], configs: Sequence[dict[str, Any]], seconds: dict[tuple[int, int], float]
    ) -> list[Group]:
        """Features, and the models that are trained on them; repetitions on the same matrix share it."""
        groups: dict[tuple[int, bool], Group] = {}
        kept = []  # as long as it is here no other matrix can get its id
        for _, r, users, candidate in offers:
            began = time.perf_counter()
            x = candidate.make()
            kept.append(x)
            for k in users:
                key = (id(x), bool(configs[k]["normalize"]))
                if key not in groups:
                    groups[key] = (nn.row_normalized(x) if key[1] else x, [])
                groups[key][1].append((k, r, candidate.name))
            for k in users:
                seconds[k, r] += time.perf_counter() - began
        return list(groups.values())

    def _train(
        self,
        cases: Sequence[Case],
        configs: Sequence[dict[str, Any]],
        groups: Sequence[Group],
        own_splits: bool,
    ) -> list[Row]:
        """Train all models at once; those on one matrix lie next to each other."""
        models = [model for _, members in groups for model in members]
        side = {name: [configs[k][name] for k, _, _ in models] for name in SIDE_BY_SIDE if name in self.method.defaults}
        first, data = configs[0], cases[0].data
        classes = int(data.y.max()) + 1
        seeds = [cases[r].seed for _, r, _ in models]
        model = self.method.build(data.x.shape[1], classes, seeds, {**first, **side}).to(self.device)
        masks = [
            torch.stack([cases[r].data[f"{part}_mask"].cpu() for _, r, _ in models])
            if own_splits
            else data[f"{part}_mask"]
            for part in ("train", "val")
        ]
        fitted = nn.fit(
            model,
            _features(groups),
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
        rows = []
        for s, (_, r, _) in enumerate(models):
            test = cases[r].data.test_mask.cpu()
            scores, y = fitted.logits[s][test], cases[r].data.y.cpu()[test]
            rows.append(
                {
                    "test_accuracy": accuracy(scores, y),
                    "val_accuracy": float(fitted.val_accuracy[s]),
                    "test_auroc": auroc(scores, y),
                    "epoch": int(fitted.epoch[s]),
                    "val_loss": float(fitted.val_loss[s]),
                }
            )
        return rows

    def _facts(self, case: Case, repaired: Repaired, config: dict[str, Any], seconds: float, memory: int) -> Row:
        facts: Row = {
            "dataset": self.dataset,
            "corruption": self.corruption,
            "method": self.method.name,
            "seed": case.seed,
            "repair_seconds": seconds,
            "peak_memory": memory,
            "device": device_name(self.device),
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


def _features(groups: Sequence[Group]) -> Any:
    """One matrix, or several that serve equal numbers of models, as :func:`magnet.nn.fit` takes them."""
    if len(groups) == 1:
        return groups[0][0]
    if len({len(members) for _, members in groups}) == 1:
        return [x for x, _ in groups]
    return [x for x, members in groups for _ in members]


def _parts(offers: list[Offer], size: int) -> list[list[Offer]]:
    return [offers[start : start + size] for start in range(0, len(offers), size)]


@lru_cache(maxsize=16)
def _load(name: str, root: str | None, split: int) -> Data:
    return load(name, root, split)


_CORRUPTED: tuple[dict[int, Corruption], list[Any]] = ({}, [])
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
