from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from magnet.experiments.store import Store
from magnet.experiments.store.progress import progress, state, status_text, table


def config(method: str, seed: int) -> dict[str, object]:
    return {"kind": "classify", "dataset": "cora", "corruption": "meta", "method": method, "seed": seed}


def test_the_table_counts_what_is_in_the_store(tmp_path: Path) -> None:
    jobs = [[config(method, seed) for seed in range(4)] for method in ("gcn", "mlp")]
    with Store(tmp_path / "a.sqlite") as store:
        store.add(config("gcn", 0), {"test_accuracy": 0.7})
        store.add(config("gcn", 1), {"test_accuracy": 0.8})
        store.claim([store.key(config("gcn", 2))])
        store.fail(config("mlp", 0), "no memory")
        lines = state(store, jobs)
        gcn, mlp = lines["cora", "meta", "gcn"], lines["cora", "meta", "mlp"]
        assert (gcn.total, gcn.done, gcn.running, gcn.failed) == (4, 2, 1, 0)
        assert (mlp.total, mlp.done, mlp.running, mlp.failed) == (4, 0, 0, 1)
        shown = io.StringIO()
        Console(file=shown, width=100).print(table(lines, status_text(lines, seconds=10, fresh=2)))
    text = shown.getvalue()
    assert "2 of 8 runs, 1 failed after 10 s, about 30 s left" in text
    assert "75.00" in text
    assert "1 failed" in text
    assert text.index("gcn") < text.index("mlp")  # what is under way comes first


def test_without_a_terminal_it_says_how_far_it_is(tmp_path: Path) -> None:
    said: list[str] = []
    with Store(tmp_path / "a.sqlite") as store:
        store.add(config("gcn", 0), {"test_accuracy": 0.7})
        with progress(store, [[config("gcn", 0), config("gcn", 1)]], said.append):
            store.add(config("gcn", 1), {"test_accuracy": 0.7})
    assert said[-1].startswith("2 of 2 runs after")
