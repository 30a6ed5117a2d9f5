from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from magnet.experiments.protocol.image import feature_propagation, noisy_patches, pixel_graph, psnr, repair_picture


def stripes(rows: int = 64, columns: int = 96) -> np.ndarray:
    """Smooth stripes with an edge."""
    i, j = np.mgrid[:rows, :columns]
    return 0.5 + 0.2 * np.sin(i / 6) + 0.2 * (j > i)


def noisy(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    truth = stripes()
    wrong = np.zeros(truth.shape, dtype=bool)
    for top, left in ((16, 16), (32, 64), (48, 40)):
        wrong[top : top + 8, left : left + 8] = True
    noise = np.random.default_rng(seed).normal(scale=50 / 255, size=truth.shape)
    return truth, truth + wrong * noise, wrong


def test_noise_is_found_and_nothing_in_a_clean_picture() -> None:
    truth, picture, wrong = noisy()
    assert np.array_equal(noisy_patches(picture), wrong[::8, ::8])
    assert not noisy_patches(truth).any()


def test_soft_trust_on_pixels_beats_patches_and_leaves_the_rest_alone() -> None:
    truth, picture, wrong = noisy()
    ours, patches = pixel_graph(picture, wrong), feature_propagation(picture, wrong)
    assert np.array_equal(ours[~wrong], picture[~wrong])
    assert psnr(ours, truth, wrong) > psnr(patches, truth, wrong) + 3
    assert psnr(ours, truth, wrong) > 27
    hard = pixel_graph(np.where(wrong, 0.5, picture), wrong)
    assert psnr(ours, truth, wrong) > psnr(hard, truth, wrong)


@pytest.mark.data
def test_a_picture_of_the_paper(raw_data: Path) -> None:
    found = {method: repair_picture(method, 2, 0) for method in ("noisy", "biharmonic", "magnet-patch", "magnet-pixel")}
    assert found["noisy"]["local_psnr"] == pytest.approx(14.5, abs=1.5)
    assert found["magnet-pixel"]["local_psnr"] > found["biharmonic"]["local_psnr"]
    for result in found.values():
        # nothing but the nine patches of 2400 was touched
        difference = result["global_psnr"] - result["local_psnr"]
        assert difference == pytest.approx(10 * np.log10(2400 / 9), abs=1e-3)


def test_unknown_methods_are_named() -> None:
    with pytest.raises(ValueError, match="must be one of 'noisy'"):
        repair_picture("blur", 1, 0)
