"""``magnet doctor``: installed packages, devices, data folders, and missing parts."""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib import metadata, util
from typing import Any

import typer

from magnet.cli.errors import FAILED
from magnet.cli.options import Output, command
from magnet.files import package_version

#: What the extras are for.
EXTRAS = {
    "search": "magnet reproduce --search",
    "cluster": "execution on a Ray cluster (--ray)",
    "image": "magnet reproduce fig-image",
    "text": "repair of text with a wrong encoding",
    "agent": "magnet mcp",
    "database": "tables of DuckDB files",
    "bench": "competing methods in magnet bench",
}


@command
def doctor(out: Output) -> None:
    """Print versions, devices, threads and data folders, and how to install what is missing."""
    report = examine()
    out.result(report)
    for line in _lines(report):
        out.line(line)
    for name, use in EXTRAS.items():
        versions = ", ".join(f"{part} {package_version(part) or 'missing'}" for part in required(name))
        out.detail(f"extra {name} ({use}): {versions}")
    if report["missing"]:
        raise typer.Exit(FAILED)


def required(extra: str = "") -> list[str]:
    """The packages that an extra needs, or those that are always needed, by the metadata of the installed package."""
    wanted = f"extra == '{extra}'" if extra else ""
    lines = (line.partition(";") for line in metadata.requires("magnet-gnn") or ())
    return [re.split("[^A-Za-z0-9_.-]", name)[0] for name, _, condition in lines if condition.strip() == wanted]


def examine() -> dict[str, Any]:
    """What ``magnet doctor`` prints, as plain values."""
    from magnet import __version__

    packages = {name: package_version(name) for name in required()}
    extras = {name: all(map(package_version, required(name))) for name in EXTRAS}
    return {
        "magnet": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "packages": packages,
        "extras": extras,
        "missing": [name for name, version in packages.items() if version is None],
        **_machine(),
        "data": _folders(),
    }


def _machine() -> dict[str, Any]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    machine: dict[str, Any] = {"cores": cores, "threads": None, "devices": ["cpu"], "triton": False}
    if util.find_spec("torch"):
        import torch

        machine["threads"] = torch.get_num_threads()
        machine["devices"] += [torch.cuda.get_device_name(k) for k in range(torch.cuda.device_count())]
        machine["triton"] = util.find_spec("triton") is not None
    return machine


def _folders() -> dict[str, Any]:
    from magnet.datasets.catalog import DATASETS
    from magnet.files import cache_folder

    folder = os.environ.get("MAGNET_DATA")
    names = [name for name, entry in DATASETS.items() if entry.source is None or entry.found(None) is not None]
    return {
        "MAGNET_DATA": folder,
        "cache": str(cache_folder()),
        "found": names,
        "to download": sorted(set(DATASETS) - set(names)),
    }


def _lines(report: dict[str, Any]) -> list[str]:
    data = report["data"]
    lines = [
        f"magnet {report['magnet']}, Python {report['python']} ({report['executable']})",
        f"{report['platform']}, {report['cores']} cores, torch uses {report['threads']} threads",
        f"devices: {', '.join(report['devices'])}{'' if report['triton'] else ' (no Triton: no fused CUDA kernels)'}",
        "packages: " + ", ".join(f"{name} {version or 'MISSING'}" for name, version in report["packages"].items()),
        f"raw datasets: MAGNET_DATA is {data['MAGNET_DATA'] or 'not set'}, the cache folder is {data['cache']}",
        f"datasets found: {', '.join(data['found'])}",
    ]
    if data["to download"]:
        lines.append(f"not found: {', '.join(data['to download'])} (see magnet datasets)")
    for name, installed in report["extras"].items():
        if not installed:
            lines.append(f"extra {name} is not installed ({EXTRAS[name]}): pip install 'magnet-gnn[{name}]'")
    if report["missing"]:
        lines.append(f"MISSING: {', '.join(report['missing'])}: pip install magnet-gnn")
    return lines
