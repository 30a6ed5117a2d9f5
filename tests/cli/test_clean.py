from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

COMMAND = [sys.executable, "-c", "from magnet.cli import app; app()", "clean"]


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A table with two misspelled cities, a blank, and names that bite."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(4), 30)
    lines = ["id,age,=cmd|x,city,when"]
    for k, g in enumerate(group):
        city = ["Oslo", "Rome", "Bern", "Cork"][g]
        lines.append(
            f'"n ""{k}""",{20 + 15 * g + rng.normal():.1f},{rng.poisson(10 + 10 * g)},{city},2024-01-{1 + k % 28:02d}'
        )
    cells = [line.rsplit(",", 4) for line in lines]
    cells[8][3], cells[15][3], cells[40][3] = "Osl0", "", "Rpme"
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    nodes.write_text("\n".join(",".join(line) for line in cells) + "\n")
    pairs = [(k, int(rng.choice(np.flatnonzero(group == group[k])))) for k in range(120) for _ in range(4)]
    edges.write_text("source,target\n" + "".join(f'"n ""{a}""","n ""{b}"""\n' for a, b in pairs))
    return nodes, edges


def test_a_table_is_cleaned(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    nodes, edges = files
    before = nodes.read_bytes()
    code, text, error = run("clean", nodes, "--edges", edges, "-o", tmp_path / "out", "-v")
    assert (code, error) == (0, "")
    out = tmp_path / "out"
    assert sorted(path.name for path in out.iterdir()) == [
        "cleaned.csv",
        "report.html",
        "run.json",
        "suspicious_cells.csv",
    ]
    assert nodes.read_bytes() == before
    cells = pd.read_csv(out / "suspicious_cells.csv")
    assert list(cells.columns) == [
        "node",
        "column",
        "observed",
        "suggested",
        "action",
        "score",
        "probability",
        "reason",
        "row",
        "kind",
    ]
    found = {(row.row, row.column): row.action for row in cells.itertuples()}
    assert found[(7, "city")] == "corrected"
    assert found[(39, "city")] == "corrected"
    old, new = before.decode().splitlines(), (out / "cleaned.csv").read_text().splitlines()
    changed = {k for k, (a, b) in enumerate(zip(old, new, strict=True)) if a != b}
    assert changed == {row + 1 for (row, _), action in found.items() if action != "kept"}
    assert new[8].split(",")[3] == "Oslo"
    assert new[40].split(",")[3] == "Rome"
    assert new[0] == "id,age,=cmd|x,city,when"
    record = json.loads((out / "run.json").read_text())
    assert record["settings"]["seed"] == 0
    assert len(record["inputs"]["nodes"]["sha256"]) == 64
    assert record["counts"]["filled"] == 0
    assert "judged cells look wrong" in text
    assert "typo" in text


def test_a_run_can_be_repeated(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert (
            run("clean", files[0], "-e", files[1], "-o", tmp_path / name, "--columns", "age,city", "--seed", "4")[0]
            == 0
        )
    for name in ("cleaned.csv", "suspicious_cells.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert set(pd.read_csv(tmp_path / "a/suspicious_cells.csv")["column"]) <= {"age", "city"}


def test_dry_run_shows_and_writes_nothing(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    code, text, _ = run("clean", files[0], "--edges", files[1], "-o", tmp_path / "out", "--dry-run")
    assert code == 0
    assert "category" in text
    assert "edges used" in text
    assert not (tmp_path / "out").exists()
    code, text, _ = run("clean", files[0], "--dry-run", "--columns", "city", "--json")
    assert [name for name, column in json.loads(text)["columns"].items() if column["judged"]] == ["city"]


def test_without_an_output_the_folder_is_named_after_the_table(
    run: Run, files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, text, _ = run("clean", files[0])
    assert code == 0
    folder = f"{files[0].stem}-cleaned"
    assert (tmp_path / folder / "cleaned.csv").is_file()
    assert text.endswith(f"magnet review {folder}\n")


def test_fix_none_gives_the_same_bytes(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    assert run("clean", files[0], "-e", files[1], "-o", tmp_path / "out", "--fix", "none")[0] == 0
    assert (tmp_path / "out/cleaned.csv").read_bytes() == files[0].read_bytes()


def test_the_first_cells_are_printed_without_the_control_characters_in_them(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "n.csv"
    path.write_text("state\n" + "Ohio\n" * 30 + " Ohi\x1bo\n" * 8)
    code, text, _ = run("clean", path, "-o", tmp_path / "out")
    assert code == 0
    assert "row 30, column 'state': ' Ohi\\x1bo' -> " in text
    assert "\x1b" not in text
    assert "  and 3 more\n" in text


def test_what_was_not_judged_is_reported_first(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    code, text, _ = run("clean", files[0], "-o", tmp_path / "out", "--exclude", "city")
    assert code == 0
    assert text.startswith("Not judged: column 'city' (left out by the user; blank cells: 1).")
    assert "Not judged: column 'city'" in (tmp_path / "out/report.html").read_text().replace("\\u0027", "'")
    assert run("clean", files[0], "-o", tmp_path / "quiet", "-q")[:2] == (0, "")
    code, text, _ = run("clean", files[0], "-o", tmp_path / "json", "--json")
    assert json.loads(text)["not_judged"] == {}


def test_trusted_cells_are_not_touched(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    trusted = tmp_path / "trusted.csv"
    trusted.write_text('node,column\n"n ""7""",city\n')
    code, _, error = run("clean", files[0], "-e", files[1], "-o", tmp_path / "out", "--trusted", trusted)
    assert (code, error) == (0, "")
    assert "Osl0" in (tmp_path / "out/cleaned.csv").read_text()
    trusted.write_text("node,column\nnobody,age\n")
    code, _, error = run("clean", files[0], "-e", files[1], "-o", tmp_path / "new", "--trusted", trusted)
    assert code == 2
    assert "node 'nobody' is not in the table" in error


def test_an_option_without_effect_is_reported(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    code, _, error = run("clean", files[0], "-o", tmp_path / "out", "--recovery", "framelet")
    assert code == 0
    assert error.startswith("magnet: warning: recovery without effect on a table judged by 'auto'")


def test_force_is_needed_to_write_again(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    arguments = ("clean", files[0], "-e", files[1], "-o", tmp_path / "out", "--detector", "none")
    assert run(*arguments)[0] == 0
    (tmp_path / "out/mine.txt").write_text("precious")
    code, _, error = run(*arguments)
    assert code == 2
    assert "--force" in error
    assert run(*arguments, "--force")[0] == 0
    assert (tmp_path / "out/mine.txt").read_text() == "precious"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("none.csv",), 2, "none.csv does not exist"),
        (("NODES", "-e", "none.csv"), 2, "none.csv does not exist"),
        (("NODES", "--id", "key"), 2, "id is 'key'; the columns are"),
        (("NODES", "--fix", "some"), 2, "fix is 'some'"),
        (("NODES", "--max-share", "7"), 2, "max_share is 7"),
        (("NODES", "--threshold", "7"), 2, "threshold is 7"),
        (("NODES", "--threshold", ".5", "--fdr", ".1"), 2, "only one of threshold, fdr"),
        (("NODES", "--decisions", "."), 2, ". is a folder"),
        (("NODES", "--detector", "magic"), 2, "unknown detector 'magic'"),
        (("NODES", "--exclude", "nothing"), 2, "exclude names 'nothing'"),
        (("NODES", "--link-by", "nothing"), 2, "link_by names 'nothing'"),
        (("NODES", "--encoding", "klingon"), 2, "encoding 'klingon' is unknown"),
        (("NODES", "--schema", "none.toml"), 2, "none.toml"),
        (("NODES", "--device", "cuda"), 2, "there is no CUDA device"),
        (("NODES", "-e", "empty.csv"), 1, "empty.csv is empty"),
        (("NODES", "-e", "stranger.csv"), 1, "none of the 1 edges joins two rows"),
        (("empty.csv",), 1, "empty.csv is empty"),
        (("header.csv",), 1, "has a header but no rows"),
        (("ragged.csv",), 1, "line 3: 1 field"),
        (("names.csv", "--detector", "cell"), 1, "no column can be cleaned"),
        (("one.csv", "--detector", "cell"), 1, "no column can be cleaned"),
        (("torn.parquet",), 1, "cannot be read as Parquet"),
        (("NODES", "-o", "file/out"), 1, "file is a file; there can be no folder in it"),
    ],
)
def test_failures_are_one_clear_line(
    run: Run,
    files: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in {
        "empty.csv": "",
        "header.csv": "id,age\n",
        "ragged.csv": "id,age\na,1\nb\n",
        "one.csv": "id,age\na,1\n",
        "names.csv": "id\na\nb\n",
        "stranger.csv": "source,target\nq,r\n",
        "torn.parquet": "PAR1",
        "file": "a file",
    }.items():
        Path(name).write_text(content)
    where = () if "-o" in arguments else ("-o", "out")
    got, out, error = run("clean", *(str(files[0]) if a == "NODES" else a for a in arguments), *where)
    assert (got, out) == (code, "")
    assert message in error
    assert error.startswith("magnet: ")
    assert error.count("\n") == 1
    assert not Path("out").exists()
    assert not list(tmp_path.glob(".*.part"))


@pytest.mark.parametrize(
    "table",
    [
        "id,age\na,1\nb,2\n",
        "id,v\n0,inf\n1,nan\n2,-inf\n" + "".join(f"{k},{k % 7}\n" for k in range(3, 40)),
        "id,v,w\na,,\nb,,\nc,1,\nd,2,\ne,4,\n",
        "v\n" + "\n".join(["1e308", "-1e308", "0", "5", "1e-300"]) + "\n",
        "id,v\n" + "".join(f"{k},7\n" for k in range(20)) + "20,8\n21,9\n",
        'id,"a\nb"\n' + "".join(f"{k},{k % 3}\n" for k in range(20)),
    ],
)
def test_small_and_strange_tables_are_cleaned(run: Run, tmp_path: Path, table: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(table)
    code, _, error = run("clean", path, "-o", tmp_path / "out")
    assert (code, error) == (0, "")
    assert (tmp_path / "out/cleaned.csv").read_text().count("\n") == table.count("\n")


def test_a_full_disk_leaves_nothing_behind(files: tuple[Path, Path], tmp_path: Path) -> None:
    command = [*COMMAND, str(files[0]), "-e", str(files[1]), "-o", str(tmp_path / "out"), "--detector", "none"]
    limit = 2000  # bytes in any file: less than the report needs

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=small_files)
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges.csv", "nodes.csv"]


def start_and_stop_while_writing(arguments: list[str], how: signal.Signals, meanwhile: Callable[[], None]) -> int:
    """The exit code of a run that is stopped while it writes."""
    hook = (
        "import time, magnet.report.folder as f\n"
        "f.write_report = lambda *a: (print('here', flush=True), time.sleep(60))\n"
        "from magnet.cli import app; app()"
    )
    process = subprocess.Popen([sys.executable, "-c", hook, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    meanwhile()
    began = time.monotonic()
    process.send_signal(how)
    code = process.wait(20)
    assert time.monotonic() - began < 20
    return code


def test_a_stopped_run_leaves_nothing_behind(files: tuple[Path, Path], tmp_path: Path) -> None:
    arguments = ["clean", str(files[0]), "-e", str(files[1]), "-o", str(tmp_path / "out"), "--detector", "none"]
    unfinished: list[Path] = []
    code = start_and_stop_while_writing(
        arguments, signal.SIGTERM, lambda: unfinished.extend(tmp_path.glob(".out.*.part"))
    )
    assert code == 143
    assert len(unfinished) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges.csv", "nodes.csv"]


def test_what_a_killed_run_left_is_removed_by_the_next_and_what_others_write_is_not(
    run: Run, files: tuple[Path, Path], tmp_path: Path
) -> None:
    arguments = ["clean", str(files[0]), "-e", str(files[1]), "-o", str(tmp_path / "out"), "--detector", "none"]
    (tmp_path / ".out.mine.part").mkdir()  # not ours
    seen: list[set[str]] = []

    def clean_while_another_writes() -> None:
        before = {path.name for path in tmp_path.glob(".out.magnet-*.part")}
        code, _, error = run(*arguments, "--force")
        assert (code, error) == (0, "")
        seen.append(before)
        assert {path.name for path in tmp_path.glob(".out.magnet-*.part")} == before

    assert start_and_stop_while_writing(arguments, signal.SIGKILL, clean_while_another_writes) == -signal.SIGKILL
    assert len(seen[0]) == 1
    assert {path.name for path in tmp_path.glob(".out.magnet-*.part")} == seen[0]  # nobody could tidy up
    code, _, error = run(*arguments, "--force")
    assert (code, error) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.mine.part", "edges.csv", "nodes.csv", "out"]


def test_a_read_only_folder_is_reported(
    run: Run, files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    if os.geteuid() == 0:  # for root nothing is read-only
        monkeypatch.setattr("magnet.tables.write.os.access", lambda _, mode: not mode & os.W_OK)
    code, _, error = run("clean", files[0], "-o", tmp_path / "locked/out")
    assert code == 1
    assert "locked is read-only; choose another folder" in error
    assert list((tmp_path / "locked").iterdir()) == []


@pytest.mark.parametrize("option", [["--columns", "citty"], ["--label", "citty"], ["--rule", "id -> citty"]])
def test_a_misspelled_column_is_guessed_before_the_work_begins(
    run: Run, files: tuple[Path, Path], option: list[str]
) -> None:
    code, _, error = run("clean", files[0], "--dry-run", *option)
    assert code == 2
    assert "'citty'" in error
    assert "(did you mean 'city'?)" in error
