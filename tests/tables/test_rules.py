import re

import pytest

from magnet.tables.rules import Rule, parse_rule, read_rules


def test_parse() -> None:
    assert parse_rule("zip -> city") == Rule("city", ("zip",))
    assert parse_rule("zip matches [0-9]{5}") == Rule("zip", pattern="[0-9]{5}")
    assert parse_rule("age in 0..") == Rule("age", low=0.0)


@pytest.mark.parametrize(
    "text", ["zip city", "-> city", "zip matches [", "age in ..", "age in 1e400..2", "age in 1-2..5"]
)
def test_what_is_no_rule(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(text))):
        parse_rule(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("age in 5..1", "the range 5 to 1 is empty"),
        ("age, zip -> age", "cannot determine itself"),
        ("zip matches " + "(" * 5000, "contains no valid regular expression"),
    ],
)
def test_rules_that_nothing_can_keep(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_rule(text)


def test_unknown_columns_are_named() -> None:
    with pytest.raises(ValueError, match="no column 'town'"):
        read_rules(["zip -> town"], ["zip", "city"])
