from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from magnet.tables import BadTable, from_frames
from magnet.tables.errors import TableWarning

NODES = pd.DataFrame({"id": [f"n{k}" for k in range(20)], "age": range(20, 40)})


def edges(known: int, unknown: int) -> pd.DataFrame:
    pairs = [(f"n{k % 20}", f"n{(k + 1) % 20}") for k in range(known)] + [("x", "n1")] * unknown
    return pd.DataFrame(pairs, columns=["source", "target"])


def test_unknown_ids_are_counted_warned_about_and_refused() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        facts = from_frames(NODES, edges(98, 2)).links.facts
    assert (facts["edges with known ids"], facts["edges to unknown ids"]) == (98, 2)
    assert facts["share of edges to unknown ids"] == 0.02
    with pytest.warns(TableWarning, match=r"6 of the 100 edges \(6%\) have unknown ids such as 'x'"):
        from_frames(NODES, edges(94, 6))
    with pytest.raises(BadTable, match="60 of the 100 edges"):
        from_frames(NODES, edges(40, 60))
    with pytest.warns(TableWarning, match="ignored"):
        table = from_frames(NODES, edges(40, 60), allow_unknown_ids=True)
    assert table.links.facts["edges used"] == 20
    with pytest.raises(BadTable, match="none of the 3 edges"):
        from_frames(NODES, edges(0, 3), id="id", allow_unknown_ids=True)


@pytest.mark.parametrize("size", [1e300, 1e-300, 4e38])
def test_weights_of_any_size_stay_weights(size: float) -> None:
    pairs = edges(20, 0).assign(weight=[size * (1 + k % 2) for k in range(20)])
    weight = from_frames(NODES, pairs).links.edge_weight
    assert weight is not None
    found = np.asarray(weight)
    assert np.isfinite(found).all()
    assert found.max() / found.min() == pytest.approx(2)
