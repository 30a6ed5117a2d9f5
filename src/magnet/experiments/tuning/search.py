"""The search for settings: Optuna proposes settings, any machine evaluates them, the best are kept.

A search is a run in the result store, of kind ``"search"``: its config holds the settings to try, its result their
validation accuracies. So it is resumed, spread over processes and machines, and exported like the rest, and the
machine that runs it needs no Optuna. Only validation accuracy is used.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from magnet.experiments import methods
from magnet.experiments.protocol.run import run_many
from magnet.experiments.store import Store
from magnet.experiments.store.jobs import Config
from magnet.experiments.tuning import settings

#: Repetitions of every setting that is not pruned.
REPEATS = 3
#: Scores that differ by less are equal: an exported store holds six digits.
EQUAL = 5e-6
#: Settings drawn at random before the sampler learns from their scores, and draws per new setting at most.
RANDOM_TRIALS, MAX_DRAWS = 12, 50
#: Keys of a config that are not settings.
OUTSIDE = ("dataset", "corruption", "method", "corruption_options", "fixed_corruption")

Study = tuple[str, str, str]  # method, dataset and corruption


@dataclass(frozen=True)
class Trial:
    """One setting that was evaluated, and its mean validation accuracy; ``pruned`` if it was dropped after the first
    repetition."""

    settings: dict[str, Any]
    score: float
    pruned: bool = False


def ask(method: str, trials: Sequence[Trial], count: int) -> list[dict[str, Any]]:
    """The next settings to try: the defaults first, then what Optuna's sampler proposes, each setting once.

    Args:
        method: whose space is searched.
        trials: finished trials.
        count: how many settings, at most.
    """
    chosen = methods.get(method)
    study = _study(chosen.space, trials)
    known = {_key(trial.settings) for trial in trials}
    new: list[dict[str, Any]] = []
    if not known:
        new.append({name: chosen.defaults[name] for name in chosen.space})
        known.add(_key(new[0]))
    for _ in range(MAX_DRAWS * count):
        if len(new) >= count:
            break
        trial = study.ask()
        settings = {name: trial.suggest_categorical(name, choices) for name, choices in chosen.space.items()}
        if _key(settings) not in known:
            known.add(_key(settings))
            new.append(settings)
    return new[:count]


def _study(space: Mapping[str, list[Any]], trials: Sequence[Trial]) -> Any:
    """An Optuna study with the given trials."""
    try:
        import optuna
    except ImportError as error:
        raise ImportError("the search needs optuna: pip install 'magnet-gnn[search]'") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    # Known trials are added again, so the sampler must not repeat the draws that led to them.
    sampler = optuna.samplers.TPESampler(seed=len(trials), multivariate=True, n_startup_trials=RANDOM_TRIALS)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    spread = {name: optuna.distributions.CategoricalDistribution(choices) for name, choices in space.items()}
    for trial in trials:
        if all(trial.settings.get(name) in choices for name, choices in space.items()):
            frozen = optuna.trial.create_trial(
                params={name: trial.settings[name] for name in space},
                distributions=spread,
                state=optuna.trial.TrialState.PRUNED if trial.pruned else optuna.trial.TrialState.COMPLETE,
                value=trial.score,
                intermediate_values={0: trial.score} if trial.pruned else None,
            )
            study.add_trial(frozen)
    return study


def best(trials: Sequence[Trial]) -> Trial:
    """The trial with the highest validation accuracy that was not pruned; the earlier one among equals."""
    finished = [trial for trial in trials if not trial.pruned]
    if not finished:
        raise ValueError("there is no finished trial; ask for settings and race them first")
    return max(finished, key=lambda trial: trial.score)


def race(searches: Sequence[Config], device: str | None = None, folder: str | None = None) -> list[list[Trial]]:
    """Mean validation accuracy of every setting over some repetitions, with pruning: after the first repetition the
    worse half of the settings of each search is dropped, and only the rest gets the other repetitions.

    Args:
        searches: configs of :func:`plan`, of any methods, on one dataset; they are run together.
        device, folder: as for :func:`magnet.experiments.run_one`.
    """
    seeds = range(searches[0]["repeats"])
    scores: dict[tuple[int, int], list[float]] = {}  # of a trial: the numbers of its search and of its settings

    def run(trials: Sequence[tuple[int, int]], seeds: Sequence[int]) -> None:
        runs = [(s, k, seed) for s, k in trials for seed in seeds]
        configs = [{**_place(searches[s]), "seed": seed, **searches[s]["trials"][k]} for s, k, seed in runs]
        for number, row in run_many(configs, device, folder) if configs else ():
            scores.setdefault(runs[number][:2], []).append(row["val_accuracy"])

    trials = [[(s, k) for k in range(len(search["trials"]))] for s, search in enumerate(searches)]
    run([trial for of_search in trials for trial in of_search], seeds[:1])
    kept: list[tuple[int, int]] = []
    for of_search in trials:
        order = sorted(of_search, key=lambda trial: -scores[trial][0])
        kept += sorted(order[: (len(order) + 1) // 2] if len(seeds) > 1 else order)
    run(kept, seeds[1:])
    return [
        [Trial(searches[s]["trials"][k], float(np.mean(scores[s, k])), (s, k) not in kept) for s, k in of_search]
        for of_search in trials
    ]


def plan(store: Store, places: Sequence[Config], trials: int) -> list[Config]:
    """Searches that bring every study to ``trials`` trials.

    Args:
        store: with the trials that are finished.
        places: search targets: ``dataset``, ``corruption``, ``method``, and settings that all trials have in common.
        trials: number of trials of each.
    """
    finished = trials_in(store)
    searches = []
    for place in places:
        known = finished.get((place["method"], place["dataset"], place["corruption"]), [])
        if len(known) < trials:
            fixed = {name: value for name, value in place.items() if name not in (*OUTSIDE, "seed", "kind")}
            asked = [{**each, **fixed} for each in ask(place["method"], known, trials - len(known))]
            searches.append({"kind": "search", "seed": 0, **_place(place), "trials": asked, "repeats": REPEATS})
    return searches


def _place(config: Config) -> Config:
    """What all trials of a search have in common."""
    return {name: config[name] for name in OUTSIDE if name in config}


def trials_in(store: Store) -> dict[Study, list[Trial]]:
    """The finished trials of every study in its latest result version; trials of superseded versions are left out."""
    by_study: dict[Study, tuple[str, list[Trial]]] = {}
    for run in store.runs():
        if run.config["kind"] == "search":
            study = (str(run.config["method"]), str(run.config["dataset"]), str(run.config["corruption"]))
            code, trials = by_study.get(study, ("", []))
            new = [Trial(**trial) for trial in run.result["trials"]]
            by_study[study] = (run.code, [*trials, *new] if code == run.code else new)
    return {study: trials for study, (_, trials) in by_study.items()}


def choose(store: Store, path: Path) -> int:
    """Write the best setting of every study in the store to the file of settings; the number of studies.

    A setting that is already in the file stays if no other is better, because finished runs use it.
    """
    chosen = copy.deepcopy(settings.read(path))
    studies = trials_in(store)
    for (method, dataset, corruption), trials in studies.items():
        winner = best(trials)
        entry = {"val_accuracy": round(winner.score, 4), "trials": len(trials), "pruned": sum(t.pruned for t in trials)}
        equal = [winner, *(t for t in trials if not t.pruned and t.score > winner.score - EQUAL)]
        candidates = [{name: trial.settings[name] for name in methods.get(method).space} for trial in equal]
        places = chosen.setdefault(method, {}).setdefault(dataset, {})
        old = places.get(corruption, {}).get("settings")
        places[corruption] = {**entry, "settings": old if old in candidates else candidates[0]}
    settings.write(chosen, path)
    return len(studies)


def _key(given: Mapping[str, Any]) -> str:
    return json.dumps(given, sort_keys=True)
