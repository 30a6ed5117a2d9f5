"""Numbers with a check digit (ISBN, EAN, ISSN, cards, IBAN) that break its rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from magnet.tables.channels.base import WrongText, text_test
from magnet.tables.coded import Texts
from magnet.tables.options import MIN_ROWS, UNSURE

HELD = 0.8  # share of the numbers that must obey a rule; one number in ten or eleven does by chance
MIN_NUMBERS = 20  # different numbers that show the rule
# ISSN and EAN-8, ISBN-10, UPC, EAN-13, GTIN-14, credit cards of 15 and 16 digits; IBANs are longer
LENGTHS = {8, 10, 12, 13, 14, 15, 16}


def _weighted(weights: tuple[int, ...], modulus: int) -> Callable[[str], bool]:
    """Whether the digits times repeating weights, from the right, sum to a multiple of the modulus; X is 10."""

    def valid(digits: str) -> bool:
        values = [10 if c == "X" else int(c) for c in reversed(digits)]
        return sum(v * weights[k % len(weights)] for k, v in enumerate(values)) % modulus == 0

    return valid


def _luhn(digits: str) -> bool:
    doubled = [int(c) * (1 + k % 2) for k, c in enumerate(reversed(digits)) if c != "X"]
    return "X" not in digits and sum(v - 9 * (v > 9) for v in doubled) % 10 == 0


def _iban(text: str) -> bool:
    return int("".join(str(int(c, 36)) for c in text[4:] + text[:4])) % 97 == 1


RULES: dict[str, Callable[[str], bool]] = {
    "EAN and ISBN-13": _weighted((1, 3), 10),
    "ISBN-10 and ISSN": _weighted((1, 2, 3, 4, 5, 6, 7, 8, 9, 10), 11),
    "cards": _luhn,
}


@text_test("typo", ("identifier", "code", "text", "category", "phone", "quantity"), MIN_ROWS)
def audit(texts: Texts) -> Iterator[WrongText]:
    """Numbers of the usual length whose check digit is wrong, where nearly all others obey one rule. The right number
    is not known.

    Example: of 200 ISBNs 197 are multiples of ten when their digits are weighted by 1 and 3 in turn. If the digits had
    no such rule, about 20 would be.
    """
    bare = {k: b for k, text, _ in texts if (b := _digits(text))}
    lengths = texts.tally_codes({k: len(b) for k, b in bare.items()})
    if not lengths:
        return
    length, rows = lengths.most_common(1)[0]
    numbers = {k: b for k, b in bare.items() if len(b) == length}
    if rows < HELD * texts.total or len(numbers) < MIN_NUMBERS:
        return
    for name, valid in ({"IBAN": _iban} if length > max(LENGTHS) else RULES).items():
        obeyed = {k for k, digits in numbers.items() if valid(digits)}
        if HELD * len(numbers) <= len(obeyed) < len(numbers):
            why = f"{len(obeyed)} of {len(numbers)} numbers have the check digit of {name}, this one has not: typo"
            yield from ((k, None, UNSURE, why) for k in numbers.keys() - obeyed)
            return


def _digits(text: str) -> str:
    """The digits of a number with a check digit, empty if the text is none."""
    bare = "".join(c for c in text.strip().upper() if c not in " -")
    if bare[:-1].isdigit() and (bare[-1].isdigit() or bare[-1] == "X") and len(bare) in LENGTHS and bare.isascii():
        return bare
    iban = len(bare) > max(LENGTHS) and bare.isascii() and bare.isalnum() and bare[:2].isalpha() and bare[2:4].isdigit()
    return bare if iban else ""
