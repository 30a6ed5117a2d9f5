"""Texts and numbers that stand for a missing value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from magnet.tables.channels.disguised_missing import LEVEL, rewrite
from magnet.tables.options import DEFAULT

AGES = [str(20 + 7 * k % 31) for k in range(20)]


def test_words_and_repeated_impossible_numbers_become_blanks(found: Any) -> None:
    assert found(rewrite, {"age": [*map(str, range(20, 40)), "N/A"]}) == {(20, 0, "")}
    assert found(rewrite, {"age": [*AGES, "-999", "-999", "-999"]}) == {(k, 0, "") for k in (20, 21, 22)}
    assert found(rewrite, {"pay": [f"{k}.5" for k in range(9)] * 3 + ["NaN"]}) == {(27, 0, "")}


def test_ages_and_a_number_within_the_range_of_the_others_are_left_alone(found: Any) -> None:
    assert found(rewrite, {"age": AGES}) == set()
    assert found(rewrite, {"price": [*map(str, range(80, 110)), "99", "99", "99"]}) == set()


@pytest.mark.parametrize(("column", "row"), [("land", None), ("pay", 20)])
def test_a_code_that_reads_like_a_missing_value_is_a_code(found: Any, column: str, row: int | None) -> None:
    texts = ["DE", "FR", "NA", "US"] * 10 if column == "land" else [*map(str, range(20, 40)), "NA"]
    assert found(rewrite, {column: texts}) == (set() if row is None else {(row, 0, "")})


def test_a_mark_is_written_as_a_blank_only_where_the_column_is_optional(coded: Any) -> None:
    def confidence(texts: list[str]) -> float:
        [(_, finding)] = rewrite(coded({"age": texts}))
        return float(finding.confidence)

    assert confidence([*AGES, "***"]) < DEFAULT.change_from <= confidence([*AGES, *[""] * 10, "***"])


def test_not_applicable_is_a_level_of_a_category_and_is_not_written(coded: Any, found: Any) -> None:
    colors = ["black", "white", "olive", "black", "white", "n/a", "red", "black", "white", "blue"] * 10
    lone = ["black", "white", "olive", "red"] * 50 + ["n/a"]
    confidence = {f.confidence for _, f in rewrite(coded({"color": colors, "id": [f"p{k * 7}" for k in range(100)]}))}
    assert 0 < max(confidence) < DEFAULT.change_from
    assert all(f.confidence >= DEFAULT.change_from for _, f in rewrite(coded({"color": lone})))
    goods = ["cable" if c == "n/a" else "shirt" for c in colors]
    assert found(rewrite, {"color": colors, "goods": goods}) == set()  # cables have no color


def test_an_answer_in_one_column_is_one_in_the_next(coded: Any) -> None:
    often = ["agree", "disagree", "neutral", "", "N/A"] * 40
    seldom = ["agree", "disagree", "neutral", "", "agree"] * 39 + ["N/A"]
    assert all(f.confidence >= DEFAULT.change_from for _, f in rewrite(coded({"q2": seldom})))
    both = list(rewrite(coded({"q1": often, "q2": [*seldom, *[""] * 4]})))
    assert {j for j, _ in both} == {0, 1}
    assert all(f.confidence < DEFAULT.change_from for _, f in both)


def test_a_lone_text_among_names_may_be_a_name(coded: Any) -> None:
    names = [f"{a}_{b}" for a in ("sine", "root", "inverse") for b in range(50)]
    [(_, lone)] = rewrite(coded({"name": [*names, *names[:50], "nan"]}))
    assert lone.confidence < DEFAULT.change_from


def test_the_one_mark_of_a_table_is_its_notation(coded: Any, found: Any) -> None:
    """Two columns write every missing value as "?"; where the places in one depend on the other, none is wrong."""
    gone = [k % 7 == 3 for k in range(140)]
    jobs = ["?" if g else "clerk" if k % 2 else "driver" for k, g in enumerate(gone)]
    sectors = ["?" if g else "public" if k % 5 else "private" for k, g in enumerate(gone)]
    lands = ["?" if k * 37 % 41 == 5 else "Chile" if k % 3 else "Peru" for k in range(140)]
    assert found(rewrite, {"job": jobs, "sector": sectors, "land": lands}) == set()
    other = ["?" if k * 53 % 47 == 7 else "yes" if k % 2 else "no" for k in range(140)]
    scattered = list(rewrite(coded({"land": lands, "member": other})))  # as where a process loses values
    assert 0 < max(f.confidence for _, f in scattered) < DEFAULT.change_from
    odd = list(rewrite(coded({"land": lands, "member": other, "height": [*map(str, range(139)), "N/A"]})))
    assert {f.row for _, f in odd if f.confidence >= DEFAULT.change_from} == {139}
    lost = {"land": lands, "member": ["" if t == "?" else t for t in other]}
    assert {f.row for _, f in rewrite(coded(lost))} == {k for k, t in enumerate(lands) if t == "?"}


def test_a_symbol_that_belongs_to_another_column_is_no_blank(found: Any) -> None:
    """Rows of the firm whose symbol is NA are few among those of many firms with longer and shorter symbols."""
    firms = [f"firm {k}" for k in range(120)]
    symbols = ["NA" if k == 60 else "ABCDEFGHIJ"[k % 10] * (1 + k % 4) + "KLMNOPQRSTUV"[k % 12] for k in range(120)]
    columns = {"firm": [f for f in firms for _ in range(4)], "symbol": [s for s in symbols for _ in range(4)]}
    assert found(rewrite, columns) == set()


def test_an_answer_in_words_is_not_written_as_a_blank(coded: Any) -> None:
    answers = (["", "", "n/a", "none", "ok", ""] + [f"thanks for visit {k}" for k in range(4)]) * 12
    confidence = {f.confidence for _, f in rewrite(coded({"remark": answers}))}
    assert not confidence or max(confidence) < DEFAULT.change_from


def test_a_frequent_mark_of_a_category_without_blanks_may_be_a_level(coded: Any) -> None:
    def probability(marks: int, blanks: int = 0) -> float:
        texts = ["high", "middle", "low"] * 100
        for at, k in enumerate(np.random.default_rng(0).permutation(300)[: marks + blanks].tolist()):
            texts[k] = "--" if at < marks else ""
        return float(next(f.probability for _, f in rewrite(coded({"priority": texts}))))

    assert probability(30) == pytest.approx(LEVEL)
    assert probability(2) > LEVEL
    assert probability(30, blanks=2) > LEVEL
