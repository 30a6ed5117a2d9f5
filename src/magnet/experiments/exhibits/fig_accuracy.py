"""Accuracy against the level of corruption (box plots), and with either loss of the autoencoder (bars)."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from magnet.experiments.exhibits import draw
from magnet.experiments.exhibits.base import Cell, Exhibit, Figure, Options, Part, Results, Table, summarize
from magnet.experiments.exhibits.classification import GAE, QUICK_SETTINGS, TITLES, Classification, column_title
from magnet.experiments.exhibits.fig_detection import LOSSES

# The first figure.
LEVELS, QUICK_LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9), (0.1, 0.5)  # ratios of injected rows
PAPERS_LEVEL = 0.5  # the ratio of the other tables
LEVEL_METHODS = ("gcn", "magnet-gae", "magnet-gcn")
LEVEL_DATASETS = ("cora", "citeseer")
MAX_POINTS = 3  # up to this many repetitions are drawn as points, more as a box
BOX_STEP, BOX_WIDTH = 0.26, 0.2  # how far apart boxes stand and how wide they are; two levels are 1 apart
# The second figure.
LOSS_DATASETS = ("cora", "citeseer", "pubmed", "coauthor-cs", "wiki-cs", "wisconsin", "texas")
BAR_STEP, BAR_WIDTH = 0.36, 0.34  # of bars; two datasets are 1 apart
ROOM_BELOW = 8  # points of accuracy below the shortest bar


def render_level(results: Results, options: Options) -> list[Part]:
    cells, values = [], {}
    selected = Classification(results, options)
    for setting in selected.columns(("inject-random",), LEVEL_DATASETS)["inject-random"]:
        for method in selected.methods(LEVEL_METHODS):
            for level in QUICK_LEVELS if options.quick else LEVELS:
                # at the paper's own level these are the runs of table 1
                more = {} if level == PAPERS_LEVEL else {"corruption_options": {"ratio": level}}
                runs = selected.configs(setting, method, **more)
                accuracies = [100 * value for value in results.values(runs, "test_accuracy")]
                row = f"{setting.title}, {TITLES[method]}"
                facts = {"dataset": setting.dataset, "method": method, "ratio": level}
                cells.append(Cell(row, f"ratio {level:g}", summarize(accuracies), planned=len(runs), facts=facts))
                values[setting.dataset, method, level] = accuracies
    words = "Ratio: nodes drawn, with replacement, over nodes; 0.5 touches 39 % of them."
    parts: list[Part] = [Table("Accuracy in percent", cells, words=words)]
    if len({cell.column for cell in cells if cell.ours}) > 1:  # a single level is not a curve
        caption = (
            "Accuracy against the ratio of injected random rows; boxes over repetitions, points for few repetitions."
        )
        parts.append(Figure("fig-level", caption, partial(_draw_level, values=values)))
    return parts


def _draw_level(path: Path, values: dict[tuple[str, str, float], list[float]]) -> None:
    datasets, methods, levels = (list(dict.fromkeys(names)) for names in zip(*values, strict=True))
    with draw.figure(path, 1, len(datasets)) as axes:
        for axis, dataset in zip(axes[0], datasets, strict=True):
            for k, (method, color) in enumerate(zip(methods, draw.COLORS, strict=False)):
                boxes, places = [], []
                for position, level in enumerate(levels):
                    accuracies = values[dataset, method, level]
                    where = position + (k - (len(methods) - 1) / 2) * BOX_STEP
                    if len(accuracies) > MAX_POINTS:
                        boxes.append(accuracies)
                        places.append(where)
                    else:
                        axis.plot([where] * len(accuracies), accuracies, "o", ms=4, color=color)
                if not boxes:
                    continue
                drawn = axis.boxplot(
                    boxes,
                    positions=places,
                    widths=BOX_WIDTH,
                    patch_artist=True,
                    medianprops={"color": "black"},
                    flierprops={"markersize": 2},
                )
                for box in drawn["boxes"]:
                    box.set(facecolor=color, alpha=0.7, linewidth=0.6)
                axis.plot([], [], color=color, linewidth=5, alpha=0.7, label=TITLES[method])
            axis.set_xticks(range(len(levels)), [f"{level:g}" for level in levels])
            axis.set_title(column_title(dataset))
            axis.set_xlabel("ratio of injected rows")
            axis.set_ylabel("test accuracy, %")
        axes[0, 0].legend()


def render_loss(results: Results, options: Options) -> list[Part]:
    cells = []
    selected = Classification(results, options)
    for loss, title in LOSSES.items():
        for setting in selected.columns(("inject-random",), LOSS_DATASETS)["inject-random"]:
            more = {"detector_options": {"loss": loss, **(QUICK_SETTINGS if options.quick else GAE)}}
            if loss == "mse" and not options.quick:
                more = {}  # the paper's default: the runs of table 1
            ours = selected.accuracy(setting, "magnet-gae", **more)
            facts = {"dataset": setting.dataset, "loss": loss}
            cells.append(Cell(title, setting.title, ours, planned=options.repeats, facts=facts))
    words = "MAGnet-gae under injection of random rows. The paper shows this as bars without numbers."
    table = Table("Accuracy in percent", cells, corner="loss", words=words)
    parts: list[Part] = [table]
    if any(cell.ours for cell in cells):
        caption = "Accuracy of MAGnet-gae with either loss of the autoencoder; bars are 95 % intervals."
        parts.append(Figure("fig-loss", caption, partial(_draw_loss, table=table)))
    return parts


def _draw_loss(path: Path, table: Table) -> None:
    columns = table.columns
    with draw.figure(path, size=(1.2 + 0.75 * len(columns), 2.4)) as axes:
        axis = axes[0, 0]
        for k, title in enumerate(LOSSES.values()):
            summaries = [(j, c.ours) for j, c in enumerate(table.at(title, columns)) if c and c.ours]
            places = [j + (k - 0.5) * BAR_STEP for j, _ in summaries]
            means = [ours.mean for _, ours in summaries]
            half = [max(0.0, ours.high - ours.mean) if ours.high == ours.high else 0.0 for _, ours in summaries]
            axis.bar(
                places, means, BAR_WIDTH, yerr=half, label=title, color=draw.COLORS[k], error_kw={"linewidth": 0.8}
            )
        axis.set_xticks(range(len(columns)), [c.replace(" (", "\n(") for c in columns], fontsize=6)
        axis.set_ylabel("test accuracy, %")
        lows = [c.ours.low if c.ours.low == c.ours.low else c.ours.mean for c in table.cells if c.ours]
        axis.set_ylim(bottom=max(0, min(lows) - ROOM_BELOW))
        axis.legend(ncols=2)


LEVEL = Exhibit("fig-level", "Accuracy against the level of injection (the paper's figure 3)", render_level)
LOSS = Exhibit("fig-loss", "MAE against MSE autoencoder (the paper's figure 4)", render_loss)
