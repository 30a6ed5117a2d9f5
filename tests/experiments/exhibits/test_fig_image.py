"""The table of repaired images, from made-up signal-to-noise ratios."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from magnet.experiments.exhibits import EXHIBITS, Document, Options

METHODS = ("noisy", "biharmonic", "magnet-pixel")
OPTIONS = Options(datasets=("bsd68/1", "bsd68/9"), methods=METHODS)


def result_of(config: dict[str, Any]) -> dict[str, Any]:
    """Ours gains 2 dB over inpainting on image 1 and loses 1 on image 9."""
    gain = {"bsd68/1": 2.0, "bsd68/9": -1.0}[config["dataset"]] if config["method"] == "magnet-pixel" else 0.0
    patches = {"found_patches": 8, "false_patches": 1}
    return {"local_psnr": 20.0 + gain, "global_psnr": 30.0 + gain, **patches}


def test_means_over_all_images_and_over_those_without_a_choice(rendered: Callable[..., Document]) -> None:
    document = rendered("fig-image", OPTIONS, result_of)
    everything, fresh = document.tables
    assert fresh.title == "PSNR in dB, mean over the 1 images on which no choice was made"
    means = [
        cell.ours and cell.ours.mean
        for table in (everything, fresh)
        for cell in table.cells
        if cell.facts["method"] == "magnet-pixel" and cell.column == "local, patches given"
    ]
    assert means == [20.5, 19.0]
    wins, detected = (part for part in document.parts if isinstance(part, str))
    inpainting = next(line for line in wins.splitlines() if "biharmonic" in line)
    assert "locally +0.50" in inpainting
    assert "above it on 1 (locally) and 1 (globally) of 2 images" in inpainting
    assert detected == "Detected: 16 of 18 noisy patches, and 2 clean ones, on 2 images."


def test_methods_that_ignore_the_patches_are_run_once() -> None:
    configs = EXHIBITS["fig-image"].configs(OPTIONS)
    patches = {method: {c["patches"] for c in configs if c["method"] == method} for method in METHODS}
    assert patches["noisy"] == {"true"}
    assert patches["biharmonic"] == {"true", "detected"}
    with pytest.raises(ValueError, match="'ours' is not part of this exhibit"):
        EXHIBITS["fig-image"].configs(Options(methods=("ours",)))
