"""White space and capitals that the column does not use."""

from __future__ import annotations

from magnet.tables.channels import case_and_space
from magnet.tables.coded import CodedTable
from magnet.tables.options import DEFAULT
from magnet.tables.roles import infer_role

TOWNS = ["Ulm", "Bad Homburg", "Kiel", "Mainz"] * 10


def rewritten(texts: list[str]) -> dict[int, tuple[str | None, bool]]:
    """Row to its suggestion, and whether that is certain enough to be written."""
    table = CodedTable.of({"town": texts})
    table.columns[0].role = infer_role(table.columns[0], table)
    return {f.row: (f.suggested, f.confidence >= DEFAULT.change_from) for _, f in case_and_space.rewrite(table)}


def test_white_space_goes_and_a_lone_one_is_only_listed() -> None:
    assert rewritten([*TOWNS, " Ulm", "Kiel ", "Bad  Homburg"]) == {
        40: ("Ulm", True),
        41: ("Kiel", True),
        42: ("Bad Homburg", True),
    }
    assert rewritten([*TOWNS, " Ulm"]) == {40: ("Ulm", False)}


def test_white_space_of_most_cells_or_of_every_cell_with_these_words_is_left_alone() -> None:
    assert rewritten([" " + t for t in TOWNS]) == {}
    assert rewritten([*TOWNS, *["Bonn  am Rhein"] * 3]) == {}
    assert rewritten([*TOWNS, "Bad\u00a0Ems"]) == {}


def test_capitals_follow_the_frequent_spelling() -> None:
    found = rewritten([*TOWNS, "ULM", "kiel", "bad homburg"])
    assert found == {40: ("Ulm", True), 41: ("Kiel", True), 42: ("Bad Homburg", True)}


def test_a_column_in_capitals_stays_so_but_abbreviations_among_names_do_too() -> None:
    upper = [f"{a} {b}" for a in ("OAK", "ELM", "ASH", "FIR") for b in ("HILL", "LANE", "ROAD", "PARK", "WAY")]
    found = rewritten([*upper, *upper, "Oak Mews", "Elm Mews", "Fir Mews"])
    assert found == {40: ("OAK MEWS", True), 41: ("ELM MEWS", True), 42: ("FIR MEWS", True)}
    assert rewritten([*TOWNS, "NASA", "UNESCO", "FIFA"]) == {}


def test_the_layout_of_texts_of_several_lines_is_left_alone() -> None:
    assert rewritten([*TOWNS, "Ulm\n  old town", "Kiel \n port", "Mainz\n\n  centre"]) == {}


def test_two_spaces_behind_a_sentence_are_kept() -> None:
    prose = [f"Opens the file.  Returns {k}." for k in range(10)]
    assert rewritten([*(f"Closes file {k}" for k in range(40)), *prose]) == {}
    assert rewritten([*["St. Gallen"] * 40, "St.  Gallen"]) == {40: ("St. Gallen", False)}


def test_names_with_capitals_of_their_own_among_small_letters_are_not_written() -> None:
    names = [
        f"{a}-{b}" for a in ("numpy", "scipy", "flask", "attrs", "click") for b in ("core", "extra", "test", "cli")
    ]
    found = rewritten([*names * 2, "Mako", "Jinja", "Werkzeug", "NUMPY-CORE"])
    assert [sure for _, sure in found.values()] == [False, False, False, True]
