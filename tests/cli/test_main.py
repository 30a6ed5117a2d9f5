import os
import subprocess
import sys

from typer.testing import CliRunner

from magnet.cli import app

runner = CliRunner()


def test_help_answers_fast_and_lists_the_commands():
    command = [sys.executable, "-c", "from magnet.cli import app; app(['--help'])"]
    took = []
    for _ in range(3):
        before = os.times()
        done = subprocess.run(command, capture_output=True, text=True)
        after = os.times()
        # processor time, which does not depend on what else the machine is doing
        took.append(sum(after[2:4]) - sum(before[2:4]))
    assert done.returncode == 0
    assert all(name in done.stdout for name in ("demo", "clean", "apply", "bench", "datasets", "corrupt"))
    assert min(took) < 0.5


def test_the_package_imports_nothing_heavy():
    code = "import sys, magnet, magnet.cli; print(any(m in sys.modules for m in ('torch', 'numba', 'pandas')))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_demo_finds_repairs_and_draws(tmp_path):
    result = runner.invoke(app, ["demo", "--output", str(tmp_path / "new" / "folder")], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    folder = tmp_path / "new" / "folder"
    assert sorted(path.name for path in folder.iterdir()) == ["digits.png", "report.html"]
    assert (folder / "digits.png").read_bytes().startswith(b"\x89PNG")
    rows = {line.split("│")[1].strip(): line.split("│")[2:4] for line in result.output.splitlines() if "│" in line}
    before, after = (float(text) for text in rows["error of the wrong pixels (0 to 16)"])
    assert after < 0.9 * before
    before, after = (float(text.split("%")[0]) for text in rows["damaged digits classified correctly"])
    assert after > before + 15
    precision = float(rows["corrected pixels that were wrong"][1].split("%")[0])
    assert precision > 60


def test_bench_lists_and_refuses_unknown_names():
    listed = runner.invoke(app, ["bench"])
    assert listed.exit_code == 0
    assert "recovery" in listed.output
    unknown = runner.invoke(app, ["bench", "speed"])
    assert unknown.exit_code == 2
    assert "no benchmark 'speed'; there are:" in unknown.output


def test_bench_runs_a_benchmark_and_passes_its_options_on(tmp_path, monkeypatch, capfd):
    (tmp_path / "toy.py").write_text("import sys; print(sys.argv[1:]); sys.exit(7)")
    monkeypatch.setattr("magnet.cli.bench.folder", lambda: tmp_path)
    assert runner.invoke(app, ["bench", "toy", "--", "--help", "a b"]).exit_code == 7
    assert "['--help', 'a b']" in capfd.readouterr().out


def test_the_module_is_the_command():
    done = subprocess.run([sys.executable, "-m", "magnet", "datasets", "--help"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Usage: magnet datasets" in done.stdout
    assert subprocess.run([sys.executable, "-m", "magnet", "nonsense"], capture_output=True).returncode == 2
