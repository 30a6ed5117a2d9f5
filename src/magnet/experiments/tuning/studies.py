"""The search behind the tables: what to try is asked of Optuna, run like any other run, and the best is kept.

A search is a run in the result store, of kind ``"search"``: its config holds the settings to try, its result their
validation accuracies. So it is resumed, spread over processes and machines, and exported like the rest, and the
machine that runs it needs no Optuna.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from magnet.experiments.store import Store
from magnet.experiments.store.jobs import Config, Job
from magnet.experiments.tuning import settings

#: Repetitions of every setting that is not pruned.
REPEATS = 3
#: Scores that differ by less are equal: an exported store holds six digits.
EQUAL = 5e-6
#: What is no setting.
OUTSIDE = ("dataset", "corruption", "method", "corruption_options", "fixed_corruption")


def plan(store: Store, places: Sequence[Config], trials: int) -> list[Job]:
    """Searches that bring every study to ``trials`` trials.

    Args:
        store: with the trials that are finished.
        places: what is searched: ``dataset``, ``corruption``, ``method``, and settings that all trials have in common.
        trials: number of trials of each.
    """
    from magnet.experiments.tuning.search import Search

    known = trials_in(store)
    jobs = []
    for place in places:
        method, dataset, corruption = (place[name] for name in ("method", "dataset", "corruption"))
        study = Search(method, dataset, corruption)
        study.add(known.get((method, dataset, corruption), []))
        if len(study.trials) < trials:
            fixed = {name: value for name, value in place.items() if name not in (*OUTSIDE, "seed", "kind")}
            asked = [{**each, **fixed} for each in study.ask(trials - len(study.trials)).settings]
            here = {name: place[name] for name in OUTSIDE if name in place}
            jobs.append(Job(({"kind": "search", "seed": 0, **here, "trials": asked, "repeats": REPEATS},)))
    return jobs


def trials_in(store: Store) -> dict[tuple[str, str, str], list[Any]]:
    """The finished trials by method, dataset and corruption, without those of superseded code: a study is continued
    by the code that began it, or anew."""
    from magnet.experiments.tuning.search import Trial

    found: dict[tuple[str, str, str], tuple[str, list[Any]]] = {}
    for run in store.runs():
        if run.config["kind"] == "search":
            study = tuple(str(run.config[name]) for name in ("method", "dataset", "corruption"))
            code, trials = found.get(study, ("", []))  # type: ignore[arg-type]
            new = [Trial(**trial) for trial in run.result["trials"]]
            found[study] = (run.code, [*trials, *new] if code == run.code else new)  # type: ignore[index]
    return {study: trials for study, (_, trials) in found.items()}


def choose(store: Store, path: Path) -> int:
    """Write the best setting of every study in the store to the file of settings; the number of studies.

    Where the file has a setting of a study that no other beats it stays: finished runs stand on it.
    """
    from magnet.experiments.methods import get
    from magnet.experiments.tuning.search import Search

    kept = copy.deepcopy(settings.read(path))
    studies = trials_in(store)
    for (method, dataset, corruption), trials in studies.items():
        study = Search(method, dataset, corruption)
        study.add(trials)
        best = study.best()
        entry = {"val_accuracy": round(best.score, 4), "trials": len(trials), "pruned": sum(t.pruned for t in trials)}
        equal = [best, *(t for t in trials if not t.pruned and t.score > best.score - EQUAL)]
        found = [{name: trial.settings[name] for name in get(method).space} for trial in equal]
        places = kept.setdefault(method, {}).setdefault(dataset, {})
        old = places.get(corruption, {}).get("settings")
        places[corruption] = {**entry, "settings": old if old in found else found[0]}
    settings.write(kept, path)
    return len(studies)
