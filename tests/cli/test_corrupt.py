from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from magnet.corruption import KINDS, Corruption

Run = Callable[..., tuple[int, str, str]]


def test_corrupt_writes_a_graph_with_its_truth(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "new/bad.npz"
    code, text, _ = run("corrupt", "digits", "--kind", "inject-random", "--ratio", "0.2", "--seed", "3", "-o", out)
    assert code == 0
    bad = Corruption.load(out)
    assert (bad.info["kind"], bad.info["ratio"], bad.info["seed"]) == ("inject-random", 0.2, 3)
    assert f"{int(bad.cells.sum())} wrong cells" in text
    assert bad.info["checksum"][:12] in text


def test_corrupt_does_not_overwrite_unasked(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "bad.npz"
    out.write_bytes(b"precious")
    code, _, error = run("corrupt", "digits", "--kind", "cells-outlier", "-o", out)
    assert code == 2
    assert "--force overwrites it" in error
    assert out.read_bytes() == b"precious"
    assert run("corrupt", "digits", "--kind", "cells-outlier", "-o", out, "--force")[0] == 0
    assert Corruption.load(out).info["kind"] == "cells-outlier"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("digitz", "--kind", "inject-far", "-o", "OUT.npz"), 2, "did you mean 'digits'?"),
        (("digits", "--kind", "inject-fart", "-o", "OUT.npz"), 2, "did you mean 'inject-far'?"),
        (("digits", "--kind", "inject-far", "--ratio", "7", "-o", "OUT.npz"), 2, "ratio is 7.0"),
        (("digits", "--kind", "inject-far", "--budget", "7", "-o", "OUT.npz"), 2, "no option 'budget'"),
        (("digits", "--kind", "meta", "-o", "OUT.npz"), 2, "have a calibrated budget"),
        (("digits", "--kind", "meta", "--budget", "999999", "-o", "OUT.npz"), 2, "has 115008 cells"),
        (("digits", "--kind", "cells-flip", "-o", "OUT.npz"), 2, "all 0 or 1"),
        (("texas", "--kind", "inject-far", "--split", "99", "-o", "OUT.npz"), 2, "texas has splits 0 to 9"),
        (("digits", "--kind", "inject-far", "-o", "OUT.csv"), 2, "must be an .npz file"),
        (("wordnet", "--kind", "inject-far", "-o", "OUT.npz"), 2, "wordnet_synsets.npz not found"),
        (("digits", "--kind", "inject-far", "-o", "file/OUT.npz"), 1, "cannot write"),
    ],
)
def test_failures_are_one_clear_line(
    run: Run, arguments: tuple[str, ...], code: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MAGNET_DATA", raising=False)
    monkeypatch.setenv("MAGNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("a file, not a folder")
    got, out, error = run("corrupt", *arguments)
    assert (got, out) == (code, "")
    assert message in error
    assert error.count("\n") == 1
    assert error.startswith("magnet: ")
    assert not list(tmp_path.glob("OUT*"))


def test_help_names_every_kind(run: Run) -> None:
    words = run("corrupt", "--help")[1].replace("│", " ").replace(",", " ").split()
    assert set(KINDS) <= {word.rstrip(".") for word in words}
