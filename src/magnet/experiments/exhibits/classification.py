"""What the tables of node classification have in common: settings (dataset and corruption), configs, scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from magnet.datasets import DATASETS
from magnet.experiments.exhibits.base import Options, Results, Summary
from magnet.experiments.exhibits.paper import PaperValue, printed
from magnet.experiments.methods import METHODS, get
from magnet.experiments.store.jobs import Config
from magnet.experiments.tuning.settings import tuned, tuned_under

#: The paper's datasets in its order.
INJECTION = ("cora", "citeseer", "pubmed", "coauthor-cs", "wiki-cs", "wisconsin", "texas", "ogbn-arxiv")
META = ("cora", "citeseer", "pubmed")
DATASET_TITLES = {
    "cora": "Cora",
    "citeseer": "CiteSeer",
    "pubmed": "PubMed",
    "coauthor-cs": "Coauthor-CS",
    "wiki-cs": "Wiki-CS",
    "wisconsin": "Wisconsin",
    "texas": "Texas",
    "ogbn-arxiv": "ogbn-arxiv",
    "amazon-computers": "Amazon-Computers",
    "wordnet": "WordNet",
    "digits": "Digits",
}
#: The datasets of the ``--quick`` version: built in, so that it runs anywhere.
QUICK = ("digits",)

#: Rows in the order in which they are shown: methods, a GCN on the clean data, and a GCN with tuned settings.
ORDER = (
    *("clean", "gcn", "gcn-tuned", "appnp", "gnnguard", "elasticgnn", "airgnn", "gadc", "ugd"),
    *("magnet-one", "magnet-gae", "magnet", "magnet-gcn", "magnet-appnp", "magnet-elasticgnn"),
    *("fp", "propagation-one", "mlp", "magnet-true", "fp-true"),
)
TITLES = {name: method.title for name, method in METHODS.items()}
TITLES |= {"clean": "clean (GCN)", "gcn": "GCN, untouched", "gcn-tuned": "GCN, tuned"}
CORRUPTIONS = {
    "inject-random": "injection of random rows",
    "inject-far": "injection of far rows",
    "meta": "meta attack",
    "none": "clean",
}
QUICK_METHODS = ("gcn", "propagation-one")
#: The paper trains its autoencoder for 1 000 epochs on Cora and 10 000 on ogbn-arxiv; here it is always 1 000.
GAE = {"epochs": 1000}
#: All methods run with settings found by search, except ours and the two GCNs that define the relative scores. (Our
#: repair in front of a rival's network runs with the rival's settings.)
UNTUNED = ("clean", "gcn", "magnet")
#: Methods with a network of their own.
RIVALS = (
    *("mlp", "appnp", "gnnguard", "elasticgnn", "airgnn", "gadc", "ugd"),
    *("magnet-appnp", "magnet-elasticgnn"),
)
#: The corruption under which settings are searched; other corruptions reuse them.
SEARCHED = "inject-random"
#: Fewer epochs for ``--quick``.
QUICK_SETTINGS = {"epochs": 30}
#: A smaller attack for ``--quick``.
QUICK_ATTACK = {"budget": 20, "flips_per_step": 10}


def available(name: str) -> bool:
    """Whether the files of a dataset are on this machine."""
    entry = DATASETS[name]
    return entry.source is None or entry.found() is not None


def stand_in(name: str) -> str:
    """The dataset itself if its files are available, else its replacement (or itself if there is none)."""
    if available(name):
        return name
    return next((other for other, entry in DATASETS.items() if entry.stands_for == name), name)


def chosen_datasets(options: Options, datasets: Sequence[str]) -> list[str]:
    """The selected datasets of an exhibit, missing ones replaced."""
    available_names = [stand_in(name) for name in datasets]
    if options.datasets is not None:
        return options.choose("datasets", list(dict.fromkeys([*available_names, *datasets, *META, *QUICK])))
    return list(QUICK) if options.quick else available_names


def column_title(name: str) -> str:
    stands_for = DATASETS[name].stands_for
    return DATASET_TITLES.get(name, name) + (f" (for {DATASET_TITLES[stands_for]})" if stands_for else "")


@dataclass(frozen=True)
class Setting:
    """A dataset under a corruption: a column of a table."""

    dataset: str
    corruption: str

    @property
    def title(self) -> str:
        return column_title(self.dataset)

    @property
    def papers(self) -> str:
        """The paper's name of the corruption. Its text injects far rows; its code injected random ones."""
        return "meta" if self.corruption == "meta" else "injection"

    def paper(self, exhibit: str, method: str, quantity: str = "accuracy", **more: Any) -> PaperValue | None:
        if self.corruption == "none":  # the paper's values on clean data are in the row of the clean GCN
            return None
        value = printed(exhibit, quantity, setting=self.papers, dataset=self.dataset, method=method, **more)
        return value if not DATASETS[self.dataset].stands_for else None


def config(options: Options, setting: Setting, method: str, seed: int, **more: Any) -> Config:
    """The run of a repetition. ``"clean"`` is a GCN on the clean data."""
    corruption = "none" if method == "clean" else setting.corruption
    searched = method not in UNTUNED and not options.defaults
    method = "gcn" if method in ("clean", "gcn-tuned") else method
    result: Config = {
        "kind": "classify",
        "dataset": setting.dataset,
        "corruption": corruption,
        "method": method,
        "seed": seed,
        **({"detector_options": GAE} if method == "magnet-gae" else {}),
        **(tuned(method, setting.dataset, corruption, options.settings) if searched else {}),
        **more,
    }
    if result["corruption"] == "meta":
        # an attack takes minutes; like the paper, all repetitions share one
        result["fixed_corruption"] = 0
        if options.quick:
            result["corruption_options"] = dict(QUICK_ATTACK)
    if options.quick:
        result |= QUICK_SETTINGS
    return result


def relative(score: Summary | None, corrupted: float | None, clean: float | None) -> float | None:
    """The paper's relative score: 0 for a GCN on the corrupted data, 1 for one on the clean data; None if the
    corruption did not lower the accuracy of the GCN.

    Example:
        >>> relative(Summary(75.0), 70.0, 80.0)
        0.5
        >>> relative(Summary(75.0), 70.0, 69.0) is None
        True
    """
    if score is None or corrupted is None or clean is None or clean <= corrupted:
        return None
    return (score.mean - corrupted) / (clean - corrupted)


def absolute(score: Summary | None, corrupted: float | None) -> float | None:
    """The paper's absolute score: the gain over a GCN on the corrupted data as a share of its accuracy."""
    return None if score is None or corrupted is None else (score.mean - corrupted) / corrupted


@dataclass(frozen=True)
class Classification:
    """The runs of node classification that the user selected, and their results."""

    results: Results
    options: Options

    def columns(self, corruptions: Sequence[str], datasets: Sequence[str] = INJECTION) -> dict[str, list[Setting]]:
        """Columns by corruption: every dataset under every corruption that was asked for."""
        chosen = self.options.choose("corruptions", corruptions)
        if self.options.quick and self.options.corruptions is None:
            chosen = chosen[:1]
        names = chosen_datasets(self.options, datasets)
        attacked = [name for name in names if name in (*META, *QUICK)]
        return {kind: [Setting(name, kind) for name in (attacked if kind == "meta" else names)] for kind in chosen}

    def methods(self, everything: Sequence[str]) -> list[str]:
        """The rows: relative scores need the GCN on the clean and on the corrupted data, whatever was asked for."""
        if self.options.quick and self.options.methods is None:
            return [name for name in everything if name in (*QUICK_METHODS, "clean")]
        chosen = self.options.choose("methods", everything)
        return [name for name in everything if name in chosen or name in ("clean", "gcn")]

    def configs(self, setting: Setting, method: str, **more: Any) -> list[Config]:
        return [config(self.options, setting, method, seed, **more) for seed in range(self.options.repeats)]

    def accuracy(self, setting: Setting, method: str, **more: Any) -> Summary | None:
        """Test accuracy in percent, None where nothing is finished."""
        return self.results.summary(self.configs(setting, method, **more), "test_accuracy", 100)

    def ends(self, setting: Setting) -> tuple[float | None, float | None]:
        """Mean accuracies of a GCN on the corrupted and on the clean data: the 0 and the 1 of the relative score."""
        corrupted, clean = (self.accuracy(setting, method) for method in ("gcn", "clean"))
        return (None if corrupted is None else corrupted.mean), (None if clean is None else clean.mean)

    def found_under(self, setting: Setting, method: str) -> str:
        """The corruption on which the settings of a method were found, "" if there are none."""
        owner = "gcn" if method == "gcn-tuned" else method
        return tuned_under(owner, setting.dataset, setting.corruption, self.options.settings)

    def comparable(self, setting: Setting, method: str) -> bool:
        """Whether the accuracy of a method can be compared: a rival must have been tuned for the dataset."""
        return method not in RIVALS or bool(self.found_under(setting, method))


def searches(options: Options) -> list[Config]:
    """The searches to run: one for every tuned method and dataset."""
    if options.corruptions is not None and SEARCHED not in options.corruptions:
        return []
    runs = Classification(Results(), replace(options, defaults=True, corruptions=(SEARCHED,)))
    rows = [row for row in runs.methods(ORDER) if row not in UNTUNED]
    searched = [row for row in rows if row == "gcn-tuned" or not get(row).settings_of]
    columns = runs.columns((SEARCHED,))[SEARCHED]
    return [config(runs.options, setting, method, 0) for setting in columns for method in searched]
