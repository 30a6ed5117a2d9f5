"""``magnet demo``: damage the built-in digits, find the wrong pixels and repair them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magnet.cli.options import Output, Seed, command

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray
    from rich.table import Table
    from torch_geometric.data import Data

    from magnet.arrays import Bools
    from magnet.clean_result import CleanResult

SHOWN = 10  # damaged digits in the picture, and cells that --verbose prints
LEVELS = 16  # the pixels are whole numbers from 0 to this


@command
def demo(
    out: Output,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the picture and the report.")] = Path(
        "demo"
    ),
    share: Annotated[float, typer.Option(min=0.01, max=0.5, help="Share of the digits that are damaged.")] = 0.1,
    ratio: Annotated[float, typer.Option(min=0.01, max=0.5, help="Share of their pixels that are corrupted.")] = 0.3,
    seed: Seed = 0,
) -> None:
    """Corrupt pixels of the built-in digits, find and repair them, and show before and after."""
    out.result(_demo(output, share, ratio, seed, out))


def _demo(folder: Path, share: float, ratio: float, seed: int, out: Output) -> dict[str, Any]:
    import numpy as np

    from magnet.datasets import load
    from magnet.report import write_report

    console = out.console()
    data = load("digits")
    truth = np.round(data.x.numpy() * LEVELS)
    observed, replaced = _damage(truth, share, ratio, seed)
    wrong = observed != truth
    console.print(
        f"{len(truth)} handwritten digits of 8 x 8 pixels, each linked to those most like it (by the true pixels). "
        f"{replaced} of them now show the picture of another digit, and in {wrong.any(axis=1).sum() - replaced} others "
        f"{ratio:.0%} of the pixels were turned from light to black and from dark to white: {wrong.sum()} wrong "
        f"pixels, {wrong.mean():.1%} of all. Which ones?"
    )
    began = time.perf_counter()
    result = _clean(data, observed, out.shows_progress)
    seconds = time.perf_counter() - began
    repaired = result.cleaned[result.cleaned.columns[1:]].to_numpy(dtype=np.float64)
    console.print(_before_and_after(data, truth, observed, repaired))
    training = data.train_mask.numpy()
    best = _nearest_accuracy(truth, truth, data.y.numpy(), training, np.ones_like(training))
    console.print(
        f"With the true pixels {best:.1%} are classified correctly. Detection and repair took {seconds:.1f} s."
    )

    folder.mkdir(parents=True, exist_ok=True)
    _draw({"true": truth, "observed": observed, "repaired": repaired}, wrong, folder / "digits.png")
    run = {"title": "Digits with wrong pixels", "command": f"magnet demo --share {share} --ratio {ratio} --seed {seed}"}
    write_report(result.record, folder / "report.html", run)
    for line in result.suspicious_cells.head(SHOWN).itertuples(index=False):
        out.detail(f"{line.node}, {line.column}: {line.observed} -> {line.suggested}: {line.reason}")
    out.line(f"Before and after: {folder / 'digits.png'}\nEvery suspicious pixel: {folder / 'report.html'}")
    changed = repaired != observed
    return {
        "wrong": int(wrong.sum()),
        "corrected": int(changed.sum()),
        "found": int((changed & wrong).sum()),
        "error before": _error(observed, truth, wrong),
        "error after": _error(repaired, truth, wrong),
        "seconds": round(seconds, 2),
        "files": [str(folder / name) for name in ("digits.png", "report.html")],
    }


def _clean(data: Data, observed: NDArray[Any], progress: bool) -> CleanResult:
    """Clean the digits as a user's table with links."""
    import torch

    import magnet

    torch.set_num_threads(1)  # a second thread costs more than it saves on such a small table
    detector = magnet.detection.make("auto", progress=progress)
    links = magnet.Graph.from_edges(data.edge_index, len(observed)).adjacency
    return magnet.clean(_frame(observed), links, id="digit", detector=detector, fix="all")


def _before_and_after(data: Data, truth: NDArray[Any], observed: NDArray[Any], repaired: NDArray[Any]) -> Table:
    """A table of what was found, of the errors of pixels, and of the accuracy of a classifier."""
    import numpy as np
    from rich.table import Table

    wrong, changed = observed != truth, repaired != observed
    hits = int((changed & wrong).sum())
    table = Table(title="Result without any information about the errors", title_justify="left")
    for title in ("", "before", "after"):
        table.add_column(title, justify="left" if not title else "right")
    table.add_row("wrong pixels found", "", f"{hits} of {wrong.sum()} ({hits / max(1, wrong.sum()):.0%} recall)")
    table.add_row("corrected pixels that were wrong", "", f"{hits / max(1, int(changed.sum())):.0%} precision")
    for name, where in (("the wrong pixels (0 to 16)", wrong), ("all pixels", np.ones_like(wrong))):
        table.add_row(f"error of {name}", *(f"{_error(x, truth, where):.2f}" for x in (observed, repaired)))
    labels, training, damaged = data.y.numpy(), data.train_mask.numpy(), wrong.any(axis=1)
    for name, which in (("all digits", np.ones_like(damaged)), ("damaged digits", damaged)):
        scores = [_nearest_accuracy(x, truth, labels, training, which) for x in (observed, repaired)]
        table.add_row(f"{name} classified correctly", *(f"{score:.1%}" for score in scores))
    return table


def _damage(truth: NDArray[Any], share: float, ratio: float, seed: int) -> tuple[NDArray[Any], int]:
    """Digits of which a share is damaged, half replaced and half with inverted pixels; how many were replaced."""
    import numpy as np

    rng = np.random.default_rng([seed, 1])  # the split of the data uses another generator
    drawn = rng.permutation(len(truth))[: max(2, round(share * len(truth)))]
    replaced, inverted = np.array_split(drawn, 2)
    observed = truth.copy()
    observed[replaced] = truth[(replaced + rng.integers(1, len(truth), size=replaced.size)) % len(truth)]
    hit = rng.random((inverted.size, truth.shape[1])) < ratio
    observed[inverted] = np.where(hit, np.where(truth[inverted] > LEVELS / 2, 0, LEVELS), truth[inverted])
    return observed, replaced.size


def _frame(pixels: NDArray[Any]) -> pd.DataFrame:
    """The digits as a user's table: one row each, one column of whole numbers for each pixel."""
    import pandas as pd

    names = [f"row {k // 8} column {k % 8}" for k in range(pixels.shape[1])]
    frame = pd.DataFrame(pixels.astype(int), columns=names)
    frame.insert(0, "digit", [f"digit {k}" for k in range(len(frame))])
    return frame


def _error(x: NDArray[Any], truth: NDArray[Any], where: Bools) -> float:
    return float(((x - truth)[where] ** 2).mean() ** 0.5)


def _nearest_accuracy(x: NDArray[Any], clean: NDArray[Any], y: NDArray[Any], training: Bools, which: Bools) -> float:
    """Accuracy of a nearest-neighbor classifier on clean training digits; only wrong pixels can lower it."""
    from sklearn.neighbors import KNeighborsClassifier

    model = KNeighborsClassifier(n_neighbors=1).fit(clean[training], y[training])
    return float(model.score(x[~training & which], y[~training & which]))


def _draw(rows: dict[str, NDArray[Any]], wrong: Bools, path: Path) -> None:
    """One row of digits for each matrix, the first damaged ones. The file appears when it is complete."""
    import matplotlib
    import numpy as np

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from magnet.files import complete_or_absent

    chosen = np.flatnonzero(wrong.any(axis=1))[:SHOWN]
    figure, axes = pyplot.subplots(len(rows), SHOWN, figsize=(SHOWN, 1.15 * len(rows)), squeeze=False)
    for line, (name, x) in zip(axes, rows.items(), strict=True):
        for axis, digit in zip(line, x[chosen], strict=True):
            axis.imshow(digit.reshape(8, 8), cmap="gray_r", vmin=0, vmax=LEVELS)
            axis.set_xticks([])
            axis.set_yticks([])
        line[0].set_ylabel(name)
    figure.tight_layout(pad=0.3)
    with complete_or_absent(path) as part:
        figure.savefig(part, dpi=150, format="png")
    pyplot.close(figure)
