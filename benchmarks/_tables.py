"""Tables with known errors, for benchmarks of the cleaner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

CITIES = ["Aarhus", "Bergen", "Cork", "Delft", "Evora", "Faro", "Gent", "Halle"]
SEGMENTS = ["basic", "family", "student", "senior"]


@dataclass(frozen=True)
class Example:
    """A table as it should be, as it is, and the truth about every cell.

    Args:
        name: what it is.
        truth, nodes: the right and the given table, an ``id`` column first.
        edges: ``source, target``, or None for a table without edges.
        outliers, contextual: bool ``[rows, columns without id]``: wrong by any column statistic, and wrong only for
            this node.
        missing: cells without a value.
    """

    name: str
    truth: pd.DataFrame
    nodes: pd.DataFrame
    edges: pd.DataFrame | None
    outliers: np.ndarray
    contextual: np.ndarray
    missing: np.ndarray


def districts(seed: int, rows: int = 3000, wrong: float = 0.01, missing: float = 0.01) -> Example:
    """People in districts: neighbors mostly live in the same district, districts differ in what people are like."""
    rng = np.random.default_rng(seed)
    count = 30
    place = rng.integers(count, size=rows)
    wealth = rng.normal(size=count)[place]
    young = rng.normal(size=count)[place]
    city = rng.integers(len(CITIES), size=count)[place]
    own = rng.normal(size=rows) * 0.25
    truth = pd.DataFrame(
        {
            "id": [f"p{k:05d}" for k in range(rows)],
            "income": np.round(np.exp(10.4 + 0.5 * wealth + own), 0),
            "rent": np.round(600 + 150 * wealth + 80 * own + 40 * rng.normal(size=rows), 2),
            "age": np.round(45 - 9 * young + 6 * rng.normal(size=rows)).clip(18, 99).astype(int),
            "children": rng.poisson(np.exp(0.2 + 0.5 * young)),
            "visits": rng.poisson(np.exp(1.5 + 0.8 * wealth + 0.3 * rng.normal(size=rows))),
            "distance": np.round(np.exp(0.7 * rng.normal(size=count))[place] * np.exp(0.3 * rng.normal(size=rows)), 3),
            "city": [CITIES[k] for k in np.where(rng.random(rows) < 0.03, rng.integers(8, size=rows), city)],
            "segment": [SEGMENTS[k] for k in _segments(rng, young)],
            "premium": np.where(rng.random(rows) < _logistic(3 * wealth - 1), "yes", "no"),
            "owner": (rng.random(rows) < _logistic(-2 * young)).astype(int),
        }
    )
    return _with_errors("districts", truth, _edges(rng, place, 8), rng, wrong, missing)


def terrain(seed: int, rows: int = 3000, wrong: float = 0.01, missing: float = 0.01) -> Example:
    """Measuring stations in the plane, linked to the nearest ones: quantities that change smoothly with the place."""
    from sklearn.neighbors import NearestNeighbors

    rng = np.random.default_rng(seed)
    at = rng.random((rows, 2))

    def smooth(scale: float) -> np.ndarray:
        waves = rng.normal(size=(2, 24)) / scale
        field = np.sin(2 * np.pi * (at @ waves) + rng.uniform(0, 2 * np.pi, 24)).sum(axis=1)
        return field / field.std()

    height, humid, traffic = smooth(0.5), smooth(0.4), smooth(0.3)
    noise = rng.normal(size=(rows, 6))
    truth = pd.DataFrame(
        {
            "id": [f"station {k}" for k in range(rows)],
            "temperature": np.round(12 - 4 * height + 0.6 * noise[:, 0], 1),
            "rain": np.round(np.exp(3 + 0.6 * humid + 0.15 * noise[:, 1]), 1),
            "pressure": np.round(1013 - 12 * height + 1.5 * noise[:, 2], 1),
            "cars": rng.poisson(np.exp(4 + 0.9 * traffic)),
            "soil": np.array(["sand", "clay", "loam", "peat"])[
                np.digitize(humid + 0.15 * noise[:, 3], [-0.8, 0.1, 0.9])
            ],
            "frost": (height + 0.25 * noise[:, 4] > 0.6).astype(int),
        }
    )
    nearest = NearestNeighbors(n_neighbors=6).fit(at).kneighbors(return_distance=False)
    pairs = np.stack([np.repeat(np.arange(rows), 6), nearest.ravel()], axis=1)
    return _with_errors("terrain", truth, pairs, rng, wrong, missing)


def tumours(seed: int, wrong: float = 0.01, missing: float = 0.01) -> Example:
    """Measurements of tumours (Wisconsin diagnostic data, real), without edges."""
    from sklearn.datasets import load_breast_cancer

    rng = np.random.default_rng(seed)
    raw = load_breast_cancer(as_frame=True)
    truth = raw.data.copy()
    truth.insert(0, "id", [f"t{k}" for k in range(len(truth))])
    return _with_errors("tumours", truth, None, rng, wrong, missing)


EXAMPLES = {"districts": districts, "terrain": terrain, "tumours": tumours}


def _segments(rng: np.random.Generator, young: np.ndarray) -> np.ndarray:
    logits = np.stack([0 * young, 1.2 * young - 0.2, 2.5 * young - 1, -2.5 * young - 1], axis=1)
    share = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return (rng.random((young.size, 1)) > share.cumsum(axis=1)).sum(axis=1).clip(0, 3)


def _logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _edges(rng: np.random.Generator, place: np.ndarray, degree: int, inside: float = 0.9) -> np.ndarray:
    members = {d: np.flatnonzero(place == d) for d in np.unique(place)}
    pairs = []
    for k, d in enumerate(place):
        for _ in range(rng.poisson(degree / 2)):
            pool = members[d] if rng.random() < inside else np.arange(place.size)
            pairs.append((k, int(rng.choice(pool))))
    return np.array(pairs)


def _with_errors(
    name: str, truth: pd.DataFrame, pairs: np.ndarray | None, rng: np.random.Generator, wrong: float, missing: float
) -> Example:
    """The same table with a share ``wrong`` of outliers, as many contextual errors, and missing cells."""
    nodes = truth.astype(dict.fromkeys(truth.columns[1:], object))
    shape = (len(truth), truth.shape[1] - 1)
    kind = rng.choice(4, size=shape, p=[1 - 2 * wrong - missing, wrong, wrong, missing])
    outliers, contextual = np.zeros(shape, bool), np.zeros(shape, bool)
    for k, column in enumerate(truth.columns[1:]):
        values = truth[column]
        numeric = pd.api.types.is_numeric_dtype(values) and values.nunique() > 2
        if numeric:
            rows = np.flatnonzero(kind[:, k] == 1)
            nodes.loc[rows, column] = _outliers(rng, values, rows)
            outliers[rows, k] = True
        rows = np.flatnonzero(kind[:, k] == 2)
        for row in rows:
            other = _elsewhere(rng, values, row, numeric)
            if other is not None:
                nodes.loc[row, column] = other
                contextual[row, k] = True
    gone = kind == 3
    for k, column in enumerate(truth.columns[1:]):
        nodes.loc[gone[:, k], column] = None
        if pd.api.types.is_numeric_dtype(truth[column]):
            nodes[column] = nodes[column].astype(float)
    edges = None
    if pairs is not None:
        ids = truth["id"].to_numpy()
        edges = pd.DataFrame({"source": ids[pairs[:, 0]], "target": ids[pairs[:, 1]]})
    return Example(name, truth, nodes, edges, outliers, contextual, gone)


def _outliers(rng: np.random.Generator, values: pd.Series, rows: np.ndarray) -> np.ndarray:
    """A slipped decimal point, or a value several spreads outside what the column holds."""
    low, high = values.min(), values.max()
    spread = float(np.std(values))
    slipped = values.to_numpy()[rows] * 100.0
    beyond = np.where(rng.random(rows.size) < 0.5, high + spread * rng.uniform(2, 6, rows.size), 0)
    beyond = np.where(beyond == 0, low - spread * rng.uniform(2, 6, rows.size), beyond)
    if (values >= 0).all() and (values == values.round()).all():
        beyond = np.round(high + spread * rng.uniform(2, 6, rows.size))
    slip = (rng.random(rows.size) < 0.5) & (slipped > high + 2 * spread)
    result = np.where(slip, slipped, beyond)
    return np.round(result, 3)


def _elsewhere(rng: np.random.Generator, values: pd.Series, row: int, numeric: bool) -> object | None:
    """Another row's value that is clearly not this row's: at least one and a half spreads away, or another category."""
    own = values.iloc[row]
    for _ in range(50):
        other = values.iloc[rng.integers(len(values))]
        if (abs(other - own) > 1.5 * float(np.std(values))) if numeric else other != own:
            return other
    return None
