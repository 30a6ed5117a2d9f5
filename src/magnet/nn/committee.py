"""The training of a committee: as many members at once as fit, and few on features that promise little."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from magnet.nn.members import SCALINGS, SIDE_BY_SIDE, TRAINING, Member, Problem, self_taught, single
from magnet.nn.memory import NotEnoughMemory, available
from magnet.nn.training import fit
from magnet.recovery.candidates import Candidate

#: Of what is free on a GPU the feature matrices of one batch take at most this part: training makes several copies.
FEATURE_SHARE = 48
#: Features are kept between the rungs of a committee while they take less than this part of the free memory.
KEPT_SHARE = 6


@dataclass(frozen=True)
class _Job:
    """A member before it is trained: numbers of its problem, candidate and recipe, and its seed."""

    problem: int
    candidate: int
    recipe: int
    seed: int


@dataclass(eq=False)
class Committee:
    """Trains the members of one or several problems, as many at once as fit.

    Args:
        problems: on graphs of one size; what they share is computed together.
        device: where to compute.
        initializations: networks of each kind on each candidate, with different random numbers. (default: ``1``)
        prune: the first kind of network tries every candidate, the others only the first and the best one.
            (default: ``True``)
        teach: train every network on the two best candidates once more, with the most confident predictions as labels
            (:func:`magnet.nn.members.self_taught`); only where there are several kinds. (default: ``True``)
        keep_models: keep the networks.
        batch: feature matrices at once. (default: as many as fit on a GPU, on a CPU one for each problem)
        progress: show a progress bar over the members.

    After :meth:`train`: ``members[problem]``, and ``make_seconds[problem]``, the time spent on features.
    """

    problems: Sequence[Problem]
    device: torch.device
    initializations: int = 1
    prune: bool = True
    teach: bool = True
    keep_models: bool = False
    batch: int | None = None
    progress: bool = False
    members: list[list[Member]] = field(default_factory=list)
    make_seconds: list[float] = field(default_factory=list)
    _kept: dict[int, Any] = field(default_factory=dict, repr=False)

    def train(self) -> Committee:
        self.members = [[] for _ in self.problems]
        self.make_seconds = [0.0] * len(self.problems)
        first = []
        for p, problem in enumerate(self.problems):
            scouts = [r for r, recipe in enumerate(problem.recipes) if recipe.model is problem.recipes[0].model]
            first.append(self._jobs(p, range(len(problem.candidates)), scouts))
        self._train(first)
        self._train([self._others(p) for p in range(len(self.problems))])
        if self.teach:
            self._teach()
        self._kept.clear()
        return self

    def _teach(self) -> None:
        """The second round of training; its members join the others."""
        taught = {}
        for p, problem in enumerate(self.problems):
            chosen = [problem.candidates[c] for c in sorted(self._ranked(p)[:2])]
            several = len({recipe.model for recipe in problem.recipes}) > 1
            if several and (found := self_taught(problem, self.members[p], chosen)) is not None:
                taught[p] = found
        if taught:
            options = (self.initializations, False, False, self.keep_models, self.batch, self.progress)
            second = Committee(list(taught.values()), self.device, *options, _kept=self._kept).train()
            for p, members, seconds in zip(taught, second.members, second.make_seconds, strict=True):
                self.members[p] += members
                self.make_seconds[p] += seconds

    def _jobs(self, problem: int, candidates: Sequence[int], recipes: Sequence[int]) -> list[_Job]:
        first = self.problems[problem].seed
        seeds = [first + 1000 * k for k in range(self.initializations)]
        return [_Job(problem, c, r, seed) for c in candidates for r in recipes for seed in seeds]

    def _candidate(self, job: _Job) -> Candidate:
        return self.problems[job.problem].candidates[job.candidate]

    def _ranked(self, p: int) -> list[int]:
        """The candidates of a problem, those first on which its first kind of network is best."""
        problem = self.problems[p]
        names = [candidate.name for candidate in problem.candidates]
        score = np.zeros(len(names))
        for member in self.members[p]:
            if member.kind == problem.recipes[0].model.__name__:
                score[names.index(member.candidate)] += member.val_accuracy
        return [int(place) for place in np.argsort(-score, kind="stable")]

    def _others(self, p: int) -> list[_Job]:
        """What the kinds of networks train that have not tried every candidate."""
        problem = self.problems[p]
        others = [r for r, recipe in enumerate(problem.recipes) if recipe.model is not problem.recipes[0].model]
        tried = sorted({0, self._ranked(p)[0]}) if self.prune else range(len(problem.candidates))
        return self._jobs(p, tried, others)

    def _train(self, jobs: Sequence[Sequence[_Job]]) -> None:
        """Train jobs: those on the first candidate of every problem first, and so on."""
        flat = sorted((job for some in jobs for job in some), key=lambda job: job.candidate)
        shapes: dict[Any, list[_Job]] = {}
        for job in flat:
            problem = self.problems[job.problem]
            key = (problem.recipes[job.recipe].shape, id(problem.graph), problem.own_split)
            shapes.setdefault(key, []).append(job)
        with _bar(len(flat), self.progress) as advance:
            for group in shapes.values():
                matrices = list(dict.fromkeys(id(self._candidate(job)) for job in group))
                limit = self.batch_size(len({id(self.problems[job.problem].candidates) for job in group}))
                for start in range(0, len(matrices), limit):
                    some = set(matrices[start : start + limit])
                    part = [job for job in group if id(self._candidate(job)) in some]
                    self._until_it_fits(part)
                    advance(len(part))

    def batch_size(self, problems: int) -> int:
        """How many feature matrices to hold at once: on a GPU, where launching kernels takes the time, as many as
        fit."""
        if self.batch is not None:
            return self.batch
        if self.device.type == "cpu":
            return problems
        first = self.problems[0]
        size = 4 * first.graph.num_nodes * first.inputs
        return max(min(problems, 10), available(self.device) // FEATURE_SHARE // size)

    def _until_it_fits(self, jobs: Sequence[_Job]) -> None:
        """All at once, or in halves where memory is not enough."""
        fits = True
        try:
            self._batch(jobs)
        except (NotEnoughMemory, torch.OutOfMemoryError):
            if len(jobs) == 1:
                raise
            fits = False
        if not fits:  # only here, outside of the handler, is what did not fit no longer held by the error
            gc.collect()
            half = len(jobs) // 2
            self._until_it_fits(jobs[:half])
            self._until_it_fits(jobs[half:])

    def _batch(self, jobs: Sequence[_Job]) -> None:
        groups = self._features(jobs)
        ordered = [job for _, members in groups for job in members]
        began = time.perf_counter()
        first = self.problems[ordered[0].problem]
        recipes = [self.problems[job.problem].recipes[job.recipe] for job in ordered]
        shared = recipes[0].settings
        side = {name: [recipe.settings[name] for recipe in recipes] for name in SIDE_BY_SIDE if name in shared}
        options = {name: value for name, value in {**shared, **side}.items() if name not in TRAINING}
        seeds = [job.seed for job in ordered]
        model = recipes[0].model(first.inputs, first.outputs, seeds=seeds, **options).to(self.device)
        names = ("y", "train_mask", "val_mask")
        labels = [getattr(first, name) for name in names]
        if first.own_split:
            labels = [
                torch.stack([getattr(self.problems[job.problem], name).cpu() for job in ordered]) for name in names
            ]
        fitted = fit(
            model,
            _together(groups),
            first.graph,
            *labels,
            learning_rate=side["learning_rate"],
            weight_decay=side["weight_decay"],
            weight_decay_on=shared["weight_decay_on"],
            epochs=side["epochs"],
            patience=shared["patience"],
        )
        share = (time.perf_counter() - began) / len(ordered)
        for s, (job, recipe) in enumerate(zip(ordered, recipes, strict=True)):
            member = Member(
                candidate=self.problems[job.problem].candidates[job.candidate].name,
                recipe=recipe.name,
                seed=job.seed,
                val_accuracy=float(fitted.val_accuracy[s]),
                val_loss=float(fitted.val_loss[s]),
                epoch=int(fitted.epoch[s]),
                logits=fitted.logits[s],
                seconds=share,
                kind=recipe.model.__name__,
                settings=recipe.settings,
                model=single(model, recipe, s) if self.keep_models else None,
            )
            self.members[job.problem].append(member)

    def _features(self, jobs: Sequence[_Job]) -> list[tuple[Any, list[_Job]]]:
        """Features, and the jobs on them; problems with the same matrix share it."""
        groups: dict[tuple[int, str], tuple[Any, list[_Job]]] = {}
        made: dict[int, Any] = {}  # as long as it is here no other matrix can get its id
        users: dict[int, list[_Job]] = {}
        for job in jobs:
            users.setdefault(id(self._candidate(job)), []).append(job)
        for place, some in users.items():
            began = time.perf_counter()
            made[place] = x = self._made(self._candidate(some[0]))
            for job in some:
                scaling = self.problems[job.problem].recipes[job.recipe].settings["scaling"]
                if (id(x), scaling) not in groups:
                    groups[id(x), scaling] = (SCALINGS[scaling](x), [])
                groups[id(x), scaling][1].append(job)
            for problem in {job.problem for job in some}:
                self.make_seconds[problem] += time.perf_counter() - began
        return list(groups.values())

    def _made(self, candidate: Candidate) -> Any:
        """The features of a candidate; kept for the networks that follow as far as memory allows."""
        if id(candidate) in self._kept:
            return self._kept[id(candidate)]
        x = candidate.make()
        if any(len(problem.recipes) > 1 for problem in self.problems):
            kept = sum(each.nbytes for each in self._kept.values() if each.layout == torch.strided)
            if kept + (x.nbytes if x.layout == torch.strided else 0) < available(self.device) / KEPT_SHARE:
                self._kept[id(candidate)] = x
        return x


def _together(groups: Sequence[tuple[Any, list[_Job]]]) -> Any:
    """One matrix, or several that serve equal numbers of models, as :func:`magnet.nn.fit` takes them."""
    if len(groups) == 1:
        return groups[0][0]
    if len({len(members) for _, members in groups}) == 1:
        return [x for x, _ in groups]
    return [x for x, members in groups for _ in members]


@contextmanager
def _bar(total: int, show: bool) -> Iterator[Callable[[int], None]]:
    """A progress bar, or nothing: the yielded function takes the number of finished members."""
    if not show or not total:
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("training", total=total)
        yield lambda count: bar.advance(task, count)
