import numpy as np
import pytest

from magnet.tables.coded import CodedTable
from magnet.tables.experts.base import ColumnContext
from magnet.tables.experts.groups import Groups, choose_contexts


def table() -> CodedTable:
    return CodedTable.of({"zip": ["1", "1", "1", "2"], "city": ["Ulm", "Ulm", "Bonn", "Bonn"]})


def test_probability_by_hand() -> None:
    expert = Groups(table(), 1, (0,), kappa=0.5)
    # row 2 (zip 1, Bonn): both other rows of the zip say Ulm; F leaves row 2 out: Ulm 2/3, Bonn 1/3
    rows = np.array([2, 2])
    expected = [(2 + 0.5 * 2 / 3) / 2.5, (0 + 0.5 * 1 / 3) / 2.5]
    np.testing.assert_allclose(expert.probability(rows, np.array([0, 1])), expected)
    assert expert.own()[2] == pytest.approx(expected[1])


def test_proposals_are_the_values_a_group_repeats() -> None:
    expert = Groups(table(), 1, (0,), kappa=0.5)
    assert expert.proposals()[2].tolist() == [0, -1, -1]
    assert (expert.proposals()[3] == -1).all()


def test_evidence_counts_the_other_rows() -> None:
    expert = Groups(table(), 1, (0,), kappa=0.5)
    assert expert.evidence(2, 0) == "2 of 2 other rows with zip '1' have 'Ulm'"


def test_the_determining_column_is_chosen_and_noise_is_not() -> None:
    rng = np.random.default_rng(0)
    key = rng.integers(20, size=400)
    columns = {
        "noise": [str(k) for k in rng.integers(20, size=400)],
        "key": [f"k{k}" for k in key],
        "city": [f"city{k % 7}" for k in key],
    }
    chosen = choose_contexts(ColumnContext(CodedTable.of(columns), 2))
    assert [at for at, _ in chosen] == [(1,)]


def test_a_context_with_many_mixed_groups_determines_nothing() -> None:
    height = [str(150 + k % 40) for k in range(800)]
    clear = ["f" if k % 40 < 20 else "m" for k in range(800)]
    clear[3] = "m"
    mixed = ["f" if k % 40 < 12 or (k % 40 < 28 and (k // 40) % 2) else "m" for k in range(800)]
    mixed[3] = "m"
    for sex, voice in ((clear, "f"), (mixed, None)):
        people = CodedTable.of({"sex": sex, "height": height})
        said = Groups(people, 0, (1,), 0.2).agreement()[0][3]
        assert (None if said < 0 else people.columns[0].values[said]) == voice
