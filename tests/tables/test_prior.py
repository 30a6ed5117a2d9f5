"""The prior of a cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from magnet.tables.channels.base import UNKNOWN
from magnet.tables.channels.typo import Typo
from magnet.tables.options import DEFAULT
from magnet.tables.prior import ColumnPrior, mixture_weights


def prior(coded: Any, columns: dict[str, list[str]], position: int) -> ColumnPrior:
    return ColumnPrior(coded(columns), position, options=DEFAULT, typo=Typo(), rate=DEFAULT.typo_rate)


def test_em_finds_the_share_of_rows_that_each_expert_explains() -> None:
    # 75 rows only the first can explain, 25 only the second: (75 + 1/2) / 101
    likelihood = np.repeat([[1.0, 0.0], [0.0, 1.0]], [75, 25], axis=0).T + 1e-300
    assert mixture_weights(likelihood) == pytest.approx([75.5 / 101, 25.5 / 101])
    assert mixture_weights(np.ones((3, 50))) == pytest.approx([1 / 3] * 3)


def towns() -> dict[str, list[str]]:
    return {
        "zip": [str(100 + k % 4) for k in range(80)],
        "town": [["Ulm", "Bonn", "Kiel", "Bern"][k % 4] for k in range(80)],
    }


def test_the_context_outweighs_the_frequency(coded: Any) -> None:
    model = prior(coded, towns(), 1)
    assert float(model.weights.sum()) == pytest.approx(1)
    probability = model.prior(np.zeros(4, dtype=int), np.arange(4))
    assert probability[0] > 0.9
    assert probability[1:].max() < 0.05


def test_a_blank_is_filled_by_its_group_and_the_evidence_is_named(coded: Any) -> None:
    columns = towns()
    columns["town"][6] = ""
    model = prior(coded, columns, 1)
    code, chance = model.fillings()[6]
    assert model.column.values[code] == "Kiel"
    assert chance > 0.9
    assert model.reason(6, code, "missing") == "19 of 19 other rows with zip '102' have 'Kiel', but blank: missing"
    assert "differs in form" in model.reason(0, UNKNOWN, "typo")


def test_a_filled_column_needs_no_fillings(coded: Any) -> None:
    assert prior(coded, towns(), 1).fillings() == {}


def test_the_median_fills_blank_quantities(coded: Any) -> None:
    sizes = [f"{k}.5" for k in (3, 1, 2, 9, 8)] + [""]
    model = prior(coded, {"size": sizes * 4}, 0)
    assert {model.column.values[code] for code, _ in model.fillings().values()} == {"3.5"}


def test_the_prior_of_the_texts_as_read_is_that_of_pairs_of_rows_and_values(coded: Any) -> None:
    columns = towns()
    columns["town"][3] = "Bernn"
    table = coded(columns)
    for repaired in (False, True):
        if repaired:
            current = table.columns[1].read.copy()
            current[3] = table.columns[1].index["Bern"]
            table.columns[1].repair(current)
        model = ColumnPrior(table, 1, options=DEFAULT, typo=Typo(), rate=DEFAULT.typo_rate)
        expected = model.prior(np.arange(80), table.columns[1].read)
        assert model.prior_of_read().tolist() == model.prior_of_read().tolist() == expected.tolist()
