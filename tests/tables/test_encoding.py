"""Tables as features of a graph."""

import numpy as np
import pandas as pd
import pytest

from magnet.tables import BadTable, from_frames
from magnet.tables.encoding import encode, with_nearest_links


def test_rows_without_edges_are_linked_to_those_most_like_them() -> None:
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 30)
    nodes = pd.DataFrame({"a": group * 10 + rng.normal(size=60), "b": group * 10 + rng.normal(size=60)})
    table = with_nearest_links(from_frames(nodes), 5)
    assert table.links.kind == "nearest"
    row, column = table.links.edge_index
    assert (group[row] == group[column]).all()
    assert with_nearest_links(from_frames(nodes), 0).links.kind == "none"
    assert with_nearest_links(from_frames(nodes.head(1)), 5).links.edge_index.shape == (2, 0)


def test_nothing_to_encode_is_said() -> None:
    with pytest.raises(BadTable, match="no column can be cleaned"):
        encode(from_frames(pd.DataFrame({"id": ["a", "b"]})))
