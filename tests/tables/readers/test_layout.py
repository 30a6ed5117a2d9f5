from __future__ import annotations

from pathlib import Path

import pytest

from magnet.tables.readers.layout import find_layout


@pytest.mark.parametrize(
    ("text", "start", "mark", "names"),
    [
        ("a,b\n1,2\n", 0, ",", ["a", "b"]),
        ("price;name\n1,5;Ann\n2,5;Bob\n", 0, ";", ["price", "name"]),
        ("a;b;c\n1,5;2,5;3,5\n1,6;2,6;3,6\n", 0, ";", ["a", "b", "c"]),
        ("# made by hand\n# in May, by Ann\na,b,c\n1,2,3\n4,5,6\n", 2, ",", ["a", "b", "c"]),
        ("# one\n# two\n# three\na,b,c\n1,2,3\n", 3, ",", ["a", "b", "c"]),
        ("Sales; May\na,b,c\n1,2,3\n4,5,6\n", 1, ",", ["a", "b", "c"]),
        ("Sales, May 3, 10:15\na;b;c\n1;2,5;3\n4;5,5;6\n", 1, ";", ["a", "b", "c"]),
        ("My sales\n\na,b\n1,2\n3,4\n", 2, ",", ["a", "b"]),
        ("My sales\nMay\na\tb\n1,5\t2\n3,5\t4\n", 2, "\t", ["a", "b"]),
        ("Sales,,,\n,,,\na,b,c,d\n1,2,3,4\n", 2, ",", ["a", "b", "c", "d"]),  # as spreadsheets write a title
        ("a,b\nr1,1,2\nr2,3,4\n", 0, ",", ["", "a", "b"]),  # as R writes the names of rows
        ("a,b\n1,2,\n3,4,\n", 0, ",", ["a", "b", ""]),
        ('"a","b, c"\n1,2\n', 0, ",", ["a", "b, c"]),
    ],
)
def test_the_header_and_the_delimiter_are_found(text: str, start: int, mark: str, names: list[str]) -> None:
    layout = find_layout(Path("a.csv"), text.splitlines(keepends=True))
    assert (layout.start, layout.delimiter, layout.names) == (start, mark, names)


@pytest.mark.parametrize(
    "text",
    [
        "text\nhello, you\nno comma\nbye, you\n",  # a column of texts, which is read as such
        "My sales\na,b\n1,2\n3,4\n",  # a title, or the names of rows
        "a,b\nx,1,5\nx,2,5\n",  # decimal commas
        ",,name\n1,2,Ann\n3,4,Bob\n",
    ],
)
def test_what_is_no_title_stays_the_header(text: str) -> None:
    lines = text.splitlines(keepends=True)
    layout = find_layout(Path("a.csv"), lines)
    assert (layout.start, layout.names) == (0, lines[0].strip().split(","))
