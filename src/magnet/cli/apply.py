"""``magnet apply``: write the accepted decisions of a review."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magnet.cli.options import Output, Stage, command

if TYPE_CHECKING:
    from collections.abc import Callable

    from magnet.tables.table import Source
    from magnet.tables.values import Change

FORMAT = "magnet decisions"


@command
def apply(
    out: Output,
    decisions: Annotated[
        Path, typer.Argument(help="The decisions.json of a review or an exported report, or the folder with it.")
    ],
    nodes: Annotated[
        Path | None, typer.Argument(help="The table that was cleaned; by default the recorded path.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The file to write.", show_default="NAME.cleaned beside the decisions, same format"
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite the output; also continue if the table has changed.")
    ] = False,
) -> None:
    """Write the table with the accepted suggestions of a review."""
    with out.progress() as stage:
        summary, changes = _apply(decisions, nodes, output, force, stage)
    for line in changes:
        out.detail(line)
    out.result(summary)
    out.line(f"{summary['output']}: {summary['changed']} cells changed, {summary['left']} left as they were")


def _apply(
    decisions: Path, nodes: Path | None, output: Path | None, force: bool, stage: Stage
) -> tuple[dict[str, Any], list[str]]:
    """What was done, and a line about each change."""
    from magnet.files import complete_or_absent, refuse_overwriting, sha256_of
    from magnet.tables.errors import quoted
    from magnet.tables.readers.database import file_of
    from magnet.tables.readers.read import find_files, read_nodes

    stage("reading")
    decisions = decisions / "decisions.json" if decisions.is_dir() else decisions
    content = read_decisions(decisions)
    path = find_files(nodes if nodes is not None else _recorded(content, decisions), None)[0]
    file = file_of(path)
    target = output if output is not None else decisions.with_name(f"{file.stem}.cleaned{file.suffix}")
    if target.suffix.lower() != file.suffix.lower():
        raise ValueError(f"{target}: the output must be a {file.suffix} file, like the table")
    if target.exists() and target.samefile(file):
        raise FileExistsError(f"{target} is the table itself, which is never changed")
    refuse_overwriting([decisions], [target])
    if target.exists() and not force:
        raise FileExistsError(f"{target} exists; --force overwrites it")
    if content.get("sha256") != sha256_of(file) and not force:
        reason = "its checksum differs" if content.get("sha256") else "they contain no checksum"
        raise ValueError(f"{file} may not be the table of these decisions ({reason}); use --force to continue")
    source, _ = read_nodes(path, content.get("encoding"))
    changes = accepted(content["cells"], source, str(decisions))
    target.parent.mkdir(parents=True, exist_ok=True)
    stage("writing")
    with complete_or_absent(target) as part:
        source.write(part, changes)
    lines = [
        f"row {row}, {name}: {quoted(source.frame[name].iloc[row])} -> {quoted(value)}"
        for name, (rows, values) in changes.items()
        for row, value in zip(rows.tolist(), values, strict=True)
    ]
    return {"output": str(target), "changed": len(lines), "left": len(content["cells"]) - len(lines)}, lines


def _recorded(content: dict[str, Any], decisions: Path) -> Path:
    from magnet.tables.readers.database import file_of

    name = content.get("nodes")
    if not isinstance(name, str) or not name:
        raise ValueError(f"{decisions} does not name its table; use magnet apply {decisions} NODES")
    places = (Path(name), decisions.parent / name, decisions.parent / Path(name).name)
    return next((path for path in places if file_of(path).exists()), places[0])


def read_decisions(path: Path) -> dict[str, Any]:
    """The content of a decisions file, checked."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name the decisions.json in it")
    if not path.is_file():
        hint = f"; magnet review {path.parent} writes it" if (path.parent / "report.html").is_file() else ""
        raise FileNotFoundError(f"{path} does not exist{hint}")
    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a JSON file: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT or not isinstance(content.get("cells"), list):
        raise ValueError(f"{path} is not a decisions file of MAGnet")
    if content.get("version") != 1:
        raise ValueError(f"{path} has version {content.get('version')!r}; this magnet reads version 1")
    for name in ("nodes", "sha256", "encoding"):
        if not isinstance(content.get(name), str | None):
            raise ValueError(f"{path}: {name} is {content[name]!r}; it must be a string")
    return content


def _no_number(word: str) -> Any:
    raise ValueError(f"it contains {word}, which is not valid JSON")


def accepted(cells: list[Any], source: Source, name: str) -> dict[str, Change]:
    """The changes that were accepted, by column, each value in the type of its column; errors begin with ``name``."""
    import numpy as np

    from magnet.tables.errors import quoted

    frame = source.frame
    known = set(map(str, frame.columns))
    parsers: dict[str, Callable[[str], Any]] = {}
    changes: dict[str, dict[int, Any]] = {}
    for number, cell in enumerate(cells):
        where = f"{name}: decision {number + 1}"
        if not isinstance(cell, dict) or not isinstance(cell.get("accept"), bool):
            raise ValueError(f"{where} has no 'accept' that is true or false")
        row, column, value = cell.get("row"), cell.get("column"), cell.get("suggested")
        if not isinstance(column, str) or column not in known:
            raise ValueError(f"{where}: the table has no column {quoted(column)}")
        if isinstance(row, bool) or not isinstance(row, int) or not 0 <= row < len(frame):
            raise ValueError(f"{where}: row is {row}; the table has rows 0 to {len(frame) - 1}")
        if not cell["accept"]:
            continue
        if column not in parsers:
            parsers[column] = _checked_parser(source, column)
        try:
            changes.setdefault(column, {})[row] = parsers[column](_text(value))
        except ValueError as error:
            raise ValueError(
                f"{where}: {quoted(value)} cannot be written to column {quoted(column)} ({error})"
            ) from None
    return {column: (np.array(list(rows), dtype=np.int64), list(rows.values())) for column, rows in changes.items()}


def _text(value: Any) -> str:
    """A decision's value as text."""
    from magnet.tables.values import cell_text

    if not isinstance(value, str | int | float | bool):
        raise ValueError("expected a string or a number")
    return cell_text(value)


def _checked_parser(source: Source, column: str) -> Callable[[str], Any]:
    """The parser of a column; a column of numbers accepts finite numbers only."""
    import math

    from magnet.tables.schema import infer_field
    from magnet.tables.values import simplified

    parse = source.parser(column)
    numeric = infer_field(simplified(source.frame[column])[0]).kind in ("count", "continuous")

    def checked(text: str) -> Any:
        if numeric:
            try:
                finite = math.isfinite(float(text))
            except ValueError:
                finite = True  # a number in the notation of the column, or a word that the user accepted
            if not finite:
                raise ValueError("it is not a finite number")
        return parse(text)

    return checked
