from itertools import combinations

import numpy as np
import pytest

from magnet.tables.coded import CodedTable
from magnet.tables.experts.base import ColumnContext
from magnet.tables.experts.groups import (
    MAX_GROUPS,
    MIN_GAIN,
    SMOOTHING,
    UNSEEN,
    Grouping,
    Groups,
    _is_key,
    choose_contexts,
)
from magnet.tables.posterior import judge_table


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


def slow_fit(group: np.ndarray, value: np.ndarray, frequency: np.ndarray) -> tuple[float, float]:
    """The best mean log-likelihood and its smoothing, pair by pair."""
    same = np.array([((group == g) & (value == v)).sum() for g, v in zip(group, value, strict=True)])
    size = np.array([(group == g).sum() for g in group])
    return max((float(np.log((same - 1 + k * frequency) / (size - 1 + k)).mean()), k) for k in SMOOTHING)


def slow_choice(table: CodedTable, j: int) -> list[tuple[tuple[int, ...], float]]:
    codes = [np.unique(c.current, return_inverse=True)[1] for c in table.columns]
    value, n = codes[j], table.num_rows
    frequency = np.maximum((np.bincount(value)[value] - 1) / (n - 1), UNSEEN / n)
    scored = []
    for k, group in enumerate(codes):
        if k != j and 2 <= group.max() + 1 <= MAX_GROUPS * n:
            fit, kappa = slow_fit(group, value, frequency)
            if fit > np.log(frequency).mean() + MIN_GAIN:
                scored.append((fit, -int(group.max() + 1), k, kappa))
    scored.sort(reverse=True)
    pairs = [
        (*slow_fit(codes[a] * n + codes[b], value, frequency), (a, b))
        for (_, _, a, _), (_, _, b, _) in combinations(scored[:5], 2)
    ]
    found = [((k,), kappa) for _, _, k, kappa in scored[:3]]
    best = max(pairs, default=None)
    return found + ([(best[2], best[1])] if best and best[0] > scored[0][0] + 0.05 else [])


def test_contexts_are_those_of_a_plain_search_also_after_repairs() -> None:
    rng = np.random.default_rng(4)
    a, b, noise = rng.integers(6, size=(3, 150))
    columns = {
        "a": a,
        "b": b,
        "both": 10 * a + b,
        "of a": a // 2,
        "mostly a": np.where(rng.random(150) < 0.2, rng.integers(6, size=150), a),
        "noise": noise,
        "key": np.arange(150),
        "few pairs": np.arange(150) // 2,
        "halves": 2 * (b > 2) + (noise > 2),
    }
    table = CodedTable.of({name: [f"v{k}" for k in codes.tolist()] for name, codes in columns.items()})
    memory: list[dict[str, object]] = [{} for _ in columns]

    def chosen() -> list[list[tuple[tuple[int, ...], float]]]:
        return [choose_contexts(ColumnContext(table, j, memory[j])) for j in range(len(columns))]

    before = chosen()
    assert before == [slow_choice(table, j) for j in range(len(columns))]
    assert {1, 5} in [set(at) for at, _ in before[8]]  # neither of the two alone determines the halves
    table.columns[0].repair(table.columns[5].current.copy())
    assert chosen() == [slow_choice(table, j) for j in range(len(columns))]
    assert chosen() != before


def test_a_column_that_says_nothing_alone_completes_a_key() -> None:
    rng = np.random.default_rng(0)
    state, married = rng.integers(12, size=600), rng.integers(2, size=600)
    columns = {
        "state": [f"s{k}" for k in state],
        "married": [["no", "yes"][k] for k in married],
        "other": [f"o{k}" for k in rng.integers(12, size=600)],
        "exemption": [f"${(7 * a + 5 * b) % 12}00" for a, b in zip(state, married, strict=True)],
    }
    chosen = [at for at, _ in choose_contexts(ColumnContext(CodedTable.of(columns), 3))]
    assert chosen == [(0,), (0, 1)]
    columns["exemption"][5] = columns["exemption"][next(k for k in range(600) if state[k] != state[5])]
    listed = [(c.row, c.column) for c in judge_table(columns).cells]
    assert (5, "exemption") in listed
    assert {row for row, _ in listed} == {5}  # the state may be wrong instead


def test_a_key_has_large_groups_of_one_value() -> None:
    """Heights by sex and country; a fifth of the countries is mixed."""
    country, sex = np.arange(400) // 80, np.arange(400) % 4
    value = (country + sex) % 3
    value[0] = 2
    mixed = np.where((country == 4) & (np.arange(400) // 4 % 2 == 1), 0, value)
    small = np.arange(400) // 4
    grouping = [Grouping(codes, 100, np.bincount(codes)[codes]) for codes in (4 * country + sex, small)]
    assert _is_key(grouping[0], value)
    assert not _is_key(grouping[0], mixed)
    assert not _is_key(grouping[1], small % 3)


def test_exceptions_gather_if_they_do_so_in_the_file() -> None:
    """Two exceptions in each of ten groups are scattered, also when all but those of one group are repaired."""
    city = [f"city{k // 30}" for k in range(300)]
    state = [f"state{k // 30}" if k % 30 not in (4, 19) else f"state{(k // 30 + 1) % 10}" for k in range(300)]
    coded = CodedTable.of({"city": city, "state": state})
    column = coded.columns[1]
    repaired = [f"state{k // 30}" for k in range(30, 300)]
    column.repair(np.r_[column.read[:30], [column.index[text] for text in repaired]])
    assert Groups(coded, 1, (0,), kappa=0.2).agreement()[2] == 0.0
