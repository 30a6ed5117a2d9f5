"""What identifies a run: its complete config, and the result versions of the components that it uses.

A component's version is raised whenever the numbers that it computes change; moving or rewording code leaves
it as it is. ``tests/experiments/store/test_versions.py`` recomputes a few reference values of every component and
fails when they differ while the version does not. After an intended change, raise the version here and run
``python tests/experiments/store/test_versions.py --renew``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

#: The result version of every component.
RESULT_VERSIONS: Mapping[str, int] = {
    "datasets": 1,
    "corruption": 1,
    "detector": 15,
    "gae": 1,
    "recovery": 1,
    "networks": 1,
    "committee": 6,
    "image": 1,
}


def components(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The components that a run depends on.

    Example:
        >>> plain = {"kind": "classify", "dataset": "cora", "corruption": "none", "method": "gcn", "seed": 0}
        >>> components(plain)
        ('datasets', 'networks')
        >>> components({**plain, "corruption": "inject-random", "method": "magnet"})
        ('datasets', 'corruption', 'detector', 'recovery', 'networks', 'committee')
    """
    kind = config.get("kind")
    used = {"datasets"}
    if config.get("corruption", "none") != "none":
        used.add("corruption")
    if kind == "detect":
        used.add(_detector(config["method"]))
    elif kind == "image":
        on_graph = config["method"] == "fp" or config["method"].startswith("magnet")
        used |= {"image", "recovery"} if on_graph else {"image"}
    elif kind in ("classify", "search"):
        used |= _of_method(config)
    elif kind != "statistics":
        used = set(RESULT_VERSIONS)
    return tuple(name for name in RESULT_VERSIONS if name in used)


def result_version(config: Mapping[str, Any], versions: Mapping[str, int] = RESULT_VERSIONS) -> str:
    """The versions of a run's components as text, such as ``"datasets 1, networks 1"``."""
    return ", ".join(f"{name} {versions[name]}" for name in components(config))


def canonical_key(config: Mapping[str, Any]) -> str:
    """A config as text, with sorted keys and every default filled in.

    Example:
        >>> run = {"kind": "classify", "dataset": "cora", "corruption": "none", "method": "gcn", "seed": 0}
        >>> canonical_key(run) == canonical_key({**run, "hidden": 64})
        True
        >>> canonical_key(run) == canonical_key({**run, "hidden": 16})
        False
    """
    return json.dumps(complete(config), sort_keys=True, separators=(",", ":"))


def complete(config: Mapping[str, Any]) -> dict[str, Any]:
    """A config with every default filled in, so that it stays valid after a default has changed."""
    defaults = (
        _defaults(str(config.get("method")), str(config.get("dataset"))) if config.get("kind") == "classify" else {}
    )
    return {**defaults, **config}


def run_key(config: Mapping[str, Any], version: str | None = None) -> str:
    """The key of a run: a digest of its complete config and its result version.

    Args:
        config: the config.
        version: (default: :func:`result_version` of the config)
    """
    described = f"{canonical_key(config)} {result_version(config) if version is None else version}"
    return hashlib.sha256(described.encode()).hexdigest()[:20]


def _of_method(config: Mapping[str, Any]) -> set[str]:
    from magnet.experiments.methods import METHODS
    from magnet.experiments.methods.base import untouched

    method = METHODS.get(str(config.get("method")))
    if method is None:  # an old store may hold runs of methods that no longer exist
        return set(RESULT_VERSIONS)
    used = {"networks", "committee"} if method.average else {"networks"}
    if method.repair is not untouched:
        used.add("recovery")
    detector = config.get("detector", method.defaults.get("detector", "none"))
    return used if detector == "none" else used | {_detector(detector)}


def _detector(name: str) -> str:
    return "gae" if name == "gae" else "detector"


@cache
def _defaults(method: str, dataset: str) -> dict[str, Any]:
    from magnet.datasets import DATASETS
    from magnet.experiments.methods import METHODS

    known = method in METHODS and dataset in DATASETS
    return METHODS[method].config({}, DATASETS[dataset].nodes) if known else {}
