"""Something added to some values of a column, or missing from them: ``2008 (USA)``, ``Ulm [1]``, ``Bonn'``, ``FY2015``,
and ``Ulm`` among ``Bonn County``."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np

from magnet.tables.channels.base import WrongText, text_test
from magnet.tables.coded import Texts
from magnet.tables.experts.groups import UNEVEN, dispersion
from magnet.tables.options import FORMAT_SHARE, REPEATS, SURE
from magnet.tables.roles.dates import belongs_to_time, has_more, parse_moment
from magnet.tables.roles.patterns import number

BEHIND = re.compile(
    r"(?P<core>.*[^\W_][.)\]%]?)"
    r"(?P<remark>\s*(?:\([^()]{1,30}\)|\[[^\[\]]{1,30}\]|[*#†‡]{1,3})|\s(?P<letter>[^\W\d_]))",
    re.S,
)
MARK = re.compile(r"[*#†‡]+$")
WORD = re.compile(r"(?P<core>.*\d)(?P<remark>\s+[^\W\d_]{2,12}\.?)", re.S)
SAYING = re.compile(r"[(\[].{3,}[)\]]")  # more than a footnote: behind words it says something, as in No (Teller)
LETTER = "a letter"  # single letters behind values are one remark, whichever they are
MAX_REMARKS = 0.4  # share of the filled cells; more remarks are part of the values
SHARE = 0.3  # of the rows of one value that may have a remark; a version of its own stands beside few others
AFFIX = 12  # characters of something added or missing
NOISE = frozenset(".,;:'\"?!*_`^|~\\")  # marks that mean nothing behind or before a value
MAX_ADDED, MIN_LOST = 0.1, 0.85  # share of the rows with an affix up to which it is added, and from which it is missing
LABEL = 2, 3  # letters before a number (FY2015); a single one is a notation (c1987: about, or copyright)
AT_HOME = 0.8  # share of the remarked values that the column also holds without a remark


@text_test("format")
def rewrite(texts: Texts) -> Iterator[WrongText]:
    """Values with a remark become bare, where the column holds them bare.

    A remark belongs to the value if most of the values it stands behind never occur without it, or if it gathers on
    some of them (dispersion): an error process strikes values in proportion to how frequent they are. Numbers and
    dates need not occur bare themselves, if the column is one of numbers or dates. Marks behind these that are many, or
    several (``*``, ``**``), are a scale, such as that of significance.
    """
    found: dict[str, dict[int, str]] = defaultdict(dict)
    for k, match in texts.matching(BEHIND, WORD).items():
        kind = _kind(match["core"])
        if kind == "moment" and belongs_to_time(match["remark"].strip(" ()")):
            continue
        if kind != "words" or match.re is BEHIND:
            remark = LETTER if match.groupdict().get("letter") else match["remark"].strip()
            found[remark if kind == "words" else kind][k] = match["core"]
    values = texts.column.values
    for kind in ("number", "moment"):
        marked = {k: mark[0] for k in found[kind] if (mark := MARK.search(values[k]))}
        if len(set(marked.values())) > 1 or texts.rows(marked) > MAX_ADDED * texts.total:
            found[kind] = {k: core for k, core in found[kind].items() if k not in marked}
    with_remark = {k for cores in found.values() for k in cores}
    bare = texts.without(with_remark)
    kinds = bare.tally(_kind) if {"number", "moment"} & set(found) else Counter[str]()
    for remark, cores in found.items():
        rows = texts.rows(cores)
        if rows < REPEATS or rows > MAX_REMARKS * texts.total or SAYING.fullmatch(remark):
            continue
        if remark in ("number", "moment"):
            kept = cores if kinds[remark] + rows >= FORMAT_SHARE * texts.total else {}
        else:
            kept = _scattered(cores, rows, bare)
        for k, core in kept.items():
            yield k, core, SURE, f"{rows} cells have a remark after the value, most have none: format"
    yield from _affixes(bare)


def _affixes(texts: Texts) -> Iterator[WrongText]:
    """Marks and labels that few values have although the column holds the same values without, and beginnings and ends
    that few values lack although the column holds the same values with them."""
    pairs: dict[tuple[str, bool], list[tuple[int, int]]] = defaultdict(list)  # longer and shorter text, by affix
    index, known = texts.column.index, set(texts.codes)
    for k, text, _ in texts:
        for cut in range(1, min(len(text), AFFIX + 1)):
            for affix, core, behind in ((text[-cut:], text[:-cut], True), (text[:cut], text[cut:], False)):
                short = index.get(core, -1)
                inner, outer = (core[-1], affix[0]) if behind else (core[0], affix[-1])
                if short in known and _kind_of(inner) != _kind_of(outer):
                    pairs[affix, behind].append((k, short))
    for (affix, behind), found in pairs.items():
        if len(found) < _enough(len(known) - len(found)):
            continue
        held = texts.only(lambda text, a=affix, b=behind: text.endswith(a) if b else text.startswith(a))  # type: ignore[misc]
        bare = texts.without(set(held.codes))
        values = texts.column.values
        label = not behind and affix.isalpha() and len(affix) in LABEL
        if held.total <= MAX_ADDED * texts.total and (label or NOISE.issuperset(affix.strip())):
            kept = _scattered({k: values[short] for k, short in found}, held.total, bare)
            why = (
                f"{held.total} cells have {affix!r} {'after' if behind else 'before'} the value, most have not: format"
            )
        elif held.total >= MIN_LOST * texts.total and not texts.column.role.arithmetic:
            kept = _scattered({short: values[k] for k, short in found}, bare.total, held)
            why = f"{held.total} cells {'end' if behind else 'begin'} with {affix!r}, this one does not: format"
        else:
            continue
        for k, better in kept.items():
            yield k, better, SURE, why


def _enough(values: int) -> int:
    """How many different values with a remark show that it is added to any: all of a column of two."""
    return min(REPEATS, max(values, 2))


def _kind_of(character: str) -> str:
    return "a" if character.isalpha() else "0" if character.isdigit() else "."


def _kind(text: str) -> str:
    """What a bare value is: a number, a date or time, or words."""
    return "number" if number(text) is not None else "moment" if _is_bare_moment(text) else "words"


def _is_bare_moment(text: str) -> bool:
    parsed = parse_moment(text) or parse_moment(text, True)
    return parsed is not None and not has_more(parsed[1])


def _scattered(cores: dict[int, str], rows: int, bare: Texts) -> dict[int, str]:
    """The texts with a remark whose value the column also holds bare, if the remark strikes these as chance would."""
    index, counts, known = bare.column.index, bare.counts, set(bare.codes)
    home = {k: core for k, core in cores.items() if index.get(core, -1) in known}
    hits = np.zeros(len(counts), dtype=np.int64)
    for k, core in home.items():
        hits[index[core]] += counts[k]
    sizes = hits + counts
    few = len(home) >= _enough(len(known)) and AT_HOME * rows <= hits.sum() <= SHARE * sizes[hits > 0].sum()
    return home if few and dispersion(hits[bare.codes], sizes[bare.codes]) <= UNEVEN else {}
