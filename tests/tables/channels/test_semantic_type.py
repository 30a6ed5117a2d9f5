"""Texts that are not of the type of their column."""

from __future__ import annotations

from typing import Any

import pytest

from magnet.tables.channels.semantic_type import audit
from magnet.tables.options import DEFAULT

NAMES = [f"{a}{k}" for k, a in enumerate(["anna", "ben", "carla", "dora", "emil"] * 12)]
EMAILS = [f"{name}@{('web.de', 'example.org')[k % 2]}" for k, name in enumerate(NAMES)]
PHONES = [f"+49 {30 + k % 5} {1234567 + 1009 * k}" for k in range(60)]
SITES = [f"https://www.{name}.com/about" for name in NAMES]
IPS = [f"10.0.{k}.{(7 * k) % 255}" for k in range(60)]


@pytest.mark.parametrize(
    ("column", "usual", "odd"),
    [
        ("mail", EMAILS, "heinz@example"),
        ("contact", PHONES, "+49 30 12345xx"),
        ("fax", [f"555-{1000 + 7 * k}" for k in range(60)], "555-12b4"),
        ("site", SITES, "not yet online"),
        ("address", IPS, "10.0.3.256"),
    ],
    ids=["e-mail", "plus sign", "named telephone", "web", "ip"],
)
def test_a_text_of_another_type_is_found_and_typical_ones_are_not(
    found: Any, column: str, usual: list[str], odd: str
) -> None:
    assert found(audit, {column: usual}) == set()
    assert found(audit, {column: [*usual, odd]}) == {(len(usual), 0, None)}


def test_a_lost_sign_is_suggested_where_the_domain_is_known_and_never_written(coded: Any) -> None:
    table = coded({"mail": [*EMAILS, "heinzweb.de", "heinz.elsewhere.net"]})
    findings = [finding for _, finding in audit(table)]
    assert [finding.suggested for finding in findings] == ["heinz@web.de", None]
    assert all(DEFAULT.list_from <= finding.probability for finding in findings)
    assert all(finding.confidence < DEFAULT.change_from for finding in findings)


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        ("mail", [*EMAILS, "a@web.de; b@web.de", "N/A"]),
        ("phone", [*PHONES, "+49 30 1234567 ext. 12", "030 1234 or 030 1235", "+49 30 1234567 x12"]),
        ("isbn", [f"0-8044-{2900 + k}-{k % 10}" for k in range(60)] + ["0-8044-2957-X"]),
        ("file", [f"report{k}.pdf" for k in range(60)] + ["readme"]),
        ("years", [f"{1950 + k}-{1955 + k}" for k in range(60)] + ["about 1980"]),
        ("mixed", [*EMAILS[:30], *NAMES[:30]]),
    ],
    ids=["lists", "extensions", "isbn", "files", "ranges", "no type"],
)
def test_what_only_looks_like_another_type_is_left_alone(found: Any, column: str, texts: list[str]) -> None:
    assert found(audit, {column: texts}) == set()


def test_a_web_address_may_have_commas(found: Any) -> None:
    links = [f"https://example.org/paper/{k}" for k in range(30)]
    assert found(audit, {"link": [*links, "https://example.org/find?text=one,%20two,three."]}) == set()
