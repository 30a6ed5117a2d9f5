"""The search for settings: a batch is asked of Optuna, evaluated anywhere, and told back.

The evaluating side needs no Optuna, and evaluates all settings of a batch at once::

    search = Search("gcn", "cora", "none", "studies/gcn-cora.jsonl")
    batch = search.ask(16)                    # a list of settings, as plain values
    scores = evaluate(batch)                  # mean validation accuracies, on any machine
    search.tell(batch, scores)                # kept in the file; a study that was interrupted goes on from there
    search.best()

Only validation accuracy is ever looked at.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from magnet.experiments import methods
from magnet.experiments.protocol.run import run_many


@dataclass(frozen=True)
class Trial:
    """One setting that was evaluated, and its mean validation accuracy; ``pruned`` after the first repetition, it has
    lost already."""

    settings: dict[str, Any]
    score: float
    pruned: bool = False


@dataclass(frozen=True)
class Batch:
    """Settings of a method to be evaluated on a dataset under a corruption."""

    method: str
    dataset: str
    corruption: str
    settings: list[dict[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Search:
    """A study of a method on a dataset, kept in a file with one line for each finished trial.

    Args:
        method, dataset, corruption: as for :func:`magnet.experiments.run_one`.
        path: the file; trials that it holds already are part of the study.
        seed: of the sampler. (default: ``0``)
        space: what may be chosen. (default: the method's published space)
    """

    def __init__(
        self,
        method: str,
        dataset: str,
        corruption: str = "none",
        path: str | os.PathLike[str] | None = None,
        seed: int = 0,
        space: Mapping[str, Any] | None = None,
    ) -> None:
        self.method, self.dataset, self.corruption, self.seed = method, dataset, corruption, seed
        self.space = dict(methods.get(method).space if space is None else space)
        self.path = None if path is None else Path(path)
        self.trials: list[Trial] = []
        if self.path is not None and self.path.is_file():
            lines = self.path.read_text(encoding="utf-8").splitlines()
            # A line that was cut off when the machine went down is no trial.
            self.trials = [Trial(**json.loads(line)) for line in lines if line.endswith("}")]

    def ask(self, count: int) -> Batch:
        """The next settings to try: the defaults first, then what Optuna's sampler proposes, each setting once."""
        study = self._study()
        known = {_key(trial.settings) for trial in self.trials}
        chosen: list[dict[str, Any]] = []
        defaults = {name: methods.get(self.method).defaults[name] for name in self.space}
        if not known:
            known.add(_key(defaults))
            chosen.append(defaults)
        for _ in range(50 * count):
            if len(chosen) >= count:
                break
            trial = study.ask()
            settings = {name: _suggest(trial, name, choices) for name, choices in self.space.items()}
            if _key(settings) not in known:
                known.add(_key(settings))
                chosen.append(settings)
        return Batch(self.method, self.dataset, self.corruption, chosen[:count])

    def tell(self, batch: Batch, scores: Sequence[float]) -> None:
        """Take the scores of a batch into the study and its file."""
        if len(scores) != len(batch.settings):
            raise ValueError(f"scores holds {len(scores)} numbers; the batch has {len(batch.settings)} settings")
        self.add([Trial(settings, float(score)) for settings, score in zip(batch.settings, scores, strict=True)])

    def add(self, new: Sequence[Trial]) -> None:
        """Take finished trials, such as those of :func:`race`, into the study and its file."""
        self.trials += new
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(asdict(trial)) + "\n" for trial in new)

    def best(self) -> Trial:
        """The trial with the highest validation accuracy; the earlier one among equals."""
        finished = [trial for trial in self.trials if not trial.pruned]
        if not finished:
            raise ValueError("the study has no finished trial; ask, evaluate and tell first")
        return max(finished, key=lambda trial: trial.score)

    def _study(self) -> Any:
        try:
            import optuna
        except ImportError as error:
            raise ImportError("the search needs optuna: pip install 'magnet-gnn[search]'") from error
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        # Trials already known are told anew, so the sampler must not repeat the draws that led to them.
        sampler = optuna.samplers.TPESampler(seed=self.seed + len(self.trials), multivariate=True, n_startup_trials=12)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        spread = {name: _distribution(choices) for name, choices in self.space.items()}
        for trial in self.trials:
            if all(_within(trial.settings.get(name), choices) for name, choices in self.space.items()):
                settings = {name: trial.settings[name] for name in self.space}
                state = optuna.trial.TrialState.PRUNED if trial.pruned else optuna.trial.TrialState.COMPLETE
                told = optuna.trial.create_trial(
                    params=settings,
                    distributions=spread,
                    state=state,
                    value=trial.score,
                    intermediate_values={0: trial.score} if trial.pruned else None,
                )
                study.add_trial(told)
        return study


def evaluate(batch: Batch | Mapping[str, Any], seeds: Sequence[int] = (0, 1, 2), **options: Any) -> list[float]:
    """Mean validation accuracy of every setting of a batch over some repetitions. Needs no Optuna.

    Args:
        batch: a batch, or its ``as_dict()``.
        seeds: of the repetitions. (default: ``0, 1, 2``)
        prune: drop the worse half. (default: ``True``)
        options: ``device`` and ``folder``, and further arguments of :func:`magnet.experiments.run_one` for all runs.
    """
    asked = batch if isinstance(batch, Batch) else Batch(**batch)
    return [trial.score for trial in race([asked], seeds, prune=False, **options)[0]]


def race(
    batches: Sequence[Batch], seeds: Sequence[int] = (0, 1, 2), prune: bool = True, **options: Any
) -> list[list[Trial]]:
    """Like :func:`evaluate`, with hopeless settings pruned: after the first repetition the worse half of each batch is
    dropped, and only the rest gets the other repetitions. Needs no Optuna.

    Args:
        batches: of any methods, on one dataset; they are evaluated together.
        seeds: of the repetitions. (default: ``0, 1, 2``)
        prune: drop the worse half. (default: ``True``)
        options: ``device`` and ``folder``, and further arguments of :func:`magnet.experiments.run_one` for all runs.
    """
    where = {name: options.pop(name, None) for name in ("device", "folder")}
    found: dict[tuple[int, int], list[float]] = {}

    def run(going: Sequence[tuple[int, int]], some: Sequence[int]) -> None:
        members = [(b, k, seed) for b, k in going for seed in some]
        asked = []
        for b, k, seed in members:
            place = {"dataset": batches[b].dataset, "corruption": batches[b].corruption, "method": batches[b].method}
            asked.append({**place, "seed": seed, **options, **batches[b].settings[k]})
        for number, row in run_many(asked, **where) if asked else ():
            b, k, _ = members[number]
            found.setdefault((b, k), []).append(row["val_accuracy"])

    everything = [(b, k) for b, batch in enumerate(batches) for k in range(len(batch.settings))]
    run(everything, seeds[:1])
    going = []
    for b, batch in enumerate(batches):
        order = sorted(range(len(batch.settings)), key=lambda k, b=b: -found[b, k][0])  # type: ignore[misc]
        going += [(b, k) for k in sorted(order[: (len(order) + 1) // 2] if prune and len(seeds) > 1 else order)]
    run(going, seeds[1:])
    return [
        [Trial(s, float(np.mean(found[b, k])), (b, k) not in going) for k, s in enumerate(batch.settings)]
        for b, batch in enumerate(batches)
    ]


def _suggest(trial: Any, name: str, choices: Any) -> Any:
    if isinstance(choices, list):
        return trial.suggest_categorical(name, choices)
    low, high, *scale = choices
    return trial.suggest_float(name, low, high, log=scale == ["log"])


def _distribution(choices: Any) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution

    if isinstance(choices, list):
        return CategoricalDistribution(choices)
    low, high, *scale = choices
    return FloatDistribution(low, high, log=scale == ["log"])


def _within(value: Any, choices: Any) -> bool:
    return value in choices if isinstance(choices, list) else choices[0] <= value <= choices[1]


def _key(settings: Mapping[str, Any]) -> str:
    return json.dumps(settings, sort_keys=True)
