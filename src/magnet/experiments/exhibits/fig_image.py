"""The inpainting figure: noisy patches of an image, repaired by MAGnet and its rivals."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from magnet.datasets import info
from magnet.experiments.exhibits import draw
from magnet.experiments.exhibits.base import Cell, Exhibit, Figure, Options, Part, Results, Table, summarize
from magnet.experiments.exhibits.paper import printed
from magnet.experiments.protocol.image import IMAGES, METHODS, NOISY, PATCH, noisy_picture
from magnet.experiments.store.jobs import Config

#: The image that is drawn.
SHOWN = 12
#: The images on which the settings of the pixel graph were chosen.
CHOSEN_ON = range(1, 9)
#: Side of the magnified part, in pixels.
MAGNIFIED = 5 * PATCH
OURS = "magnet-pixel"
PATCHES = {"true": "patches given", "detected": "patches detected"}


def _numbers(options: Options) -> list[int]:
    if options.datasets is not None:
        return [int(name.removeprefix("bsd68/")) for name in options.datasets]
    if options.quick:
        return [1] if info("bsd68/1").found() is not None else []
    return list(range(1, IMAGES + 1))


def _config(method: str, number: int, patches: str = "true") -> Config:
    names = {"kind": "image", "dataset": f"bsd68/{number}", "corruption": "patches", "method": method, "seed": 0}
    return {**names, "patches": patches}


def _methods(options: Options) -> list[str]:
    chosen = options.choose("methods", list(METHODS))
    # BM3D takes ten seconds per image
    return [m for m in chosen if not m.startswith("bm3d")] if options.quick and options.methods is None else chosen


def render(results: Results, options: Options) -> list[Part]:
    numbers, methods = _numbers(options), _methods(options)
    parts: list[Part] = []
    sets = {f"all {len(numbers)} images": numbers}
    fresh = [number for number in numbers if number not in CHOSEN_ON]
    if fresh and len(fresh) < len(numbers):
        sets[f"the {len(fresh)} images on which no choice was made"] = fresh
    for words, chosen in sets.items():
        cells = [
            _cell(results, method, chosen, patches, quantity)
            for method in methods
            for patches in PATCHES
            for quantity in ("local_psnr", "global_psnr")
            if patches == "true" or method not in ("noisy", "bm3d")  # which do not look at the patches
        ]
        parts.append(Table(f"PSNR in dB, mean over {words}", cells, corner="repair"))
    if OURS in methods:
        parts += [part for part in (_wins(results, numbers, methods), _patches_found(results, numbers)) if part]
    if any(results.get(_config(method, SHOWN)) for method in methods if SHOWN in numbers):
        caption = f"Image {SHOWN} of BSD68 with white noise (sigma = 50) on nine patches, and one of the patches."
        parts.append(Figure("fig-image", caption, partial(_draw, methods=methods)))
    return parts


def _cell(results: Results, method: str, numbers: list[int], patches: str, quantity: str) -> Cell:
    configs = [_config(method, number, patches) for number in numbers]
    column = f"{quantity.removesuffix('_psnr')}, {PATCHES[patches]}"
    paper = printed("fig-image", quantity, method=method) if patches == "true" else None
    summary = results.summary(configs, quantity)
    return Cell(
        METHODS[method].title, column, summary, paper, len(configs), facts={"patches": patches, "method": method}
    )


def _wins(results: Results, numbers: list[int], methods: list[str]) -> str:
    """On how many images ours is above each rival."""
    lines = []
    for rival in methods:
        pairs = [[results.get(_config(method, number)) for method in (OURS, rival)] for number in numbers]
        both = [(ours, theirs) for ours, theirs in pairs if ours and theirs and rival != OURS]
        gain = summarize(ours["local_psnr"] - theirs["local_psnr"] for ours, theirs in both)
        if gain is not None:
            local, whole = (sum(a[q] > b[q] for a, b in both) for q in ("local_psnr", "global_psnr"))
            interval = "" if gain.runs < 2 else f" [{gain.low:+.2f}, {gain.high:+.2f}]"
            lines.append(
                f"- {METHODS[rival].title}: locally {gain.mean:+.2f}{interval} dB, above it on {local} (locally) and "
                f"{whole} (globally) of {len(both)} images"
            )
    return "\n".join(["The pixel graph against the others, pairwise, patches given:", "", *lines]) if lines else ""


def _patches_found(results: Results, numbers: list[int]) -> str:
    """How well the noisy patches are detected."""
    runs = [run for number in numbers if (run := results.get(_config(OURS, number, "detected"))) is not None]
    hits, false = (sum(result[what] for result in runs) for what in ("found_patches", "false_patches"))
    where = f"{NOISY * len(runs)} noisy patches, and {false} clean ones, on {len(runs)} images"
    return f"Detected: {hits} of {where}." if runs else ""


def _draw(path: Path, methods: list[str]) -> None:
    truth, noisy, wrong = noisy_picture(SHOWN, SHOWN)
    pictures = {METHODS[method].title: METHODS[method].repair(noisy, wrong) for method in methods}
    pictures = {"true": truth, **pictures}
    corners = np.argwhere(wrong[::PATCH, ::PATCH]) * PATCH
    # the patch with most to lose
    corner = max(corners, key=lambda c: truth[c[0] : c[0] + PATCH, c[1] : c[1] + PATCH].std())
    top, left = (int(max(0, min(c - 2 * PATCH, s - MAGNIFIED))) for c, s in zip(corner, truth.shape, strict=True))
    tall = truth.shape[0] / truth.shape[1]
    with draw.figure(path, 2, len(pictures), (1.5, 0.75 * (1 + tall) + 0.25)) as axes:
        for column, (title, picture) in enumerate(pictures.items()):
            _show(axes[0, column], picture, title.replace(", ", "\n"))
            _show(axes[1, column], picture[top : top + MAGNIFIED, left : left + MAGNIFIED], "")
            axes[0, column].add_patch(draw.box(left, top, MAGNIFIED, MAGNIFIED))


def _show(axis: Any, picture: Any, title: str) -> None:
    axis.imshow(picture, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    axis.set_title(title, fontsize=6)
    axis.set_axis_off()


IMAGE = Exhibit("fig-image", "Local corruption of an image (the paper's figure 6)", render)
