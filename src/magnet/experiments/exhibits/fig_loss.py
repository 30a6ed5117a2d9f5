"""MAE against MSE autoencoder, by the accuracy that follows."""

from __future__ import annotations

from pathlib import Path

from magnet.experiments.exhibits import draw
from magnet.experiments.exhibits.base import Cell, Document, Exhibit, Figure, Options, Results, Table, jobs_of
from magnet.experiments.exhibits.classification import GAE, Setting, configs, settings
from magnet.experiments.store.jobs import Config, Job

TITLE = "MAE against MSE autoencoder (the paper's figure 4)"
LOSSES = {"mae": "MAE", "mse": "MSE"}
DATASETS = ("cora", "citeseer", "pubmed", "coauthor-cs", "wiki-cs", "wisconsin", "texas")


def _configs(options: Options, setting: Setting, loss: str) -> list[Config]:
    if loss == "mse" and not options.quick:
        return configs(options, setting, "magnet-gae")  # the paper's default: the runs of table 1
    epochs = {"epochs": 30} if options.quick else GAE
    return configs(options, setting, "magnet-gae", detector_options={"loss": loss, **epochs})


def _settings(options: Options) -> list[Setting]:
    return settings(options, ("inject-random",), injection=DATASETS)


def plan(options: Options) -> list[Job]:
    every = [c for setting in _settings(options) for loss in LOSSES for c in _configs(options, setting, loss)]
    return jobs_of(every, together=("seed",))


def render(results: Results, options: Options) -> Document:
    cells = []
    for loss, title in LOSSES.items():
        for setting in _settings(options):
            ours = results.summary(_configs(options, setting, loss), "test_accuracy", 100)
            facts = {"dataset": setting.dataset, "loss": loss}
            cells.append(Cell(title, setting.title, ours, None, options.repeats, facts=facts))
    words = "MAGnet-gae under injection of random rows. The paper shows this as bars without numbers."
    parts: list[Table | Figure | str] = [Table("Accuracy in percent", cells, corner="loss", words=words)]
    if any(cell.ours for cell in cells):
        caption = "Accuracy of MAGnet-gae with either loss of the autoencoder; bars are 95 % intervals."
        parts.append(Figure("fig-loss", caption, lambda path: _draw(path, cells)))
    return Document("fig-loss", TITLE, parts)


def _draw(path: Path, cells: list[Cell]) -> None:
    columns = list(dict.fromkeys(cell.column for cell in cells))
    with draw.figure(path, size=(1.2 + 0.75 * len(columns), 2.4)) as axes:
        axis = axes[0, 0]
        for k, title in enumerate(LOSSES.values()):
            found = [(j, c.ours) for c in cells if c.row == title for j in [columns.index(c.column)] if c.ours]
            places = [j + (k - 0.5) * 0.36 for j, _ in found]
            means = [ours.mean for _, ours in found]
            half = [max(0.0, ours.high - ours.mean) if ours.high == ours.high else 0.0 for _, ours in found]
            axis.bar(places, means, 0.34, yerr=half, label=title, color=draw.COLOURS[k], error_kw={"linewidth": 0.8})
        axis.set_xticks(range(len(columns)), [c.replace(" (", "\n(") for c in columns], fontsize=6)
        axis.set_ylabel("test accuracy, %")
        axis.set_ylim(
            bottom=max(0, min(c.ours.low if c.ours.low == c.ours.low else c.ours.mean for c in cells if c.ours) - 8)
        )
        axis.legend(ncols=2)


EXHIBIT = Exhibit("fig-loss", TITLE, plan, render)
