"""The inpainting figure: noisy patches of a picture, repaired by us and by the rivals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from magnet.datasets import info
from magnet.experiments.exhibits import draw
from magnet.experiments.exhibits.base import (
    Cell,
    Document,
    Exhibit,
    Figure,
    Options,
    Results,
    Table,
    jobs_of,
    summarize,
)
from magnet.experiments.exhibits.paper import printed
from magnet.experiments.protocol.image import METHODS, PATCH, noisy_picture
from magnet.experiments.store.jobs import Config, Job

TITLE = "Local corruption of a picture (the paper's figure 6)"
SHOWN = 12
#: On these the settings of the pixel graph were chosen.
CHOSEN_ON = range(1, 9)
PATCHES = {"true": "patches given", "detected": "patches detected"}


def _numbers(options: Options) -> list[int]:
    if options.datasets is not None:
        return [int(name.removeprefix("bsd68/")) for name in options.datasets]
    if options.quick:
        return [1] if info("bsd68/1").found() is not None else []
    return list(range(1, 69))


def _config(method: str, number: int, patches: str, seed: int) -> Config:
    names = {"kind": "image", "dataset": f"bsd68/{number}", "corruption": "patches", "method": method, "seed": seed}
    return {**names, "patches": patches}


def _uses_patches(method: str) -> bool:
    return method not in ("noisy", "bm3d")


def _methods(options: Options) -> list[str]:
    chosen = options.choose("methods", list(METHODS))
    # BM3D takes ten seconds a picture
    return [m for m in chosen if not m.startswith("bm3d")] if options.quick and options.methods is None else chosen


def plan(options: Options) -> list[Job]:
    configs = [
        _config(method, number, patches, 0)
        for number in _numbers(options)
        for method in _methods(options)
        for patches in (PATCHES if _uses_patches(method) else ("true",))
    ]
    return jobs_of(configs, together=("method", "patches"))


def render(results: Results, options: Options) -> Document:
    numbers, methods = _numbers(options), _methods(options)
    parts: list[Table | Figure | str] = []
    sets = {f"all {len(numbers)} pictures": numbers}
    fresh = [number for number in numbers if number not in CHOSEN_ON]
    if fresh and len(fresh) < len(numbers):
        sets[f"the {len(fresh)} pictures on which nothing was chosen"] = fresh
    for words, chosen in sets.items():
        cells = [
            _cell(results, method, chosen, patches, quantity)
            for method in methods
            for patches in PATCHES
            for quantity in ("local_psnr", "global_psnr")
            if _uses_patches(method) or patches == "true"
        ]
        parts.append(Table(f"PSNR in dB, mean over {words}", cells, corner="repair"))
    wins = _wins(results, numbers, methods)
    if wins:
        parts.append(wins)
    found = [results.get(_config("magnet-pixel", number, "detected", 0)) for number in numbers]
    seen = [result for result in found if result is not None]
    if seen:
        hits, false = sum(r["found_patches"] for r in seen), sum(r["false_patches"] for r in seen)
        parts.append(
            f"Detected: {hits} of {9 * len(seen)} noisy patches, and {false} sound ones, on {len(seen)} pictures."
        )
    if any(results.get(_config(method, SHOWN, "true", 0)) for method in methods):
        caption = f"Picture {SHOWN} of BSD68 with white noise (sigma = 50) on nine patches, and one of the patches."
        parts.append(Figure("fig-image", caption, lambda path: _draw(path, methods)))
    return Document("fig-image", TITLE, parts)


def _cell(results: Results, method: str, numbers: list[int], patches: str, quantity: str) -> Cell:
    configs = [_config(method, number, patches, 0) for number in numbers]
    words = "local" if quantity == "local_psnr" else "global"
    column = f"{words}, {PATCHES[patches]}"
    paper = printed("fig-image", quantity, method=method) if patches == "true" else None
    summary = results.summary(configs, quantity)
    return Cell(METHODS[method][0], column, summary, paper, len(configs), facts={"patches": patches, "method": method})


def _wins(results: Results, numbers: list[int], methods: list[str]) -> str:
    """On how many pictures ours is above each rival."""
    lines = []
    for rival in methods:
        if rival == "magnet-pixel" or "magnet-pixel" not in methods:
            continue
        pairs = [
            (results.get(_config("magnet-pixel", number, "true", 0)), results.get(_config(rival, number, "true", 0)))
            for number in numbers
        ]
        both = [(ours, theirs) for ours, theirs in pairs if ours and theirs]
        if both:
            local, whole = (sum(a[q] > b[q] for a, b in both) for q in ("local_psnr", "global_psnr"))
            gain = summarize(ours["local_psnr"] - theirs["local_psnr"] for ours, theirs in both)
            interval = "" if gain is None or gain.runs < 2 else f" [{gain.low:+.2f}, {gain.high:+.2f}]"
            mean = 0.0 if gain is None else gain.mean
            lines.append(
                f"- {METHODS[rival][0]}: locally {mean:+.2f}{interval} dB, above it on {local} (locally) and {whole} "
                f"(globally) of {len(both)} pictures"
            )
    return "\n".join(["The pixel graph against the others, pairwise, patches given:", "", *lines]) if lines else ""


def _draw(path: Path, methods: list[str]) -> None:
    truth, noisy, wrong = noisy_picture(SHOWN, SHOWN)
    pictures = {METHODS[method][0]: METHODS[method][1](noisy, wrong) for method in methods}
    pictures = {"true": truth, **pictures}
    corners = np.argwhere(wrong[::PATCH, ::PATCH]) * PATCH
    # the patch with most to lose
    corner = max(corners, key=lambda c: truth[c[0] : c[0] + PATCH, c[1] : c[1] + PATCH].std())
    top, left = (int(max(0, min(c - 2 * PATCH, s - 5 * PATCH))) for c, s in zip(corner, truth.shape, strict=True))
    tall = truth.shape[0] / truth.shape[1]
    with draw.figure(path, 2, len(pictures), (1.5, 0.75 * (1 + tall) + 0.25)) as axes:
        for column, (title, picture) in enumerate(pictures.items()):
            _show(axes[0, column], picture, title.replace(", ", "\n"))
            _show(axes[1, column], picture[top : top + 5 * PATCH, left : left + 5 * PATCH], "")
            axes[0, column].add_patch(draw.box(left, top, 5 * PATCH, 5 * PATCH))


def _show(axis: Any, picture: Any, title: str) -> None:
    axis.imshow(picture, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    axis.set_title(title, fontsize=6)
    axis.set_axis_off()


EXHIBITS = (Exhibit("fig-image", TITLE, plan, render),)
