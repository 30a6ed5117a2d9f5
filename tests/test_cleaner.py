from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import HeteroData

import magnet
from magnet import MAGnet, tables
from magnet.corruption import corrupt_cells, inject_attributes
from magnet.datasets import load, synthetic

CITIES = np.array(["Aarhus", "Bergen", "Cork", "Delft", "Evora"])


def people(seed: int = 0, rows: int = 400) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Five towns whose people know each other and are alike."""
    rng = np.random.default_rng(seed)
    town = rng.integers(5, size=rows)
    nodes = pd.DataFrame(
        {
            "id": [f"p{k}" for k in range(rows)],
            "income": np.round(20_000 * (1 + town) + 500 * rng.normal(size=rows), 2),
            "visits": rng.poisson(20 + 30 * town),
            "city": CITIES[town],
            "premium": np.where(town >= 3, "yes", "no"),
            "remark": [f"remark {k}" for k in range(rows)],
        }
    )
    pairs = [(k, rng.choice(np.flatnonzero(town == town[k]))) for k in range(rows) for _ in range(4)]
    edges = pd.DataFrame([(f"p{a}", f"p{b}") for a, b in pairs], columns=["source", "target"])
    return nodes, edges


def spoiled() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, dict[tuple[int, str], Any]]:
    """The same with errors of every kind, and what the cells should hold."""
    right, edges = people()
    nodes = right.copy()
    rich, poor = (np.flatnonzero(right["city"] == CITIES[k]) for k in (4, 0))
    wrong = {
        (int(rich[0]), "income"): float(right.loc[poor[0], "income"]),  # normal for the column, not for the node
        (int(poor[1]), "income"): 2_000_000.0,
        (int(poor[2]), "city"): "Evora",
        (int(rich[3]), "premium"): "no",
        (int(poor[4]), "visits"): 5000,
    }
    for (row, column), value in wrong.items():
        nodes.loc[row, column] = value
    nodes.loc[int(rich[5]), "income"] = np.nan
    nodes.loc[int(poor[6]), "city"] = None
    return right, nodes, edges, wrong


@pytest.fixture(scope="module")
def result() -> magnet.CleanResult:
    _, nodes, edges, _ = spoiled()
    return magnet.clean(nodes, edges, id="id")


def test_wrong_cells_are_found_and_repaired_in_user_units(result: magnet.CleanResult) -> None:
    right, nodes, _, wrong = spoiled()
    cells = result.suspicious_cells.set_index(["row", "column"])
    for row, column in wrong:
        if column == "city":
            continue  # judged below
        assert cells.loc[(row, column), "action"] == "corrected", (row, column)
        assert cells.loc[(row, column), "probability"] > 0.5
        truth, new = right.loc[row, column], result.cleaned.loc[row, column]
        if isinstance(truth, str):
            assert new == truth
        else:
            assert abs(new - truth) < 0.15 * truth
    corrected = (cells["action"] == "corrected").sum()
    assert corrected <= 2 * len(wrong)
    assert result.cleaned.dtypes.equals(nodes.dtypes)
    assert result.cleaned["remark"].equals(nodes["remark"])


def test_one_wrong_cell_does_not_make_the_rest_of_its_row_look_wrong(result: magnet.CleanResult) -> None:
    """Income follows the city: beside a wrong city a right income looks wrong, until the city is not believed."""
    right, _, _, wrong = spoiled()
    done = result.suspicious_cells[result.suspicious_cells["action"] == "corrected"]
    assert {(row, column) for row, column in zip(done["row"], done["column"], strict=True)} == set(wrong)
    city = next(row for row, column in wrong if column == "city")
    assert result.cleaned.loc[city, "city"] == right.loc[city, "city"]
    reason = done.set_index(["row", "column"]).loc[(city, "city"), "reason"]
    assert reason.endswith("say Aarhus, this says Evora")
    model = result.model
    judged = model.flagged_.numpy()[:, [c.start for c in model.encoded_.columns]]
    assert judged.sum() > model.findings_.flagged.sum()  # the detector alone suspected more
    assert bool((model.x_[city] == model.encoded_.x[city])[model.encoded_.columns[0].start])


@pytest.mark.parametrize("people", [100, 300])
def test_the_only_wrong_city_of_a_small_table_is_found(people: int) -> None:
    """Nothing but its row, its neighbours and the absence of other surprises speak against it."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        town = rng.integers(4, size=people)
        nodes = pd.DataFrame(
            {
                "id": [f"p{k}" for k in range(people)],
                "city": np.array(list("ABCD"))[town],
                "age": (30 + 10 * town + rng.normal(size=people) * 2).round(1),
                "income": (1000 + 1000 * town + rng.normal(size=people) * 100).round(),
            }
        )
        same = [rng.choice(np.flatnonzero((town == town[k]) & (np.arange(people) != k)), 4) for k in range(people)]
        edges = pd.DataFrame([(f"p{k}", f"p{j}") for k in range(people) for j in same[k]], columns=["from", "to"])
        assert len(magnet.clean(nodes, edges, id="id").suspicious_cells) == 0
        right = nodes.loc[7, "city"]
        nodes.loc[7, "city"] = "B" if right != "B" else "C"
        found = magnet.clean(nodes, edges, id="id").suspicious_cells
        assert found[["row", "column", "suggested", "action"]].values.tolist() == [[7, "city", right, "corrected"]]


def test_without_edges_the_rest_of_the_row_judges_and_suggests() -> None:
    """Nearest neighbours of a row with a wrong cell hold that wrong value too. Beside it the right ones look wrong, and
    there are rows that are extreme throughout: neither is changed."""
    rng = np.random.default_rng(0)
    size = rng.normal(size=400)
    nodes = pd.DataFrame({"id": np.arange(400)} | {c: 10 + size + 0.05 * rng.normal(size=400) for c in "abc"})
    assert abs(size).max() > 3.5
    right = nodes.loc[5, "b"]
    nodes.loc[5, "b"] = right + 1.5  # well inside its column
    result = magnet.clean(nodes, id="id")
    found = result.suspicious_cells
    assert found[["row", "column", "action"]].values.tolist() == [[5, "b", "corrected"]]
    assert abs(result.cleaned.loc[5, "b"] - right) < 0.2
    assert found["reason"].tolist()[0].startswith("the rest of the row suggests 10.")


def test_missing_cells_are_filled_and_say_so(result: magnet.CleanResult) -> None:
    right, nodes, _, _ = spoiled()
    cells = result.suspicious_cells.set_index(["row", "column"])
    for row, column in zip(*np.where(nodes.isna()), strict=True):
        name = nodes.columns[column]
        assert cells.loc[(row, name), "action"] == "filled"
        assert np.isnan(cells.loc[(row, name), "probability"])
        new, truth = result.cleaned.iloc[row, column], right.iloc[row, column]
        assert new == truth if isinstance(truth, str) else abs(new - truth) < 0.1 * truth


def test_reasons_say_what_the_neighbours_say(result: magnet.CleanResult) -> None:
    _, _, _, wrong = spoiled()
    cells = result.suspicious_cells.set_index(["row", "column"])
    outlier = next(key for key, value in wrong.items() if value == 2_000_000.0)
    assert re.fullmatch(r"neighbours average (19|20)\d{3}, this says 2000000", cells.loc[outlier, "reason"])
    premium = next(key for key in wrong if key[1] == "premium")
    assert re.fullmatch(r"\d+ of \d+ neighbours say yes, this says no", cells.loc[premium, "reason"])


def test_only_listed_cells_differ_and_kinds_hold(result: magnet.CleanResult) -> None:
    _, nodes, _, _ = spoiled()
    done = result.suspicious_cells.query("action != 'kept'")
    changed = (result.cleaned != nodes) & ~(result.cleaned.isna() & nodes.isna())
    assert {(row, nodes.columns[k]) for row, k in zip(*np.where(changed), strict=True)} == set(
        zip(done["row"], done["column"], strict=True)
    )
    assert set(result.cleaned["city"]) <= set(CITIES)
    assert set(result.cleaned["premium"]) == {"yes", "no"}
    assert (result.cleaned["visits"] == result.cleaned["visits"].round()).all()
    assert "1 corrected" not in repr(result)
    assert "CleanResult(Table(400 rows" in repr(result)
    assert "<table" in result._repr_html_()


def test_fix_none_changes_nothing_and_all_changes_what_is_listed() -> None:
    _, nodes, edges, wrong = spoiled()
    none = magnet.clean(nodes, edges, id="id", fix="none")
    pd.testing.assert_frame_equal(none.cleaned, nodes)
    assert set(none.suspicious_cells["action"]) == {"kept"}
    everything = magnet.clean(nodes, edges, id="id", fix="all")
    assert everything.counts["corrected"] >= len(wrong) - 1
    assert everything.counts["corrected"] >= magnet.clean(nodes, edges, id="id").counts["corrected"]
    capped = magnet.clean(nodes, edges, id="id", max_share=2 / (400 * 4))
    assert capped.counts["corrected"] == 2
    best = capped.suspicious_cells.query("action == 'corrected'")["probability"].min()
    assert best >= capped.suspicious_cells.query("action == 'kept'")["probability"].max()


def test_trusted_cells_are_left_alone() -> None:
    _, nodes, edges, wrong = spoiled()
    trusted = pd.DataFrame(False, index=nodes.index, columns=nodes.columns)
    for row, column in wrong:
        trusted.loc[row, column] = True
    cells = magnet.clean(nodes, edges, id="id", trusted=trusted).suspicious_cells
    listed = set(zip(cells["row"], cells["column"], strict=True))
    assert not listed & set(wrong)
    with pytest.raises(ValueError, match=r"trusted has shape \[3\]"):
        magnet.clean(nodes, edges, id="id", trusted=[True] * 3)


def test_rows_of_other_nodes_are_replaced_as_a_whole() -> None:
    """Pictures of other digits: the pixels that happen to agree are no reason to believe the row."""
    data = load("digits")
    pixels = np.round(data.x.numpy() * 16).astype(int)
    rng = np.random.default_rng(0)
    foreign = rng.choice(len(pixels), 100, replace=False)
    shown = pixels.copy()
    shown[foreign] = pixels[np.roll(foreign, 1)]
    nodes = pd.DataFrame(shown, columns=[f"pixel {k}" for k in range(64)])
    nodes.insert(0, "id", range(len(nodes)))
    result = magnet.clean(nodes, pd.DataFrame(data.edge_index.T.numpy(), columns=["source", "target"]), id="id")
    cleaned = result.cleaned.iloc[:, 1:].to_numpy()
    before, after = (np.abs(x - pixels)[foreign].mean() for x in (shown, cleaned))
    assert after < 0.6 * before
    untouched = np.setdiff1d(np.arange(len(pixels)), foreign)
    assert (cleaned != pixels)[untouched].mean() < 0.005
    reasons = result.suspicious_cells.loc[result.suspicious_cells["row"].isin(foreign), "reason"]
    assert reasons.str.startswith("the whole row looks like another node's").mean() > 0.9


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_clean_table_stays_as_it_is(seed: int) -> None:
    nodes, edges = people(seed)
    result = magnet.clean(nodes, edges, id="id")
    assert result.counts == {"corrected": 0, "filled": 0, "kept": 0}
    pd.testing.assert_frame_equal(result.cleaned, nodes)


@pytest.mark.parametrize("kind", ["binary", "continuous"])
def test_clean_features_are_hardly_touched(kind: Any) -> None:
    data = synthetic(1000, 60, 5, 6.0, 0.9, kind, seed=2)
    assert float((MAGnet().fit_transform(data).x != data.x).float().mean()) < 0.001


def test_clean_digits_are_hardly_touched() -> None:
    data = load("digits")
    assert float((MAGnet().fit_transform(data).x != data.x).float().mean()) < 0.001


def test_features_of_a_graph_are_recovered() -> None:
    data = load("digits")
    bad = corrupt_cells(data, ratio=0.1, kind="outlier", node_share=0.5, scale=6, seed=0)
    model = MAGnet()
    clean = model.fit_transform(bad.data)
    before, after = ((x - data.x)[bad.cells].abs() for x in (bad.data.x, clean.x))
    assert float((after < 0.5 * before).float().mean()) > 0.5
    kept = model.trust_ > 0.5
    assert torch.equal(clean.x[kept], bad.data.x[kept])
    assert torch.equal(clean.edge_index, data.edge_index)
    cells = model.suspicious_cells()
    assert list(cells.columns) == ["node", "column", "observed", "suggested", "score", "probability"]
    assert len(cells) == int(model.flagged_.sum())
    assert bad.cells[cells["node"], cells["column"]].float().mean() > 0.8


def test_given_trust_and_none() -> None:
    data = synthetic(nodes=80, features=10, seed=0)
    rows = torch.ones(80)
    rows[5] = 0
    model = MAGnet(detector=rows).fit(data)
    assert model.share_ == pytest.approx(1 / 80)
    assert torch.equal(model.x_[:5], data.x[:5])
    assert not torch.equal(model.x_[5], data.x[5])
    assert torch.equal(MAGnet("none").fit_transform(data).x, data.x)
    with pytest.raises(ValueError, match=r"the given trust has shape \[3, 1\]; x has \[80, 10\]"):
        MAGnet(detector=torch.ones(3)).fit(data)


@pytest.mark.parametrize("recovery", ["propagate", "framelet"])
def test_other_recoveries_suggest_too(recovery: Any) -> None:
    right, nodes, edges, wrong = spoiled()
    row = next(row for row, column in wrong if column == "visits")
    cleaned = magnet.clean(nodes, edges, id="id", recovery=recovery).cleaned
    assert abs(cleaned.loc[row, "visits"] - right.loc[row, "visits"]) < 10
    data = synthetic(nodes=80, features=10, kind="continuous", seed=0)
    rows = torch.ones(80)
    rows[5] = 0
    model = MAGnet(rows, recovery=recovery).fit(data)
    assert torch.equal(model.x_[rows > 0], data.x[rows > 0])
    assert not torch.equal(model.x_[5], data.x[5])
    with pytest.raises(ValueError, match="which is for tables"):
        MAGnet(recovery="regression").fit(data)


def test_transform_of_another_graph_uses_what_was_fitted() -> None:
    _, nodes, edges, _ = spoiled()
    model = MAGnet().fit(tables.from_frames(nodes, edges, id="id"))
    fields = model.fields_
    fresh, links = people(3)
    fresh.loc[7, "income"] = 3e6
    cleaned = model.transform(tables.from_frames(fresh, links, id="id")).frame
    assert cleaned.loc[7, "income"] < 150_000
    assert model.fields_ is fields
    again = model.transform(tables.from_frames(nodes, edges, id="id")).frame
    assert (again["income"] < 1e6).all()
    with pytest.raises(ValueError, match="the table has no column 'income'"):
        model.transform(tables.from_frames(fresh.drop(columns="income"), links, id="id"))


def test_save_and_load(tmp_path: Path) -> None:
    _, nodes, edges, _ = spoiled()
    table = tables.from_frames(nodes, edges, id="id")
    model = MAGnet(fix="all", seed=3).fit(table)
    model.save(tmp_path / "model.npz")
    again = MAGnet.load(tmp_path / "model.npz")
    assert again.get_params() == model.get_params()
    pd.testing.assert_frame_equal(again.transform(table).frame, model.transform(table).frame)
    fresh, links = people(3)
    fresh.loc[7, "income"] = 3e6
    other = tables.from_frames(fresh, links, id="id")
    pd.testing.assert_frame_equal(again.transform(other).frame, model.transform(other).frame)
    assert torch.equal(again.trust_, model.trust_)
    with np.load(tmp_path / "model.npz", allow_pickle=False) as arrays:
        assert all(arrays[key].dtype != object for key in arrays.files)
    (tmp_path / "model.npz").write_bytes(b"torn")
    with pytest.raises(ValueError, match="damaged file"):
        MAGnet.load(tmp_path / "model.npz")
    with pytest.raises(ValueError, match="only models with a detector's name are saved"):
        MAGnet(torch.ones(400)).fit(synthetic(nodes=400, features=12)).save(tmp_path / "x.npz")


def test_parameters_as_scikit_learn_has_them() -> None:
    from sklearn.base import clone

    model = clone(MAGnet(fix="none", seed=7))
    assert model.get_params()["seed"] == 7
    assert repr(model) == "MAGnet(fix='none', seed=7)"
    for bad in ({"fix": "some"}, {"recovery": "magic"}, {"max_share": 2.0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            MAGnet(**bad).fit(synthetic(nodes=60, features=12))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not fitted yet"):
        MAGnet().suspicious_cells()
    with pytest.raises(ValueError, match="HeteroData"):
        MAGnet().fit(HeteroData())  # type: ignore[arg-type]


def test_a_graph_whose_context_says_nothing_is_left_alone() -> None:
    data = synthetic(nodes=300, features=40, homophily=0.2, seed=0)
    model = MAGnet().fit(data)
    assert float((model.x_ != data.x).float().mean()) < 0.002


def test_replaced_rows_are_recovered() -> None:
    data = synthetic(nodes=600, features=100, seed=0)
    bad = inject_attributes(data, ratio=0.2, select="random", seed=0)
    model = MAGnet().fit(bad.data)
    found = 1 - model.trust_.mean(dim=1)
    assert float(found[bad.nodes].mean()) > 5 * float(found[~bad.nodes].mean())
