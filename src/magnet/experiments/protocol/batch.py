"""Runs of several methods on one dataset: models of the same shape are trained together."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

import magnet
from magnet.checks import at_least
from magnet.experiments.methods.base import Method, RepairCandidates, untouched
from magnet.experiments.protocol.data import Repetition
from magnet.experiments.protocol.measure import accuracy, auroc, device_name, peak_memory, reset_peak_memory
from magnet.nn.committee import Committee
from magnet.nn.members import Member, Problem
from magnet.nn.memory import available
from magnet.nn.voting import average, best, weights

Row = dict[str, Any]

REPAIR_COPIES, FLOAT_BYTES = 6, 4  # dense copies of the features that a repair holds, and bytes of a number
MIN_PROBABILITY = 1e-300  # of a class, so that its logarithm is finite


@dataclass(frozen=True, eq=False)
class Experiment:
    """A row of a table before it is run: a method with its settings on a repetition."""

    method: Method
    repetition: Repetition
    config: dict[str, Any]

    @property
    def shape(self) -> tuple[Any, ...]:
        """Experiments with the same shape can be trained together."""
        shapes = tuple(recipe.shape for recipe in self.method.recipes(self.repetition.data, self.config))
        return (*shapes, self.repetition.own_split, self.method.average, self.config.get("initializations", 1))

    @property
    def repair_key(self) -> tuple[Any, str, int]:
        """Experiments with the same key have the same repaired features."""
        settings = json.dumps({name: self.config[name] for name in self.method.repair_settings}, sort_keys=True)
        return self.method.repair, settings, id(self.repetition)


def run_experiments(
    experiments: Sequence[Experiment], batch: int | None = None, progress: bool = False
) -> Iterator[tuple[int, Row]]:
    """Run all experiments; yields the number and the row of each as soon as it is finished.

    Args:
        experiments: of any methods, on repetitions of one dataset.
        batch: how many repetitions to work on at once. (default: all that fit)
        progress: show a progress bar.
    """
    if batch is not None:
        at_least("batch", batch, 1)
    shapes: dict[Any, list[int]] = {}
    for number, experiment in enumerate(experiments):
        shapes.setdefault(experiment.shape, []).append(number)
    for members in shapes.values():
        limit = batch or _fitting([experiments[number] for number in members])
        repetitions = list(dict.fromkeys(id(experiments[number].repetition) for number in members))
        for start in range(0, len(repetitions), limit):
            chosen = set(repetitions[start : start + limit])
            part = [number for number in members if id(experiments[number].repetition) in chosen]
            yield from zip(part, _rows([experiments[number] for number in part], progress), strict=True)
            for number in part:
                experiments[number].repetition.cache.clear()


def _fitting(experiments: Sequence[Experiment]) -> int:
    """How many repetitions can be repaired at once: a repair holds a handful of dense copies of the features."""
    if all(experiment.method.repair is untouched for experiment in experiments):
        return len(experiments)
    repetition = experiments[0].repetition
    nodes, columns = repetition.data.x.shape
    return max(1, int(available(repetition.device) / 2) // (REPAIR_COPIES * FLOAT_BYTES * nodes * columns))


def _rows(experiments: Sequence[Experiment], progress: bool) -> list[Row]:
    first = experiments[0]
    device = first.repetition.device
    reset_peak_memory(device)
    repaired, seconds = _repaired(experiments)
    problems = [_problem(experiment, candidates) for experiment, candidates in zip(experiments, repaired, strict=True)]
    count = int(first.config.get("initializations", 1))
    committee = Committee(problems, device, count, progress=progress).train()
    memory = peak_memory(device)
    rows = []
    for number, (experiment, problem) in enumerate(zip(experiments, problems, strict=True)):
        members = committee.members[number]
        train_seconds = sum(member.seconds for member in members)
        repair_seconds = seconds[number] + committee.make_seconds[number]
        rows.append(
            _judged(experiment, problem, members)
            | {"train_seconds": train_seconds, "repair_seconds": repair_seconds, "peak_memory": memory}
            | _facts(experiment, repaired[number])
            | {"seconds": repair_seconds + train_seconds}
        )
    return rows


def _repaired(experiments: Sequence[Experiment]) -> tuple[list[RepairCandidates], list[float]]:
    """The candidates of every experiment and the detection time; experiments with the same repairs share them."""
    by_repair: dict[Any, tuple[RepairCandidates, float]] = {}
    for repair_all in {experiment.method.repair_all for experiment in experiments}:
        if repair_all is None:
            continue
        shared = {e.repair_key: (e.repetition, e.config) for e in experiments if e.method.repair_all is repair_all}
        began = time.perf_counter()
        repairs = repair_all(list(shared.values()))
        seconds = (time.perf_counter() - began) / len(shared)
        by_repair |= {key: (candidates, seconds) for key, candidates in zip(shared, repairs, strict=True)}
    for experiment in experiments:
        if experiment.repair_key not in by_repair:
            repetition = experiment.repetition
            began, repetition.saved = time.perf_counter(), 0.0
            candidates = experiment.method.repair(repetition, experiment.config)
            by_repair[experiment.repair_key] = candidates, time.perf_counter() - began + repetition.saved
    pairs = [by_repair[experiment.repair_key] for experiment in experiments]
    return [candidates for candidates, _ in pairs], [seconds for _, seconds in pairs]


def _problem(experiment: Experiment, repaired: RepairCandidates) -> Problem:
    repetition = experiment.repetition
    data = repetition.data
    return Problem(
        graph=repaired.graph or repetition.graph,
        y=data.y,
        train_mask=data.train_mask,
        val_mask=data.val_mask,
        inputs=int(data.x.shape[1]),
        outputs=int(data.y.max()) + 1,
        seed=repetition.seed,
        candidates=repaired.candidates,
        recipes=experiment.method.recipes(data, experiment.config),
        own_split=repetition.own_split,
    )


def _judged(experiment: Experiment, problem: Problem, members: Sequence[Member]) -> Row:
    """The metrics of the chosen member, or of the committee's average; only this step uses the test nodes."""
    leader = members[best(members)]
    row: Row = {
        "val_accuracy": leader.val_accuracy,
        "epoch": leader.epoch,
        "val_loss": leader.val_loss,
        "chosen": leader.candidate,
    }
    scores = leader.logits
    if experiment.method.average:
        weight = weights(members, problem.y, problem.val_mask, problem.unlabeled)
        probability = average(members, weight)
        val = problem.val_mask.cpu()
        row["val_accuracy"] = accuracy(probability[val], problem.y.cpu()[val])
        row["chosen"] = leader.name
        row["members"] = {member.name: 0.0 for member in members}
        for member, share in zip(members, weight, strict=True):
            row["members"][member.name] += round(float(share), 4)
        scores = torch.log(probability.clamp(min=MIN_PROBABILITY))
    test = experiment.repetition.data.test_mask.cpu()
    y: Tensor = problem.y.cpu()[test]
    return {"test_accuracy": accuracy(scores[test], y), "test_auroc": auroc(scores[test], y), **row}


def _facts(experiment: Experiment, repaired: RepairCandidates) -> Row:
    repetition = experiment.repetition
    return {
        "dataset": repetition.dataset,
        "corruption": repetition.kind,
        "method": experiment.method.name,
        "seed": repetition.seed,
        "device": device_name(repetition.device),
        "config": json.loads(json.dumps(experiment.config)),
        "corruption_options": json.loads(json.dumps(repetition.options)),
        "checksum": None if repetition.corruption is None else repetition.corruption.info["checksum"],
        "detection": repaired.detection,
        "remark": repaired.remark,
        "version": magnet.__version__,
    }
