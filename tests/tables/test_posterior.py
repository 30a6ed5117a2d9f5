import numpy as np
import pytest

from magnet.tables.posterior import judge_table


def providers(rows: int = 60) -> dict[str, list[str]]:
    towns = ["boaz", "dothan", "florence", "opp", "sheffield", "luverne"]
    key = [k % len(towns) for k in range(rows)]
    return {
        "provider": [f"100{k + 10}" for k in key],
        "city": [towns[k] for k in key],
        "zip": [f"359{k + 50}" for k in key],
    }


def test_a_typo_is_found_and_repaired() -> None:
    columns = providers()
    columns["city"][7] = "dothxn"
    verdict = judge_table(columns)
    assert [(c.row, c.column, c.suggested) for c in verdict.cells] == [(7, "city", "dothan")]
    cell = verdict.cells[0]
    assert cell.kind == "typo"
    assert cell.probability > 0.99
    assert cell.confidence > 0.9
    assert "'dothan'" in cell.reason


def test_a_disagreement_is_found_and_repaired() -> None:
    columns = providers(600)
    columns["city"][7] = "florence"
    verdict = judge_table(columns)
    assert [(c.row, c.column, c.suggested) for c in verdict.cells] == [(7, "city", "dothan")]
    assert verdict.cells[0].kind == "disagreement"


def test_a_clean_table_stays_clean() -> None:
    assert judge_table(providers()).cells == []


@pytest.mark.parametrize("rows", [0, 1, 2, 3])
def test_tiny_tables_are_left_alone(rows: int) -> None:
    assert judge_table(providers(rows)).cells == []


def test_skipped_columns_are_not_listed() -> None:
    columns = providers()
    columns["city"][7] = "dothxn"
    verdict = judge_table(columns, skip=["city"])
    assert verdict.cells == []
    assert verdict.not_judged == {"city": "left out by the user"}


def test_long_integers_stay_exact() -> None:
    rng = np.random.default_rng(0)
    columns = {"id": [str(10**18 + int(k)) for k in rng.integers(10**17, size=50)], **providers(50)}
    columns["city"][3] = "xpp"
    verdict = judge_table(columns)
    assert [(c.row, c.column) for c in verdict.cells] == [(3, "city")]
