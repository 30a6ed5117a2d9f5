"""One row of any table: load, corrupt, repair, train, judge."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

import magnet
from magnet import nn
from magnet.corruption import Corruption, corrupt_once
from magnet.datasets import info, load
from magnet.experiments import methods
from magnet.experiments.measure import accuracy, auroc, peak_memory, reset_peak_memory
from magnet.experiments.methods.base import SIDE_BY_SIDE, Candidate, Case, Method, Repaired, untouched
from magnet.experiments.settings import tuned
from magnet.graph import Graph
from magnet.nn.memory import available

Row = dict[str, Any]
Settings = Literal["default", "tuned"]


def run_one(dataset: str | Data, corruption: str, method: str, seed: int = 0, **config: Any) -> Row:
    """Run one row of a table.

    Args:
        dataset: a name of :func:`magnet.datasets.load`, or a graph with ``x``, ``y`` and the three masks.
        corruption: ``"none"`` or one of :data:`magnet.corruption.KINDS`.
        method: one of :data:`magnet.experiments.methods.METHODS`.
        seed: of the repetition: its corruption, its detector and its initialisation.
        config: settings of the method, and the arguments of :func:`run_many`.

    Returns:
        The row: ``dataset corruption method seed test_accuracy val_accuracy test_auroc epoch seconds peak_memory
        device config detection chosen ...``; accuracies are fractions.

    Example:
        >>> row = run_one("digits", "inject-random", "gcn", seed=0, epochs=30)
        >>> row["method"], 0.5 < row["test_accuracy"] < 1
        ('gcn', True)
    """
    return run_many(dataset, corruption, method, [seed], **config)[0]


def run_many(
    dataset: str | Data,
    corruption: str,
    method: str,
    seeds: Sequence[int],
    *,
    corruption_options: Mapping[str, Any] | None = None,
    fixed_corruption: int | None = None,
    split: int | Literal["seed"] | None = None,
    settings: Settings = "default",
    device: str | torch.device | None = None,
    folder: str | os.PathLike[str] | None = None,
    root: str | os.PathLike[str] | None = None,
    batch: int | None = None,
    progress: bool = False,
    **config: Any,
) -> list[Row]:
    """Run several repetitions of a row, trained as one batch: what :func:`run_one` gives for each, up to rounding.

    Args:
        dataset, corruption, method: as for :func:`run_one`.
        seeds: of the repetitions.
        corruption_options: options of the corruption (ratio, budget ...). (default: the paper's)
        fixed_corruption: corrupt by this seed in every repetition, as the paper does. (default: by the repetition's)
        split: which split of the dataset; ``"seed"`` for the one with the repetition's number. (default: 0; for
            Wisconsin and Texas the repetition's, of their ten)
        settings: ``"tuned"`` for those of ``settings.toml``, where it has some for this method and dataset.
        device: (default: a GPU where there is one)
        folder: where corrupted graphs are kept. (default: the user's cache)
        root: where the raw data lie. (default: see :func:`magnet.datasets.load`)
        batch: how many repetitions to train at once. (default: all, and fewer where they do not fit)
        progress: show a progress bar.
        config: settings of the method.
    """
    rows = run_settings(
        dataset,
        corruption,
        method,
        seeds,
        [config],
        corruption_options=corruption_options,
        fixed_corruption=fixed_corruption,
        split=split,
        settings=settings,
        device=device,
        folder=folder,
        root=root,
        batch=batch,
        progress=progress,
    )
    return rows[0]


def run_settings(
    dataset: str | Data,
    corruption: str,
    method: str,
    seeds: Sequence[int],
    configs: Sequence[Mapping[str, Any]],
    *,
    corruption_options: Mapping[str, Any] | None = None,
    fixed_corruption: int | None = None,
    split: int | Literal["seed"] | None = None,
    settings: Settings = "default",
    device: str | torch.device | None = None,
    folder: str | os.PathLike[str] | None = None,
    root: str | os.PathLike[str] | None = None,
    batch: int | None = None,
    progress: bool = False,
) -> list[list[Row]]:
    """Run several settings of a method, each on all repetitions; ``result[setting][repetition]`` is a row.

    Settings that give models of the same shape are trained at once.
    """
    chosen = methods.get(method)
    if settings not in ("default", "tuned"):
        raise ValueError(f"settings is {settings!r}; it must be 'default' or 'tuned'")
    if not seeds:
        raise ValueError("seeds is empty; at least one is needed")
    name = str(getattr(dataset, "name", None) or "graph") if isinstance(dataset, Data) else info(dataset).name
    base = tuned(method, name, corruption) if settings == "tuned" else {}
    nodes = int(dataset.num_nodes or 0) if isinstance(dataset, Data) else info(name).nodes
    full = [chosen.config({**base, **config}, nodes) for config in configs]
    run = _Run(
        chosen,
        name,
        corruption,
        dict(corruption_options or {}),
        torch.device(device) if device is not None else torch.device("cuda" if torch.cuda.is_available() else "cpu"),
        progress,
    )
    cases = [run.case(dataset, seed, fixed_corruption, split, folder, root) for seed in seeds]
    own_splits = split == "seed" or (split is None and not isinstance(dataset, Data) and info(name).reader == "webkb")
    rows: dict[tuple[int, int], Row] = {}
    for members in _same_shape(full):
        for part in _parts(range(len(cases)), run.fitting(cases) if batch is None else batch):
            group = [cases[r] for r in part]
            done = _until_it_fits(run, group, [full[k] for k in members], own_splits)
            for r, place in enumerate(part):
                for k, member in enumerate(members):
                    rows[member, place] = done[k][r]
    return [[rows[k, r] for r in range(len(cases))] for k in range(len(full))]


@dataclass(frozen=True, eq=False)
class _Run:
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
        shared = len(features) > 1 and all(x is features[0] for x in features)
        matrices = nn.Features.of(features[0] if shared else features, torch.zeros(0, device=self.device))
        model = self.method.build(matrices.columns, classes, seeds, {**first, **side}).to(self.device)
        masks = [
            _stack([case.data[f"{part}_mask"] for case in cases], count) if own_splits else data[f"{part}_mask"]
            for part in ("train", "val")
        ]
        fitted = nn.fit(
            model,
            matrices,
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


def _until_it_fits(
    run: _Run, cases: Sequence[Case], configs: Sequence[dict[str, Any]], own_splits: bool
) -> list[list[Row]]:
    """All at once, or in halves where memory is not enough."""
    try:
        rows = run.rows(cases, configs, own_splits)
    except nn.NotEnoughMemory:
        if len(cases) == 1:
            raise
        half = len(cases) // 2
        parts = [_until_it_fits(run, part, configs, own_splits) for part in (cases[:half], cases[half:])]
        return [left + right for left, right in zip(*parts, strict=True)]
    for each in rows:
        for row in each:
            row["seconds"] = row["repair_seconds"] + row["train_seconds"]
    return rows


def _named(repaired: Repaired, name: str) -> Candidate | None:
    return next((candidate for candidate in repaired.candidates if candidate.name == name), None)


def _same_shape(configs: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """Which settings can be trained side by side."""
    groups: dict[str, list[int]] = {}
    for place, config in enumerate(configs):
        shape = {name: value for name, value in config.items() if name not in SIDE_BY_SIDE}
        groups.setdefault(json.dumps(shape, sort_keys=True), []).append(place)
    return list(groups.values())


def _parts(places: Sequence[int], size: int | None) -> list[Sequence[int]]:
    if size is not None and size < 1:
        raise ValueError(f"batch is {size}; at least 1 is needed")
    step = size or len(places)
    return [places[start : start + step] for start in range(0, len(places), step)]


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


def summary(rows: Sequence[Row]) -> dict[str, float]:
    """Mean and deviation (over repetitions, with n - 1) of the accuracies of some rows, in percent."""
    test = 100 * np.array([row["test_accuracy"] for row in rows])
    val = 100 * np.array([row["val_accuracy"] for row in rows])
    spread = float(test.std(ddof=1)) if len(test) > 1 else 0.0
    return {"test": float(test.mean()), "deviation": spread, "val": float(val.mean()), "repetitions": len(test)}
