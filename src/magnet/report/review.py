"""A report on 127.0.0.1 whose decisions are saved as they are made.

Only the holder of the address, which contains a random token, can read the report or decide: other pages of the browser
do not know the token, requests under another host name (DNS rebinding) or from another origin are refused, and nothing
except the report and the decisions file of the folder is read or written.
"""

from __future__ import annotations

import hmac
import json
import secrets
import shlex
import sys
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from magnet.files import complete_or_absent
from magnet.report.page import data_of, render
from magnet.report.payload import ACTIONS

LONGEST_BODY = 64 * 1024  # bytes; one decision is below 100


class Review:
    """The decisions about one report, kept in ``decisions.json`` beside it.

    Args:
        folder: what ``magnet clean`` wrote, with ``report.html``; or that page itself.
    """

    def __init__(self, folder: Path) -> None:
        report = folder if folder.suffix == ".html" else folder / "report.html"
        if not report.is_file():
            raise FileNotFoundError(f"{report} does not exist; name the folder that magnet clean wrote")
        self.path = report.with_name("decisions.json")
        self.data = data_of(report)
        self.count = len(self.data["cells"]["row"])
        self.threshold: float | None = None  # None: as the table was cleaned
        self.decided: dict[int, bool] = {}
        self._lock = threading.Lock()
        if self.path.exists():
            self._read()

    def page(self) -> str:
        """The report, with the address for saving decisions and the existing ones."""
        with self._lock:
            state = {"decided": [[i, yes] for i, yes in self.decided.items()], "threshold": self.threshold}
        apply = f"magnet apply {shlex.quote(str(self.path))} -o FILE"
        return render(self.data | {"review": state, "apply": apply}, connect=True)

    def change(self, message: Any) -> int:
        """Apply one change and write all decisions; returns how many cells the user has decided."""
        if not isinstance(message, dict):
            raise ValueError("the message must be a JSON object")
        with self._lock:
            if "threshold" in message:
                value = message["threshold"]
                if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
                    raise ValueError("threshold must be a number or null")
                if value is not None and not 0 <= value <= 1:
                    raise ValueError("threshold must lie between 0 and 1")
                self.threshold = value
            else:
                number, accept = message.get("place"), message.get("accept")
                if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < self.count:
                    raise ValueError(f"place must be a number from 0 to {self.count - 1}")
                if not isinstance(accept, bool | None):
                    raise ValueError("accept must be true, false or null")
                self.decided.pop(number, None)
                if accept is not None:
                    self.decided[number] = accept
            self._write()
            return len(self.decided)

    def close(self) -> None:
        """Write the decisions file even if the user decided nothing: the threshold then decides every cell."""
        with self._lock:
            if self.count and not self.path.exists():
                self._write()

    def accepted(self, number: int) -> bool:
        """The user's decision, or else that of the threshold."""
        if self._cell("suggested", number) is None:
            return False
        if number in self.decided:
            return self.decided[number]
        action = ACTIONS[self._cell("action", number)]
        if self.threshold is None:
            return action != "kept"
        return action == "filled" or bool(self._cell("probability", number) >= self.threshold)

    def _cell(self, name: str, number: int) -> Any:
        return self.data["cells"][name][number]

    def _key(self, number: int) -> tuple[int, str]:
        return self._cell("row", number), self.data["fields"][self._cell("column", number)]["name"]

    def _write(self) -> None:
        cells = []
        for number in range(self.count):
            row, column = self._key(number)
            cells.append(
                {
                    "row": row,
                    "node": self._cell("node", number),
                    "column": column,
                    "observed": self._cell("observed", number),
                    "suggested": self._cell("suggested", number),
                    "accept": self.accepted(number),
                    "decided_by": "user" if number in self.decided else "threshold",
                }
            )
        content: dict[str, Any] = {**self.data["decisions"], "moved": self.threshold is not None}
        content["threshold"] = self.data["threshold"] if self.threshold is None else self.threshold
        text = json.dumps({**content, "cells": cells}, ensure_ascii=False, separators=(",", ":"))
        with complete_or_absent(self.path) as part:
            part.write_text(text, encoding="utf-8")

    def _read(self) -> None:
        """Continue from the decisions of an earlier review of the same report."""
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
            cells = {(cell["row"], cell["column"]): cell for cell in content["cells"]}
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{self.path} is not a decisions file; move it away") from None
        if content.get("sha256") != self.data["decisions"].get("sha256"):
            raise ValueError(f"{self.path} belongs to another table; move it away")
        for number in range(self.count):
            cell = cells.get(self._key(number))
            if cell is not None and cell.get("decided_by") == "user" and isinstance(cell.get("accept"), bool):
                self.decided[number] = cell["accept"]
        if content.get("moved") is True and isinstance(content.get("threshold"), int | float):
            self.threshold = float(content["threshold"])


class ReviewServer(ThreadingHTTPServer):
    """Serves one review to whoever holds its address.

    Args:
        review: the review to serve.
        port: ``0`` takes a free one. (default: ``0``)
    """

    daemon_threads = True

    def __init__(self, review: Review, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.review = review
        self.token = secrets.token_urlsafe(24)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a page that was closed before the answer."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        """The address with its token."""
        return f"http://127.0.0.1:{self.server_address[1]}/{self.token}/"


class _Handler(BaseHTTPRequestHandler):
    server: ReviewServer
    server_version = "magnet"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        if self._path() == "":
            self._answer(HTTPStatus.OK, "text/html; charset=utf-8", self.server.review.page())

    def do_POST(self) -> None:
        if self._path() != "decisions":
            return
        origin = self.headers.get("Origin")
        if origin is not None and origin != f"http://{self.headers.get('Host')}":
            self._refuse(HTTPStatus.FORBIDDEN, "this page may not decide")
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > LONGEST_BODY:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a decision has at most {LONGEST_BODY} bytes")
            return
        try:
            decided = self.server.review.change(json.loads(self.rfile.read(int(length))))
        except (ValueError, RecursionError) as error:
            self._refuse(HTTPStatus.BAD_REQUEST, str(error))
        except OSError as error:
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, f"not saved: {error.strerror}")
        else:
            self._answer(HTTPStatus.OK, "application/json", json.dumps({"decided": decided}))

    def _path(self) -> str | None:
        """The path behind the token; where that or the host is wrong, the request is refused."""
        hosts = {f"{name}:{self.server.server_address[1]}" for name in ("127.0.0.1", "localhost")}
        parts = self.path.split("?", 1)[0].split("/", 2)
        token = parts[1] if len(parts) == 3 else ""
        if self.headers.get("Host") not in hosts or not hmac.compare_digest(
            token.encode(errors="replace"), self.server.token.encode()
        ):
            self._refuse(HTTPStatus.FORBIDDEN, "the address is not complete: open the one that magnet review printed")
            return None
        if parts[2] not in ("", "decisions"):
            self._refuse(HTTPStatus.NOT_FOUND, "there is nothing here")
            return None
        return parts[2]

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        self.close_connection = True  # an unread body must not be taken for the next request
        self._answer(status, "text/plain; charset=utf-8", reason + "\n")

    def _answer(self, status: HTTPStatus, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            **({"Connection": "close"} if self.close_connection else {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged, because their path holds the token."""
