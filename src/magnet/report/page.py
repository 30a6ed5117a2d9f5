"""The page: one HTML file with its style, its script and its data inside."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

from magnet.files import write_text
from magnet.report.payload import payload
from magnet.tables.review import CleaningRecord


def write_report(record: CleaningRecord, path: Path, run: dict[str, Any] | None = None) -> Path:
    """Write the report of a cleaned table to a file, atomically.

    Args:
        record: the cleaned table (``CleanResult.record``).
        path: the HTML file.
        run: metadata for the page: ``title``, ``command``, ``nodes``, ``sha256``, ``encoding``.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, render(payload(record, run)))
    return path


def render(data: dict[str, Any], connect: bool = False) -> str:
    """The page for some data; with ``connect`` it may talk to the server that it came from.

    The content security policy allows only the script with the page's hash and no loading, so that text
    from users' data could not run even if it got out of the JSON it is kept in.
    """
    folder = resources.files("magnet.report")
    style, script = ((folder / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'" + ("; connect-src 'self'" if connect else "")
    )
    page = (folder / "page.html").read_text(encoding="utf-8")
    parts = {"policy": policy, "style": style, "script": script, "data": safe_json(data)}
    pieces = page.split("{{")
    # one pass, so that nothing in the data is mistaken for a placeholder
    return pieces[0] + "".join(parts[name] + rest for name, rest in (piece.split("}}", 1) for piece in pieces[1:]))


def data_of(path: Path) -> dict[str, Any]:
    """The data inside a page that :func:`write_report` wrote."""
    match = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', path.read_text(encoding="utf-8"), re.S
    )
    try:
        data = json.loads(match[1]) if match else None
    except ValueError:
        data = None
    if not isinstance(data, dict) or not {"cells", "fields", "decisions", "threshold"} <= set(data):
        raise ValueError(f"{path} is not a report of magnet clean")
    return data


def safe_json(data: Any) -> str:
    r"""JSON that cannot end the element it stands in.

    Example:
        >>> safe_json("</script><!-- & -->")
        '"\\u003c/script\\u003e\\u003c!-- \\u0026 --\\u003e"'
    """
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
