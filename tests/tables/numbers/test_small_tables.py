"""Small tables as a new user would try them, each with a few errors that anybody would see, with and without links."""

import numpy as np
import pandas as pd
import pytest

import magnet

Errors = dict[tuple[int, str], object]


def _people(rng: np.random.Generator) -> tuple[pd.DataFrame, Errors]:
    frame = pd.DataFrame({"age": rng.integers(20, 80, 61), "city": rng.choice(["Oslo", "Bergen", "Moss"], 61)})
    return frame, {(17, "age"): 4100}


def _customers(rng: np.random.Generator) -> tuple[pd.DataFrame, Errors]:
    plan = rng.choice(["basic", "pro", "team"], 80, p=[0.5, 0.3, 0.2])
    seats, discount = rng.integers(1, 40, 80), rng.choice([0, 5, 10, 15, 20, 25], 80)
    since = pd.to_datetime("2019-01-01") + pd.to_timedelta(rng.integers(0, 1800, 80), unit="D")
    price = pd.Series(plan).map({"basic": 9.0, "pro": 19.0, "team": 29.0}).to_numpy()
    fee = np.round(seats * price * (1 - discount / 100), 2)
    frame = pd.DataFrame(
        {"plan": plan, "seats": seats, "fee": fee, "since": since.strftime("%Y-%m-%d"), "discount_percent": discount}
    )
    wrong: Errors = {(5, "seats"): -int(seats[5]), (11, "fee"): fee[11] * 100, (23, "since"): "2203-05-17"}
    return frame, wrong | {(31, "discount_percent"): 150}


def _sensors(rng: np.random.Generator) -> tuple[pd.DataFrame, Errors]:
    day = np.sin(np.arange(200) / 24 * 2 * np.pi)
    frame = pd.DataFrame(
        {
            "temperature": np.round(12 + 6 * day + rng.normal(0, 0.4, 200), 1),
            "humidity": np.round(60 - 15 * day + rng.normal(0, 2, 200)).astype(int),
            "voltage": np.round(3.3 + rng.normal(0, 0.02, 200), 2),
        }
    )
    return frame, {(40, "temperature"): -999, (77, "humidity"): 640, (120, "voltage"): 33.1, (150, "temperature"): 85.0}


def _survey(rng: np.random.Generator) -> tuple[pd.DataFrame, Errors]:
    income = np.round(np.exp(rng.normal(10.3, 0.4, 120)), -2).astype(int)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 85, 120),
            "satisfaction": rng.integers(1, 6, 120),
            "children": rng.poisson(1.3, 120),
            "income": income,
            "hours": rng.integers(20, 45, 120),
        }
    )
    wrong: Errors = {(7, "age"): 245, (19, "satisfaction"): 55, (58, "children"): 22}
    return frame, wrong | {(80, "income"): -int(income[80]), (99, "hours"): 380}


def _orders(rng: np.random.Generator) -> tuple[pd.DataFrame, Errors]:
    product = rng.choice(["pen", "book", "lamp", "desk"], 60)
    base = pd.Series(product).map({"pen": 1.2, "book": 14.9, "lamp": 39.0, "desk": 189.0}).to_numpy()
    price, quantity = np.round(base * rng.uniform(0.95, 1.05, 60), 2), rng.integers(1, 12, 60)
    total = np.round(price * quantity, 2)
    frame = pd.DataFrame({"product": product, "price": price, "quantity": quantity, "total": total})
    return frame, {(9, "price"): price[9] * 100, (21, "quantity"): -int(quantity[21]), (40, "total"): total[40] * 10}


def _schools(rng: np.random.Generator) -> tuple[pd.DataFrame, Errors]:
    frame = pd.DataFrame(
        {
            "pass_rate": np.round(np.clip(rng.normal(82, 8, 90), 40, 100), 1),
            "absence_rate": np.round(np.clip(rng.normal(6, 2, 90), 0.5, 20), 1),
        }
    )
    return frame, {(8, "pass_rate"): 820.0, (70, "pass_rate"): 112.4, (50, "absence_rate"): 61.0}


def _invoices(rng: np.random.Generator) -> tuple[pd.DataFrame, Errors]:
    issued = pd.to_datetime("2023-01-01") + pd.to_timedelta(rng.integers(0, 365, 70), unit="D")
    paid = issued + pd.to_timedelta(rng.integers(3, 40, 70), unit="D")
    frame = pd.DataFrame({"issued": issued.strftime("%Y-%m-%d"), "paid": paid.strftime("%Y-%m-%d")})
    return frame, {(14, "paid"): "2032-06-11", (33, "issued"): "1923-04-02"}


TABLES = (_people, _customers, _sensors, _survey, _orders, _schools, _invoices)


@pytest.mark.parametrize("linked", [False, True], ids=["alone", "linked"])
@pytest.mark.parametrize("make", TABLES, ids=lambda make: make.__name__[1:])
def test_errors_that_anybody_sees_are_listed_and_nothing_else_is_changed(make, linked) -> None:
    frame, wrong = make(np.random.default_rng(1))
    frame.insert(0, "id", [f"n{row}" for row in range(len(frame))])
    edges = pd.DataFrame({"source": frame["id"], "target": np.roll(frame["id"], 1)})[1:] if linked else None
    dirty = frame.astype(object)
    for (row, column), value in wrong.items():
        dirty.loc[row, column] = value
    cells = magnet.clean(dirty.infer_objects(), edges, id="id").suspicious_cells
    listed = set(zip(cells["row"], cells["column"], strict=True))
    assert listed >= set(wrong)
    assert len(listed) <= len(wrong) + 1
    changed = cells[cells["action"] == "corrected"]
    assert set(zip(changed["row"], changed["column"], strict=True)) <= set(wrong)
    assert len(magnet.clean(frame, edges, id="id").suspicious_cells) <= 1
