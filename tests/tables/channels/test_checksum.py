"""Numbers whose check digit is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from magnet.tables.channels.checksum import audit


def _isbn(rng: np.random.Generator) -> str:
    body = "978" + "".join(map(str, rng.integers(0, 10, size=9)))
    return body + str(-sum(int(c) * (1 + 2 * (k % 2)) for k, c in enumerate(body)) % 10)


def test_two_exchanged_digits_of_an_isbn_are_found_and_other_numbers_are_left_alone(found: Any) -> None:
    rng = np.random.default_rng(0)
    right = [_isbn(rng) for _ in range(60)]
    right[7] = "9780306406157"  # a known one, which the rule must accept
    wrong = [*right, "9780306460157"]
    assert found(audit, {"isbn": right}) == set()
    assert found(audit, {"isbn": wrong}) == {(60, 0, None)}
    plain = [str(k) for k in rng.integers(10**12, 10**13, size=60)]
    assert found(audit, {"number": plain}) == set()


def test_rules_with_an_x_and_with_letters(found: Any) -> None:
    def issn(rng: np.random.Generator) -> str:
        body = rng.integers(0, 10, size=7)
        check = -int((body * np.arange(8, 1, -1)).sum()) % 11
        digits = "".join(map(str, body)) + ("X" if check == 10 else str(check))
        return f"{digits[:4]}-{digits[4:]}"

    def iban(rng: np.random.Generator) -> str:
        body = "".join(map(str, rng.integers(0, 10, size=18)))
        return f"DE{98 - int(body + '131400') % 97:02d}{body}"

    rng = np.random.default_rng(1)
    issns = [issn(rng) for _ in range(60)]
    assert any("X" in text for text in issns)
    assert found(audit, {"issn": [*issns, "2434-561X"]}) == set()  # valid, as known
    assert found(audit, {"issn": [*issns, "2434-651X"]}) == {(60, 0, None)}
    ibans = [iban(rng) for _ in range(40)]
    assert found(audit, {"account": [*ibans, "DE89370400440532013000"]}) == set()
    assert found(audit, {"account": [*ibans, "DE89370400440532013001"]}) == {(40, 0, None)}
