"""The result store: one row for every finished run, in an SQLite file that only ever grows."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import socket
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from magnet.experiments.store.versions import RESULT_VERSIONS, complete, result_version, run_key
from magnet.files import complete_or_absent

#: A claim whose owner has not been heard of for this many seconds may be taken over.
CLAIM_SECONDS = 90.0
#: Seconds that a busy database is waited for, and between two attempts.
BUSY_SECONDS, RETRY_SECONDS = 60, 0.05

#: The columns of the table of runs.
COLUMNS = [
    *("key", "finished_at", "kind", "dataset", "corruption", "method"),
    *("seed", "config", "result", "seconds", "device", "code"),
]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    key TEXT PRIMARY KEY, finished_at TEXT NOT NULL, kind TEXT NOT NULL, dataset TEXT, corruption TEXT, method TEXT,
    seed INTEGER, config TEXT NOT NULL, result TEXT NOT NULL, seconds REAL, device TEXT, code TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS failures (key TEXT NOT NULL, failed_at TEXT NOT NULL, config TEXT NOT NULL, message TEXT);
CREATE TABLE IF NOT EXISTS claims (
    key TEXT PRIMARY KEY, host TEXT NOT NULL, process INTEGER NOT NULL, heard_at REAL NOT NULL
);
CREATE TRIGGER IF NOT EXISTS runs_are_not_changed BEFORE UPDATE ON runs
    BEGIN SELECT RAISE(ABORT, 'finished runs are never changed'); END;
CREATE TRIGGER IF NOT EXISTS runs_are_not_deleted BEFORE DELETE ON runs
    BEGIN SELECT RAISE(ABORT, 'finished runs are never deleted'); END;
"""


@dataclass(frozen=True)
class Run:
    """A finished run: its ``config`` and its ``result``."""

    key: str
    finished_at: str
    config: dict[str, Any]
    result: dict[str, Any]
    code: str


class Store:
    """An SQLite file of finished runs that several processes can write at once.

    A row is inserted in one transaction when its run ends, so that a killed process leaves either the whole row or
    none; rows are never changed or deleted (the file itself refuses it). Before it runs, a process *claims* a key, so
    that two processes on one file do not do the same work. A claim ends with the run, or when its process is dead.

    Args:
        path: the file; it is created if it does not exist.
        versions: versions of the components, which are part of the keys. (default: :data:`RESULT_VERSIONS`)
        read_only: the file must exist and is not changed. (default: ``False``)

    Example:
        >>> import tempfile
        >>> store = Store(Path(tempfile.mkdtemp()) / "runs.sqlite")
        >>> config = {"kind": "classify", "dataset": "cora", "seed": 0}
        >>> store.add(config, {"test_accuracy": 0.8})
        True
        >>> store.add(config, {"test_accuracy": 0.9})  # it is there already
        False
        >>> store.get(config).result
        {'test_accuracy': 0.8}
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        versions: Mapping[str, int] = RESULT_VERSIONS,
        read_only: bool = False,
    ) -> None:
        self.path, self.versions, self.read_only = Path(path), dict(versions), read_only
        if self.path.is_dir():
            raise ValueError(f"{self.path} is a folder; a result store is an SQLite file")
        try:
            if not read_only:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            where = f"{self.path.resolve().as_uri()}?mode={'ro' if read_only else 'rwc'}"
            self._connection = sqlite3.connect(
                where, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._check()
            if not read_only:
                self._prepare()
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{self.path} cannot be used as a result store: {error}") from None
        except OSError as error:
            raise ValueError(f"{self.path} cannot be opened: {error.strerror or error}") from None

    def _check(self) -> None:
        """Refuse another program's database before anything is written to it."""
        tables = {name for (name,) in self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        columns = [row[1] for row in self._connection.execute("PRAGMA table_info(runs)")]
        problem = ""
        if (tables and "runs" not in tables) or (columns and columns != COLUMNS):
            problem = "is not a result store: the table of runs is missing or has other columns"
        elif self.read_only and not tables:  # of a process that was killed at once
            problem = "holds no runs yet"
        if problem:
            self._connection.close()
            raise ValueError(f"{self.path} {problem}")

    def _prepare(self) -> None:
        """Make the tables. Changing the journal does not wait for other processes that do so: it is retried."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
                self._connection.execute("PRAGMA synchronous=NORMAL")
                self._connection.executescript(_SCHEMA)
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(RETRY_SECONDS)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; everything written is then in it, without a journal beside it."""
        if not self.read_only:
            with contextlib.suppress(sqlite3.OperationalError):
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.close()

    def key(self, config: Mapping[str, Any]) -> str:
        return run_key(config, self.version(config))

    def version(self, config: Mapping[str, Any]) -> str:
        """The result version of a config under the versions of this store."""
        return result_version(config, self.versions)

    def add(self, config: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
        """Write a finished run and release its claim; False if the run was there already (the old row stays)."""
        key, full = self.key(config), complete(config)
        values = (
            key,
            _now(),
            config.get("kind", ""),
            *(config.get(name) for name in ("dataset", "corruption", "method", "seed")),
            json.dumps(full, sort_keys=True),
            json.dumps(result, default=plain),
            result.get("seconds"),
            result.get("device"),
            self.version(config),
        )
        with self._transaction():
            inserted = self._connection.execute(
                f"INSERT OR IGNORE INTO runs VALUES ({','.join('?' * len(values))})", values
            )
            self._connection.execute("DELETE FROM claims WHERE key = ?", (key,))
        return inserted.rowcount == 1

    def fail(self, config: Mapping[str, Any], message: str) -> None:
        """Record that a run failed; it is tried again next time."""
        key = self.key(config)
        with self._transaction():
            values = (key, _now(), json.dumps(config, sort_keys=True), message)
            self._connection.execute("INSERT INTO failures VALUES (?, ?, ?, ?)", values)
            self._connection.execute("DELETE FROM claims WHERE key = ?", (key,))

    def claim(self, keys: Iterable[str]) -> list[str]:
        """The keys that this process may run now: not finished, and not claimed by a living process."""
        with self._transaction():
            taken = self.finished() | self.running()
            granted = [key for key in keys if key not in taken]
            claims = [(key, socket.gethostname(), os.getpid(), time.time()) for key in granted]
            self._connection.executemany("INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?)", claims)
        return granted

    def heartbeat(self) -> None:
        """Renew the claims of this process."""
        owner = (time.time(), socket.gethostname(), os.getpid())
        self._connection.execute("UPDATE claims SET heard_at = ? WHERE host = ? AND process = ?", owner)

    def release(self, keys: Iterable[str]) -> None:
        """Give up claims without a result."""
        with self._transaction():
            self._connection.executemany("DELETE FROM claims WHERE key = ?", [(key,) for key in keys])

    def running(self) -> set[str]:
        """The keys that living processes work on."""
        now = time.time()
        rows = self._connection.execute("SELECT key, host, process, heard_at FROM claims").fetchall()
        return {key for key, host, process, heard_at in rows if _alive(host, process, heard_at, now)}

    def finished(self) -> set[str]:
        return {key for (key,) in self._connection.execute("SELECT key FROM runs")}

    def failed(self) -> dict[str, str]:
        """Keys that failed and did not finish afterwards, with the last message."""
        query = "SELECT key, message FROM failures WHERE key NOT IN (SELECT key FROM runs) ORDER BY failed_at"
        return dict(self._connection.execute(query).fetchall())

    def get(self, config: Mapping[str, Any]) -> Run | None:
        return next(self.runs("WHERE key = ?", self.key(config)), None)

    def runs(self, where: str = "", *values: Any) -> Iterator[Run]:
        """All finished runs, of every result version, in the order in which they ended, or those with a condition."""
        query = f"SELECT key, finished_at, config, result, code FROM runs {where} ORDER BY finished_at, key"
        for key, finished_at, config, result, code in self._connection.execute(query, values):
            yield Run(key, finished_at, json.loads(config), json.loads(result), code)

    def export(self, path: str | os.PathLike[str], keys: Collection[str] | None = None) -> int:
        """Write finished runs, all or those with some keys, to a CSV file; the number of rows.

        The file is kept small: numbers have six digits, and results omit the values of other columns.
        """
        rows = self._connection.execute(
            "SELECT * FROM runs ORDER BY kind, dataset, corruption, method, seed, config, finished_at"
        ).fetchall()
        rows = [_exported(dict(zip(COLUMNS, row, strict=True))) for row in rows if keys is None or row[0] in keys]
        with complete_or_absent(Path(path)) as part, part.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])
        return len(rows)

    def load(self, path: str | os.PathLike[str]) -> int:
        """Take over the runs of a CSV file that :meth:`export` wrote; the number of new ones."""
        before = len(self.finished())
        with Path(path).open(newline="", encoding="utf-8") as file:
            reader = csv.reader(file)
            names = next(reader, [])
            if names != COLUMNS:
                raise ValueError(f"{path} has columns {names}; an exported store has {COLUMNS}")
            # an empty field was NULL: no column holds empty text but the method of a dataset's statistics
            rows = [_restored(dict(zip(names, (value or None for value in line), strict=True))) for line in reader]
        places = ",".join("?" * len(COLUMNS))
        with self._transaction():
            self._connection.executemany(f"INSERT OR IGNORE INTO runs VALUES ({places})", rows)
        return len(self.finished()) - before

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")


#: What results repeat from columns: left out of an export, and put back (the first two) or not needed.
_REPEATED = ("seconds", "device", "dataset", "corruption", "method", "seed", "config", "version")


def _exported(row: dict[str, Any]) -> list[Any]:
    """The columns of a run as they are exported."""
    result = {name: value for name, value in json.loads(row["result"]).items() if name not in _REPEATED}
    short = {"result": json.dumps(_rounded(result), separators=(",", ":")), "seconds": _rounded(row["seconds"])}
    return list({**row, **short}.values())


def _restored(row: dict[str, Any]) -> list[Any]:
    """The columns of a run from those exported."""
    back = {"seconds": None if row["seconds"] is None else float(row["seconds"]), "device": row["device"]}
    result = json.loads(row["result"]) | {name: value for name, value in back.items() if value is not None}
    return list({**row, "result": json.dumps(result)}.values())


def _rounded(value: Any) -> Any:
    """Every number in a nest of lists and dictionaries to six digits."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    return [_rounded(part) for part in value] if isinstance(value, list) else value


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _alive(host: str, process: int, heard_at: float, now: float) -> bool:
    """Whether the owner of a claim still works on it."""
    if now - heard_at > CLAIM_SECONDS:
        return False
    if host != socket.gethostname():
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def plain(value: Any) -> Any:
    """NumPy and torch numbers, arrays and paths as JSON values."""
    for method in ("tolist", "item"):
        if hasattr(value, method):
            return getattr(value, method)()
    return str(value)
