"""Categories that contradict linked rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from magnet.tables.channels.link_disagreement import audit


def test_categories_that_contradict_their_linked_rows_are_found(coded: Any) -> None:
    place = np.arange(900) // 10
    colors = [["red", "green", "blue"][k % 3] for k in place]
    wrong = {50: "blue", 250: "green", 454: "red", 601: "red", 777: "blue"}  # and what their nine linked rows hold
    for row, color in wrong.items():
        assert colors[row] == color
        colors[row] = "red" if color != "red" else "green"
    same = sp.csr_array((place[:, None] == place[None]).astype(float))
    table = coded({"color": colors})
    assert list(audit(table)) == []
    table.links = same
    assert {f.row: f.suggested for _, f in audit(table)} == wrong
    order = np.random.default_rng(0).permutation(900)
    table.links = sp.csr_array(same[order][:, order])  # the same links between other rows
    assert list(audit(table)) == []
