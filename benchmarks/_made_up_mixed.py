"""Synthetic tables with several kinds of errors at once, at the rates of scraped and typed tables (5 to 30 %)."""

from __future__ import annotations

import numpy as np
from _made_up import FIRST, LAST, STATES, WORDS, Columns, MadeUp, _clock, _copy, _names, _strike, typo, words

MONTHS = words("January February March April May June July August September October November December")
LANDS = words("USA UK France India Japan Germany Canada Italy")


def _day(rng: np.random.Generator) -> tuple[int, int, int]:
    return int(rng.integers(1990, 2018)), int(rng.integers(1, 13)), int(rng.integers(1, 29))


def _people(rng: np.random.Generator, most: int) -> str:
    return ",".join(f"{rng.choice(FIRST)} {rng.choice(LAST)}" for _ in range(int(rng.integers(1, most))))


def films(seed: int) -> MadeUp:
    """Films from two sites: remarks behind years, durations with and without a unit, other dates, lists with other
    separators, ratings of ten, lost values; optional columns are blank for films that few rated."""
    rng = np.random.default_rng([11, seed])
    n = int(rng.integers(400, 3000))
    votes = rng.lognormal(8, 2, size=n).astype(int) + 5
    known = rng.random(n) < 1 / (1 + 300 / votes)
    days = [_day(rng) for _ in range(n)]
    clean: Columns = {
        "id": [f"tt{k:07d}" for k in rng.choice(9_999_999, size=n, replace=False)],
        "name": [" ".join(rng.choice(_WORDS, size=int(rng.integers(1, 5)))).title() for _ in range(n)],
        "year": [str(y) for y, _, _ in days],
        "released": [f"{d} {MONTHS[m - 1]} {y}" for y, m, d in days],
        "director": [f"{rng.choice(FIRST)} {rng.choice(LAST)}" for _ in range(n)],
        "actors": [_people(rng, 5) for _ in range(n)],
        "language": [str(rng.choice(["English", "English", "French", "Hindi", "Spanish"])) for _ in range(n)],
        "country": [str(rng.choice(LANDS)) for _ in range(n)],
        "duration": [f"{k} min" for k in rng.integers(60, 190, size=n)],
        "rating": [f"{x:.1f}" for x in rng.normal(6.3, 1.1, size=n).clip(1, 10)],
        "rating_count": [f"{k:,}" for k in votes],
        "review": [f"{rng.integers(1, 900)} user" if k else "" for k in known],
        "genre": [
            ",".join(rng.choice(["Drama", "Comedy", "Horror", "Action"], size=2, replace=False)) for _ in range(n)
        ],
        "location": [str(rng.choice(LANDS)) if k else "" for k in known],
    }
    dirty, rate = _copy(clean), float(rng.uniform(0.05, 0.2))
    _strike(rng, dirty, "year", rate, lambda t: f"{t} ({rng.choice(LANDS)})")
    _strike(rng, dirty, "released", rate, lambda t: f"{t} ({rng.choice(LANDS)})")
    _strike(rng, dirty, "duration", rate, lambda t: f"{int(t[:-4]) // 60} hr. {int(t[:-4]) % 60} min.")
    _strike(rng, dirty, "actors", rate, lambda t: t.replace(",", ", "))
    _strike(rng, dirty, "genre", rate, lambda t: t.replace(",", ", "))
    _strike(rng, dirty, "rating", rate / 2, lambda t: f"{t}/10")
    _strike(rng, dirty, "rating_count", rate / 2, lambda t: t.replace(",", ""))
    _strike(rng, dirty, "language", rate / 2, lambda t: typo(rng, t))
    return MadeUp("films", dirty, clean)


def references(seed: int) -> MadeUp:
    """Articles: page ranges and numbers that a spreadsheet took for months, dates with short years among long ones,
    names turned round, journals misspelled, ISSNs without their mark, lost values that the journal knows."""
    rng = np.random.default_rng([12, seed])
    n, count = int(rng.integers(400, 1500)), int(rng.integers(20, 80))
    names = [
        f"{a} {rng.choice(WORDS).capitalize()} {rng.choice(['Journal', 'Letters', 'Review'])}"
        for a in _names(rng, count, 2)
    ]
    short = [" ".join(w[:4] + "." for w in name.split()) for name in names]
    issn = [f"{rng.integers(1000, 9999)}-{rng.integers(1000, 9999)}" for _ in range(count)]
    at = rng.integers(count, size=n)
    first = np.where(rng.random(n) < 0.15, rng.integers(1, 13, size=n), rng.integers(13, 900, size=n))
    days = [_day(rng) for _ in range(n)]
    clean: Columns = {
        "id": [str(k) for k in range(1, n + 1)],
        "title": [" ".join(rng.choice(WORDS, size=int(rng.integers(5, 12)))).capitalize() + "." for _ in range(n)],
        "language": [str(rng.choice(["eng", "eng", "eng", "eng", "fre", "ger"])) for _ in range(n)],
        "journal": [names[k] for k in at],
        "abbreviation": [short[k] for k in at],
        "issn": [issn[k] for k in at],
        "volume": [str(k) for k in rng.integers(1, 120, size=n)],
        "issue": [
            str(rng.integers(1, 13)) if rng.random() < 0.8 else f"{k}-{k + 1}" for k in rng.integers(1, 11, size=n)
        ],
        "created": [f"{m}/{d}/{y % 100:02d}" for y, m, d in days],
        "pages": [f"{a}-{a + int(rng.integers(2, 80))}" for a in first.tolist()],
        "authors": ["{" + _people(rng, 4).replace(",", "; ") + "}" for _ in range(n)],
    }
    dirty, rate = _copy(clean), float(rng.uniform(0.04, 0.15))
    long = {f"{m}/{d}/{y % 100:02d}": f"{y}-{m:02d}-{d:02d}" for y, m, d in days}

    def month(text: str) -> str:
        a, b = (int(x) for x in text.split("-"))
        return f"{MONTHS[a - 1][:3]}-{b:02d}" if a <= 12 and 31 < b < 100 else text

    _strike(rng, dirty, "pages", 1.0, month)
    _strike(
        rng,
        dirty,
        "issue",
        1.0,
        lambda t: f"{t.split('-')[1]}-{MONTHS[int(t.split('-')[0]) - 1][:3]}" if "-" in t else t,
    )
    _strike(rng, dirty, "created", rate, lambda t: long[t])
    _strike(rng, dirty, "issn", rate, lambda t: t.replace("-", "") if rng.random() < 0.5 else "")
    _strike(rng, dirty, "journal", rate / 2, lambda t: typo(rng, t) if rng.random() < 0.5 else t.lower())
    _strike(rng, dirty, "abbreviation", rate / 2, lambda t: t.replace(".", ""))
    _strike(rng, dirty, "language", rate, lambda t: {"eng": "English", "fre": "French", "ger": "German"}[t])
    return MadeUp("references", dirty, clean)


def restaurants(seed: int) -> MadeUp:
    """Restaurants from several guides: phones in other writings, streets abbreviated, kinds of food in other capitals
    and misspelled, cities copied from other rows, stray white space."""
    rng = np.random.default_rng([13, seed])
    n, towns = int(rng.integers(300, 1500)), int(rng.integers(8, 40))
    cities, area = _names(rng, towns, 2), [str(k) for k in rng.choice(np.arange(201, 990), size=towns, replace=False)]
    kinds = [
        "Italian",
        "French",
        "Mexican",
        "Chinese",
        "American",
        "Seafood",
        "Steakhouse",
        "Bakery",
        "Japanese",
        "Thai",
    ]
    streets = [f"{a} {rng.choice(['Street', 'Avenue', 'Road', 'Boulevard'])}" for a in _names(rng, 100, 2)]
    at = rng.integers(towns, size=n)
    clean: Columns = {
        "name": [f"{rng.choice(LAST)}'s {rng.choice(WORDS).capitalize()}" for _ in range(n)],
        "address": [f"{rng.integers(1, 2000)} {rng.choice(streets)}" for _ in range(n)],
        "city": [cities[k] for k in at],
        "phone": [f"{area[k]}-{rng.integers(200, 999)}-{rng.integers(1000, 9999)}" for k in at],
        "kind": [str(rng.choice(kinds)) for _ in range(n)],
        "price": [str(rng.choice(["$", "$$", "$$$"])) for _ in range(n)],
        "seats": [str(k) for k in rng.integers(15, 200, size=n)],
    }
    dirty, rate = _copy(clean), float(rng.uniform(0.05, 0.2))
    _strike(rng, dirty, "phone", rate, lambda t: t.replace("-", "/", 1) if rng.random() < 0.5 else t.replace("-", "."))
    _strike(rng, dirty, "address", rate, lambda t: t.replace("Street", "St.").replace("Avenue", "Ave."))
    _strike(rng, dirty, "kind", rate, lambda t: t.upper() if rng.random() < 0.5 else typo(rng, t))
    _strike(rng, dirty, "city", rate / 2, lambda t: str(rng.choice(cities)))
    _strike(rng, dirty, "name", rate / 2, lambda t: t + " ")
    _strike(rng, dirty, "seats", rate / 2, lambda t: t + " seats")
    return MadeUp("restaurants", dirty, clean)


def trials(seed: int) -> MadeUp:
    """Medical trials reported by several countries: facts of one trial disagree or are blank, dates in other writings,
    yes and no in several ways, sponsors misspelled."""
    rng = np.random.default_rng([14, seed])
    count = int(rng.integers(60, 400))
    sponsors = [f"{a} {rng.choice(['GmbH', 'Ltd', 'Inc', 'University'])}" for a in _names(rng, 40, 2)]
    clean: Columns = {c: [] for c in ("trial", "country", "sponsor", "started", "phase", "blind", "minors", "arms")}
    for k in range(count):
        y, m, d = _day(rng)
        facts = (str(rng.choice(sponsors)), f"{y}-{m:02d}-{d:02d}", str(rng.choice(["I", "II", "III", "IV"])))
        more = (str(rng.choice(["Yes", "No"])), str(rng.choice(["Yes", "No"])), str(rng.integers(1, 6)))
        for land in rng.choice(LANDS, size=int(rng.integers(2, 8)), replace=False):
            for column, text in zip(
                clean.values(), (f"{y}-{k:06d}-{k % 90:02d}", str(land), *facts, *more), strict=True
            ):
                column.append(text)
    dirty, rate = _copy(clean), float(rng.uniform(0.05, 0.2))
    for name, others in {"phase": ["I", "II", "III", "IV"], "blind": ["Yes", "No"], "minors": ["Yes", "No"]}.items():
        _strike(rng, dirty, name, rate, lambda t, o=others: str(rng.choice(o)))  # type: ignore[misc]
    _strike(rng, dirty, "blind", rate / 2, lambda t: t.lower())
    _strike(rng, dirty, "sponsor", rate, lambda t: typo(rng, t) if rng.random() < 0.6 else "")
    _strike(rng, dirty, "started", rate / 2, lambda t: "/".join(t.split("-")[::-1]))
    _strike(rng, dirty, "arms", rate, lambda t: "")
    return MadeUp("trials", dirty, clean)


def taxes(seed: int) -> MadeUp:
    """A large table of people: states that contradict the zip code, rates that contradict the state, marks behind
    cities, salaries with decimals or slipped digits, misspelled names, lost values."""
    rng = np.random.default_rng([15, seed])
    n, zips = (20_000, 800) if seed % 3 == 2 else (int(rng.integers(1500, 6000)), 200)
    cities, home = _names(rng, zips // 2), rng.integers(zips // 2, size=zips)
    state_of = [str(rng.choice(STATES)) for _ in cities]
    codes = [f"{k:05d}" for k in rng.choice(99_999, size=zips, replace=False)]
    base = {s: float(rng.integers(0, 12)) / 2 for s in STATES}
    first, last = FIRST + _names(rng, 100, 2), LAST + _names(rng, 400, 3)
    at, pay = rng.integers(zips, size=n), 500 * rng.integers(10, 200, size=n)
    states = [state_of[home[k]] for k in at]
    steps = np.digitize(pay, [20_000, 50_000])
    clean: Columns = {
        "first": [str(k) for k in rng.choice(first, size=n)],
        "last": [str(k) for k in rng.choice(last, size=n)],
        "city": [cities[home[k]] for k in at],
        "state": states,
        "zip": [codes[k] for k in at],
        "married": [str(k) for k in rng.choice(["M", "S"], size=n)],
        "salary": [str(k) for k in pay],
        "rate": [f"{base[s] + 0.5 * k:g}" for s, k in zip(states, steps, strict=True)],
    }
    dirty, rate = _copy(clean), float(rng.uniform(0.01, 0.06))
    _strike(rng, dirty, "city", rate, lambda t: t + "-*" if rng.random() < 0.5 else typo(rng, t))
    _strike(rng, dirty, "state", rate, lambda t: str(rng.choice(STATES)))
    _strike(rng, dirty, "salary", rate, lambda t: t + ".0")
    _strike(rng, dirty, "zip", rate, lambda t: str(int(t)))
    _strike(rng, dirty, "first", rate, lambda t: typo(rng, t))
    _strike(rng, dirty, "rate", rate, lambda t: f"{float(rng.choice(list(base.values()))):g}")
    return MadeUp("taxes", dirty, clean)


def flights(seed: int) -> MadeUp:
    """Reports of flights by few or many sites, a tenth to half of them wrong, copied from site to site, with dates in
    front of some times, marks for none, and other writings."""
    rng = np.random.default_rng([16, seed])
    count, sites = int(rng.integers(30, 100)), int(rng.integers(5, 38))
    keys = [
        f"{rng.choice(['AA', 'UA', 'DL'])}-{rng.integers(10, 9999)}-{a}-{b}" for a, b in rng.choice(_PORTS, (count, 2))
    ]
    names = ("scheduled departure", "departure", "scheduled arrival", "arrival")
    times = rng.integers(300, 1400, size=(count, 4))
    wrong = rng.beta(1.5, 3, size=(sites, 4))
    leader = np.where(rng.random(sites) < 0.3, rng.integers(sites, size=sites), np.arange(sites))
    told = np.where(
        rng.random((count, sites, 4)) < wrong, times[:, None] + rng.integers(1, 90, (count, sites, 4)), times[:, None]
    )
    told = np.where((rng.random((count, sites)) < 0.9)[..., None], told[:, leader], told)
    style, silent = rng.integers(4, size=sites), rng.beta(1, 6, size=(sites, 4))
    clean: Columns = {c: [] for c in ("source", "flight", *names)}
    dirty = _copy(clean)
    for e, s in ((e, s) for e in range(count) for s in range(sites) if rng.random() < 0.9):
        for table in (clean, dirty):
            table["source"].append(f"site{s}")
            table["flight"].append(keys[e])
        for c, name in enumerate(names):
            text = _clock(int(told[e, s, c]))
            text = f"Dec 1 - {text}" if style[s] == 1 else f"12/01/2011 {text}" if style[s] == 2 else text
            none = "" if style[s] != 3 else "Not Available"
            clean[name].append(_clock(int(times[e, c])))
            dirty[name].append(none if rng.random() < silent[s, c] else text)
    return MadeUp("flights", dirty, clean)


_WORDS = WORDS + [w.lower() for w in FIRST + LAST]
_PORTS = words("ATL BOS CLT DEN DFW EWR IAH JFK LAX MIA ORD PHX SEA SFO")
MIXED = {f.__name__: f for f in (films, references, restaurants, trials, taxes, flights)}
