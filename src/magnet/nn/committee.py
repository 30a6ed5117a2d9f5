"""The training of a committee: as many members at once as fit into memory, and few on repairs that did not help the
first kind of network."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from magnet.arrays import csr_tensor, is_sparse, to_scipy
from magnet.freed_memory import return_freed_memory, return_memory_at_once
from magnet.nn.features import principal, stays_sparse
from magnet.nn.members import SCALINGS, SIDE_BY_SIDE, TRAINING, Member, Problem, Recipe, single
from magnet.nn.memory import NotEnoughMemory, available
from magnet.nn.training import fit
from magnet.nn.voting import FEW_VALIDATION, TAUGHT_SHARES, calibration, folded, self_taught
from magnet.recovery.candidates import AS_IT_IS, Candidate

#: Of what is free on a GPU the feature matrices of one batch take at most this part: training makes several copies.
FEATURE_SHARE = 48
#: On a CPU the networks that are trained at once keep about this many numbers per node and hidden unit (outputs of
#: layers, masks of dropout, gradients), and together at most this many times the features. 12 networks of width 64
#: took six times the memory of Cora's features, which gives the first number; the second is set by memory.
ACTIVATIONS, TRAINING_SHARE = 12, 1.5
#: Features are kept from one batch of networks to the next while they take less than this part of the free memory.
KEPT_SHARE = 6
#: Repaired features are reduced if that leaves at most one column in this many. (Reducing PubMed's 500 columns
#: to 128 costs a GCN 0.7 points.)
MIN_REDUCTION = 8
#: Feature matrices that are held at once on a GPU, if there are as many problems, however little memory is free.
MIN_MATRICES = 10
#: Between the seeds of two initializations: more than there are repetitions, whose seeds are consecutive.
SEED_STEP = 1000


@dataclass(frozen=True, eq=False)
class _Job:
    """A member before it is trained; ``problem`` is the number of its problem."""

    problem: int
    candidate: Candidate
    recipe: Recipe
    seed: int


@dataclass(frozen=True, eq=False)
class _CandidateFeatures:
    """Network inputs, and the basis they were multiplied with (None: not reduced)."""

    x: Any
    basis: Tensor | None = None

    @property
    def bytes(self) -> int:
        return sum(part.nbytes for part in (self.x, self.basis) if isinstance(part, Tensor) and not is_sparse(part))


@dataclass(eq=False)
class Committee:
    """Trains the members of one or several problems on graphs of one size, as many at once as fit.

    Args:
        initializations: networks of each kind on each candidate, with different random numbers. (default: ``1``)
        prune: the first kind of network tries every candidate, the others only the first and the best one.
            (default: ``True``)
        teach: train every network on the two best candidates once more, with the most confident predictions as labels
            (:func:`magnet.nn.voting.self_taught`), or cross-validate where that is not worth it and validation nodes
            are few; only where there are several kinds. (default: ``True``)

    After :meth:`train`: ``members[problem]``, and ``make_seconds[problem]``, the time spent on features.
    """

    problems: Sequence[Problem]
    device: torch.device
    initializations: int = 1
    prune: bool = True
    teach: bool = True
    keep_models: bool = False
    progress: bool = False
    members: list[list[Member]] = field(init=False)
    make_seconds: list[float] = field(init=False)
    _kept: dict[Any, _CandidateFeatures] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.members = [[] for _ in self.problems]
        self.make_seconds = [0.0] * len(self.problems)

    def train(self) -> Committee:
        numbers = range(len(self.problems))
        self._train([job for p in numbers for job in self._jobs(p, self.problems[p].candidates, first=True)])
        self._train([job for p in numbers for job in self._jobs(p, self._promising(p), first=False)])
        if self.teach:
            several = [p for p, one in enumerate(self.problems) if len({recipe.model for recipe in one.recipes}) > 1]
            taught = self._teach(several)
            few = [p for p in several if int(self.problems[p].val_mask.sum()) < FEW_VALIDATION]
            self._cross_validate([p for p in few if p not in taught])
        self._kept.clear()
        return self

    def _jobs(self, p: int, candidates: Sequence[Candidate], first: bool) -> list[_Job]:
        """The first kind of network of a problem, or all others, on some candidates."""
        problem = self.problems[p]
        recipes = [recipe for recipe in problem.recipes if (recipe.model is problem.recipes[0].model) == first]
        seeds = [problem.seed + SEED_STEP * k for k in range(self.initializations)]
        return [_Job(p, candidate, recipe, seed) for candidate in candidates for recipe in recipes for seed in seeds]

    def _ranked(self, p: int) -> list[Candidate]:
        """The candidates of a problem, those first on which its first kind of network is best."""
        problem = self.problems[p]
        names = [candidate.name for candidate in problem.candidates]
        score = np.zeros(len(names))
        for member in self.members[p]:
            if member.kind == problem.recipes[0].model.__name__:
                score[names.index(member.candidate)] += member.val_accuracy
        return [problem.candidates[place] for place in np.argsort(-score, kind="stable")]

    def _promising(self, p: int) -> Sequence[Candidate]:
        """What the other kinds of networks try."""
        candidates = self.problems[p].candidates
        best = self._ranked(p)[0]
        return [each for each in candidates if each in (candidates[0], best)] if self.prune else candidates

    def _teach(self, numbers: Sequence[int]) -> set[int]:
        """The second round of training; its members join the others. Returns the problems that have one."""
        lessons: list[tuple[int, Problem]] = []
        for p in numbers:
            best = self._ranked(p)[:2]
            chosen = [candidate for candidate in self.problems[p].candidates if candidate in best]
            for share in TAUGHT_SHARES:
                taught = self_taught(self.problems[p], self.members[p], chosen, share)
                if taught is None:  # for the smallest share, so for a problem whose labels are enough
                    break
                lessons.append((p, taught))
        if lessons:
            options = (self.initializations, False, False, self.keep_models, self.progress)
            second = Committee([problem for _, problem in lessons], self.device, *options, _kept=self._kept).train()
            for (p, _), members, seconds in zip(lessons, second.members, second.make_seconds, strict=True):
                self.members[p] += members
                self.make_seconds[p] += seconds
        return {p for p, _ in lessons}

    def _cross_validate(self, numbers: Sequence[int]) -> None:
        """Cross-validation: train every member again on folds of the labeled nodes, to predict the held-out ones."""
        folds = [(p, fold) for p in numbers for fold in folded(self.problems[p])]
        if not folds:
            return
        other = Committee([fold for _, fold in folds], self.device, progress=self.progress, _kept=self._kept)
        other._train([job for number, (p, _) in enumerate(folds) for job in self._jobs_again(number, p)])
        for p in numbers:
            parts = [(fold, other.members[number]) for number, (q, fold) in enumerate(folds) if q == p]
            if len(parts) < 2:
                continue
            nodes = torch.cat([fold.val_mask.nonzero().ravel() for fold, _ in parts])
            for member in self.members[p]:
                same = [next(each for each in members if each.key == member.key) for _, members in parts]
                logits = [each.logits[fold.val_mask] for (fold, _), each in zip(parts, same, strict=True)]
                member.held_out = nodes, torch.cat(logits)
                member.seconds += sum(each.seconds for each in same)

    def _jobs_again(self, number: int, p: int) -> list[_Job]:
        """The jobs of a problem's members, for another problem with the same candidates and recipes."""
        candidates = {candidate.name: candidate for candidate in self.problems[p].candidates}
        recipes = {recipe.name: recipe for recipe in self.problems[p].recipes}
        return [_Job(number, candidates[m.candidate], recipes[m.recipe], m.seed) for m in self.members[p]]

    def _train(self, jobs: Sequence[_Job]) -> None:
        """Train jobs: those on the first candidate of every problem first, and so on."""
        shapes: dict[Any, list[_Job]] = {}
        for job in sorted(jobs, key=lambda job: self.problems[job.problem].candidates.index(job.candidate)):
            problem = self.problems[job.problem]
            key = (job.recipe.shape, id(problem.graph), problem.own_split, self._width(job))
            shapes.setdefault(key, []).append(job)
        with _bar(len(jobs), self.progress) as advance:
            for group in shapes.values():
                matrices = list(dict.fromkeys(job.candidate for job in group))
                limit = self._matrices_at_once(group)
                for start in range(0, len(matrices), limit):
                    some = set(matrices[start : start + limit])
                    part = [job for job in group if job.candidate in some]
                    self._until_it_fits(part)
                    advance(len(part))

    def _width(self, job: _Job) -> int:
        """The number of columns of a job's features. Repaired features are dense: they are reduced where that saves
        most of the work."""
        problem = self.problems[job.problem]
        components = int(job.recipe.settings.get("components") or 0)
        small = MIN_REDUCTION * components > min(problem.inputs, problem.graph.num_nodes)
        as_it_is = job.candidate.name == AS_IT_IS
        return problem.inputs if not components or small or as_it_is else components

    def _matrices_at_once(self, jobs: Sequence[_Job]) -> int:
        """How many feature matrices to train on at once: as many as fit on a GPU, where launching kernels takes the
        time, and of reduced ones everywhere; otherwise one for each list of candidates. On a CPU, what the networks of
        one problem keep should not be far larger than its features."""
        first, width, on_cpu = self.problems[0], self._width(jobs[0]), self.device.type == "cpu"
        lists = len({id(self.problems[job.problem].candidates) for job in jobs})
        limit = lists
        if not on_cpu or width != first.inputs:
            size = 4 * first.graph.num_nodes * width
            limit = max(min(lists, MIN_MATRICES), available(self.device) // FEATURE_SHARE // size)
        if not on_cpu or len({id(problem.candidates) for problem in self.problems}) > 1:
            return limit
        hidden = max(job.recipe.settings.get("hidden") or 1 for job in jobs)
        networks = TRAINING_SHARE * first.inputs / (ACTIVATIONS * hidden)
        return max(1, min(limit, int(networks * len({job.candidate for job in jobs}) / len(jobs))))

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
        with return_memory_at_once(4 * self.problems[0].graph.num_nodes * self.problems[0].inputs):
            groups = self._features(jobs)
        ordered = [job for _, members in groups for job in members]
        bases = [made.basis for made, members in groups for _ in members]
        began = time.perf_counter()
        first = self.problems[ordered[0].problem]
        shared = ordered[0].recipe.settings
        side = {name: [job.recipe.settings[name] for job in ordered] for name in SIDE_BY_SIDE if name in shared}
        options = {name: value for name, value in {**shared, **side}.items() if name not in TRAINING}
        seeds = [job.seed for job in ordered]
        model = ordered[0].recipe.model(self._width(ordered[0]), first.outputs, seeds=seeds, **options).to(self.device)
        problems = [self.problems[job.problem] for job in ordered]
        labels = [first.y, first.train_mask, first.val_mask]
        if first.own_split:
            each = ((one.y, one.train_mask, one.val_mask) for one in problems)
            labels = [torch.stack([part.cpu() for part in parts]) for parts in zip(*each, strict=True)]
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
        for s, (job, problem) in enumerate(zip(ordered, problems, strict=True)):
            member = Member(
                candidate=job.candidate.name,
                recipe=job.recipe.name,
                seed=job.seed,
                val_accuracy=float(fitted.val_accuracy[s]),
                val_loss=float(fitted.val_loss[s]),
                epoch=int(fitted.epoch[s]),
                logits=fitted.logits[s],
                seconds=share,
                kind=job.recipe.model.__name__,
                settings=job.recipe.settings,
                model=single(model, job.recipe, s, bases[s]) if self.keep_models else None,
            )
            nodes = problem.val_mask.cpu()
            member.temperature = calibration(member.probability_of(member.logits[nodes]), problem.y.cpu()[nodes])
            self.members[job.problem].append(member)
        del groups, model, fitted
        return_freed_memory()  # of the training, before the features of the next batch are made

    def _features(self, jobs: Sequence[_Job]) -> list[tuple[_CandidateFeatures, list[_Job]]]:
        """Features, and the jobs on them; problems with the same matrix share it."""
        groups: dict[int, tuple[_CandidateFeatures, list[_Job]]] = {}
        same: dict[Any, tuple[Any, _CandidateFeatures]] = {}  # as long as a matrix is here no other can get its id
        for job in jobs:
            began = time.perf_counter()
            made = self._made(job, same)
            self.make_seconds[job.problem] += time.perf_counter() - began
            groups.setdefault(id(made), (made, []))[1].append(job)
        return list(groups.values())

    def _made(self, job: _Job, same: dict[Any, tuple[Any, _CandidateFeatures]]) -> _CandidateFeatures:
        """The features of a job; kept for the networks that follow as far as memory allows."""
        scaling, width = job.recipe.settings["scaling"], self._width(job)
        key = (id(job.candidate), scaling, width)
        if key in self._kept:
            return self._kept[key]
        if key in same:
            return same[key][1]
        x = job.candidate.make()
        found = same.get((id(x), scaling, width))
        if found is None:
            scaled = SCALINGS[scaling](x, in_place=job.candidate.is_new)
            if width == scaled.shape[1]:
                found = same[id(x), scaling, width] = (x, _CandidateFeatures(_compact(scaled, self.device)))
            else:
                del x  # as large as the features
                basis = principal(scaled, width)
                found = (None, _CandidateFeatures(scaled @ basis, basis))
                del scaled
                return_freed_memory()
        same[key] = found
        # networks of one shape are trained on a candidate together; others follow
        if any(len({recipe.shape for recipe in problem.recipes}) > 1 for problem in self.problems):
            kept = sum(each.bytes for each in self._kept.values())
            if kept + found[1].bytes < available(self.device) / KEPT_SHARE:
                self._kept[key] = found[1]
        return found[1]


def _compact(x: Any, device: torch.device) -> Any:
    """Dense features of which few are not zero as a sparse matrix, as :class:`~magnet.nn.features.Features` multiplies
    them anyway: what is kept from one network to the next is then small."""
    if is_sparse(x) or not isinstance(x, Tensor) or x.requires_grad or not stays_sparse(x, device):
        return x
    return csr_tensor(to_scipy(x), x.dtype, x.device)


def _together(groups: Sequence[tuple[_CandidateFeatures, list[_Job]]]) -> Any:
    """One matrix, or several that serve equal numbers of models, as :func:`magnet.nn.fit` takes them."""
    if len(groups) == 1:
        return groups[0][0].x
    if len({len(members) for _, members in groups}) == 1:
        return [made.x for made, _ in groups]
    return [made.x for made, members in groups for _ in members]


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
