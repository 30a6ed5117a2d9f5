"""Constants of the table engine."""

from __future__ import annotations

import re
from dataclasses import fields

from magnet.tables.options import DEFAULT, FOUND, LIST_FROM, SURE, UNSURE, TableOptions


def test_every_constant_is_explained() -> None:
    told = re.findall(r"^ {8}([a-z_, ]+):", TableOptions.__doc__ or "", re.M)
    assert {name for names in told for name in names.split(", ")} == {field.name for field in fields(TableOptions)}


def test_confidences_are_on_their_side_of_the_thresholds() -> None:
    assert UNSURE < DEFAULT.learn_from < DEFAULT.change_from < SURE**2  # two rewrites of one cell are still written
    assert DEFAULT.list_from == LIST_FROM < FOUND
    assert DEFAULT.rate_floor < DEFAULT.typo_rate < DEFAULT.rate_cap
