"""Runs of any methods on one dataset: each repaired by itself, all that end in models of one shape trained at once."""

from __future__ import annotations

import gc
import json
import os
import time
from collections.abc import Iterator, Sequence
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

#: The features of a batch may take this part of what is free on a GPU: training needs some copies, and other processes
#: may be on it.
FEATURE_SHARE = 48


@dataclass(frozen=True, eq=False)
class Run:
    """A row of a table before it is run: a method with its settings on a case."""

    method: Method
    case: Case
    config: dict[str, Any]

    @property
    def shape(self) -> tuple[Any, str]:
        """What must be the same for models to be trained side by side. (So is the number of epochs, though it need
        not: all would go on as long as the longest.)"""
        free = {*SIDE_BY_SIDE, *self.method.repairs, "normalize"} - {"epochs"}
        rest = {name: value for name, value in self.config.items() if name not in free}
        return self.method.build, json.dumps([self.case.dataset, self.case.own_split, rest], sort_keys=True)

    @property
    def repair(self) -> tuple[Any, str, int]:
        """What must be the same for the repaired features to be."""
        given = json.dumps({name: self.config[name] for name in self.method.repairs}, sort_keys=True)
        return self.method.repair, given, id(self.case)


#: A candidate for the features: its place among those of its case, the runs (by number) that may use it, and itself.
Offer = tuple[int, list[int], Candidate]
#: A feature matrix and the models on it: (number of the run, name of the candidate).
Group = tuple[Any, list[tuple[int, str]]]


@dataclass(frozen=True)
class Place:
    """Where the cases of a table come from.

    Args:
        dataset: a name, or a graph.
        device: where to compute.
        split: which split of the dataset; see :func:`magnet.experiments.run_many`.
        folder: where corrupted graphs are kept.
        root: where the raw data lie.
    """

    dataset: str | Data
    device: torch.device
    split: int | str | None = None
    folder: str | os.PathLike[str] | None = None
    root: str | os.PathLike[str] | None = None

    @property
    def name(self) -> str:
        if isinstance(self.dataset, Data):
            return str(getattr(self.dataset, "name", None) or "graph")
        return info(self.dataset).name

    @property
    def nodes(self) -> int:
        return int(self.dataset.num_nodes or 0) if isinstance(self.dataset, Data) else info(self.name).nodes

    def case(self, corruption: str, options: dict[str, Any], seed: int, fixed: int | None) -> Case:
        """A repetition."""
        webkb = not isinstance(self.dataset, Data) and info(self.name).reader == "webkb"
        if isinstance(self.dataset, Data):
            data = self.dataset
        else:
            number = seed % (info(self.name).num_splits or 1) if webkb else 0
            if self.split is not None:
                number = seed if self.split == "seed" else int(self.split)
            data = _load(self.name, None if self.root is None else str(self.root), number)
        for part in ("y", "train_mask", "val_mask", "test_mask"):
            if data.get(part) is None:
                raise ValueError(f"{self.name} has no {part}; a classifier cannot be trained on it")
        bad = (
            None
            if corruption == "none"
            else self._corrupted(data, corruption, options, seed if fixed is None else fixed)
        )
        return Case(
            data if bad is None else bad.data,
            _graph(data),
            seed,
            bad,
            self.device,
            None if self.folder is None else Path(self.folder),
            dataset=self.name,
            kind=corruption,
            options=options,
            own_split=self.split == "seed" or (self.split is None and webkb),
        )

    def _corrupted(self, data: Data, corruption: str, options: dict[str, Any], seed: int) -> Corruption:
        """The corrupted graph; those of the last setting are kept, since all methods are given the same."""
        kept, of = _CORRUPTED
        setting = (id(data.x), corruption, json.dumps(options, sort_keys=True), str(self.folder))
        if of[:1] != [setting]:
            kept.clear()
            of[:] = [setting, data.x]  # as long as it is here no other matrix can get its id
        if seed not in kept:
            kept[seed] = corrupt_once(data, corruption, seed, self.folder, **options)
        return kept[seed]


def run_all(runs: Sequence[Run], batch: int | None = None, progress: bool = False) -> Iterator[tuple[int, Row]]:
    """Run everything, and yield each run's number and row when it is there.

    Args:
        runs: of any methods, on cases of one dataset.
        batch: how many cases to work on at once. (default: all that fit)
        progress: show a progress bar.
    """
    if batch is not None and batch < 1:
        raise ValueError(f"batch is {batch}; at least 1 is needed")
    shapes: dict[tuple[Any, str], list[int]] = {}
    for number, run in enumerate(runs):
        shapes.setdefault(run.shape, []).append(number)
    for members in shapes.values():
        limit = batch or _fitting([runs[number] for number in members])
        cases = list(dict.fromkeys(id(runs[number].case) for number in members))
        for start in range(0, len(cases), limit):
            some = set(cases[start : start + limit])
            part = [number for number in members if id(runs[number].case) in some]
            yield from zip(part, _until_it_fits([runs[number] for number in part], progress), strict=True)
            for number in part:
                runs[number].case.cache.clear()


def _fitting(runs: Sequence[Run]) -> int:
    """How many cases can be repaired at once: a repair holds a handful of dense copies of the features."""
    case = runs[0].case
    if all(run.method.repair is untouched for run in runs):
        return len(runs)
    nodes, columns = case.data.x.shape
    return max(1, int(available(case.device) / 2) // (6 * 4 * nodes * columns))


def _until_it_fits(runs: Sequence[Run], progress: bool) -> list[Row]:
    """All at once, or in halves where memory is not enough."""
    rows: list[Row] = []
    try:
        rows = _rows(runs, progress)
    except (nn.NotEnoughMemory, torch.OutOfMemoryError):
        if len(runs) == 1:
            raise
    if not rows:  # only here, outside of the handler, is what did not fit no longer held by the error
        gc.collect()
        half = len(runs) // 2
        return [row for part in (runs[:half], runs[half:]) for row in _until_it_fits(part, progress)]
    for row in rows:
        row["seconds"] = row["repair_seconds"] + row["train_seconds"]
    return rows


def _rows(runs: Sequence[Run], progress: bool) -> list[Row]:
    """Runs that end in models of one shape: every candidate of every run is one more model of the batch, as far as
    their features fit."""
    device = runs[0].case.device
    reset_peak_memory(device)
    offers, repaired, seconds = _offers(runs)
    best: dict[int, Row] = {}
    spent = [0.0] * len(runs)
    at_once = _at_once(runs)
    for start in range(0, len(offers), at_once):
        groups = _made(runs, offers[start : start + at_once], seconds)
        models = [model for _, members in groups for model in members]
        began = time.perf_counter()
        judged = _train(runs, groups, progress)
        share = (time.perf_counter() - began) / len(models)
        for (number, name), row in zip(models, judged, strict=True):
            spent[number] += share
            if number not in best or row["val_accuracy"] > best[number]["val_accuracy"] + 1e-9:
                best[number] = row | {"chosen": name}
    memory = peak_memory(device)
    return [
        _judged(run, best[number])
        | {"train_seconds": spent[number], "repair_seconds": seconds[number], "peak_memory": memory}
        | _facts(run, repaired[number])
        for number, run in enumerate(runs)
    ]


def _offers(runs: Sequence[Run]) -> tuple[list[Offer], list[Repaired], list[float]]:
    """The candidates of every run, the first of each in front, what was repaired, and how long it took; runs that are
    repaired alike share their candidates."""
    alike: dict[Any, list[int]] = {}
    for number, run in enumerate(runs):
        alike.setdefault(run.repair, []).append(number)
    offers: list[Offer] = []
    repaired: dict[int, Repaired] = {}
    seconds = [0.0] * len(runs)
    for users in alike.values():
        run = runs[users[0]]
        began, run.case.saved = time.perf_counter(), 0.0
        found = run.method.repair(run.case, run.config)
        for number in users:
            repaired[number] = found
            seconds[number] = time.perf_counter() - began + run.case.saved
        offers += [(place, users, candidate) for place, candidate in enumerate(found.candidates)]
    ordered = sorted(offers, key=lambda offer: offer[0])
    return ordered, [repaired[number] for number in range(len(runs))], seconds


def _at_once(runs: Sequence[Run]) -> int:
    """How many feature matrices to hold at once: on a GPU, where launching kernels takes the time, as many as fit."""
    case, cases = runs[0].case, len({id(run.case) for run in runs})
    if case.device.type == "cpu":
        return cases
    nodes, columns = case.data.x.shape
    return max(min(cases, 10), available(case.device) // FEATURE_SHARE // (4 * nodes * columns))


def _made(runs: Sequence[Run], offers: Sequence[Offer], seconds: list[float]) -> list[Group]:
    """Features, and the models that are trained on them; repetitions on the same matrix share it."""
    groups: dict[tuple[int, bool], Group] = {}
    kept = []  # as long as it is here no other matrix can get its id
    for _, users, candidate in offers:
        began = time.perf_counter()
        x = candidate.make()
        kept.append(x)
        for number in users:
            key = (id(x), bool(runs[number].config["normalize"]))
            if key not in groups:
                groups[key] = (nn.row_normalized(x) if key[1] else x, [])
            groups[key][1].append((number, candidate.name))
        for number in users:
            seconds[number] += time.perf_counter() - began
    return list(groups.values())


def _train(runs: Sequence[Run], groups: Sequence[Group], progress: bool) -> list[Row]:
    """Train all models at once; those on one matrix lie next to each other."""
    models = [runs[number] for _, members in groups for number, _ in members]
    first, data = runs[0].config, runs[0].case.data
    side = {name: [run.config[name] for run in models] for name in SIDE_BY_SIDE if name in first}
    seeds = [run.case.seed for run in models]
    classes = int(data.y.max()) + 1
    model = runs[0].method.build(data.x.shape[1], classes, seeds, {**first, **side}).to(runs[0].case.device)
    own = runs[0].case.own_split
    masks = [
        torch.stack([run.case.data[f"{part}_mask"].cpu() for run in models]) if own else data[f"{part}_mask"]
        for part in ("train", "val")
    ]
    fitted = nn.fit(
        model,
        _features(groups),
        runs[0].case.graph,
        data.y,
        masks[0],
        masks[1],
        rate=side["rate"],
        decay=side["decay"],
        decay_on=first["decay_on"],
        epochs=side["epochs"],
        patience=first["patience"],
        progress=progress,
    )
    return [
        {
            "val_accuracy": float(fitted.val_accuracy[s]),
            "epoch": int(fitted.epoch[s]),
            "val_loss": float(fitted.val_loss[s]),
            "scores": fitted.logits[s][run.case.data.test_mask.cpu()],
        }
        for s, run in enumerate(models)
    ]


def _judged(run: Run, row: Row) -> Row:
    """The row of the chosen candidate: only now are the test nodes looked at."""
    scores = row.pop("scores")
    y = run.case.data.y.cpu()[run.case.data.test_mask.cpu()]
    return {"test_accuracy": accuracy(scores, y), "test_auroc": auroc(scores, y), **row}


def _facts(run: Run, repaired: Repaired) -> Row:
    case = run.case
    return {
        "dataset": case.dataset,
        "corruption": case.kind,
        "method": run.method.name,
        "seed": case.seed,
        "device": device_name(case.device),
        "config": json.loads(json.dumps(run.config)),
        "corruption_options": json.loads(json.dumps(case.options)),
        "checksum": None if case.corruption is None else case.corruption.info["checksum"],
        "detection": repaired.detection,
        "remark": repaired.remark,
        "version": magnet.__version__,
    }


def _features(groups: Sequence[Group]) -> Any:
    """One matrix, or several that serve equal numbers of models, as :func:`magnet.nn.fit` takes them."""
    if len(groups) == 1:
        return groups[0][0]
    if len({len(members) for _, members in groups}) == 1:
        return [x for x, _ in groups]
    return [x for x, members in groups for _ in members]


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
