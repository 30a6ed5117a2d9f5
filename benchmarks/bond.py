"""Node outliers of the BOND benchmark (Liu et al. 2022): our detectors beside PyGOD's and beside trivial controls.

Reads ``$MAGNET_DATA/BOND/*.npz``; PyGOD's detectors (``pip install --no-deps pygod``) run where it can be imported, and
are left out where not. Those that need a compiled package, or more than ``--limit`` seconds, are left out with a line
of their own. Writes results/bond.md and results/bond.csv; lines of the same device of detectors and cases that were not
asked for now (``--peers ""``, ``--cases books``) stay there.

On a CPU, seconds are those of the process on one core, which other jobs of the machine hardly change; on a GPU, of the
clock. Every detector was called once before, on a small graph: what is compiled or imported then does not count.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import _pages
import numpy as np
import pandas as pd
import torch
from _pages import command, header, made_by
from torch_geometric.data import Data

from magnet import detection
from magnet.detection.metrics import areas

GRAPHS = ("inj_cora", "books", "reddit")
OURS = ("auto", "context", "cell", "cosine-centered", "duplicates")
SEEDED, SEEDS = ("auto", "context"), 5  # detectors that draw, and draws that are averaged
# Without GAAN, which stops with an assertion of the device on these features, and with it all that follow; and without
# Radar, which is not deep and did not end on inj_cora in eight minutes.
PEERS = ("GAE", "AnomalyDAE", "DOMINANT", "DONE", "AdONE", "CONAD", "CoLA", "OCGNN")
OLD_GPU = """On an NVIDIA H200 at commit 1afd25e, by the clock, with compilation, on inj_cora, contextual: `auto` 5.5 s,
AnomalyDAE 0.6, DOMINANT 3.5, DONE 3.7, OCGNN 5.0, AdONE 5.1, GAE 5.6, CoLA 8.3, CONAD 20.2. Not measured again."""
BROKEN = 0.1  # share of the words that a broken copy loses
# Node AUROC / average precision on the contextual outliers of inj_cora that stand in the README of the data folder; for
# comparison where PyGOD cannot be run. Nobody has repeated them with this script.
EARLIER = {
    "GAE": "0.888 / 0.14",
    "AnomalyDAE": "0.86 / 0.14",
    "LOF": "0.87 / 0.13",
    "MLPAE": "0.85 / 0.14",
    "DONE": "0.71 / 0.09",
    "CoLA": "0.59 / 0.04",
    "DOMINANT": "0.58 / 0.03",
}


def cases(folder: Path) -> Iterator[tuple[str, Data, torch.Tensor]]:
    """Name, graph, and which nodes are outliers."""
    for name in GRAPHS:
        with np.load(folder / f"{name}.npz") as file:
            x, edges, y = (torch.from_numpy(file[key]) for key in ("x", "edge_index", "y"))
        data = Data(x=x, edge_index=edges.long())
        if name != "inj_cora":
            yield name, data, y == 1
            continue
        contextual = (y & 1) == 1  # bit 1 marks cliques, which are no errors of attributes
        yield "inj_cora, contextual", data, contextual
        yield f"inj_cora, contextual, {BROKEN:.0%} of the words removed", broken_copies(data, contextual), contextual


def broken_copies(data: Data, rows: torch.Tensor) -> Data:
    """The contextual outliers of inj_cora are exact copies of other rows; these lose some of their words."""
    rng = np.random.default_rng(0)
    x = data.x.clone()
    for row in rows.nonzero().flatten().tolist():
        filled = x[row].nonzero().flatten().numpy()
        x[row, torch.from_numpy(rng.choice(filled, max(1, round(BROKEN * filled.size)), replace=False))] = 0
    return Data(x=x, edge_index=data.edge_index)


def controls(data: Data) -> dict[str, torch.Tensor]:
    return {"L2 norm": data.x.norm(dim=1), "row sum": data.x.sum(dim=1)}


class WholeGraph:
    """The loader of PyGOD's detectors, for the whole graph at once, which is their default as well: PyG's own needs a
    compiled package even where it samples nothing."""

    def __init__(self, data: Data, *_: Any, **__: Any) -> None:
        self.data = data.clone()
        self.data.n_id, self.data.batch_size = torch.arange(data.num_nodes), data.num_nodes

    def __iter__(self) -> Iterator[Data]:
        yield self.data


def peer(name: str, data: Data) -> torch.Tensor:
    from pygod import detector
    from pygod.detector import base

    base.NeighborLoader = WholeGraph
    torch.manual_seed(0)
    model = getattr(detector, name)(gpu=0 if torch.cuda.is_available() else -1)
    model.fit(Data(x=data.x, edge_index=data.edge_index))
    return torch.as_tensor(model.decision_score_).float().cpu().nan_to_num()


def measure(score: Callable[[], tuple[torch.Tensor, float]], truth: torch.Tensor) -> dict[str, float]:
    clock = time.perf_counter if torch.cuda.is_available() else time.process_time
    start = clock()
    scores, flagged = score()
    seconds = clock() - start
    auroc, precision = areas(truth, scores)
    top = scores.topk(int(truth.sum())).indices
    recall = float(truth[top].float().mean())
    return {"auroc": auroc, "ap": precision, "recall_at_k": recall, "flagged": flagged, "seconds": seconds}


def ours(name: str, data: Data, seed: int = 0) -> tuple[torch.Tensor, float]:
    detector = detection.make(name, **({"seed": seed} if name in SEEDED else {})).fit(data)
    return detector.node_scores_, float(detector.flagged_nodes_.float().mean())


def small_graph(nodes: int = 60, words: int = 40) -> Data:
    rng = torch.Generator().manual_seed(0)
    x = (torch.rand(nodes, words, generator=rng) < 0.2).float()
    return Data(x=x, edge_index=torch.randint(nodes, (2, 4 * nodes), generator=rng))


def stop(*_: object) -> None:
    raise TimeoutError("more seconds than the limit")


def device_name() -> str:
    return str(torch.cuda.get_device_name()) if torch.cuda.is_available() else "one CPU core"


def run(
    folder: Path, names: list[str], peers: list[str], limit: int, save: Callable[[list[dict[str, Any]]], None]
) -> None:
    rows: list[dict[str, Any]] = []
    signal.signal(signal.SIGPROF, stop)

    def add(case: str, name: str, *scores: Callable[[], tuple[torch.Tensor, float]], truth: torch.Tensor) -> None:
        try:
            signal.setitimer(signal.ITIMER_PROF, 0 if name in OURS else limit)  # CPU seconds of this process
            found = [measure(score, truth) for score in scores]
            mean = {key: float(np.mean([each[key] for each in found])) for key in found[0]}
            spread = float(np.std([each["auroc"] for each in found]))
            rows.append({"case": case, "detector": name, "device": device_name()} | mean | {"spread": spread})
            print(rows[-1], flush=True)
        except (RuntimeError, ValueError, TypeError, AttributeError, ImportError, TimeoutError) as error:
            print(f"{case}, {name} is left out: {error}", flush=True)
            if name in OURS:
                raise
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        save(rows)

    loaded, small = [each for each in cases(folder) if each[0].split(",")[0] in names], small_graph()
    for name in OURS:
        ours(name, small)
    usable = []
    for name in peers:
        try:
            peer(name, small)
            usable.append(name)
        except (RuntimeError, ValueError, TypeError, AttributeError, ImportError) as error:
            print(f"PyGOD {name} is left out: {error}", flush=True)
    for case, data, truth in loaded:
        for name in OURS:
            draws = [lambda n=name, d=data, k=k: ours(n, d, k) for k in range(SEEDS if name in SEEDED else 1)]
            add(case, name, *draws, truth=truth)
        for name, scores in controls(data).items():
            add(case, name, lambda s=scores: (s, float("nan")), truth=truth)
    for case, data, truth in loaded:
        for name in usable:
            add(case, f"PyGOD {name}", lambda n=name, d=data: (peer(n, d), float("nan")), truth=truth)


def as_markdown(frame: pd.DataFrame, peers: bool) -> str:
    frame = frame[frame["case"].isin(frame.loc[frame["detector"] == "auto", "case"])]  # others are not measured yet
    lines = [
        "# Node outliers of BOND",
        "",
        "inj_cora: rows replaced by the farthest of 50 rows, so that every outlier copies another row; the",
        f"second table removes {BROKEN:.0%} of the words of each copy. books, reddit: natural outliers.",
        "No detector sees labels. k is the number of outliers; flagged is the share of all rows that are flagged.",
        f"`auto` and `context`: means over {SEEDS} seeds, with the deviation of the AUROC. PyGOD's detectors have",
        "default settings, one seed, and flag a share chosen by the user. Seconds on",
        f"{device_name()}{'' if torch.cuda.is_available() else ' (CPU time)'}, after a call on a small graph.",
        "",
        *header("case", "`auto`: AUROC / AP", "flagged", "best PyGOD by AP", "trivial: best by AP"),
    ]
    cases = list(frame.groupby("case", sort=False))
    lines += [*(_summary(case, part) for case, part in cases), ""]
    for case, part in cases:
        lines += _details(case, part)
    lines += _missing(frame) if peers else _earlier()
    lines += [] if torch.cuda.is_available() else [OLD_GPU, ""]
    return "\n".join([*lines[:-1], *made_by([command()])])


def _summary(case: str, part: pd.DataFrame) -> str:
    """Ours beside the best of PyGOD and the best control, by average precision."""
    mine, of_pygod = part[part["detector"] == "auto"].iloc[0], part["detector"].str.startswith("PyGOD")
    best = []
    for rivals in (part[of_pygod], part[part["flagged"].isna() & ~of_pygod]):
        top = rivals.loc[rivals["ap"].idxmax()] if len(rivals) else None
        best.append("-" if top is None else f"{top['detector']} {top['auroc']:.3f} / {top['ap']:.3f}")
    return f"| {case} | {mine['auroc']:.3f} / {mine['ap']:.3f} | {mine['flagged']:.1%} | {best[0]} | {best[1]} |"


def _details(case: str, part: pd.DataFrame) -> list[str]:
    """Every detector on a case."""
    lines = [f"## {case}", "", *header("detector", "AUROC", "AP", "recall at k", "flagged", "s")]
    for r in part.to_dict("records"):
        flagged = "-" if np.isnan(r["flagged"]) else f"{r['flagged']:.1%}"
        spread = f" ± {r['spread']:.3f}" if r.get("spread", 0) > 0 else ""
        auroc, ap, recall = ("-" if np.isnan(r[key]) else f"{r[key]:.3f}" for key in ("auroc", "ap", "recall_at_k"))
        lines.append(f"| {r['detector']} | {auroc}{spread} | {ap} | {recall} | {flagged} | {r['seconds']:.1f} |")
    return [*lines, ""]


def _missing(frame: pd.DataFrame) -> list[str]:
    """Which of PyGOD's detectors have no line."""
    shown = set(zip(frame["case"], frame["detector"], strict=True))
    missing = {case: [p for p in PEERS if (case, f"PyGOD {p}") not in shown] for case in frame["case"].unique()}
    text = "; ".join(f"{case}: {', '.join(names)}" for case, names in missing.items() if names)
    return [f"Not run, or stopped at the limit of seconds (see the commands): {text}.", ""] if text else []


def _earlier() -> list[str]:
    """What is known of PyGOD's detectors where they cannot be run."""
    return [
        "PyGOD is not installed here, so its detectors were not run by this script. Noted beside the data, for the",
        f"contextual outliers of inj_cora as stored (AUROC / AP): {', '.join(f'{k} {v}' for k, v in EARLIER.items())}.",
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("MAGNET_DATA", ".")) / "BOND")
    parser.add_argument("--output", type=Path, default=Path("results"))
    parser.add_argument("--cases", default=",".join(GRAPHS), help="graphs (default: %(default)s)")
    parser.add_argument("--peers", default=",".join(PEERS), help="PyGOD's detectors (default: %(default)s)")
    parser.add_argument("--limit", type=int, default=600, help="seconds for a detector of PyGOD (default: %(default)s)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = importlib.util.find_spec("pygod") is not None
    peers = [name for name in options.peers.split(",") if name] if found else []
    options.output.mkdir(parents=True, exist_ok=True)

    path = options.output / "bond.csv"
    before = pd.read_csv(path) if path.is_file() else pd.DataFrame()
    before = before[before["device"] == device_name()] if "device" in before else before.iloc[:0]

    def save(rows: list[dict[str, Any]]) -> None:
        frame = pd.concat([pd.DataFrame(rows), before]).drop_duplicates(["case", "detector"])
        graphs = frame["case"].str.split(",").str[0].map(GRAPHS.index)
        frame = frame.assign(graph=graphs).sort_values(["graph", "case"], kind="stable").drop(columns="graph")
        frame.to_csv(path, index=False, float_format="%.4f")
        _pages.save(as_markdown(frame, found), options.output / "bond.md")

    run(options.data, options.cases.split(","), peers, options.limit, save)


if __name__ == "__main__":
    main()
