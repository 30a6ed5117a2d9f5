"""WordNet from a tiny file in the raw format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from magnet.datasets.wordnet import read


def raw(folder: Path, **changes: object) -> None:
    words = sp.csr_matrix([[1.0, 0, 2], [0, 3, 0], [0, 0, 0], [1, 1, 1]])
    arrays = {
        **{"attr_data": words.data, "attr_indices": words.indices, "attr_indptr": words.indptr, "attr_shape": [4, 3]},
        **{"proj": np.array([[1.0, 0], [0, 1], [10, 0]]), "edges": [[0, 1, 1], [1, 0, 2]]},
        **{"y": [0, 1, 1, 0], "split": [0, 1, 2, 0]},
    }
    np.savez(folder / "wordnet_synsets.npz", **(arrays | changes))


def test_features_are_projected_words(tmp_path: Path) -> None:
    raw(tmp_path)
    data = read("wordnet", tmp_path, 0)
    assert data.x.tolist() == [[21, 0], [0, 3], [0, 0], [11, 1]]
    assert data.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert data.y.tolist() == [0, 1, 1, 0]
    masks = [data[f"{part}_mask"].nonzero().flatten().tolist() for part in ("train", "val", "test")]
    assert masks == [[0, 3], [1], [2]]


def test_indices_out_of_range_are_a_damaged_file(tmp_path: Path) -> None:
    raw(tmp_path, attr_indices=np.array([0, 2, 1, 0, 1, 9]))
    with pytest.raises(ValueError, match=r"damaged file .*column indices from 0 to 9"):
        read("wordnet", tmp_path, 0)
