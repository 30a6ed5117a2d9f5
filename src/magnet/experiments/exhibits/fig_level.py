"""Accuracy against the level of corruption, as box plots."""

from __future__ import annotations

from pathlib import Path

from magnet.experiments.exhibits import draw
from magnet.experiments.exhibits.base import Cell, Document, Exhibit, Figure, Options, Results, Table, jobs_of
from magnet.experiments.exhibits.classification import TITLES, Setting, chosen_methods, configs, settings
from magnet.experiments.store.jobs import Config, Job

TITLE = "Accuracy against the level of injection (the paper's figure 3)"
LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
METHODS = ("gcn", "magnet-gae", "magnet-gcn")
DATASETS = ("cora", "citeseer")
#: So many repetitions are points, more a box.
FEW = 3


def _levels(options: Options) -> tuple[float, ...]:
    return (0.1, 0.5) if options.quick else LEVELS


def _methods(options: Options) -> list[str]:
    return [method for method in chosen_methods(options, METHODS) if method != "clean"]


def _configs(options: Options, setting: Setting, method: str, level: float) -> list[Config]:
    # at the paper's own level these are the runs of table 1
    more = {} if level == 0.5 else {"corruption_options": {"ratio": level}}
    return configs(options, setting, method, **more)


def _settings(options: Options) -> list[Setting]:
    return settings(options, ("inject-random",), injection=DATASETS)


def plan(options: Options) -> list[Job]:
    every = [
        config
        for setting in _settings(options)
        for level in _levels(options)
        for method in _methods(options)
        for config in _configs(options, setting, method, level)
    ]
    return jobs_of(every, together=("seed",))


def render(results: Results, options: Options) -> Document:
    cells = []
    for setting in _settings(options):
        for method in _methods(options):
            for level in _levels(options):
                ours = results.summary(_configs(options, setting, method, level), "test_accuracy", 100)
                facts = {"dataset": setting.dataset, "method": method, "ratio": level}
                row = f"{setting.title}, {TITLES[method]}"
                cells.append(Cell(row, f"ratio {level:g}", ours, None, options.repeats, facts=facts))
    words = "Ratio: nodes drawn, with replacement, over nodes; 0.5 touches 39 % of them."
    parts: list[Table | Figure | str] = [Table("Accuracy in percent", cells, corner="", words=words)]
    if len({cell.column for cell in cells if cell.ours}) > 1:  # one level alone is no curve
        caption = (
            "Accuracy against the ratio of injected random rows; boxes over repetitions, points where there are few."
        )
        parts.append(Figure("fig-level", caption, lambda path: _draw(path, results, options)))
    return Document("fig-level", TITLE, parts)


def _draw(path: Path, results: Results, options: Options) -> None:
    columns, methods, levels = _settings(options), _methods(options), _levels(options)
    with draw.figure(path, 1, len(columns)) as axes:
        for axis, setting in zip(axes[0], columns, strict=True):
            for k, method in enumerate(methods):
                boxes, places, colour = [], [], draw.COLOURS[k]
                for place, level in enumerate(levels):
                    values = results.values(_configs(options, setting, method, level), "test_accuracy")
                    where = place + (k - (len(methods) - 1) / 2) * 0.26
                    if len(values) > FEW:
                        boxes.append([100 * value for value in values])
                        places.append(where)
                    else:
                        axis.plot([where] * len(values), [100 * value for value in values], "o", ms=4, color=colour)
                if not boxes:
                    continue
                drawn = axis.boxplot(
                    boxes,
                    positions=places,
                    widths=0.2,
                    patch_artist=True,
                    medianprops={"color": "black"},
                    flierprops={"markersize": 2},
                )
                for box in drawn["boxes"]:
                    box.set(facecolor=colour, alpha=0.7, linewidth=0.6)
                axis.plot([], [], color=colour, linewidth=5, alpha=0.7, label=TITLES[method])
            axis.set_xticks(range(len(levels)), [f"{level:g}" for level in levels])
            axis.set_title(setting.title)
            axis.set_xlabel("ratio of injected rows")
            axis.set_ylabel("test accuracy, %")
        axes[0, 0].legend()


EXHIBIT = Exhibit("fig-level", TITLE, plan, render)
