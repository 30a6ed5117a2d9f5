"""Random tables and edge lists through the command line: never a traceback, never a change that was not asked for."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from magnet.cli import app

runner = CliRunner()
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)
NUMBERS = st.one_of(
    st.integers(-5, 1000).map(str),
    st.floats().map(repr),
    st.sampled_from(["", "NA", "nan", "inf", "1e400", "-0", "1,5", "0007", "=1+1", "yes", "no", "2024-02-30", "٣"]),
)
CELLS = st.one_of(NUMBERS, NUMBERS, NAMES)


def text_of(rows: list[list[str]], mark: str) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=mark, lineterminator="\n").writerows(rows)
    return out.getvalue()


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, str]:
    """A table of up to 40 rows and an edge list, most of the time of the same nodes."""
    width = draw(st.integers(1, 5))
    palette = [draw(st.lists(CELLS, min_size=1, max_size=6)) for _ in range(width)]
    count = draw(st.integers(0, 40))
    picks = draw(st.lists(st.integers(0, 5), min_size=count * width, max_size=count * width))
    header = ["id", *(draw(st.lists(NAMES, min_size=width, max_size=width)))]
    rows = [header]
    for k in range(count):
        cells = [palette[j][picks[k * width + j] % len(palette[j])] for j in range(width)]
        rows.append([str(k) if draw(st.booleans()) else f"n {k}", *cells])
    ends = st.one_of(st.integers(0, 45).map(str), st.integers(0, 45).map("n {}".format), NAMES)
    edges = [["source", "target"], *draw(st.lists(st.tuples(ends, ends).map(list), max_size=60))]
    mark = draw(st.sampled_from([",", ";", "\t"]))
    return text_of(rows, mark), text_of(edges, mark)


def run(*arguments: str) -> tuple[int, str]:
    result = runner.invoke(app, ["clean", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code in (0, 1, 2)
    if result.exit_code:
        assert result.stderr.startswith("magnet: ")
        assert result.stderr.count("\n") == 1
        assert "defect" not in result.stderr
    return result.exit_code, result.stderr


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(tables(), st.booleans())
def test_any_table_is_cleaned_or_refused(files: tuple[str, str], with_edges: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        nodes, edges = folder / "nodes.csv", folder / "edges.csv"
        nodes.write_text(files[0], encoding="utf-8", newline="")
        edges.write_text(files[1], encoding="utf-8", newline="")
        before = nodes.read_bytes()
        linked = ["--edges", str(edges)] if with_edges else []
        code, _ = run(str(nodes), *linked, "-o", str(folder / "a"), "--fix", "none")
        assert nodes.read_bytes() == before
        if code:
            assert not (folder / "a").exists()
            return
        assert (folder / "a/cleaned.csv").read_bytes() == before
        code, _ = run(str(nodes), *linked, "-o", str(folder / "b"), "--fix", "all")
        assert code == 0
        with (folder / "b/suspicious_cells.csv").open(encoding="utf-8", newline="") as file:
            listed = {int(line["row"]) for line in csv.DictReader(file) if line["action"] != "kept"}
        mark = next(m for m in ",;\t" if m in files[0].split("\n")[0])
        old, new = (
            list(csv.reader(io.StringIO(text, newline=""), delimiter=mark))
            for text in (files[0], (folder / "b/cleaned.csv").read_bytes().decode())
        )
        rows = [pair for pair in zip(old, new, strict=True) if pair[0]]
        assert {k - 1 for k, (a, b) in enumerate(rows) if a != b} <= listed


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.binary(max_size=400), st.sampled_from([".csv", ".tsv", ".parquet", ".npz", ".pt", ".graphml"]))
def test_any_bytes_are_refused_in_one_line(content: bytes, suffix: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / f"file{suffix}"
        path.write_bytes(content)
        run(str(path), "--dry-run")
        assert path.read_bytes() == content
