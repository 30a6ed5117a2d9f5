"""results/detection.md from the measured lines: a short table first, then every case, then the reliability."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from _pages import header, made_by

matplotlib.use("Agg")
from matplotlib import pyplot as plt

AREAS = ["node_auroc", "node_auprc", "cell_auroc", "cell_auprc"]
NUMBERS = [*AREAS, "node_precision", "node_recall", "node_flagged", "cell_precision", "cell_recall", "cell_flagged"]
NUMBERS += ["share", "true_share", "seconds"]
ALLOWED_LOSS = 0.02  # by which auto may be worse than the better of context and cell
ALLOWED_ERROR, MIN_BIN = 0.1, 100  # of a probability, in bins of at least so many members


def as_markdown(frame: pd.DataFrame, oracle: pd.DataFrame | None) -> str:
    groups = frame.groupby(["dataset", "corruption", "detector"], sort=False)
    mean = groups[NUMBERS].mean().assign(seeds=groups.size()).reset_index()
    curve = reliability_curves(frame)
    lines = ["# Detection", "", *_summary(mean), "", *_losses(mean), "", *_off(curve), ""]
    lines += [
        "Means over corruption seeds (their number is in the last column), each with its own detector seed. No",
        f"detector sees labels or clean data. Measured on {' and '.join(sorted(frame['machine'].unique()))} at commit",
        f"{', '.join(map(str, frame['code'].unique()))}; seconds are those of `fit` on a busy machine.",
        "`gae` is the paper's; with `--gae-epochs` it was trained for fewer epochs than the paper's 10 000 on",
        "large graphs. Areas of cells count every cell of the table. Precision, recall and flagged shares are at the",
        "default threshold (probability 1/2). Share: estimated share of wrong nodes / the true one.",
        "",
        *_former(frame),
        *_ceiling(mean, oracle),
    ]
    for name, group in mean.groupby("dataset", sort=False):
        lines += [f"## {name}", ""]
        for case, part in group.groupby("corruption", sort=False):
            lines += _case(str(case), part, frame[(frame["dataset"] == name) & (frame["corruption"] == case)])
    lines += [
        "## Calibration",
        "",
        "![Probability against truth](reliability.svg)",
        "",
        "Cells or rows with a probability in this range, over all cases above: number, mean",
        "probability, and the share that was truly wrong.",
        "",
        *header("detector", "level", "range", "count", "mean probability", "wrong in truth"),
    ]
    for r in curve.to_dict("records"):
        lines.append(
            f"| {r['detector']} | {r['level']} | {r['low']:.1f}-{r['low'] + 0.1:.1f} | {int(r['count'])} | "
            f"{r['probability']:.3f} | {r['truth']:.3f} |"
        )
    return "\n".join([*lines, *made_by(frame["command"].unique())])


def _former(frame: pd.DataFrame) -> list[str]:
    """Which lines were measured with a former version of the detectors."""
    former = frame[frame["version"] < frame["version"].max()]
    ours = former[former["detector"].isin(["auto", "context", "cell"])]
    if former.empty:
        return []
    named = "; ".join(f"{name} ({', '.join(part.unique())})" for name, part in ours.groupby("dataset")["corruption"])
    ours_differ = f" (`auto`, `context` and `cell`: {named} with an earlier one)" if named else ""
    return [
        f"Detector version {frame['version'].max()}{ours_differ}; the simple detectors were measured with",
        "earlier versions, which have the same areas. In versions before 8 `gae` flags rows by the paper's",
        "threshold; since then it needs a row whose error stands out.",
        "",
    ]


def _summary(mean: pd.DataFrame) -> list[str]:
    """One line for each dataset, of ``auto``."""
    auto = mean[mean["detector"] == "auto"].set_index(["dataset", "corruption"])
    columns = {
        "random 0.5": ("random 0.5", "node_auroc"),
        "far 0.5": ("far 0.5", "node_auroc"),
        "flips": ("flips 30 % x 2 %", "cell_auprc"),
        "outliers": ("outliers 30 % x 5 %", "cell_auprc"),
        "attack": ("meta attack", "cell_auprc"),
        "capped attack": ("capped meta attack", "cell_auprc"),
    }
    lines = [
        "`auto`, rows: node AUROC; cells: average precision over all cells; clean data: share of the rows flagged.",
        "",
        *header(
            *("dataset", "rows: random 0.5", "far 0.5"),
            *("cells: flips", "outliers", "attack", "capped attack", "clean: flagged"),
        ),
    ]
    for name in dict.fromkeys(mean["dataset"]):
        values = [auto[key].get((name, case), np.nan) for case, key in columns.values()]
        clean = auto["node_flagged"].get((name, "clean"), np.nan)
        flagged = "-" if np.isnan(clean) else f"{clean:.2%}"
        lines.append(f"| {name} | {' | '.join(map(number, values))} | {flagged} |")
    return lines


def _losses(mean: pd.DataFrame) -> list[str]:
    """Where ``auto`` is worse than the better of ``context`` and ``cell``."""
    table = mean.pivot_table(index=["dataset", "corruption"], columns="detector", values=AREAS, sort=False)
    lost = []
    for key in ("node_auroc", "node_auprc", "cell_auprc"):
        if any((key, detector) not in table.columns for detector in ("auto", "context", "cell")):
            return []  # nothing to compare, or clean data only
        loss = table[key][["context", "cell"]].max(axis=1) - table[key]["auto"]
        lost += [(key, *place, value) for place, value in loss[loss > ALLOWED_LOSS].items()]
    if not lost:
        return [f"`auto` is nowhere more than {ALLOWED_LOSS} below the better of `context` and `cell`."]
    named = "; ".join(f"{name}, {case}: {key.replace('_', ' ')} by {value:.3f}" for key, name, case, value in lost)
    return [
        f"`auto` is more than {ALLOWED_LOSS} below the better of `context` and `cell` in {len(lost)} places: {named}."
    ]


def _off(curve: pd.DataFrame) -> list[str]:
    auto = curve[(curve["detector"] == "auto") & (curve["count"] >= MIN_BIN)]
    off = auto[(auto["probability"] - auto["truth"]).abs() > ALLOWED_ERROR]
    if off.empty:
        return [f"Probabilities of `auto` are calibrated within {ALLOWED_ERROR} in every bin of at least {MIN_BIN}."]
    named = "; ".join(
        f"{r['level']} {r['low']:.1f}-{r['low'] + 0.1:.1f}: {r['probability']:.2f} said, {r['truth']:.2f} wrong"
        for r in off.to_dict("records")
    )
    return [f"Probabilities of `auto` are off by more than {ALLOWED_ERROR} in {len(off)} of {len(auto)} bins: {named}."]


def _ceiling(mean: pd.DataFrame, oracle: pd.DataFrame | None) -> list[str]:
    if oracle is None:
        return []
    best = oracle.groupby(["dataset", "oracle"], sort=False)["value"].mean().unstack()
    auto = mean[mean["detector"] == "auto"].set_index(["dataset", "corruption"])
    lines = [
        "## Upper bounds by oracles",
        "",
        "Rows replaced at random (0.5), node AUROC. The oracle compares each row with the *clean* rows of its",
        "neighbors and with the words of its node's class, and was trained on the clean graph; with copies, it also",
        "uses the true share of replaced rows among those that occur once, twice and more often.",
        "",
        *header("dataset", "auto", "oracle", "oracle with copies"),
    ]
    for name, row in best[["context and class", "with copies"]].dropna().iterrows():
        own = auto["node_auroc"].get((name, "random 0.5"), np.nan)
        lines.append(f"| {name} | {' | '.join(map(number, (own, *row)))} |")
    lines += [
        "",
        "Cells flipped (30 % x 2 %), average precision. The oracle's context model was fitted on the clean graph;",
        "unlike `auto` it does not combine the cells of a row. Where the odds against a flipped cell are close",
        "to one, as on Amazon-Computers, whose rows contain a third of all words, this model cannot find flips.",
        "",
        *header(
            *("dataset", "auto", "oracle, all cells", "oracle, cells of touched rows"),
            "median odds against a flipped cell",
        ),
    ]
    for name, row in best[["all cells", "cells of touched rows", "median odds"]].dropna().iterrows():
        own = auto["cell_auprc"].get((name, "flips 30 % x 2 %"), np.nan)
        lines.append(f"| {name} | {' | '.join(map(number, (own, *row)))} |")
    return [*lines, ""]


def _case(case: str, part: pd.DataFrame, measured: pd.DataFrame) -> list[str]:
    lines = [
        f"**{case}**",
        "",
        *header(
            *("detector", "node AUROC", "node AUPRC", "cell AUROC", "cell AUPRC", "rows: precision / recall"),
            *("cells: precision / recall", "flagged rows", "flagged cells", "share", "s", "seeds"),
        ),
    ]
    for r in part.to_dict("records"):
        areas = " | ".join(number(r[k]) for k in AREAS)
        rows = f"{number(r['node_precision'])} / {number(r['node_recall'])}"
        cells = f"{number(r['cell_precision'])} / {number(r['cell_recall'])}"
        flagged = f"{r['node_flagged']:.2%} | {r['cell_flagged']:.3%}"
        share = f"{r['share']:.3f} / {r['true_share']:.3f}"
        lines.append(
            f"| {r['detector']} | {areas} | {rows} | {cells} | {flagged} | {share} | {r['seconds']:.1f} "
            f"| {r['seeds']} |"
        )
    reasons = measured[measured["detector"] == "auto"]["gate"].fillna("")
    closed = [reason for reason in reasons if reason]
    if closed:
        lines += ["", f"Gate closed in {len(closed)} of {len(reasons)}: {closed[0]}"]
    return [*lines, ""]


def reliability_curves(frame: pd.DataFrame) -> pd.DataFrame:
    """For each detector, level and bin of the probability: count, mean probability, share that was wrong in truth."""
    total: dict[tuple[str, str, int], np.ndarray] = {}
    for detector, text in zip(frame["detector"], frame["reliability"], strict=True):
        for level, bins in json.loads(text or "{}").items():
            for place, values in enumerate(bins):
                key = (detector, level, place)
                total[key] = total.get(key, np.zeros(3)) + np.asarray(values)
    records = [
        {"detector": d, "level": v, "low": p / 10, "count": t[0], "probability": t[1] / t[0], "truth": t[2] / t[0]}
        for (d, v, p), t in sorted(total.items())
        if t[0]
    ]
    return pd.DataFrame(records, columns=["detector", "level", "low", "count", "probability", "truth"])


def draw_reliability(curve: pd.DataFrame, output: Path) -> None:
    """Probability against truth for rows and cells; small points for bins of fewer than 100 members."""
    fig, axes = plt.subplots(1, 2, figsize=(8, 4), sharey=True)
    for ax, level in zip(axes, ("rows", "cells"), strict=True):
        ax.fill_between([0, 1], [-0.1, 0.9], [0.1, 1.1], color="0.93", lw=0)
        ax.plot([0, 1], [0, 1], color="0.6", lw=1)
        for detector, part in curve[curve["level"] == level].groupby("detector"):
            ax.plot(part["probability"], part["truth"], lw=1, label=detector)
            size = np.where(part["count"] >= MIN_BIN, 30, 6)
            ax.scatter(part["probability"], part["truth"], s=size)
        ax.set(title=level, xlabel="probability given", xlim=(0, 1), ylim=(0, 1))
    axes[0].set_ylabel("share that was wrong")
    axes[0].legend(frameon=False)
    fig.tight_layout()
    for kind in ("svg", "png"):
        fig.savefig(output / f"reliability.{kind}", metadata={"Date": None} if kind == "svg" else None, dpi=150)
    plt.close(fig)


def number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3f}"
