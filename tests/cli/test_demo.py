"""``magnet demo``."""

from typer.testing import CliRunner

from magnet.cli import app

runner = CliRunner()


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
