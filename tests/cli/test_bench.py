"""``magnet bench``."""

import json

from typer.testing import CliRunner

from magnet.cli import app

runner = CliRunner()


def test_bench_lists_and_refuses_unknown_names():
    listed = runner.invoke(app, ["bench"])
    assert listed.exit_code == 0
    lines = listed.output.splitlines()
    assert any(line.startswith("detection_scale  Time") for line in lines)
    assert "``" not in listed.output
    unknown = runner.invoke(app, ["bench", "speed"])
    assert unknown.exit_code == 2
    assert "no benchmark 'speed'; there are:" in unknown.output


def test_bench_runs_a_benchmark_and_passes_its_options_on(tmp_path, monkeypatch, capfd):
    (tmp_path / "toy.py").write_text("import sys; print(sys.argv[1:]); sys.exit(7)")
    monkeypatch.setattr("magnet.cli.bench.folder", lambda: tmp_path)
    assert runner.invoke(app, ["bench", "toy", "--", "--help", "a b"]).exit_code == 7
    assert "['--help', 'a b']" in capfd.readouterr().out


def test_a_benchmark_s_text_is_part_of_its_json() -> None:
    found = json.loads(runner.invoke(app, ["bench", "recovery", "--json", "--", "--help"]).stdout)
    assert (found["benchmark"], found["code"]) == ("recovery", 0)
    assert "--datasets" in found["output"]
