from typing import Any

import numpy as np
import pytest

from magnet.tables.channels.truth_discovery import Claims, rewrite
from magnet.tables.options import DEFAULT
from magnet.tables.posterior import judge_table


def test_the_reliable_sources_decide() -> None:
    rng = np.random.default_rng(0)
    flights = [f"F{k}" for k in range(30)]
    truth = {f: f"{rng.integers(1, 12)}:{rng.integers(10, 59)} a.m." for f in flights}
    columns: dict[str, list[str]] = {"src": [], "flight": [], "departs": []}
    wrong = set()
    for flight in flights:
        for s in range(8):
            bad = rng.random() < (0.6 if s < 3 else 0.05)
            columns["src"].append(f"site{s}")
            columns["flight"].append(flight)
            columns["departs"].append(f"{rng.integers(1, 12)}:{rng.integers(10, 59)} p.m." if bad else truth[flight])
            if bad:
                wrong.add(len(columns["src"]) - 1)
    cells = judge_table(columns).cells
    assert {c.row for c in cells} == wrong
    assert all(c.suggested == truth[columns["flight"][c.row]] for c in cells)


def test_a_value_that_varies_by_design_is_left_alone() -> None:
    rng = np.random.default_rng(0)
    columns: dict[str, list[str]] = {"shop": [], "item": [], "color": []}
    for item in range(30):
        for shop in range(8):
            columns["shop"].append(f"shop{shop}")
            columns["item"].append(f"item{item}")
            columns["color"].append(str(rng.choice(["red", "green", "blue"])))
    assert judge_table(columns).cells == []


def test_a_value_that_names_two_things_is_no_entity() -> None:
    """Two flights use gate B1: every source reports both, which is no disagreement about the gate's flight."""
    sites, flights = [f"site{k}" for k in range(6)], [f"AA-{k}" for k in range(12)]
    gates = dict(zip(flights, ["B1", "B1", *(f"C{k}" for k in range(10))], strict=True))
    rows = [(site, flight) for flight in flights for site in sites]
    columns = {
        "src": [site for site, _ in rows],
        "flight": [flight for _, flight in rows],
        "gate": [gates[flight] for _, flight in rows],
    }
    assert judge_table(columns).cells == []


def test_grades_of_one_pupil_in_several_subjects_are_no_reports_of_one_fact(found: Any) -> None:
    rng = np.random.default_rng(3)
    pupils, subjects = np.repeat(np.arange(40), 6), np.tile(np.arange(6), 40)
    level = np.clip(np.round(rng.normal(2, 1.1, size=40)[pupils] + rng.normal(0, 0.5, size=240)), 0, 4).astype(int)
    columns = {
        "pupil": [f"Pupil {k}" for k in pupils],
        "subject": [("Art", "Biology", "Latin", "Music", "Physics", "Sport")[k] for k in subjects],
        "grade": ["ABCDF"[k] for k in level],
    }
    assert found(rewrite, columns) == set()


def test_the_entity_with_most_reports_is_chosen_and_writings_of_a_source_do_not_weaken_it() -> None:
    """Gates repeat, so that few of them name one flight; one site writes the day before the time."""
    rng = np.random.default_rng(1)
    columns: dict[str, list[str]] = {"src": [], "flight": [], "gate": [], "departs": []}
    truth, gates = [], [f"A{k}" for k in rng.integers(25, size=40)]
    for flight in range(40):
        time = f"{rng.integers(1, 12)}:{rng.integers(10, 59)} a.m."
        for s in range(7):
            said = f"{rng.integers(1, 12)}:{rng.integers(10, 59)} p.m." if rng.random() < 0.2 else time
            columns["src"].append(f"site{s}")
            columns["flight"].append(f"F{flight}")
            columns["gate"].append(gates[flight])
            columns["departs"].append(f"12/02/2011 {said}" if s == 0 else said)
            truth.append(time)
    cells = {c.row: c for c in judge_table(columns).cells}
    assert set(cells) == {k for k, text in enumerate(columns["departs"]) if text != truth[k]}
    assert all(c.suggested == truth[k] and c.confidence >= 0.9 for k, c in cells.items())


def _panel(zones: str, noise: float = 0.0) -> dict[str, list[str]]:
    """Labels of 20 items in the shops of several zones, each zone with labels of its own, and a share of wrong ones."""
    rng = np.random.default_rng(0)
    columns: dict[str, list[str]] = {"shop": [], "item": [], "label": []}
    for shop, zone in enumerate(zones):
        for item in range(20):
            columns["shop"].append(f"shop {shop:02d}")
            columns["item"].append(f"item {item}")
            wrong = rng.random() < noise
            columns["label"].append(f"Z{rng.integers(1000, 9999)}Q" if wrong else f"{zone}{item:03d}X{item * 7}")
    return columns


@pytest.mark.parametrize("zones", ["AAAAAAAAAABB", "AAAABBBBCCCC", "AAAAAABBBBBB", "AABBCCDDEEFF"])
def test_groups_of_sources_with_facts_of_their_own_are_left_alone(zones: str) -> None:
    assert judge_table(_panel(zones)).cells == []
    assert not any(cell.confidence > 0.5 for cell in judge_table(_panel(zones, noise=0.02)).cells)


def test_a_single_source_with_facts_of_its_own_is_listed_and_not_written() -> None:
    cells = judge_table(_panel("AAAAAAAAAAAB")).cells
    assert {cell.row for cell in cells} == set(range(220, 240))
    assert all(cell.confidence < DEFAULT.change_from for cell in cells)


def test_texts_of_other_columns_are_no_levels_of_a_fact(coded: Any) -> None:
    """Votes are a fact of few levels, also where a few cells hold what belongs elsewhere."""
    bills, members = np.repeat(np.arange(30), 40), np.tile(np.arange(40), 30)
    votes = [["Aye", "No", "Abstain"][k] for k in np.random.default_rng(0).choice(3, 1200, p=[0.6, 0.3, 0.1])]
    votes[::40] = [f"Town {k}" for k in range(30)]
    table = coded({"bill": [f"B{k}" for k in bills], "member": [f"M{k}" for k in members], "vote": votes})
    assert Claims(table, table.columns[2], 0, 1).levels == 3
