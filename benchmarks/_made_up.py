"""Synthetic dirty tables of typical domains, seeded, with ground truth for every cell.

Sizes, error rates and writings vary with the seed, so that no single setting can be tuned to them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Columns = dict[str, list[str]]


def words(text: str) -> list[str]:
    return text.split()


SYLLABLES = words("ba ca da fo ga hi jo ka le mo na ol pe qui ra si tu va wel yor zan sten burg ford ham ton mer lin")
WORDS = words(
    "analysis effect of the on treatment patients clinical trial risk children study review early outcome therapy "
    "disease model chronic heart cancer pain acute care quality evidence systematic randomized controlled infant "
    "school community prevalence survey women elderly nutrition sleep stress virus vaccine injury recovery surgery "
    "long term"
)
FIRST = words("Anna Ben Carla David Emma Felix Grace Hugo Iris Jonas Karin Leo Mia Noah Olga Paul Rosa Simon Tina Umar")
LAST = words("Abel Braun Costa Diaz Evans Fuchs Garcia Horn Ivanov Jung Klein Lopez Meyer Novak Owen Perez Reyes Stein")
STATES = words("AL AK AZ CA CO FL GA IL KY MA MI MN NC NJ NY OH OR PA TX UT VA WA WI")
ACCENTED = words("Müller Gómez Žižek François Åström Øberg Peña Zoë Łukasz Jürgen Renée Köln")


@dataclass(frozen=True)
class MadeUp:
    """A dirty table and its truth.

    Args:
        name: family.
        dirty, clean: texts by column.
        repeated: groups of equal rows that were planted.
    """

    name: str
    dirty: Columns
    clean: Columns
    repeated: tuple[tuple[int, ...], ...] = ()


def _name(rng: np.random.Generator, parts: int = 3) -> str:
    return "".join(rng.choice(SYLLABLES, size=parts)).capitalize()


def _names(rng: np.random.Generator, count: int, parts: int = 3) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        found[_name(rng, parts)] = None
    return list(found)


def typo(rng: np.random.Generator, text: str) -> str:
    """One random edit of a text."""
    k, letter = int(rng.integers(len(text))), str(rng.choice(list("abcdefghijklmnopqrstuvwxyz")))
    out = (
        text[:k] + letter + text[k:],
        text[:k] + text[k + 1 :],
        text[:k] + letter + text[k + 1 :],
        text[:k] + text[k + 1 : k + 2] + text[k : k + 1] + text[k + 2 :],
    )[int(rng.integers(4))]
    return out if out and out != text else text + letter


def _copy(clean: Columns) -> Columns:
    return {name: list(texts) for name, texts in clean.items()}


def _strike(rng: np.random.Generator, dirty: Columns, name: str, rate: float, damage: Callable[[str], str]) -> None:
    for i, text in enumerate(dirty[name]):
        if text and rng.random() < rate:
            dirty[name][i] = damage(text)


def _clock(minutes: int) -> str:
    hour, minute = divmod(minutes % 1440, 60)
    return f"{hour % 12 or 12}:{minute:02d} {'a' if hour < 12 else 'p'}.m."


def sources(seed: int) -> MadeUp:
    """Several sources report the same flights; they disagree, leave blanks and write times in their own way."""
    rng = np.random.default_rng([1, seed])
    entities, count = int(rng.integers(25, 120)), int(rng.integers(6, 30))
    keys = [f"{rng.choice(['AA', 'UA', 'CO', 'DL'])}-{rng.integers(10, 9999)}-{k}" for k in range(entities)]
    gates = [f"{rng.choice(list('ABCDEF'))}{rng.integers(1, 60)}" for _ in range(entities)]
    times = rng.integers(300, 1400, size=(entities, 3))
    names = ["scheduled", "departed", "arrived"]
    wrong = rng.beta(1.2, 4, size=(count, 4)) * rng.uniform(0.5, 1.2)
    blank = rng.beta(1, 8, size=count)
    style = rng.random(count) < 0.2
    clean: Columns = {c: [] for c in ("row", "src", "flight", *names, "gate")}
    dirty: Columns = _copy(clean)
    rows = [(e, s) for e in range(entities) for s in range(count) if rng.random() < 0.8]
    order = rng.permutation(len(rows)) if seed % 2 else np.arange(len(rows))
    for k, (e, s) in enumerate(rows[q] for q in order):
        for table in (clean, dirty):
            table["row"].append(str(k + 1))
            table["src"].append(f"site{s}")
            table["flight"].append(keys[e])
            table["gate"].append(gates[e])
        for c, name in enumerate(names):
            clean[name].append(_clock(int(times[e, c])))
            off = int(rng.integers(-40, 60)) if rng.random() < 0.8 else int(rng.integers(1440))
            said = times[e, c] + (off or 7) if rng.random() < wrong[s, c] else times[e, c]
            text = _clock(int(said))
            dirty[name].append("" if rng.random() < blank[s] else f"12/02/2011 {text}" if style[s] else text)
        if rng.random() < wrong[s, 3] / 2:
            dirty["gate"][-1] = f"{rng.choice(list('ABCDEF'))}{rng.integers(1, 60)}"
    return MadeUp("sources", dirty, clean)


def bibliography(seed: int) -> MadeUp:
    """Articles with journals, ISSNs, dates in several writings, page ranges, and blanks of both kinds."""
    rng = np.random.default_rng([2, seed])
    n, journals = int(rng.integers(300, 1200)), int(rng.integers(15, 60))
    names = [f"Journal of {_name(rng, 2)} {rng.choice(WORDS).capitalize()}" for _ in range(journals)]
    short = [" ".join(w[:4] + "." for w in name.split() if w != "of") for name in names]
    issn = [f"{rng.integers(1000, 9999)}-{rng.integers(1000, 9999)}" for _ in range(journals)]
    language = [str(rng.choice(["eng", "eng", "eng", "fre", "ger"])) for _ in range(journals)]
    clean: Columns = {
        c: []
        for c in ("id", "title", "language", "journal", "abbreviation", "issn", "volume", "issue", "created", "pages")
    }
    for k in range(n):
        j = int(rng.integers(journals))
        start = int(rng.integers(1, 2000))
        clean["id"].append(str(k + 1))
        clean["title"].append(" ".join(rng.choice(WORDS, size=int(rng.integers(5, 14)))).capitalize())
        clean["language"].append(language[j])
        clean["journal"].append(names[j])
        clean["abbreviation"].append(short[j])
        clean["issn"].append(issn[j])
        clean["volume"].append(str(rng.integers(1, 90)))
        clean["issue"].append(str(rng.integers(1, 13)) if rng.random() < 0.7 else "")
        clean["created"].append(f"{rng.integers(1, 13)}/{rng.integers(1, 29)}/{rng.integers(2001, 2016)}")
        clean["pages"].append(f"{start}-{start + int(rng.integers(1, 30))}" if rng.random() < 0.9 else "")
    dirty = _copy(clean)
    rate = float(rng.uniform(0.02, 0.08))

    def other_date(text: str) -> str:
        month, day, year = text.split("/")
        return (
            f"{year}-{int(month):02d}-{int(day):02d}"
            if rng.random() < 0.5
            else f"{int(day):02d}.{int(month):02d}.{year}"
        )

    _strike(rng, dirty, "created", 2 * rate, other_date)
    _strike(rng, dirty, "issn", rate, lambda t: t.replace("-", ""))
    _strike(rng, dirty, "journal", rate, lambda t: typo(rng, t))
    _strike(rng, dirty, "abbreviation", rate, lambda t: t.replace(".", "") if rng.random() < 0.5 else typo(rng, t))
    _strike(rng, dirty, "language", rate, lambda t: "")
    _strike(rng, dirty, "issn", rate, lambda t: "")
    return MadeUp("bibliography", dirty, clean)


def customers(seed: int, rows: int | None = None) -> MadeUp:
    """Tax-like: zip determines city and state, status and children determine exemptions; typos, violations, formats."""
    rng = np.random.default_rng([3, seed])
    n, zips = rows or int(rng.integers(1500, 5000)), int(rng.integers(60, 300))
    cities = _names(rng, zips // 2)
    home = rng.integers(zips // 2, size=zips)
    state_of = [str(rng.choice(STATES)) for _ in range(zips // 2)]
    codes = [f"{k:05d}" for k in rng.choice(99999, size=zips, replace=False)]
    area = {s: [str(k) for k in rng.choice(np.arange(201, 990), size=2, replace=False)] for s in STATES}
    single = {s: str(100 * int(rng.integers(0, 40))) for s in STATES}
    double = {s: str(200 * int(rng.integers(0, 40))) for s in STATES}
    clean: Columns = {
        c: []
        for c in (
            *("first", "last", "gender", "area_code", "phone", "city", "state", "zip"),
            *("status", "children", "salary", "rate", "single_exemption", "married_exemption"),
        )
    }
    first = FIRST + _names(rng, 60, 2)
    gender = {f: str(rng.choice(["M", "F"])) for f in first}
    last = LAST + _names(rng, 120, 3)
    for _ in range(n):
        z = int(rng.integers(zips))
        state = state_of[home[z]]
        name, status = str(rng.choice(first)), str(rng.choice(["S", "M"]))
        row = (
            *(name, str(rng.choice(last)), gender[name], str(rng.choice(area[state]))),
            *(f"{rng.integers(100, 999)}-{rng.integers(1000, 9999)}", cities[home[z]], state, codes[z]),
            *(
                status,
                str(rng.choice(["Y", "N"])),
                str(500 * int(rng.integers(10, 200))),
                str(rng.choice(["0", "3.5", "5", "7"])),
            ),
            *(single[state] if status == "S" else "0", double[state] if status == "M" else "0"),
        )
        for column, text in zip(clean.values(), row, strict=True):
            column.append(text)
    dirty = _copy(clean)
    rate = float(rng.uniform(0.004, 0.03))
    _strike(rng, dirty, "city", rate, lambda t: typo(rng, t))
    _strike(rng, dirty, "last", rate / 2, lambda t: t + "-*")
    _strike(rng, dirty, "state", rate, lambda t: str(rng.choice([s for s in STATES if s != t])))
    _strike(rng, dirty, "gender", rate / 2, lambda t: "F" if t == "M" else "M")
    _strike(rng, dirty, "salary", rate, lambda t: t + ".0")
    _strike(rng, dirty, "zip", rate, lambda t: t.lstrip("0") if t[0] == "0" else t)
    _strike(rng, dirty, "single_exemption", rate, lambda t: str(100 * int(rng.integers(1, 90))))
    return MadeUp("customers", dirty, clean)


def movies(seed: int) -> MadeUp:
    """Films with durations in two writings, ratings with and without a scale, years, and typos in categories."""
    rng = np.random.default_rng([4, seed])
    n = int(rng.integers(400, 2000))
    genres, countries = (
        ["Drama", "Comedy", "Horror", "Action", "Documentary"],
        ["USA", "UK", "France", "India", "Japan"],
    )
    minutes = rng.integers(60, 200, size=n)
    clean: Columns = {
        "id": [f"tt{k:07d}" for k in rng.choice(9_999_999, size=n, replace=False)],
        "name": [" ".join(_name(rng, 2) for _ in range(int(rng.integers(1, 4)))) for _ in range(n)],
        "year": [str(k) for k in rng.integers(1950, 2018, size=n)],
        "director": [f"{rng.choice(FIRST)} {rng.choice(LAST)}" for _ in range(n)],
        "country": [str(rng.choice(countries, p=[0.5, 0.2, 0.1, 0.1, 0.1])) for _ in range(n)],
        "duration": [f"{m} min" for m in minutes],
        "rating": [f"{x:.1f}" for x in rng.normal(6.3, 1.1, size=n).clip(1, 10)],
        "votes": [f"{k:,}" for k in rng.lognormal(8, 2, size=n).astype(int)],
        "genre": [str(rng.choice(genres)) for _ in range(n)],
    }
    dirty = _copy(clean)
    rate = float(rng.uniform(0.02, 0.15))
    _strike(rng, dirty, "duration", rate, lambda t: f"{int(t[:-4]) // 60} hr. {int(t[:-4]) % 60} min.")
    _strike(rng, dirty, "rating", rate / 2, lambda t: f"{t}/10")
    _strike(rng, dirty, "genre", rate / 2, lambda t: typo(rng, t))
    _strike(rng, dirty, "country", rate / 3, lambda t: typo(rng, t))
    _strike(rng, dirty, "votes", rate / 2, lambda t: t.replace(",", ""))
    return MadeUp("movies", dirty, clean)


def addresses(seed: int) -> MadeUp:
    """Addresses with lost leading zeros, abbreviations, other case, and exchanged columns."""
    rng = np.random.default_rng([5, seed])
    n, towns = int(rng.integers(300, 1500)), int(rng.integers(20, 60))
    city = _names(rng, towns)
    state = [str(rng.choice(STATES[:8])) for _ in range(towns)]
    code = [f"{rng.integers(1000, 9999 if k % 2 else 99999):05d}" for k in range(towns)]
    streets = [f"{_name(rng, 2)} {rng.choice(['Street', 'Avenue', 'Road', 'Lane'])}" for _ in range(80)]
    at = rng.integers(towns, size=n)
    clean: Columns = {
        "name": [f"{rng.choice(FIRST)} {rng.choice(LAST)}" for _ in range(n)],
        "street": [f"{rng.integers(1, 900)} {rng.choice(streets)}" for _ in range(n)],
        "city": [city[k] for k in at],
        "state": [state[k] for k in at],
        "zip": [code[k] for k in at],
    }
    dirty = _copy(clean)
    rate = float(rng.uniform(0.01, 0.05))
    _strike(rng, dirty, "zip", 3 * rate, lambda t: t.lstrip("0"))
    _strike(rng, dirty, "city", rate, lambda t: t.upper() if rng.random() < 0.5 else t.lower())
    _strike(rng, dirty, "street", rate, lambda t: t.replace("Street", "St.").replace("Avenue", "Ave."))
    for i in range(n):
        if rng.random() < rate / 2:
            dirty["city"][i], dirty["state"][i] = dirty["state"][i], dirty["city"][i]
    return MadeUp("addresses", dirty, clean)


def disguised(seed: int) -> MadeUp:
    """Blanks written as N/A, ***, -999, 99999 or 1900-01-01."""
    rng = np.random.default_rng([6, seed])
    n = int(rng.integers(200, 1500))
    clean: Columns = {
        "id": [str(k) for k in range(1, n + 1)],
        "age": [str(k) for k in rng.integers(18, 90, size=n)],
        "income": [f"{x:.0f}" for x in rng.lognormal(10, 0.5, size=n)],
        "zip": [f"{rng.integers(10000, 99000)}" for _ in range(n)],
        "color": [str(rng.choice(["red", "green", "blue", "black"])) for _ in range(n)],
        "born": [f"{rng.integers(1940, 2005)}-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}" for _ in range(n)],
    }
    dirty = _copy(clean)
    marks = {"age": "-999", "income": "-999", "zip": "99999", "color": ("N/A", "***", "unknown"), "born": "1900-01-01"}
    for name, mark in marks.items():
        rate, word = float(rng.uniform(0.01, 0.1)), str(rng.choice(mark)) if isinstance(mark, tuple) else mark
        for i in range(n):
            if rng.random() < rate:
                clean[name][i], dirty[name][i] = "", word
    return MadeUp("disguised", dirty, clean)


def encoding(seed: int) -> MadeUp:
    """Accented names that were decoded with the wrong code page."""
    rng = np.random.default_rng([7, seed])
    n = int(rng.integers(100, 600))
    pool = ACCENTED + _names(rng, 40)
    clean: Columns = {
        "id": [str(k) for k in range(n)],
        "name": [f"{rng.choice(pool)} {rng.choice(pool)}" for _ in range(n)],
        "town": [str(rng.choice(pool[:24])) for _ in range(n)],
    }
    dirty = _copy(clean)
    page = str(rng.choice(["latin-1", "cp1252"]))

    def garble(text: str) -> str:
        try:
            return text.encode("utf-8").decode(page)
        except UnicodeDecodeError:
            return text

    _strike(rng, dirty, "name", float(rng.uniform(0.05, 0.5)), garble)
    _strike(rng, dirty, "town", float(rng.uniform(0.05, 0.3)), garble)
    return MadeUp("encoding", dirty, clean)


def repeats(seed: int) -> MadeUp:
    """Customers with some rows twice: nothing is wrong with any cell, but the copies are to be reported."""
    rng = np.random.default_rng([8, seed])
    base = customers(seed + 100, rows=300).clean
    twice = sorted(int(k) for k in rng.choice(300, size=10, replace=False))
    clean = {name: texts + [texts[k] for k in twice] for name, texts in base.items()}
    groups = tuple((k, 300 + at) for at, k in enumerate(twice))
    return MadeUp("repeats", _copy(clean), clean, groups)


FAMILIES: dict[str, Callable[[int], MadeUp]] = {
    "sources": sources,
    "bibliography": bibliography,
    "customers": customers,
    "movies": movies,
    "addresses": addresses,
    "disguised": disguised,
    "encoding": encoding,
    "repeats": repeats,
}
