from typing import Any

import pytest

from magnet.tables.channels.typo import ALPHABET, DIGIT_DISCOUNT, Typo, near_pairs
from magnet.tables.experts.base import ColumnContext


def test_one_operation_by_hand() -> None:
    typo = Typo()
    share = 2 / 10.5  # four edits with two pseudo-counts, case and space with half a one, marks with 1.5
    assert typo.likelihood("cet", "cat") == pytest.approx(share / 3 / ALPHABET)
    assert typo.likelihood("ct", "cat") == pytest.approx(share / 3)
    assert typo.likelihood("cart", "cat") == pytest.approx(share / 4 / ALPHABET)
    assert typo.likelihood("caat", "cat") == pytest.approx(2 * share / 4 / ALPHABET)  # before or behind the a
    assert typo.likelihood("Isued", "Issued") == pytest.approx(2 * share / 6)  # either s
    assert typo.likelihood("act", "cat") == pytest.approx(share / 2)
    assert typo.likelihood("dog", "cat") == 0


def test_one_letter_replaced_everywhere() -> None:
    assert Typo.operation("bxnxnx", "banana") == ("replace", "x", 3)


def test_digits_are_discounted() -> None:
    typo = Typo()
    assert typo.likelihood("1234", "1235") == pytest.approx(DIGIT_DISCOUNT * typo.likelihood("abcd", "abce"))


def test_learning_prefers_what_was_seen() -> None:
    typo = Typo()
    before = typo.likelihood("xouse", "mouse")
    typo.learn([("xat", "cat")] * 30)
    assert typo.likelihood("xouse", "mouse") > 5 * before
    assert typo.likelihood("ouse", "mouse") < before * ALPHABET


def test_join_finds_what_a_full_comparison_finds() -> None:
    left = ["birmingham", "birmingxam", "irmingham", "bimringham", "BIRMINGHAM", "berlin", "sxxxle"]
    right = ["birmingham", "seattle", "berlin"]
    joined = set(near_pairs(left, right, 0))
    assert {(1, 0), (2, 0), (3, 0), (4, 0)} <= joined
    assert all(left[a] != right[b] for a, b in joined)


def test_junk_behind_a_value_is_a_slip_whose_mark_is_learned() -> None:
    typo = Typo()
    assert typo.operation("Ulm ***", "Ulm") == ("mark", " ***", 1.0)
    assert typo.operation("What?", "What") == ("insert", "?", 5)  # values end so
    before = typo.likelihood("Ulm-*", "Ulm")
    typo.learn([("Bonn-*", "Bonn")] * 12)
    assert typo.likelihood("Ulm-*", "Ulm") > 5 * before > 0


def test_two_digits_that_both_differ_are_no_misspelling() -> None:
    assert Typo.operation("33-43", "35-45") is None
    assert Typo.operation("xittxburgh", "sittsburgh") is not None


def test_proposals_of_later_passes_are_those_of_what_was_learned(coded: Any) -> None:
    table = coded({"town": ["Ulm1", "Ulm2", "Bonn", "Bonn", "Bpnn", "Bonn ***", "Jena", "Jena", "Jwna", "Jnea"] * 2})
    context, typo = ColumnContext(table, 0), Typo()
    values = context.column.values
    for lessons in ([], [("xat", "cat")] * 30, [("act", "cat")] * 30):
        typo.learn(lessons)
        found = typo.propose(context)
        assert len(found) > 5
        assert [p.likelihood for p in found] == [
            typo.likelihood(values[p.observed], values[p.candidate]) for p in found
        ]
        assert [p.likelihood for p in found] == [p.likelihood for p in fresh(lessons).propose(context)]


def fresh(lessons: list[tuple[str, str]]) -> Typo:
    typo = Typo()
    typo.learn(lessons)
    return typo


def test_two_edits_lead_from_a_number_to_any_other() -> None:
    assert Typo.edit("10643", "1067") is None
    assert Typo.edit("10643", "1063") is not None
    assert Typo.edit("Lenwtho", "Lenwoth") is not None
