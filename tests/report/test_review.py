"""``magnet review``: the server, and the page that it serves in a real browser."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
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
from magnet.report.page import data_of
from magnet.report.review import Review, ReviewServer

WRONG = (3, 20, 30)


@pytest.fixture
def folder(tmp_path: Path, make_record: Any) -> Path:
    """A cleaned table with two corrected cells and one that is listed and kept."""
    rng = np.random.default_rng(0)
    ids = [f"n{k}" for k in range(60)]
    nodes = pd.DataFrame({"id": ids, "age": np.round(40 + 3 * rng.normal(size=60), 1), "n": rng.poisson(30, size=60)})
    nodes.loc[3, "age"] = 4100.0
    nodes.loc[20, "n"] = 999
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    pd.DataFrame({"source": ids, "target": np.roll(ids, 1)}).to_csv(tmp_path / "edges.csv", index=False)
    table = tables.read(tmp_path / "nodes.csv", tmp_path / "edges.csv")
    found = [(3, "age", "41.0", 0.95, 0.95), (20, "n", "29", 0.95, 0.95), (30, "age", "40.5", 0.6, 0.3)]
    run = {"title": "nodes.csv", "nodes": str(tmp_path / "nodes.csv"), "command": "magnet clean nodes.csv"}
    run["sha256"] = sha256_of(tmp_path / "nodes.csv")
    write_folder(make_record(table, found), tmp_path / "out", run)
    return tmp_path / "out"


Serve = Callable[[Path], ReviewServer]


@pytest.fixture
def serve() -> Iterator[Serve]:
    running = []

    def start(folder: Path) -> ReviewServer:
        server = ReviewServer(Review(folder))
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        running.append(server)
        return server

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


def ask(server: ReviewServer, method: str, path: str, body: str | None = None, **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=10)
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def decisions_of(folder: Path) -> dict[int, tuple[bool, str]]:
    content = json.loads((folder / "decisions.json").read_text())
    return {cell["row"]: (cell["accept"], cell["decided_by"]) for cell in content["cells"]}


def test_only_the_holder_of_the_token_is_answered(folder: Path, serve: Serve) -> None:
    server = serve(folder)
    home = f"/{server.token}/"
    status, page = ask(server, "GET", home)
    assert status == 200
    assert "connect-src 'self'" in page
    port = server.server_address[1]
    change = json.dumps({"place": 0, "accept": False})
    assert ask(server, "GET", "/")[0] == 403
    assert ask(server, "GET", "/" + "x" * 32 + "/")[0] == 403
    assert ask(server, "GET", home, Host=f"evil.example:{port}")[0] == 403
    assert ask(server, "GET", home + "../../etc/passwd")[0] == 404
    assert ask(server, "POST", "/decisions", change)[0] == 403
    assert ask(server, "POST", home + "decisions", change, Origin="http://evil.example")[0] == 403
    assert not (folder / "decisions.json").exists()
    assert ask(server, "POST", home + "decisions", change, Origin=f"http://127.0.0.1:{port}")[0] == 200
    assert (folder / "decisions.json").exists()


@pytest.mark.parametrize(
    "body",
    ["", "[]", "{", '{"place": 99, "accept": true}', '{"place": 0, "accept": 1}', '{"place": true, "accept": true}',
     '{"threshold": 7}', '{"threshold": "a"}', "[" * 60_000],
)  # fmt: skip
def test_nonsense_is_refused_and_changes_nothing(folder: Path, serve: Serve, body: str) -> None:
    server = serve(folder)
    assert ask(server, "POST", f"/{server.token}/decisions", body)[0] == 400
    assert not (folder / "decisions.json").exists()
    assert ask(server, "POST", f"/{server.token}/decisions", "x" * 70_000)[0] == 413


def test_decisions_follow_the_threshold_where_nobody_decided(folder: Path) -> None:
    review = Review(folder)
    place = {row: k for k, row in enumerate(review.data["cells"]["row"])}
    assert sorted(place) == list(WRONG)
    review.change({"place": place[3], "accept": False})
    assert decisions_of(folder) == {3: (False, "user"), 20: (True, "threshold"), 30: (False, "threshold")}
    review.change({"threshold": 0.6})
    assert decisions_of(folder)[30] == (True, "threshold")
    again = Review(folder)
    assert (again.decided, again.threshold) == ({place[3]: False}, 0.6)
    again.change({"place": place[3], "accept": None})
    again.change({"threshold": None})
    assert decisions_of(folder) == {3: (True, "threshold"), 20: (True, "threshold"), 30: (False, "threshold")}


def test_a_wrong_folder_or_foreign_decisions_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="name the folder that magnet clean wrote"):
        Review(tmp_path)
    assert Review(folder / "report.html").path == folder / "decisions.json"
    (folder / "decisions.json").write_text('{"cells": [], "sha256": "other"}')
    with pytest.raises(ValueError, match="belongs to another table"):
        Review(folder)
    (folder / "decisions.json").write_text("{")
    result = CliRunner().invoke(app, ["review", str(folder), "--no-browser"])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "not a decisions file" in result.stderr
    (folder / "report.html").write_text("<p>hello")
    with pytest.raises(ValueError, match="is not a report"):
        Review(folder)


def saved(page: Any) -> None:
    page.locator("#saved", has_text="all decisions saved").wait_for(timeout=20_000)


def test_decisions_are_saved_as_they_are_made_and_applied(
    browser: Any, folder: Path, serve: Serve, tmp_path: Path
) -> None:
    server = serve(folder)
    page = browser.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.goto(server.url)
    page.locator("#space .row", has_text="4100").locator("button", has_text="reject").click()
    saved(page)
    assert decisions_of(folder)[3] == (False, "user")
    page.locator("#threshold").fill("0.6")
    saved(page)
    assert decisions_of(folder)[30] == (True, "threshold")
    page.reload()
    assert page.locator("#decided").inner_text() == "accepted: 2, not accepted: 1; decided by you: 1"
    assert page.locator("#shown-threshold").inner_text() == "0.60"
    assert [problem for problem in problems if "favicon" not in problem] == []
    page.close()
    result = CliRunner().invoke(app, ["apply", str(folder / "decisions.json"), "-o", str(tmp_path / "new.csv")])
    assert result.exit_code == 0, result.output
    old, new = (pd.read_csv(tmp_path / name) for name in ("nodes.csv", "new.csv"))
    assert np.flatnonzero((old != new).any(axis=1)).tolist() == [20, 30]


def test_a_decision_that_cannot_be_saved_is_reported_and_tried_again(browser: Any, folder: Path, serve: Serve) -> None:
    server = serve(folder)
    context = browser.new_context()
    page = context.new_page()
    page.goto(server.url)
    context.set_offline(True)
    page.locator("#space .row", has_text="4100").locator("button", has_text="reject").click()
    page.locator("#saved", has_text="not saved").wait_for(timeout=20_000)
    assert not (folder / "decisions.json").exists()
    context.set_offline(False)
    saved(page)
    assert decisions_of(folder)[3] == (False, "user")
    context.close()


def test_keyboard_only_at_400_percent(browser: Any, folder: Path, serve: Serve) -> None:
    """1280 x 1024 at a zoom of 400 % is a page of 320 x 256: nothing may need sideways scrolling or a mouse."""
    server = serve(folder)
    page = browser.new_page(viewport={"width": 320, "height": 256})
    page.goto(server.url)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "view":
            break
    assert page.evaluate("document.activeElement.id") == "view"
    page.keyboard.press("ArrowDown")
    active = page.locator("#space .row.active")
    box = active.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 320
    row = int(active.get_attribute("data-place"))
    page.keyboard.press("r")
    saved(page)
    rejected = [cell for cell in json.loads((folder / "decisions.json").read_text())["cells"] if not cell["accept"]]
    assert [cell["decided_by"] for cell in rejected].count("user") == 1
    assert row == 0
    assert re.search(r"n\d+: (age|n)", page.locator("#detail h3").inner_text())
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.close()


def test_fifty_thousand_cells_stay_smooth(browser: Any, folder: Path, serve: Serve) -> None:
    data, count = data_of(folder / "report.html"), 50_000
    one = {key: values[0] for key, values in data["cells"].items()}
    data["cells"] = {key: [value] * count for key, value in one.items()}
    data["cells"]["row"] = list(range(count))
    data["cells"]["node"] = [f"node {k}" for k in range(count)]
    data["neighbors"] = [[["1.0", "2.0", "3.0"], []]] * count
    (folder / "report.html").write_text(render(data), encoding="utf-8")
    server = serve(folder)
    page = browser.new_page()
    page.goto(server.url)
    page.locator("#view").focus()
    page.keyboard.press("ArrowDown")
    longest = 0.0
    for key in "aarraru":
        before = time.monotonic()
        page.keyboard.press(key)
        page.keyboard.press("PageDown")
        longest = max(longest, time.monotonic() - before)
    assert longest < 1.5
    assert page.locator("#space .row").count() < 60
    saved(page)
    cells = json.loads((folder / "decisions.json").read_text())["cells"]
    assert len(cells) == count
    assert sum(cell["decided_by"] == "user" for cell in cells) == 6
    page.close()
