"""``magnet check``, and the JSON that commands write against its published schemas."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest

Run = Callable[..., tuple[int, str, str]]


def validate(content: Any, name: str) -> None:
    schema = json.loads((resources.files("magnet") / "schemas" / f"{name}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(content, schema, jsonschema.Draft202012Validator)


def write_day(folder: Path, seed: int, wrong: list[int]) -> None:
    """A linked table: neighbors on a ring have similar readings; ``wrong`` rows hold absurd ones."""
    rng = np.random.default_rng(seed)
    smooth = 20 + 5 * np.sin(np.arange(200) / 12)
    nodes = pd.DataFrame(
        {
            "id": [f"sensor {k:03}" for k in range(200)],
            "reading": np.round(smooth + rng.normal(0, 0.3, 200), 2),
            "level": np.round(2 * smooth + rng.normal(0, 0.5, 200), 2),
            "note": [f"visited by person {rng.integers(10**9)}" for _ in range(200)],
        }
    )
    nodes.loc[wrong, "reading"] = 900.0 + np.arange(len(wrong))
    folder.mkdir(exist_ok=True)
    nodes.to_csv(folder / "nodes.csv", index=False)
    pd.DataFrame({"source": nodes["id"], "target": np.roll(nodes["id"], 1)}).to_csv(folder / "edges.csv", index=False)


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("days")
    write_day(folder / "good", 0, [])
    write_day(folder / "bad", 1, list(range(0, 200, 20)))
    return folder


def test_a_good_table_passes_and_a_bad_one_exits_3(run: Run, days: Path, tmp_path: Path) -> None:
    code, text, _ = run("check", days / "good/nodes.csv", "--edges", days / "good/edges.csv")
    assert code == 0
    assert text.startswith("passed: ")
    code, text, _ = run("check", days / "bad/nodes.csv", "-e", days / "bad/edges.csv", "-o", tmp_path / "report.json")
    assert code == 3
    assert text.startswith("FAILED: 10 of ")
    report = json.loads((tmp_path / "report.json").read_text())
    validate(report, "check")
    assert [report[name] for name in ("wrong", "rows", "passed")] == [10, 200, False]
    assert {cell["row"] for cell in report["suspicious_cells"]} == set(range(0, 200, 20))
    assert report["columns"]["reading"]["wrong"] == 10
    assert report["cells"] == 200 * sum(column["judged"] for column in report["columns"].values())


def test_the_limit_is_what_decides(run: Run, days: Path) -> None:
    table = (days / "bad/nodes.csv", "-e", days / "bad/edges.csv")
    share = json.loads(run("check", *table, "--json")[1])["share"]
    assert run("check", *table, "--max-wrong", str(share))[0] == 0
    code, text, _ = run("check", *table, "--max-wrong", str(share - 1e-4), "-q")
    assert (code, text) == (3, "")
    code, text, _ = run("check", *table, "--json")
    assert code == 3
    validate(json.loads(text), "check")
    code, text, _ = run("check", *table, "-v")
    assert "reading: 10 wrong" in text
    assert "row 0, reading: '900" in text


def test_a_saved_model_judges_tomorrow_s_batch(run: Run, days: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.npz"
    assert run("check", days / "good", "--save-model", model)[0] == 0
    code, text, _ = run("check", days / "bad", "--model", model, "--json")
    report = json.loads(text)
    validate(report, "check")
    assert code == 3
    assert report["model"] == str(model)
    assert {cell["row"] for cell in report["suspicious_cells"]} >= set(range(0, 200, 20))
    assert report["drifted"] == []
    assert report["columns"]["reading"]["drift"] < 0.2
    # a column that moved as a whole agrees with its neighbors, but not with yesterday
    frame = pd.read_csv(days / "good/nodes.csv")
    frame["reading"] += 400
    (tmp_path / "shifted").mkdir()
    frame.to_csv(tmp_path / "shifted/nodes.csv", index=False)
    (tmp_path / "shifted/edges.csv").write_bytes((days / "good/edges.csv").read_bytes())
    assert run("check", tmp_path / "shifted")[0] == 0
    code, text, _ = run("check", tmp_path / "shifted", "--model", model)
    assert code == 3
    assert "drifted since the model was saved: reading\n" in text
    assert run("check", tmp_path / "shifted", "--model", model, "--max-drift", "1")[0] == 0


def test_a_column_that_the_model_does_not_know_is_named(run: Run, days: Path, tmp_path: Path) -> None:
    model, report = tmp_path / "model.npz", tmp_path / "reports/new.json"
    assert run("check", days / "good/nodes.csv", "--save-model", model)[0] == 0
    more = pd.read_csv(days / "good/nodes.csv").assign(color=["red", "blue"] * 100)
    more.to_csv(tmp_path / "more.csv", index=False)
    code, text, _ = run("check", tmp_path / "more.csv", "--model", model, "-o", report)
    assert code == 0
    assert "not in the saved model: color" in text
    content = json.loads(report.read_text())
    validate(content, "check")
    assert "drift" not in content["columns"]["color"]
    assert content["columns"]["reading"]["drift"] == 0


def test_every_way_to_write_numbers_can_drift(run: Run, tmp_path: Path) -> None:
    model = tmp_path / "model.npz"

    def judge(scale: float, name: str, *options: str | Path) -> dict[str, Any]:
        rng = np.random.default_rng(3)
        values = (100 * scale * (1 + rng.random(200))).round(2)
        written = {"comma": [str(v).replace(".", ",") for v in values], "unit": [f"{v} kg" for v in values]}
        written |= {"thousands": [f"{100 * v:,.2f}" for v in values]}
        written |= {"blank": [str(v) if name == "a.csv" or k % 5 == 0 else "" for k, v in enumerate(values)]}
        pd.DataFrame(written).to_csv(tmp_path / name, index=False, sep=";")
        return json.loads(run("check", tmp_path / name, "--json", *options)[1])

    first = judge(1, "a.csv", "--save-model", model)
    same = judge(1, "a.csv", "--model", model)
    assert {**same, "columns": 0, "model": None} == {**first, "columns": 0, "max_drift": 0.5, "drifted": []}
    assert [same["columns"][n]["judged"] for n in first["columns"]] == [True] * 4
    assert judge(3, "b.csv", "--model", model)["drifted"] == ["blank", "comma", "thousands", "unit"]
    blanks = judge(1, "b.csv", "--model", model)
    assert blanks["drifted"] == ["blank"]
    assert blanks["columns"]["blank"]["drift"] == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gone.csv"], "gone.csv does not exist"),
        (["good", "--model", "gone.npz"], "No such file or directory"),
        (["good", "--model", "a", "--save-model", "b"], "which fits no model"),
        (["good", "--model", "a", "--rule", "level -> note"], "which has those that it was saved with"),
        (["good", "--columns", "nowhere"], "nowhere"),
    ],
)
def test_what_cannot_be_checked_exits_2(
    run: Run, days: Path, arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(days)
    code, text, error = run("check", *arguments)
    assert (code, text) == (2, "")
    assert message in error
    assert error.count("\n") == 1


def test_a_table_is_read_as_clean_reads_it(run: Run, tmp_path: Path) -> None:
    """Another encoding, ends of links under other names, and a dependency that the user knows."""
    rows = [f"{k};{'Zürich' if k % 2 else 'Köln'};{'CH' if k % 2 else 'DE'}" for k in range(30)]
    rows[4] = "4;Köln;CH"
    (tmp_path / "towns.csv").write_bytes("\n".join(["id;town;land", *rows, ""]).encode("utf-16-le"))
    links = "".join(f"0.5,{k},{k + 2}\n" for k in range(28))
    (tmp_path / "links.csv").write_bytes(("distance,one,other\n" + links).encode("utf-16-le"))
    options = [tmp_path / "towns.csv", "--encoding", "utf-16-le", "--edges", tmp_path / "links.csv"]
    options += ["--source", "one", "--target", "other", "--columns", "land", "--rule", "town -> land", "--json"]
    code, text, _ = run("check", *options, "--max-wrong", "0")
    assert code == 3
    content = json.loads(text)
    validate(content, "check")
    assert [(cell["row"], cell["column"]) for cell in content["suspicious_cells"]] == [(4, "land")]
    assert not content["columns"]["town"]["judged"]


def test_run_json_follows_its_schema(run: Run, days: Path, tmp_path: Path) -> None:
    assert run("clean", days / "bad", "-o", tmp_path / "out")[0] == 0
    record = json.loads((tmp_path / "out/run.json").read_text())
    validate(record, "run")
    assert record["counts"]["kept"] == 10  # listed; a far value has no certain replacement
    with pytest.raises(jsonschema.ValidationError):
        validate({**record, "share": 2.0}, "run")
