"""Synthetic tables of shops, sports and laboratories: second writings of one value, decimal marks, units, brackets.

All three were seen while the channels ``unit``, ``synonym`` and ``remark``, the decimal marks and the expert
``brackets`` were written; they guard these against regressions and say nothing about tables that were not seen.
"""

from __future__ import annotations

import numpy as np
from _made_up import FIRST, LAST, Columns, MadeUp, _copy, _names, _strike, typo, words
from _made_up_mixed import MONTHS, _day

SHOP = {  # by kind: department, mean log price, mean log weight in grams
    "Laptops": ("Computers", 6.9, 7.5),
    "Monitors": ("Computers", 5.6, 8.4),
    "Keyboards": ("Accessories", 4.0, 6.7),
    "Phones": ("Mobile", 6.2, 5.2),
    "Tablets": ("Mobile", 5.9, 6.2),
    "Speakers": ("Audio", 4.8, 7.3),
    "Lenses": ("Photo", 6.1, 6.3),
}
TESTS = {  # mean, spread, unit, lower and upper limit, decimals
    "Glucose": (95, 18, "mg/dL", 70, 110, 0),
    "Sodium": (140, 3, "mmol/L", 135, 145, 0),
    "Potassium": (4.2, 0.45, "mmol/L", 3.5, 5.1, 1),
    "Creatinine": (1.0, 0.3, "mg/dL", 0.6, 1.3, 2),
    "Hemoglobin": (13.8, 1.5, "g/dL", 12, 17.5, 1),
    "Platelets": (250, 60, "10^9/L", 150, 400, 0),
}


def catalog(seed: int) -> MadeUp:
    """Products: prices with a currency or a decimal comma, weights in kilograms, truth values in other words, wrong
    departments, brands in capitals or misspelled, damaged addresses, dates and long numbers in other writings."""
    rng = np.random.default_rng([21, seed])
    n = int(rng.integers(250, 900))
    kinds, brands = rng.choice(list(SHOP), size=n).tolist(), words("Lenovo Samsung Logitech Sony Canon Philips Asus")
    full = [round(float(np.exp(rng.normal(SHOP[k][1], 0.35))), 2) for k in kinds]
    off = rng.choice([0, 0, 0, 5, 10, 20], size=n)
    clean: Columns = {
        "sku": [f"{k[:2].upper()}-{rng.integers(10_000, 99_999)}" for k in kinds],
        "brand": rng.choice(brands, size=n).tolist(),
        "department": [SHOP[k][0] for k in kinds],
        "kind": kinds,
        "list_price": [f"{p:.2f}" for p in full],
        "discount": [str(d) for d in off],
        "price": [f"{p * (1 - d / 100):.2f}" for p, d in zip(full, off, strict=True)],
        "weight": [f"{np.exp(rng.normal(SHOP[k][2], 0.25)):.0f}" for k in kinds],
        "in_stock": rng.choice(["Y", "N"], size=n, p=[0.75, 0.25]).tolist(),
        "url": [f"https://www.shop.example.com/p/{rng.integers(10_000, 99_999)}" for _ in kinds],
        "listed": ["{}-{:02d}-{:02d}".format(*_day(rng)) for _ in kinds],
    }
    dirty, rate = _copy(clean), float(rng.uniform(0.006, 0.03))
    departments = sorted({d for d, *_ in SHOP.values()})
    truth = {"Y": ["yes", "1", "TRUE"], "N": ["no", "0", "FALSE"]}
    _strike(rng, dirty, "list_price", rate, lambda t: t + " EUR")
    _strike(rng, dirty, "price", rate, lambda t: t.replace(".", ","))
    _strike(rng, dirty, "brand", rate, lambda t: t.upper() if rng.random() < 0.4 else typo(rng, t))
    _strike(rng, dirty, "in_stock", rate, lambda t: str(rng.choice(truth[t])))
    _strike(
        rng, dirty, "url", rate, lambda t: t.replace("://", ":/") if rng.random() < 0.5 else t.replace(".com", ",com")
    )
    _strike(rng, dirty, "department", rate, lambda t: str(rng.choice([d for d in departments if d != t])))
    _strike(rng, dirty, "weight", rate, lambda t: f"{float(t) / 1000:g} kg")
    _strike(rng, dirty, "discount", rate, lambda t: t + "%")
    _strike(rng, dirty, "listed", rate, lambda t: f"{MONTHS[int(t[5:7]) - 1][:3]} {t[8:]}, {t[:4]}")
    return MadeUp("catalog", dirty, clean)


def matches(seed: int) -> MadeUp:
    """Seasons of a league: results that contradict the goals, attendances with separators or a lost digit, misspelled
    clubs and grounds, dates and seasons in other writings, referees with their initial behind the name."""
    rng = np.random.default_rng([22, seed])
    clubs, grounds = _names(rng, 12, 2), [f"{a} Park" for a in _names(rng, 12, 2)]
    seats, referees = rng.integers(25_000, 74_000, size=12), [f"{str(rng.choice(FIRST))[0]} {a}" for a in LAST]
    clean: Columns = {
        c: [] for c in words("season date home away ground home_goals away_goals result attendance referee")
    }
    for year in range(2012, 2012 + int(rng.integers(3, 8))):
        for h, a in ((h, a) for h in range(12) for a in range(12) if h != a):
            x, y = int(rng.poisson(1.5)), int(rng.poisson(1.1))
            _, month, day = _day(rng)
            row = (
                *(f"{year}/{(year + 1) % 100:02d}", f"{day:02d}/{month:02d}/{year}", clubs[h], clubs[a], grounds[h]),
                *(str(x), str(y), "H" if x > y else "A" if y > x else "D"),
                *(str(int(seats[h] * rng.beta(20, 2))), str(rng.choice(referees))),
            )
            for column, text in zip(clean.values(), row, strict=True):
                column.append(text)
    dirty, rate = _copy(clean), float(rng.uniform(0.008, 0.03))
    _strike(rng, dirty, "result", rate, lambda t: str(rng.choice([k for k in "HDA" if k != t])))
    _strike(rng, dirty, "attendance", rate, lambda t: f"{int(t):,}" if rng.random() < 0.6 else t[:-1])
    _strike(rng, dirty, "home", rate, lambda t: typo(rng, t))
    _strike(rng, dirty, "ground", rate, lambda t: typo(rng, t))
    _strike(rng, dirty, "date", rate, lambda t: "-".join(t.split("/")[::-1]))
    _strike(rng, dirty, "season", rate, lambda t: t.replace("/", "-"))
    _strike(rng, dirty, "referee", rate, lambda t: " ".join(t.split()[::-1]))
    return MadeUp("matches", dirty, clean)


def laboratory(seed: int) -> MadeUp:
    """Results of blood tests: decimal commas, shifted points, flags that contradict the result, units in other letters,
    sexes spelled out, misspelled tests, exchanged digits in years of birth, lost limits."""
    rng = np.random.default_rng([23, seed])
    clean: Columns = {c: [] for c in words("patient sex born test result unit low high flag taken")}
    for patient in range(int(rng.integers(80, 200))):
        sex, born = str(rng.choice(["M", "F"])), str(rng.integers(1935, 2004))
        for _ in range(int(rng.integers(1, 4))):
            taken = "{}-{:02d}-{:02d}".format(*_day(rng))
            for test, (mean, spread, unit, low, high, decimals) in TESTS.items():
                if rng.random() < 0.5:
                    continue
                text = f"{max(mean + spread * rng.standard_t(6), 0.2 * mean):.{decimals}f}"
                flag = "H" if float(text) > high else "L" if float(text) < low else "N"
                row = (f"P{patient:05d}", sex, born, test, text, unit, str(low), str(high), flag, taken)
                for column, cell in zip(clean.values(), row, strict=True):
                    column.append(cell)
    dirty, rate = _copy(clean), float(rng.uniform(0.01, 0.03))
    _strike(rng, dirty, "unit", rate, lambda t: t.lower())
    _strike(rng, dirty, "result", rate, lambda t: t.replace(".", ",") if "." in t else f"{float(t) * 10:g}")
    _strike(rng, dirty, "flag", rate, lambda t: str(rng.choice([k for k in "HLN" if k != t])))
    _strike(rng, dirty, "sex", rate, lambda t: {"M": "Male", "F": "Female"}[t])
    _strike(rng, dirty, "test", rate, lambda t: typo(rng, t))
    _strike(rng, dirty, "born", rate, lambda t: t[:2] + t[3] + t[2])
    _strike(rng, dirty, "high", rate / 2, lambda t: "")
    return MadeUp("laboratory", dirty, clean)


MORE = {f.__name__: f for f in (catalog, matches, laboratory)}
