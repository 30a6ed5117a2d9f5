import numpy as np
import pytest
import scipy.sparse as sp

from magnet.tables.posterior import Decision, judge_table


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


def test_numbers_with_decimal_commas_are_quantities() -> None:
    rng = np.random.default_rng(0)
    prices = [f"{x:.2f}".replace(".", ",") for x in rng.normal(50, 5, size=80)]
    verdict = judge_table({"price": [*prices, "4975,00", "51.25"]}, rules=["price matches [0-9,]+"])
    assert verdict.roles["price"].name == "quantity"
    found = {c.observed: c.suggested for c in verdict.cells}
    assert found == {"4975,00": "49,75", "51.25": "51,25"}


def test_a_rule_decides_what_frequency_cannot() -> None:
    columns = {"zip": ["1", "1", "1", "2", "2", "2"] * 2, "city": ["Ulm", "Ulm", "Bonn", "Kiel", "Kiel", "Kiel"] * 2}
    assert judge_table(columns).cells == []
    cells = judge_table(columns, rules=["zip -> city"]).cells
    assert [(c.row, c.column, c.suggested, c.kind) for c in cells] == [
        (2, "city", "Ulm", "rule"),
        (8, "city", "Ulm", "rule"),
    ]
    assert "rule 'zip -> city'" in cells[0].reason


def test_patterns_and_ranges() -> None:
    columns = {"zip": ["12345"] * 19 + ["x"], "age": [str(30 + k) for k in range(19)] + ["400"]}
    cells = judge_table(columns, rules=["zip matches [0-9]{5}", "age in 0..120"]).cells
    assert {(c.row, c.column, c.kind) for c in cells} >= {(19, "zip", "rule"), (19, "age", "rule")}


def test_trusted_cells_are_never_listed() -> None:
    columns = providers()
    columns["city"][7] = "dothxn"
    trusted = np.zeros((60, 3), dtype=bool)
    trusted[7, 1] = True
    assert judge_table(columns, trusted=trusted).cells == []


def test_rejected_cells_are_not_listed_again() -> None:
    columns = providers()
    columns["city"][7] = "dothxn"
    decision = Decision("city", "dothxn", "dothan", accepted=False)
    assert judge_table(columns, decisions=[decision]).cells == []


def test_accepted_cells_raise_the_probability_of_their_kind() -> None:
    columns = providers(36)
    columns["city"][3] = "xpp"
    decisions = [Decision("city", f"x{k}lorence", f"f{k}lorence", accepted=True) for k in range(10)]
    before, after = judge_table(columns).cells, judge_table(columns, decisions=decisions).cells
    assert after[0].probability > (before[0].probability if before else 0.5)


def test_fill_suggests_a_value_for_every_blank() -> None:
    columns = providers(120)
    for row in (7, 20):
        columns["city"][row] = ""
    cells = judge_table(columns, fill=True).cells
    assert {(c.row, c.suggested) for c in cells} == {(7, "dothan"), (20, "florence")}


def test_repeated_rows_and_keys_are_reported() -> None:
    columns = {"id": [str(10_000 + 7 * k) for k in range(40)], **providers(40)}
    for texts in columns.values():
        texts.append(texts[3])
    verdict = judge_table(columns)
    assert verdict.repeated_rows == [[3, 40]]
    assert verdict.repeated_keys == {"id": {"10021": [3, 40]}}


def test_links_repair_what_the_table_alone_cannot() -> None:
    n = 200
    place = np.arange(n) // 20
    columns = {"color": [["red", "green", "blue"][k % 3] for k in place], "note": [f"n{k}" for k in range(n)]}
    columns["color"][50] = "green" if columns["color"][50] != "green" else "red"
    same = sp.csr_array((place[:, None] == place[None, :]).astype(float))
    assert judge_table(columns).cells == []
    cells = judge_table(columns, links=same).cells
    assert [(c.row, c.suggested) for c in cells] == [(50, ["red", "green", "blue"][2 % 3])]


def test_columns_judged_on_threads_get_the_same_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = providers(600)
    columns["city"][7], columns["city"][20] = "dothxn", "florence"
    one = judge_table(columns)
    monkeypatch.setattr("magnet.tables.posterior.threads_for_rows", lambda rows: 2)
    assert judge_table(columns).cells == one.cells != []


@pytest.mark.parametrize("misspelled", [0, 6])
def test_a_lone_rare_spelling_is_written_only_where_the_table_shows_misspellings(misspelled: int) -> None:
    rng = np.random.default_rng(0)
    names = ["Elizabeth", "Katharina", "Dorothea", "Maximilian", "Alexander"]
    columns = {"id": [f"p{k}" for k in range(200)], "name": [names[k] for k in rng.integers(5, size=200)]}
    columns["name"][20] = "Elisabeth"
    for row, wrong in enumerate(
        ["Katxharina", "Doroothea", "Maximilan", "Alexandwr", "Kathrina", "Dorotehea"][:misspelled]
    ):
        columns["name"][row] = wrong
    written = {c.row for c in judge_table(columns).cells if c.confidence > 0.9}
    assert written == ({*range(misspelled), 20} if misspelled else set())
