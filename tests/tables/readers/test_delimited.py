from __future__ import annotations

import codecs
import warnings
from pathlib import Path

import numpy as np
import pytest

from magnet.tables import BadTable
from magnet.tables.errors import TableWarning
from magnet.tables.readers.delimited import read_delimited, split_record


def write(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


AWKWARD = '\ufeffid;name;"a; b"\r\n1;"O""Neil";3,5\r\n\r\n2;" two\nlines ";"4,0"\r\n3;5" disk;6\r\n'


def test_what_nobody_changed_is_written_back_to_the_byte(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", AWKWARD)
    table = read_delimited(path)
    assert list(table.frame.columns) == ["id", "name", "a; b"]
    assert table.frame["name"].tolist() == ['O"Neil', " two\nlines ", '5" disk']
    table.write(tmp_path / "b.csv", {})
    assert (tmp_path / "b.csv").read_bytes() == path.read_bytes()


def test_a_change_touches_its_own_field_only(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", AWKWARD)
    table = read_delimited(path)
    changes = {"a; b": (np.array([1, 2]), ["9,0", 'x;"y']), "name": (np.array([0]), ["Ann"])}
    table.write(tmp_path / "b.csv", changes)
    expected = AWKWARD.replace('"O""Neil"', '"Ann"').replace('"4,0"', '"9,0"').replace(";6\r", ';"x;""y"\r')
    assert (tmp_path / "b.csv").read_bytes().decode() == expected
    again = read_delimited(tmp_path / "b.csv").frame
    assert again["a; b"].tolist() == ["3,5", "9,0", 'x;"y']


@pytest.mark.parametrize(("mark", "name"), [(",", "a.csv"), (";", "a.csv"), ("\t", "a.tsv"), ("|", "a.txt")])
def test_delimiters_are_found(tmp_path: Path, mark: str, name: str) -> None:
    frame = read_delimited(write(tmp_path / name, f"id{mark}v\n1{mark}2\n")).frame
    assert frame.to_dict("list") == {"id": ["1"], "v": ["2"]}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings_are_found_and_kept(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path / "a.csv", "id,ort\n1,Köln\n2,Zürich\n".encode(encoding))
    table = read_delimited(path)
    assert table.frame["ort"].tolist() == ["Köln", "Zürich"]
    table.write(tmp_path / "b.csv", {"ort": (np.array([0]), ["Bern"])})
    assert read_delimited(tmp_path / "b.csv").frame["ort"].tolist() == ["Bern", "Zürich"]
    if encoding != "utf-16":
        assert (tmp_path / "b.csv").read_bytes() == path.read_bytes().replace(
            "Köln".encode(encoding.replace("-sig", "")), b"Bern"
        )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"a,b\n1,2\n3\n", "line 3: 1 field; the header has 2"),
        (b"a,b\n1,2,3\n", "line 2: 3 fields; the header has 2"),
        (b'a,b\n1,2\n3,"4\n5,6\n', "line 3: a quote is opened and never closed"),
        ("a,b\n1,é\n2,".encode() + b"\xe9\n", "line 3: byte 0xE9 is not utf-8, though others are"),
        (b"a,b\n1,\x00\n", "NUL bytes"),
        (b"PK\x03\x04rest", "zip archive"),
        (b'a,b\n1,"' + b"x" * 200_000 + b'"\n', "line 2: field larger than field limit"),
    ],
)
def test_bad_files_are_refused_in_words(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(BadTable, match=message):
        read_delimited(write(tmp_path / "a.csv", content))


def test_a_gigabyte_on_one_line_is_given_up_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with path.open("wb") as file:
        file.truncate(1 << 30)  # a sparse file: it takes no room on the disk
    with pytest.raises(BadTable, match="a line of more than 32 MiB"):
        read_delimited(path)


def test_records_split_as_the_csv_module_does() -> None:
    assert split_record('a,"b ""c"", d",,e\n', ",") == (["a", '"b ""c"", d"', "", "e"], "\n")
    assert split_record("", ",") == ([""], "")


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "shift_jis"]
)
def test_every_byte_comes_back_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "n.csv"
    content = 'id,"größe"\r\na,1\r\nb,2\r\n'.replace("ö", "ö" if encoding != "shift_jis" else "о").replace(
        "ß", "ß" if encoding != "shift_jis" else "п"
    )
    bom = {"utf-16-be": codecs.BOM_UTF16_BE, "utf-16-le": codecs.BOM_UTF16_LE}.get(encoding, b"")
    path.write_bytes(bom + content.encode(encoding))
    found = read_delimited(path, encoding if encoding in ("shift_jis",) else None)
    found.write(tmp_path / "m.csv", {})
    assert (tmp_path / "m.csv").read_bytes() == path.read_bytes()
    name = found.frame.columns[1]
    found.write(tmp_path / "k.csv", {name: (np.array([1]), ["7"])})
    assert (tmp_path / "k.csv").read_bytes() == bom + content.replace("b,2", "b,7").encode(encoding)


@pytest.mark.parametrize("encoding", ["base64", "rot13", "hex", "undefined", "idna", "utf-7", "nonsense", "a\0b"])
def test_odd_encodings_are_refused(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "n.csv").write_bytes("id,größe\na,1+2\n".encode())
    with pytest.raises(ValueError, match=r"encoding|is not"):
        read_delimited(tmp_path / "n.csv", encoding)


def test_the_separator_line_of_excel_is_heard(tmp_path: Path) -> None:
    content = b"sep=;\r\nid;price\r\na;1,5\r\nb;2,5\r\n"
    (tmp_path / "n.csv").write_bytes(content)
    found = read_delimited(tmp_path / "n.csv")
    assert found.frame.columns.tolist() == ["id", "price"]
    found.write(tmp_path / "m.csv", {"price": (np.array([0]), ["2,0"])})
    assert (tmp_path / "m.csv").read_bytes() == content.replace(b"1,5", b"2,0")


def test_a_missing_header_is_suspected(tmp_path: Path) -> None:
    rows = "".join(f"{k},{k / 8}\n" for k in range(1, 9))
    with pytest.warns(TableWarning, match=r"the columns are named '1', '0.125'; is the header missing\?"):
        read_delimited(write(tmp_path / "bare.csv", rows))
    with pytest.warns(TableWarning, match=r"named 'Ann', 'again'; is the header missing\?"):
        read_delimited(write(tmp_path / "bare.csv", "Ann,again\nBob,again\nAnn,once\n"))
    for header in ("0,1\n", "year,2020\n"):
        with warnings.catch_warnings(action="error"):
            read_delimited(write(tmp_path / "named.csv", header + rows))


def test_titles_stay_above_the_header(tmp_path: Path) -> None:
    content = "Sales of May\r\n\r\nid,name,price\r\n1,Ann,5\r\n2,Bob,6\r\n3,Cleo,7\r\n4,Dan,8\r\n"
    with pytest.warns(TableWarning, match="line 3 is taken for the header"):
        table = read_delimited(write(tmp_path / "a.csv", content))
    assert table.frame["name"].tolist() == ["Ann", "Bob", "Cleo", "Dan"]
    table.write(tmp_path / "b.csv", {"name": (np.array([1]), ["Ben"])})
    assert (tmp_path / "b.csv").read_bytes().decode() == content.replace("Bob", "Ben")


def test_a_repeated_header_is_named(tmp_path: Path) -> None:
    with pytest.warns(TableWarning, match="the header is repeated in row 1, counted from 0"):
        read_delimited(write(tmp_path / "a.csv", "a,b\n1,2\na,b\n3,4\n"))


def test_equal_names_are_numbered(tmp_path: Path) -> None:
    with pytest.warns(TableWarning, match=r"several columns are named 'a'; here one of them is 'a \(2\)'"):
        table = read_delimited(write(tmp_path / "a.csv", "a,a,a (2)\n1,2,3\n"))
    assert table.frame.to_dict("list") == {"a": ["1"], "a (2)": ["2"], "a (2) (2)": ["3"]}
    table.write(tmp_path / "b.csv", {"a (2)": (np.array([0]), ["9"])})
    assert (tmp_path / "b.csv").read_text() == "a,a,a (2)\n1,9,3\n"
