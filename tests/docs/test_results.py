"""Long result pages begin with a short table from the stored runs."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("summaries", ROOT / "benchmarks/_pages.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["summaries"] = found  # dataclasses look their module up
    spec.loader.exec_module(found)
    return found


def test_a_summary_averages_runs_with_an_interval(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("where,how,score\nx,p,1\nx,p,2\nx,p,3\nx,q,5\ny,p,4\ny,p,4\n")
    text = module().Summary("where", "how", "score", "points").markdown(tmp_path / "a.csv")
    assert "| where | p | q |" in text
    # Student's t with two degrees of freedom: 2 +- 4.303 / sqrt(3)
    assert "| x | 2.0 [0.0,\N{NO-BREAK SPACE}4.5] | 5.0 |" in text
    assert "| y | 4.0 | - |" in text


@pytest.mark.parametrize("path", sorted((ROOT / "results").glob("*.md")), ids=lambda path: path.stem)
def test_pages_begin_with_a_short_table(path: Path) -> None:
    if path.stem in ("README", "faults", "recovery_cpu_large"):  # one number in words; two sizes of one table
        pytest.skip("says it in a sentence")
    first = re.search(r"(?:^\|.*\n)+", path.read_text(encoding="utf-8"), re.M)
    assert first is not None
    assert first[0].count("\n") - 2 <= 15


def test_a_summary_stands_below_what_is_to_be_known_first(tmp_path: Path) -> None:
    (tmp_path / "meta_attack.csv").write_text("dataset,attack,accuracy\ncora,meta,70\n")
    page = module().with_summary("# Title\n\n> Old.\n> Still.\n\nWords.\n", "meta_attack", tmp_path)
    assert page.index("> Still.") < page.index("In short") < page.index("Words.")
    assert module().with_summary("# A\n", "other", tmp_path) == "# A\n"
