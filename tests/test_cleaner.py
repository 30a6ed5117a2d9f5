"""Tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.exceptions import NotFittedError
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


def as_graph(nodes: pd.DataFrame, edges: pd.DataFrame, **settings: Any) -> magnet.CleanResult:
    """The table judged by the detectors of graphs."""
    return magnet.clean(nodes, edges, id="id", detector=magnet.detection.make("auto"), fix="all", **settings)


@pytest.fixture(scope="module")
def result() -> magnet.CleanResult:
    _, nodes, edges, _ = spoiled()
    return as_graph(nodes, edges)


def test_graph_detectors_find_wrong_cells_and_repair_them_in_user_units(result: magnet.CleanResult) -> None:
    right, nodes, _, wrong = spoiled()
    cells = result.suspicious_cells.set_index(["row", "column"])
    for row, column in wrong:
        assert cells.loc[(row, column), "action"] == "corrected", (row, column)
        assert cells.loc[(row, column), "probability"] > 0.5
        truth, new = right.loc[row, column], result.cleaned.loc[row, column]
        assert new == truth if isinstance(truth, str) else abs(new - truth) < 0.15 * truth
    assert result.cleaned.dtypes.equals(nodes.dtypes)
    assert result.cleaned["remark"].equals(nodes["remark"])
    assert "from linked rows and the rest of the row" in cells.loc[next(iter(wrong)), "reason"]


def test_only_listed_cells_differ_and_types_hold(result: magnet.CleanResult) -> None:
    _, nodes, _, _ = spoiled()
    done = result.suspicious_cells.query("action != 'kept'")
    changed = (result.cleaned != nodes) & ~(result.cleaned.isna() & nodes.isna())
    assert {(row, nodes.columns[k]) for row, k in zip(*np.where(changed), strict=True)} == set(
        zip(done["row"], done["column"], strict=True)
    )
    assert set(result.cleaned["city"].dropna()) <= set(CITIES)
    assert set(result.cleaned["premium"]) == {"yes", "no"}
    assert "CleanResult(Table(400 rows" in repr(result)
    assert "<table" in result._repr_html_()


def test_blanks_are_filled_only_when_asked() -> None:
    right, nodes, edges, _ = spoiled()
    blanks = list(zip(*np.where(nodes.isna()), strict=True))
    kept = as_graph(nodes, edges)
    assert kept.counts["filled"] == 0
    filled = as_graph(nodes, edges, fill=True)
    cells = filled.suspicious_cells.set_index(["row", "column"])
    for row, column in blanks:
        name = nodes.columns[column]
        assert cells.loc[(row, name), "action"] == "filled"
        assert cells.loc[(row, name), "probability"] > 0.9  # the column is nearly full
        new, truth = filled.cleaned.iloc[row, column], right.iloc[row, column]
        assert new == truth if isinstance(truth, str) else abs(new - truth) < 0.1 * truth


def test_fix_none_changes_nothing_and_a_largest_share_is_kept() -> None:
    _, nodes, edges, wrong = spoiled()
    none = magnet.clean(nodes, edges, id="id", fix="none")
    pd.testing.assert_frame_equal(none.cleaned, nodes)
    assert set(none.suspicious_cells["action"]) <= {"kept"}
    assert as_graph(nodes, edges).counts["corrected"] >= len(wrong)
    capped = as_graph(nodes, edges, max_share=2 / nodes.size)
    assert capped.counts["corrected"] == 2
    best = capped.suspicious_cells.query("action == 'corrected'")["probability"].min()
    assert best >= capped.suspicious_cells.query("action == 'kept'")["probability"].max()


def test_typos_are_corrected_from_rows_that_share_a_value(misspelled: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    right, nodes = misspelled
    result = magnet.clean(nodes)
    pd.testing.assert_frame_equal(result.cleaned, right)
    cells = result.suspicious_cells
    assert cells["kind"].tolist() == ["typo", "typo"]
    assert sorted(cells["row"]) == [3, 9]
    assert cells["reason"].str.contains("other rows with code").all()
    assert result.cleaned.dtypes.equals(nodes.dtypes)


def test_trusted_cells_are_left_alone(misspelled: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    _, nodes = misspelled
    trusted = pd.DataFrame(False, index=nodes.index, columns=nodes.columns)
    trusted.loc[3, "city"] = True
    assert magnet.clean(nodes, trusted=trusted).suspicious_cells["row"].tolist() == [9]
    rows = np.zeros(300, dtype=bool)
    rows[9] = True
    assert magnet.clean(nodes, trusted=rows).suspicious_cells["row"].tolist() == [3]
    with pytest.raises(ValueError, match=r"trusted has shape \[3\]"):
        magnet.clean(nodes, trusted=[True] * 3)
    with pytest.raises(ValueError, match="a column 'town', which the table has not"):
        magnet.clean(nodes, trusted=pd.DataFrame({"town": [True] * 300}))


def test_a_false_discovery_rate_bounds_what_is_listed() -> None:
    _, nodes, edges, _ = spoiled()
    probability = magnet.clean(nodes, edges, id="id", fix="none").suspicious_cells["probability"]
    strict = magnet.clean(nodes, edges, id="id", fix="none", fdr=0.01).suspicious_cells["probability"]
    assert (1 - strict).mean() <= 0.01 or strict.empty
    assert len(strict) <= len(probability)
    with pytest.raises(ValueError, match="use threshold or fdr for a table"):
        magnet.clean(nodes, edges, id="id", contamination=0.1)


def test_links_that_say_nothing_change_nothing() -> None:
    """Links of another table must not cause corrections."""
    nodes, edges = people(1)
    shuffled = edges.assign(target=np.random.default_rng(0).permutation(edges["target"].to_numpy()))
    assert magnet.clean(nodes, shuffled, id="id").counts["corrected"] == 0


@pytest.mark.parametrize("name", ["customer-number-{:09d}", "1000000000000000000000000000{:03d}"])
@pytest.mark.parametrize("key", ["id", "n"])
def test_names_of_rows_are_not_made_those_of_the_rows_they_are_linked_to(name: str, key: str) -> None:
    """Linked rows have ids that differ in one digit: no typo, whether the edges name the column or another one."""
    names = [name.format(k) for k in range(60)]
    nodes = pd.DataFrame({"id": names, "n": range(60), "size": [k % 9 for k in range(60)]})
    edges = pd.DataFrame({"from": nodes[key], "to": nodes[key].tolist()[1:] + nodes[key].tolist()[:1]})
    result = magnet.clean(nodes, edges, id=key, fix="all")
    assert "id" not in result.suspicious_cells["column"].tolist()
    assert result.record.not_judged[key] == "edges name its values"


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
    cleaned = as_graph(nodes, edges, recovery=recovery).cleaned
    assert abs(cleaned.loc[row, "visits"] - right.loc[row, "visits"]) < 10
    data = synthetic(nodes=80, features=10, kind="continuous", seed=0)
    rows = torch.ones(80)
    rows[5] = 0
    model = MAGnet(rows, recovery=recovery).fit(data)
    assert torch.equal(model.x_[rows > 0], data.x[rows > 0])
    assert not torch.equal(model.x_[5], data.x[5])
    with pytest.raises(ValueError, match="which is for tables"):
        MAGnet(recovery="regression").fit(data)


def test_another_table_is_judged_beside_the_fitted_one(misspelled: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    right, nodes = misspelled
    model = MAGnet().fit(tables.from_frames(right))
    few = nodes.head(12)  # too few rows to tell a typo from a town by themselves
    assert model.transform(tables.from_frames(few)).frame["city"].tolist() == right["city"].head(12).tolist()
    assert model.judge(tables.from_frames(right)) is model
    with pytest.raises(ValueError, match="the table has no column 'city'"):
        model.transform(tables.from_frames(few.drop(columns="city")))


def test_a_single_column_or_rule_is_one_of_one() -> None:
    nodes = people(rows=60)[0]
    nodes.loc[3, "city"] = "Bergenn"
    for name, value in (("link_by", "city"), ("rules", "city -> premium")):
        one, several = (magnet.clean(nodes, **{name: given}).suspicious_cells for given in (value, [value]))
        pd.testing.assert_frame_equal(one, several)


def test_bad_parameters_and_data_are_named() -> None:
    for bad in ({"fix": "some"}, {"recovery": "magic"}, {"max_share": 2.0}, {"decisions": "decisions.json"}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            MAGnet(**bad).fit(synthetic(nodes=60, features=12))  # type: ignore[arg-type]
    with pytest.raises(NotFittedError, match="not fitted yet"):
        MAGnet().suspicious_cells()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        _ = MAGnet().trust_
    assert not hasattr(MAGnet(), "trust_")
    with pytest.raises(AttributeError, match="no attribute 'trusts'"):
        _ = MAGnet().trusts  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="HeteroData"):
        MAGnet().fit(HeteroData())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("detector", "given", "message"),
    [
        ("cell", {"link_by": ["city"]}, "link_by without effect on a table judged by 'cell'"),
        ("cell", {"rules": "city -> premium"}, "rules without effect on a table judged by 'cell'"),
        ("auto", {"recovery": "propagate"}, "recovery without effect on a table judged by 'auto'"),
        ("auto", {"recovery_options": {"lam": 1.0}}, "recovery_options without effect"),
    ],
)
def test_what_another_detector_uses_is_not_ignored_silently(detector: str, given: dict[str, Any], message: str) -> None:
    nodes, edges = people(rows=60)
    with pytest.warns(UserWarning, match=message):
        magnet.clean(nodes, edges, detector=detector, **given)


@pytest.mark.parametrize("given", [{"fill": True}, {"max_share": 0.1}, {"link_by": "a"}, {"rules": ["a -> b"]}])
def test_what_is_for_tables_is_not_ignored_silently_for_a_graph(given: dict[str, Any]) -> None:
    with pytest.warns(UserWarning, match=f"{next(iter(given))} without effect on a Data: for tables only"):
        MAGnet(**given).fit(synthetic(nodes=60, features=12))


def test_a_graph_is_not_changed_where_nothing_shall_be() -> None:
    with pytest.raises(ValueError, match="fix is 'none', which is for tables"):
        MAGnet(fix="none").fit(synthetic(nodes=60, features=12))


@pytest.mark.parametrize("name", ["x_", "trust_", "scores_", "probability_", "findings_", "detector_"])
def test_results_before_fit_ask_for_fit(name: str) -> None:
    model = MAGnet()
    with pytest.raises(NotFittedError, match="not fitted yet; call fit"):
        getattr(model, name)
    assert not hasattr(model, name)


def test_a_model_of_a_table_says_where_its_results_are() -> None:
    model = MAGnet().fit(tables.from_frames(people(rows=30)[0]))
    with pytest.raises(AttributeError, match="no attribute 'x_'; it was fitted on a table, whose results are in"):
        _ = model.x_
    assert not hasattr(model, "trust_")


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
