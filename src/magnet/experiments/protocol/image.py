"""Repair of noisy image patches, on the patch graph, on the pixel graph, and by the rivals.

To add a method: a function ``(picture, wrong) -> picture`` in :data:`METHODS`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy.ndimage as nd
import scipy.sparse as sp
import torch

from magnet.arrays import Bools, Floats, Ints
from magnet.checks import one_of
from magnet.corruption import corrupt_patches
from magnet.datasets import graph_image, image_graph, load
from magnet.framelets import FrameletTransform
from magnet.graph import Graph
from magnet.recovery import propagate, recover

Picture = Floats
Wrong = Bools
Repair = Callable[[Picture, Wrong], Picture]

PATCH, SIGMA = 8, 50 / 255  # side of a patch in pixels and deviation of the noise, as in the paper
NOISY, IMAGES = 9, 68  # noisy patches in an image, and images

# The graph of pixels. Links, lattice, trust and rounds were chosen on pictures 1 to 8.
RADIUS = 3  # pixels around the middle of a window that is compared
REACH = 24  # pixels to either side in which like windows are looked for
LINKS = 20  # like windows that a wrong pixel is linked to
LATTICE = 0.3  # share of the lattice beside these links
TRUST = 1.5  # factor of the trust in a noisy value
ROUNDS = 2  # of looking for like windows in the repaired picture
RING = 6  # width in pixels of the surroundings of a patch on which the unexplained variance is measured
BELL = 4  # variance in pixels of the bell by which the pixels of a window count
NEIGHBORS_WEIGHT = 6  # of a pixel's eight neighbors together: four of weight 1, four of 1/2
MIN_SUPPORT = 3  # of these, the least weight of intact neighbors that predict a pixel

# Detection of noisy patches (not swept).
MIN_LEVEL = 2 / 255  # of the noise: two gray levels
AROUND = 0.75  # quantile of the levels around a patch that its own is compared with
TOP_SHARE = 0.05  # of the patches that may be noisy
CLUSTER = 3  # noisy patches from which a gap below them counts in full
MIN_GAP = 0.15  # between the noisy patches and the others, in logarithms of the level

# Bounds of the trust in a noisy value, in the pilot and afterwards, and of the variance of the noise (not swept).
MIN_TRUST, MAX_PILOT_TRUST, MAX_TRUST, MIN_NOISE = 1e-5, 0.5, 0.3, 1e-6
LINK_WEIGHT = 1e-4  # of the links, relative to that of an intact pixel
TOLERANCE, MAX_ITER = 1e-7, 3000  # how precisely and how long it is solved
TINY_WEIGHT, TINY_DISTANCE = 1e-9, 1e-12  # that numbers are divided by at least


def psnr(picture: Picture, truth: Picture, where: Wrong | None = None) -> float:
    """Peak signal-to-noise ratio in dB of an image in [0, 1], over all or some pixels.

    Example:
        >>> round(psnr(np.full((2, 2), 0.6), np.full((2, 2), 0.5)), 6)
        20.0
    """
    error = (np.clip(picture, 0, 1) - truth) ** 2
    return float(-10 * np.log10(np.mean(error if where is None else error[where])))


def noisy_patches(picture: Picture) -> Wrong:
    """Which patches contain white noise, judged from the image alone: ``[rows, columns]`` of patches.

    The level of the noise in a patch is the root mean square of its response to the mask [1 -2 1] x [1 -2 1], which
    cancels smooth content (Immerkaer 1996). Textures respond too, but so do the patches around them: half of the ratio
    to the upper quartile of the neighbors is added, in logarithms. Patches above the widest gap among the upper five
    per cent are noisy, if that gap is wide.
    """
    rows, columns = picture.shape[0] // PATCH, picture.shape[1] // PATCH
    blocks = picture[: rows * PATCH, : columns * PATCH].reshape(rows, PATCH, columns, PATCH).transpose(0, 2, 1, 3)
    windows = np.lib.stride_tricks.sliding_window_view(blocks, (3, 3), axis=(2, 3))
    second = np.array([1.0, -2.0, 1.0])
    response = np.einsum("abcdef,e,f->abcd", windows, second, second) / (second @ second)
    level = np.log(np.maximum(np.sqrt((response**2).mean(axis=(2, 3))), MIN_LEVEL))
    framed = np.pad(level, 1, constant_values=np.nan)
    shifts = [(i, j) for i in range(3) for j in range(3) if (i, j) != (1, 1)]
    around = np.nanquantile([framed[i : i + rows, j : j + columns] for i, j in shifts], AROUND, axis=0)
    score = level + 0.5 * np.maximum(level - around, -1)
    top = np.sort(score.ravel())[::-1][: int(TOP_SHARE * score.size) + 2]
    # a gap after one or two patches is not a cluster
    gap = (top[:-1] - top[1:]) * np.sqrt(np.minimum(np.arange(1, top.size), CLUSTER) / CLUSTER)
    widest = int(gap.argmax())
    return score >= top[widest] if gap[widest] > MIN_GAP else np.zeros(score.shape, dtype=bool)


def _patch_graph(picture: Picture, wrong: Wrong) -> tuple[Any, Graph, torch.Tensor]:
    data = image_graph(picture, PATCH)
    untrusted = image_graph(wrong.astype(np.float32), PATCH).x.any(dim=1)
    graph = Graph.from_edges(data.edge_index, data.num_nodes)
    return data, graph, (~untrusted).to(data.x.dtype)


def feature_propagation(picture: Picture, wrong: Wrong) -> Picture:
    """Feature Propagation on the patch graph."""
    data, graph, trust = _patch_graph(picture, wrong)
    return graph_image(data, propagate(data.x, trust, graph, lam=0.0, coordinates="degree").x).astype(np.float64)


def patch_framelets(picture: Picture, wrong: Wrong) -> Picture:
    """The paper's way: framelet recovery on the patch graph, noisy patches untrusted."""
    data, graph, trust = _patch_graph(picture, wrong)
    W = FrameletTransform(graph)
    recovered = recover(data.x, trust, W, coordinates="degree", start="propagated", keep_trusted=True)
    return graph_image(data, recovered.x).astype(np.float64)


def pixel_graph(picture: Picture, wrong: Wrong) -> Picture:
    r"""Soft trust on the pixel graph: a noisy value still carries information.

    .. math::
        \min_u \sum_{ij} A_{ij} (u_i - u_j)^2 + \sum_{i \in \text{wrong}} \tau_i (u_i - x_i)^2,
        \qquad u = x \text{ elsewhere}

    with :math:`\tau` proportional to the variance that the neighbors do not explain (measured on the intact pixels
    around the patch) over that of the noise (measured on the patch). :math:`A` first is the lattice; then, twice, the
    lattice and links from each wrong pixel to those whose surroundings in the current image are most similar.
    """
    lattice = _lattice(picture.shape)
    pilot = _solve(lattice, picture, wrong, np.zeros(picture.shape))
    noise = max(float(np.mean((picture - pilot)[wrong] ** 2)), MIN_NOISE)
    spread = _unexplained(picture, wrong)
    pilot = _solve(lattice, picture, wrong, np.clip(2 * TRUST * spread / noise, MIN_TRUST, MAX_PILOT_TRUST))
    soft = np.clip(TRUST * spread / noise, MIN_TRUST, MAX_TRUST)
    for _ in range(ROUNDS):
        rows, columns, weight = _like_windows(pilot, wrong)
        weight = weight * np.count_nonzero(wrong) / (2 * weight.sum())
        mixed = tuple(
            np.concatenate(pair)
            for pair in zip(lattice, (rows, columns, weight / LATTICE), strict=True)  # relative to the lattice
        )
        pilot = _solve(mixed, picture, wrong, soft / LATTICE)
    return pilot


Edges = tuple[Ints, Ints, Floats]


def _lattice(shape: tuple[int, ...]) -> Edges:
    """Each pixel linked to its eight neighbors, weights 1 and 1/2 over their sum."""
    node = np.arange(shape[0] * shape[1]).reshape(shape)
    pairs = [
        (node[:, :-1], node[:, 1:], 1.0),
        (node[:-1], node[1:], 1.0),
        (node[:-1, :-1], node[1:, 1:], 0.5),
        (node[1:, :-1], node[:-1, 1:], 0.5),
    ]
    rows = np.concatenate([a.ravel() for a, _, _ in pairs])
    columns = np.concatenate([b.ravel() for _, b, _ in pairs])
    return rows, columns, np.concatenate([np.full(a.size, w / NEIGHBORS_WEIGHT) for a, _, w in pairs])


def _solve(edges: Any, picture: Picture, wrong: Wrong, tau: Picture) -> Picture:
    """The minimizer, by :func:`magnet.propagate` on the part of the graph around the wrong pixels."""
    rows, columns, weight = edges
    bad = wrong.ravel()
    near = bad[rows] | bad[columns]
    nodes, ends = np.unique(np.concatenate([rows[near], columns[near]]), return_inverse=True)
    count = int(near.sum())
    one_way = sp.csr_matrix((weight[near], (ends[:count], ends[count:])), shape=(nodes.size, nodes.size))
    graph = Graph(one_way + one_way.T)  # the weights of repeated edges add up; Graph.from_edges takes the largest
    # in degree coordinates propagate weights a cell by its degree
    softly = np.clip(LINK_WEIGHT * tau.ravel()[nodes] / graph.degree_weights, 0, 1)
    x = torch.from_numpy(picture.ravel()[nodes][:, None])
    trust = torch.from_numpy(np.where(bad[nodes], softly, 1.0)[:, None])
    u = propagate(x, trust, graph, lam=LINK_WEIGHT, coordinates="degree", tol=TOLERANCE, max_iter=MAX_ITER)
    result = picture.copy().ravel()
    result[nodes] = np.where(bad[nodes], u.x.numpy().ravel(), result[nodes])
    return result.reshape(picture.shape)


def _unexplained(picture: Picture, wrong: Wrong) -> Picture:
    """For each wrong region, the mean squared error of predicting the intact pixels around it from their neighbors."""
    kernel = np.array([[0.5, 1.0, 0.5], [1.0, 0.0, 1.0], [0.5, 1.0, 0.5]])
    sound = (~wrong).astype(np.float64)
    support = nd.convolve(sound, kernel, mode="constant")
    mean = nd.convolve(sound * picture, kernel, mode="constant") / np.maximum(support, TINY_WEIGHT)
    usable = ~wrong & (support >= MIN_SUPPORT)
    square = np.ones((3, 3))
    regions, count = nd.label(wrong, structure=square)
    result = np.zeros(picture.shape)
    for region in range(1, count + 1):
        inside = regions == region
        around = nd.binary_dilation(inside, structure=square, iterations=RING) & usable
        result[inside] = np.mean((picture - mean)[around] ** 2) if around.any() else 1.0
    return result


def _like_windows(picture: Picture, wrong: Wrong) -> Edges:
    """Links from each wrong pixel to those with the most similar windows, weighted by similarity."""
    width = picture.shape[1]
    side = 2 * RADIUS + 1
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(picture, RADIUS, mode="reflect"), (side, side))
    bell = np.exp(-(np.arange(-RADIUS, RADIUS + 1) ** 2) / (2 * BELL))
    weigh = np.sqrt(np.outer(bell, bell) / bell.sum() ** 2)
    rows, columns, weights = [], [], []
    for i, j in np.argwhere(wrong):
        top, left = max(0, i - REACH), max(0, j - REACH)
        nearby = windows[top : i + REACH + 1, left : j + REACH + 1]
        distance = (((nearby - windows[i, j]) * weigh) ** 2).sum(axis=(2, 3))
        distance[i - top, j - left] = np.inf
        best = np.argpartition(distance.ravel(), LINKS)[:LINKS]
        near = distance.ravel()[best]
        rows.append(np.full(LINKS, i * width + j))
        columns.append((top + best // distance.shape[1]) * width + left + best % distance.shape[1])
        weights.append(np.exp(-near / (2 * (near.mean() + TINY_DISTANCE))))
    return np.concatenate(rows), np.concatenate(columns), np.concatenate(weights)


def bm3d(picture: Picture, wrong: Wrong) -> Picture:
    """BM3D of the whole image, with the true noise level."""
    return _bm3d(picture.tobytes(), picture.shape)


@lru_cache(maxsize=2)
def _bm3d(pixels: bytes, shape: tuple[int, int]) -> Picture:
    try:
        from bm3d import bm3d as run
    except ImportError:
        raise ImportError("BM3D needs the package bm3d: pip install 'magnet-gnn[image]'") from None
    return np.asarray(run(np.frombuffer(pixels).reshape(shape), SIGMA), dtype=np.float64).reshape(shape)


def bm3d_inside(picture: Picture, wrong: Wrong) -> Picture:
    """BM3D inside the patches only; the rest of the image is unchanged."""
    return np.where(wrong, bm3d(picture, wrong), picture)


def biharmonic(picture: Picture, wrong: Wrong) -> Picture:
    """Biharmonic inpainting of the patches."""
    try:
        from skimage.restoration import inpaint_biharmonic
    except ImportError:
        raise ImportError("biharmonic inpainting needs scikit-image: pip install 'magnet-gnn[image]'") from None
    return np.asarray(inpaint_biharmonic(picture, wrong)) if wrong.any() else picture


class ImageMethod(NamedTuple):
    """A row of the table: its name there, and how it repairs a picture."""

    title: str
    repair: Repair


METHODS: dict[str, ImageMethod] = {
    "noisy": ImageMethod("noisy", lambda picture, wrong: picture),
    "bm3d": ImageMethod("BM3D", bm3d),
    "bm3d-inside": ImageMethod("BM3D inside the patches", bm3d_inside),
    "biharmonic": ImageMethod("biharmonic inpainting", biharmonic),
    "fp": ImageMethod("Feature Propagation, patch graph", feature_propagation),
    "magnet-patch": ImageMethod("MAGnet, patch graph", patch_framelets),
    "magnet-pixel": ImageMethod("MAGnet, pixel graph, soft trust", pixel_graph),
}


def noisy_picture(number: int, seed: int) -> tuple[Picture, Picture, Wrong]:
    """A BSD68 image, the same with white noise on some patches, and the mask of these pixels."""
    data = load(f"bsd68/{number}")
    bad = corrupt_patches(data, patches=NOISY, sigma=SIGMA, seed=seed)
    wrong = graph_image(data, bad.nodes.unsqueeze(1).expand(-1, PATCH * PATCH).float()) > 0
    return graph_image(data).astype(np.float64), graph_image(data, bad.data.x).astype(np.float64), wrong


def repair_picture(method: str, number: int, seed: int, patches: str = "true") -> dict[str, Any]:
    """Repair one image: local PSNR (over the noisy patches) and global PSNR, before and after.

    Args:
        method: one of :data:`METHODS`.
        number: number of the image, from 1 on.
        seed: seed of the repetition; patches and noise differ between images.
        patches: ``"true"``: given, or ``"detected"``: by :func:`noisy_patches`.
    """
    one_of("method", method, METHODS)
    truth, picture, wrong = noisy_picture(number, number + IMAGES * seed)
    given = wrong
    began = time.perf_counter()
    if patches == "detected":
        given = np.kron(noisy_patches(picture), np.ones((PATCH, PATCH))) > 0
    repaired = METHODS[method].repair(picture, given) if given.any() or method == "bm3d" else picture
    seconds = time.perf_counter() - began
    return {
        "local_psnr": psnr(repaired, truth, wrong),
        "global_psnr": psnr(repaired, truth),
        "found_patches": int((given & wrong).sum()) // PATCH**2,
        "false_patches": int((given & ~wrong).sum()) // PATCH**2,
        "seconds": seconds,
        "device": "cpu",
    }
