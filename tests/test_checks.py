"""Errors name the argument, its value and what is accepted."""

import math

import pytest

from magnet.checks import at_least, one_of, unknown


def test_an_accepted_word_passes_and_another_is_refused_with_the_accepted_ones():
    one_of("norm", "l1", ["l1", "l21"])
    one_of("bank", "haar", {"haar": 1})
    with pytest.raises(ValueError, match="norm is 'L1'; it must be one of 'l1', 'l21'"):
        one_of("norm", "L1", ["l1", "l21"])


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf])
def test_a_number_must_be_finite_and_large_enough(value):
    at_least("layers", 1, 1)
    with pytest.raises(ValueError, match=f"layers is {value}; it must be a finite number of at least 1"):
        at_least("layers", value, 1)


def test_an_unknown_name_suggests_the_most_similar_one_if_there_is_any():
    assert "did you mean 'texas'? (known: cora, texas; more)" in str(
        unknown("dataset", "Texs", ["cora", "texas"], "; more")
    )
    assert str(unknown("dataset", "zzz", ["cora"])) == "unknown dataset 'zzz' (known: cora)"
