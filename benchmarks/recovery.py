"""Recovery: the engine against plain ways of running the same iterations.

    python benchmarks/recovery.py [--datasets cora,wordnet] [--device cuda] [--save results/recovery.md]
    python benchmarks/recovery.py --datasets cora --only --exponents --propagation --workers

Every line is measured in a process of its own, 15 iterations of the paper's solver (two Haar levels, degree 8,
float32, no history). The rivals:

* separate:  torch operations, every band by its own recurrence
* torch:     our torch backend (one recurrence for all bands)
* explicit:  the operators as sparse matrices, made first (only where they fit in 8 GB)

On the larger datasets the rivals get the first columns only and their time is scaled up (marked ~): columns are
independent; so is the memory of those that do not work in ranges of columns. "difference" is relative to the torch
backend on the columns that both have.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from _measure import PeakMemory, in_own_process
from _pages import command, cores, header, save

from magnet import FrameletTransform, propagate, recover
from magnet.arrays import csr_tensor, dense
from magnet.graph import Graph

ITERATIONS, NU0, GAMMA = 15, 10.0, 10.0
EXPLICIT_LIMIT = 8 << 30

#: Columns the rivals get where all of them would take too long (all, where nothing is said).
RIVAL_COLUMNS = {"pubmed": 64, "coauthor-cs": 128, "wordnet": 16, "power-law-1m": 8}
EXPLICIT_COLUMNS = 128
DATASETS = {"cpu": ["cora", "pubmed", "coauthor-cs", "wordnet", "power-law-1m"], "cuda": ["arxiv-sized"]}
ENGINES = {"cpu": ["engine", "torch", "separate", "explicit"], "cuda": ["engine", "torch", "separate"]}


def load(name: str) -> tuple[object, torch.Tensor, int]:
    """Features (dense or sparse), edges and number of nodes."""
    from magnet import datasets

    if name.startswith("power-law"):
        size = {"power-law-1m": 1_000_000}.get(name) or int(name.rsplit("-", 1)[1])
        data = datasets.synthetic(size, features=64, average_degree=10.0, degree="power", seed=0)
    elif name == "arxiv-sized":
        data = datasets.synthetic(169_343, features=128, average_degree=2 * 1_166_243 / 169_343, degree="power", seed=0)
    else:
        data = datasets.load(name)
    return data.x, data.edge_index, data.num_nodes


def trust_for(shape: tuple[int, int]) -> torch.Tensor:
    """5 % of the cells are not believed."""
    generator = torch.Generator().manual_seed(0)
    return (torch.rand(shape[0], 1, generator=generator) > 0.05).float().expand(shape).contiguous()


def iterate(
    x: torch.Tensor, trust: torch.Tensor, W: FrameletTransform, apply: Callable[[int, torch.Tensor], torch.Tensor]
) -> torch.Tensor:
    """The same iterations as separate torch operations; ``apply(b, x)`` is ``W_b x``."""
    d = torch.as_tensor(W.graph.degree_weights, dtype=x.dtype, device=x.device).unsqueeze(1)
    nu = [0.0, *(NU0 * 4.0 ** (-level - 1) for level in W.band_levels[1:])]
    U = x
    Y = [torch.zeros_like(x) for _ in range(W.num_bands)]
    for _ in range(ITERATIONS):
        V = []
        for b in range(W.num_bands):
            z = apply(b, U) + Y[b] / GAMMA
            V.append(Y[b] - GAMMA * torch.sign(z) * torch.relu(z.abs() - nu[b] * d / GAMMA))
        S = sum(apply(b, V[b]) for b in range(W.num_bands))
        U = (d * trust**2 * x - S) / (d * trust**2 + GAMMA)
        Y = [V[b] + GAMMA * apply(b, U) for b in range(W.num_bands)]
    return U


def separate(x: torch.Tensor, trust: torch.Tensor, W: FrameletTransform) -> torch.Tensor:
    """Each band by its own recurrence."""
    shifted = W.graph.operator("shifted", x)
    c = W.coefficients

    def apply(band: int, x: torch.Tensor) -> torch.Tensor:
        before, current = x, shifted @ x
        total = c[band, 0] * before + c[band, 1] * current
        for k in range(2, W.degree + 1):
            before, current = current, 2 * (shifted @ current) - before
            total = total + c[band, k] * current
        return total

    return iterate(x, trust, W, apply)


def explicit_operators(W: FrameletTransform) -> list[torch.Tensor] | None:
    """``W_b`` as sparse matrices, or ``None`` when they outgrow the limit."""
    import scipy.sparse as sp

    shifted = W.graph.shifted.astype(np.float32)
    before, current = sp.identity(W.num_nodes, dtype=np.float32, format="csr"), shifted
    bands = [W.coefficients[b, 0] * before + W.coefficients[b, 1] * current for b in range(W.num_bands)]
    for k in range(2, W.degree + 1):
        most = int(np.diff(current.indptr)[shifted.indices].sum(dtype=np.int64))
        if 12 * most > 8 * EXPLICIT_LIMIT:  # before duplicates are merged: not even worth trying
            return None
        before, current = current, (2 * (shifted @ current) - before).tocsr()
        if 12 * current.nnz * (W.num_bands + 2) > EXPLICIT_LIMIT:
            return None
        bands = [(band + W.coefficients[b, k] * current).tocsr() for b, band in enumerate(bands)]
    return [csr_tensor(band, torch.float32) for band in bands]


def measure_one(dataset: str, engine: str, device: str, keep: Path) -> dict[str, object]:
    """Run one engine on one dataset in this process."""
    x, edges, n = load(dataset)
    columns = x.shape[1]
    used = columns if engine == "engine" else RIVAL_COLUMNS.get(dataset, columns)
    used = min(used, EXPLICIT_COLUMNS) if engine == "explicit" else used
    if used < columns or engine != "engine":
        x = dense(x)[:, :used].contiguous()
    trust = trust_for((n, used))
    W = FrameletTransform(edges, n)
    _ = W.coefficients, W.graph.shifted
    if device == "cuda":
        x, trust = x.cuda(), trust.cuda()
    operators, once = None, 0.0
    if engine == "explicit":
        began = time.perf_counter()
        operators = explicit_operators(W)
        once = time.perf_counter() - began
        if operators is None:
            return {"dataset": dataset, "engine": engine, "skipped": True}
    options = {"preset": "paper", "nu0": NU0, "gamma": GAMMA, "history": False}
    runs = {
        "engine": lambda: recover(x, trust, W, **options).x,
        "torch": lambda: recover(x, trust, W, backend="torch", **options).x,
        "separate": lambda: separate(x, trust, W),
        "explicit": lambda: iterate(x, trust, W, lambda band, u: operators[band] @ u),
    }
    if engine == "engine":  # compile, and lay out the operator
        tiny = x[:, :20].contiguous() if x.layout == torch.strided else torch.zeros(n, 20)
        recover(tiny, trust[:, :20].contiguous(), W, **options)
    seconds, result = [], None
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    allocated = torch.cuda.memory_allocated() if device == "cuda" else 0
    with PeakMemory() as memory:
        while len(seconds) < 5 and sum(seconds) < 8:
            _synchronize(device)
            began = time.perf_counter()
            result = runs[engine]()
            _synchronize(device)
            seconds.append(time.perf_counter() - began)
    peak = torch.cuda.max_memory_allocated() - allocated if device == "cuda" else memory.peak
    np.save(keep, result[:, :8].cpu().numpy())
    # the engine's result is part of its peak: what counts is what it takes above input and output
    result_bytes = result.element_size() * result.nelement()
    measured = {
        "dataset": dataset, "engine": engine, "nodes": n, "edges": W.graph.num_edges, "columns": columns,
        "used": used, "seconds": once + min(seconds) * columns / used, "memory": max(peak - result_bytes, 0),
    }  # fmt: skip
    if device == "cuda" and engine == "engine":
        measured["bandwidth"] = bandwidth_fraction(W.graph, columns, W.degree, W.num_bands - 1, min(seconds))
    return measured


def _synchronize(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def bandwidth_fraction(graph: Graph, columns: int, degree: int, bands: int, seconds: float) -> float:
    """Bytes the fused iteration must move, each array once per launch, over what a copy moves in that time."""
    accumulating = sum(1 for j in range(2, degree) if j % 3 == 2)
    ascend = 2 + 3 * (degree - 2) + 2 * bands * accumulating
    arrays = ascend + (3 + 2 * bands) + (2 + bands) + (degree - 2) * (3 + bands) + (7 + bands)
    per_product = graph.shifted.nnz * 8 + graph.num_nodes * 8
    moved = ITERATIONS * (arrays * graph.num_nodes * columns * 4 + 2 * degree * per_product)
    source = torch.empty(1 << 28, device="cuda")
    target = torch.empty_like(source)
    times = []
    for _ in range(10):
        torch.cuda.synchronize()
        began = time.perf_counter()
        target.copy_(source)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    copied = 2 * source.element_size() * source.nelement() / min(times)
    return moved / seconds / copied


def spawn(dataset: str, engine: str, device: str, keep: Path) -> dict[str, object] | None:
    measured = in_own_process(__file__, "--one", dataset, engine, "--device", device, "--keep", keep)
    return None if measured is None or measured.get("skipped") else measured


HEADER = header(
    *("dataset", "nodes x features", "edges", "engine", "seconds", "engine is faster by"),
    *("memory above in and out", "difference"),
)


def machine(device: str) -> str:
    text = f"{cores()}, Python {platform.python_version()}, torch {torch.__version__}"
    return f"{torch.cuda.get_device_name()}, {text}" if device == "cuda" else text


def compare(dataset: str, device: str) -> list[str]:
    """The rows of one dataset."""
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        results = {engine: Path(folder) / f"{engine}.npy" for engine in ENGINES[device]}
        rows = {engine: spawn(dataset, engine, device, results[engine]) for engine in ENGINES[device]}
        rows = {engine: row for engine, row in rows.items() if row is not None}
        if "engine" not in rows:
            return lines
        base = np.load(results["torch"]) if "torch" in rows else None
        for engine, row in rows.items():
            difference = "-"
            if base is not None and engine != "torch":
                other = np.load(results[engine])[:, : base.shape[1]]
                difference = f"{np.linalg.norm(other - base) / np.linalg.norm(base):.1e}"
            scaled = "~" if row["used"] < row["columns"] else ""
            ratio = row["seconds"] / rows["engine"]["seconds"]
            name = f"**{engine}**" if engine == "engine" else engine
            memory = row["memory"] / 2**30 * (row["columns"] / row["used"] if engine in ("separate", "explicit") else 1)
            lines.append(
                f"| {dataset} | {row['nodes']} x {row['columns']} | {row['edges']} | {name} | "
                f"{scaled}{row['seconds']:.3f} | {'-' if engine == 'engine' else f'{ratio:.1f} x'} | "
                f"{scaled}{memory:.2f} GiB | {difference} |"
            )
            print(lines[-1], flush=True)
        if "bandwidth" in rows["engine"]:
            share = rows["engine"]["bandwidth"]
            lines.append(f"\nThe engine reaches {share:.0%} of the memory bandwidth of a copy.\n")
            print(lines[-1])
    return lines


def scaling(sizes: list[int]) -> list[str]:
    """Time against edges x features on power-law graphs of growing size."""
    lines = header("nodes", "edges", "seconds", "nanoseconds per edge and feature")
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            row = spawn(f"power-law-{size}", "engine", "cpu", Path(folder) / "x.npy")
        if row is not None:
            nanoseconds = row["seconds"] / (row["edges"] * row["columns"]) * 1e9
            lines.append(f"| {size} | {row['edges']} | {row['seconds']:.2f} | {nanoseconds:.1f} |")
            print(lines[-1], flush=True)
    return lines


def exponents(dataset: str, device: str) -> list[str]:
    """Every pair of exponents against p = 1, q = 2, 15 iterations with and without history."""
    x, edges, n = load(dataset)
    x = dense(x)[:, :512].contiguous()
    x, trust, W = x.to(device), trust_for(tuple(x.shape)).to(device), FrameletTransform(edges, n)
    lines = header("p", "q", "seconds", "times p = 1, q = 2", "with history")
    base: dict[bool, float] = {}
    for p, q in ((1.0, 2.0), (0.0, 2.0), (0.5, 2.0), (0.3, 2.0), (1.0, 1.0), (1.0, 1.5), (1.0, 1.3), (0.5, 1.5)):
        seconds = {}
        for history in (False, True):
            options = {"preset": "paper", "p": p, "q": q, "nu0": 1.0, "history": history}
            seconds[history] = _best(lambda options=options: recover(x, trust, W, **options), device)
            base.setdefault(history, seconds[history])
        plain, tracked = seconds[False], seconds[True]
        lines.append(f"| {p:g} | {q:g} | {plain:.2f} | {plain / base[False]:.2f} | {tracked / base[True]:.2f} |")
        print(lines[-1], flush=True)
    return lines


def propagation(dataset: str, device: str) -> list[str]:
    """The fused propagation against the torch reference."""
    x, edges, n = load(dataset)
    x = dense(x).to(device)
    trust, graph = trust_for(tuple(x.shape)).to(device), Graph.from_edges(edges, n)
    lines = header("lam", "fused, seconds", "torch, seconds", "ratio")
    for lam in (0.0, 1.0, 30.0):
        fused, plain = (
            _best(lambda lam=lam, backend=backend: propagate(x, trust, graph, lam=lam, backend=backend), device)
            for backend in ("auto", "torch")
        )
        lines.append(f"| {lam:g} | {fused:.3f} | {plain:.3f} | {plain / fused:.1f} |")
        print(lines[-1], flush=True)
    return lines


def workers(dataset: str, device: str) -> list[str]:
    """One and two Ray workers of one core each on the same ranges of columns."""
    import ray

    x, edges, n = load(dataset)
    x = dense(x)
    trust, W = trust_for(tuple(x.shape)), FrameletTransform(edges, n)
    lines = header("workers", "seconds", "ranges", "seconds per range and worker")
    for count in (1, 2):
        ray.init(num_cpus=count, include_dashboard=False, log_to_driver=False, logging_level="error")
        options = {"block_columns": 64, "cluster": "auto"}
        first = (part[:, : 64 * count].contiguous() for part in (x, trust))
        recover(*first, W, **options)  # starts the workers
        began = time.perf_counter()
        recover(x, trust, W, **options)
        seconds = time.perf_counter() - began
        ray.shutdown()
        ranges = -(-x.shape[1] // 64)
        lines.append(f"| {count} | {seconds:.2f} | {ranges} | {seconds * count / ranges:.3f} |")
        print(lines[-1], flush=True)
    return lines


PARTS = {"exponents": exponents, "propagation": propagation, "workers": workers}


def _best(run: object, device: str) -> float:
    """The shortest of three runs after one that compiles."""
    seconds = []
    for _ in range(4):
        _synchronize(device)
        began = time.perf_counter()
        run()
        _synchronize(device)
        seconds.append(time.perf_counter() - began)
    return min(seconds[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", help="comma-separated; all by default")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--scaling", action="store_true", help="also time growing power-law graphs")
    for part in PARTS:
        parser.add_argument(
            f"--{part}", action="store_true", help=f"also time {PARTS[part].__name__} on the first dataset"
        )
    parser.add_argument("--only", action="store_true", help="the parts that are asked for, without the engines")
    parser.add_argument("--save", type=Path, help="write the tables to this file")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--keep", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure_one(*options.one, options.device, options.keep)))
        return
    chosen = options.datasets.split(",") if options.datasets else DATASETS[options.device]
    where = machine(options.device)
    print(where)
    lines = [f"# Recovery: time and memory ({options.device})", "", f"`{command()}` on {where}:"]
    lines += [] if options.only else ["", *HEADER]
    for dataset in [] if options.only else chosen:
        lines += compare(dataset, options.device)
        save("\n".join([*lines, ""]), options.save)  # a run that is stopped keeps what it has
    for part, measure in PARTS.items():
        if getattr(options, part):
            lines += ["", f"{part} on {chosen[0]}:", "", *measure(chosen[0], options.device)]
            save("\n".join([*lines, ""]), options.save)  # a run that is stopped keeps what it has
    if options.scaling:
        lines += ["", *scaling([62_500, 125_000, 250_000, 500_000, 1_000_000])]
        save("\n".join([*lines, ""]), options.save)  # a run that is stopped keeps what it has


if __name__ == "__main__":
    main()
