"""The report in a real browser, opened from disk."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from magnet import tables
from magnet.cli import app
from magnet.files import sha256_of
from magnet.report import render, write_folder
from magnet.report.page import data_of, write_report

EVIL = "<script>window.hacked=1;alert(1)</script>"
IMAGE = '<img src=x onerror="window.hacked=2">'
BREAK = "</script><script>window.hacked=3</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, make_record: Any) -> Path:
    """A cleaned table whose names and values try to break out of the page."""
    where = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(0)
    nodes = pd.DataFrame(
        {
            "id": [f"n{k}" for k in range(200)],
            "age": np.round(40 + 3 * rng.normal(size=200), 1),
            "=cmd|' /C calc'!A0": rng.poisson(30, size=200),
            IMAGE: np.array(["Oslo", "Rome", BREAK])[rng.integers(3, size=200)],
        }
    )
    nodes.loc[3, "id"] = EVIL
    nodes.loc[3, "age"] = 4100.0
    nodes.loc[9, "age"] = np.nan
    nodes.iloc[20, 2] = 99
    nodes.loc[40, IMAGE] = "Oslo"
    nodes.loc[[39, 41], IMAGE] = "Rome"
    nodes.to_csv(where / "nodes.csv", index=False)
    ring = pd.DataFrame({"source": nodes["id"], "target": np.roll(nodes["id"], 1)})
    ring.to_csv(where / "edges.csv", index=False)
    table = tables.read(where / "nodes.csv", where / "edges.csv")
    found = [
        (3, "age", "41.0", 0.95, 0.95),
        (20, "=cmd|' /C calc'!A0", "29", 0.95, 0.95),
        (40, IMAGE, "Rome", 0.9, 0.9),
        (30, "age", "40.5", 0.6, 0.3),
        (9, "age", "39.0", 0.55, 0.95),
    ]
    run = {"title": "nodes.csv", "nodes": str(where / "nodes.csv"), "command": "magnet clean nodes.csv"}
    run["sha256"] = sha256_of(where / "nodes.csv")
    write_folder(make_record(table, found, fill=True), where / "out", run)
    return where


@pytest.fixture
def page(browser: Any, folder: Path) -> Iterator[Any]:
    page = browser.new_page(viewport={"width": 1280, "height": 800}, accept_downloads=True)
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
    page.on(
        "request",
        lambda request: problems.append(request.url) if not request.url.startswith(("file:", "blob:")) else None,
    )
    page.goto((folder / "out/report.html").as_uri())
    yield page
    assert problems == []
    assert page.evaluate("window.hacked") is None
    page.close()


def only_row(page: Any) -> None:
    """Wait until one row is left (the page's policy lets no test evaluate strings in it)."""
    from playwright.sync_api import expect

    expect(page.locator("#space .row")).to_have_count(1, timeout=5000)


def rows(page: Any) -> list[str]:
    return page.locator("#space .row").all_inner_texts()


def test_names_from_the_data_are_shown_as_text(page: Any) -> None:
    assert EVIL in rows(page)[0]
    assert page.locator("h1").inner_text() == "nodes.csv"
    assert IMAGE in page.locator("#by-column").inner_text()
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2


def test_the_slider_updates_the_counts(page: Any) -> None:
    assert page.locator("#counts").inner_text().startswith("5 cells of 5 rows can be accepted")
    assert page.locator("#decided").inner_text().startswith("accepted: 4,")
    page.locator("#threshold").fill("0.6")
    assert page.locator("#counts").inner_text().startswith("4 cells of 4 rows")
    assert page.locator("#decided").inner_text().startswith("accepted: 5,")
    page.locator("#threshold").fill("0.93")
    assert page.locator("#counts").inner_text().startswith("2 cells of 2 rows")
    page.locator("#above").check()
    assert len(rows(page)) == 2
    page.locator("#reset").click()
    assert page.locator("#shown-threshold").inner_text() == "0.50"


def test_search_filters_and_headers_sort(page: Any) -> None:
    everything = rows(page)
    assert len(everything) == 5
    page.locator("#search").fill("4100")
    only_row(page)
    assert page.locator("#matching").inner_text().startswith("1 of 5")
    page.locator("#search").fill("")
    page.locator("#action").select_option("filled")
    only_row(page)
    assert "n9" in rows(page)[0]
    page.locator("#action").select_option("")
    page.locator("#head button", has_text="Node").click()
    first = page.locator("#space .row > :first-child")
    names = first.all_inner_texts()
    assert len(names) == 5
    assert names == sorted(names)
    page.locator("#head button", has_text="Node").click()
    assert first.all_inner_texts() == sorted(names, reverse=True)


def test_a_click_shows_the_neighbors(page: Any) -> None:
    page.locator("#space .row").first.click()
    assert page.locator("#detail h3").inner_text() == f"{EVIL}: age"
    assert page.locator("#detail svg.strip circle.trusted").count() == 2
    assert page.locator("#detail svg.strip path.observed").count() == 1
    page.locator("#search").fill("n40")
    only_row(page)
    page.locator("#space .row").first.click()
    assert page.locator("#detail svg.votes rect").count() >= 2


def test_the_keyboard_is_enough(page: Any) -> None:
    page.locator("#view").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("r")
    assert page.locator("#space .row.active button[aria-pressed=true]").inner_text() == "reject"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("a")
    assert page.locator("#decided").inner_text().endswith("decided by you: 2")
    page.keyboard.press("u")
    page.keyboard.press("End")
    assert page.locator("#space .row.active").get_attribute("data-place") == "4"


def test_decisions_are_exported_and_applied(page: Any, folder: Path, tmp_path: Path) -> None:
    page.locator("#space .row", has_text="4100").locator("button", has_text="reject").click()
    page.locator("#search").fill("n30")
    only_row(page)
    page.locator("#space .row").first.locator("button", has_text="accept").click()
    with page.expect_download() as download:
        page.locator("#export").click()
    download.value.save_as(tmp_path / "decisions.json")
    content = json.loads((tmp_path / "decisions.json").read_text())
    accepted = {cell["row"]: cell["accept"] for cell in content["cells"]}
    assert accepted == {3: False, 9: True, 20: True, 30: True, 40: True}
    result = CliRunner().invoke(app, ["apply", str(tmp_path / "decisions.json"), "-o", str(tmp_path / "new.csv")])
    assert result.exit_code == 0, result.output
    old = (folder / "nodes.csv").read_text().split("\n")
    new = (tmp_path / "new.csv").read_text().split("\n")
    changed = [k - 1 for k, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
    assert changed == [9, 20, 30, 40]
    assert "4100" in new[4]


def test_rows_are_whole_on_a_narrow_screen_and_the_table_is_no_longer_than_they_are(page: Any) -> None:
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 800})
        row = page.locator("#space .row").first
        shown = [cell.bounding_box() for cell in row.locator("> span").all() if cell.is_visible()]
        outer, view = row.bounding_box(), page.locator("#view").bounding_box()
        assert len(shown) == (9 if width > 700 else 5)
        assert all(outer["y"] <= box["y"] and box["y"] + box["height"] <= outer["y"] + outer["height"] for box in shown)
        assert view["height"] <= 5 * outer["height"]
        for wanted in ("4100", "41", "accept"):  # observed, suggested, decision
            assert any(wanted in cell.inner_text() for cell in row.locator("> span").all() if cell.is_visible())


def test_dark_mode_is_dark(browser: Any, folder: Path) -> None:
    page = browser.new_page(color_scheme="dark")
    page.goto((folder / "out/report.html").as_uri())
    color = page.evaluate("getComputedStyle(document.body).backgroundColor")
    ink = page.evaluate("getComputedStyle(document.body).color")
    light = [sum(int(part) for part in text.strip("rgb()").split(",")) for text in (color, ink)]
    assert light[0] < 120
    assert light[1] > 600
    page.close()


def test_fifty_thousand_cells_do_not_freeze_it(browser: Any, folder: Path, tmp_path: Path) -> None:
    data = data_of(folder / "out/report.html")
    count = 50_000
    one = {key: values[0] for key, values in data["cells"].items()}
    data["cells"] = {key: [value] * count for key, value in one.items()}
    data["cells"]["node"] = [f"node {k}" for k in range(count)]
    data["cells"]["probability"] = [k / count for k in range(count)]
    data["neighbors"] = [[["1.0", "2.0", "3.0"], []]] * count
    path = tmp_path / "large.html"
    path.write_text(render(data), encoding="utf-8")
    page = browser.new_page()
    began = time.monotonic()
    page.goto(path.as_uri())
    assert page.locator("#matching").inner_text().replace("\u202f", "") == "50000 of 50000 cells"
    assert time.monotonic() - began < 10
    assert page.locator("#space .row").count() < 60
    longest = page.evaluate(
        """() => {
            const timed = (f) => { const t = performance.now(); f(); return performance.now() - t; };
            const view = document.getElementById("view"), slider = document.getElementById("threshold");
            const move = timed(() => { slider.value = 0.7; slider.dispatchEvent(new Event("input")); });
            const down = timed(() => { view.scrollTop = 1e6; view.dispatchEvent(new Event("scroll")); });
            const sort = timed(() => document.querySelector("#head button").click());
            return Math.max(move, down, sort);
        }"""
    )
    assert longest < 1500
    page.locator("#search").fill("node 49999")
    only_row(page)
    page.close()


def test_white_space_is_visible_and_texts_keep_their_own_direction(
    browser: Any, tmp_path: Path, make_record: Any
) -> None:
    nodes = pd.DataFrame({"city": [" Oslo  ", "Oslo", "שלוםם", "שלום", "x"], "size": [1.0, 2.0, 1234567.25, 3.0, 4.0]})
    found = [(0, "city", "Oslo", 0.95, 0.95), (2, "city", "שלום", 0.9, 0.9), (4, "city", "", 0.8, 0.9)]
    record = make_record(tables.from_frames(nodes), [*found, (2, "size", "1234568.0", 0.7, 0.9)])
    page = browser.new_page()
    page.goto(write_report(record, tmp_path / "report.html").as_uri())
    assert page.locator("#space .row .observed").all_inner_texts() == ["␣Oslo␣␣", "שלוםם", "x", "1234567.25"]
    assert page.locator("#space .row .suggested").all_inner_texts() == ["Oslo", "שלום", "(blank)", "1234568"]
    assert "\u2068שלוםם\u2069 → \u2068שלום\u2069" in page.locator("#errors").inner_text()
    page.close()


def test_without_findings_there_is_nothing_to_decide(browser: Any, tmp_path: Path, make_record: Any) -> None:
    record = make_record(tables.from_frames(pd.DataFrame({"city": ["Oslo", "Rome"] * 9})), [])
    page = browser.new_page()
    page.goto(write_report(record, tmp_path / "report.html").as_uri())
    assert page.locator("#export").is_hidden()
    assert page.locator("#schema").is_visible()
    page.close()
