"""Every code block of the README and the documentation runs."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from magnet.cli import app
from magnet.report.review import Review

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    path
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
    if not {"_build", "auto_examples", "api"} & set(path.parts) and (ROOT / "docs/results") not in path.parents
]
LANGUAGES = {"python", "bash", "text", "toml", "json", "yaml", "html", "math", "mermaid"}
FENCE = re.compile(r"^```(?!\{)(\w*)[^\n]*\n(.*?)^```$", re.M | re.S)
DIRECTIVE = re.compile(r"^```\{.*?^```$", re.M | re.S)
NOT_RUN = re.compile(r"<!-- not run: (\S[^\n]*?) -->\s*$")
OTHER_COMMANDS = {"make", "pip", "docker", "nox", "git", "python", "cd", "export", "source", "eval"}


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the line where it starts, and why it is not run (or ``""``)."""

    language: str
    text: str
    line: int
    not_run: str

    def commands(self) -> list[list[str]]:
        """The commands of a shell block, one list of words each."""
        joined = self.text.replace("\\\n", " ")
        lines = [shlex.split(line, comments=True) for line in joined.splitlines()]
        return [words for words in lines if words]


def blocks(path: Path) -> list[Block]:
    """The fenced blocks of a Markdown file."""
    text = path.read_text(encoding="utf-8")
    text = DIRECTIVE.sub(lambda match: "\n" * match[0].count("\n"), text)
    found = []
    for match in FENCE.finditer(text):
        reason = NOT_RUN.search(text[: match.start()])
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(match[1], match[2], line, reason[1] if reason else ""))
    return found


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the pages speak of."""
    rng = np.random.default_rng(0)
    smooth = np.sin(np.arange(240) / 20)
    nodes = pd.DataFrame(
        {
            "id": [f"p{k}" for k in range(240)],
            "age": np.round(40 + 9 * smooth + rng.normal(0, 1.5, 240)).astype(int),
            "income": np.round(31_000 * np.exp(0.3 * smooth + rng.normal(0, 0.05, 240)), 0),
            "city": np.where(smooth > 0.3, "Oslo", np.where(smooth > -0.4, "Rome", "Bern")),
            "zip": np.where(smooth > 0.3, "0150", np.where(smooth > -0.4, "00118", "3001")),
        }
    )
    nodes.loc[17, "age"] = 4100
    nodes.loc[90, "city"] = "Romee"
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    nodes.assign(age=nodes["age"] + 1).to_csv(tmp_path / "tomorrow.csv", index=False)
    edges = pd.DataFrame({"source": nodes["id"], "target": np.roll(nodes["id"], 1)})
    edges.to_csv(tmp_path / "edges.csv", index=False)
    (tmp_path / "schema.toml").write_text('[columns]\nzip = "categorical"\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MAGNET_CACHE", str(tmp_path / "cache"))
    return tmp_path


def magnet(words: list[str]) -> None:
    """Run a command as the console would; exit code 3 of ``check`` is an answer, not a failure."""
    if words[0] == "review":  # serves until it is interrupted: decide one cell instead
        Review(Path(words[1])).change({"place": 0, "accept": True})
        return
    result = CliRunner().invoke(app, words)
    allowed = (0, 3) if words[0] == "check" else (0,)
    assert result.exit_code in allowed, f"magnet {' '.join(words)}: {result.output}"


def parse(words: list[str]) -> None:
    """Check names and options of a command that takes too long to run."""
    command: Any = typer.main.get_command(app)
    if words[0].startswith("--"):
        assert words[0] in CliRunner().invoke(app, ["--help"]).output
        return
    assert words[0] in command.commands, f"there is no command {words[0]}"
    command.commands[words[0]].make_context(words[0], list(words[1:]))


def run_shell(block: Block) -> None:
    targets = set(re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    for words in block.commands():
        if words[0] == "magnet":
            (parse if block.not_run else magnet)(words[1:])
        elif words[0] == "make":
            assert set(words[1:]) <= targets, f"the Makefile has no {words[1:]}"
        else:
            assert words[0] in OTHER_COMMANDS, f"line {block.line}: unknown command {words[0]}"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_code_blocks_run(page: Path, workplace: Path) -> None:
    names: dict[str, Any] = {}
    for block in blocks(page):
        assert block.language in LANGUAGES, f"{page.name} line {block.line}: say which language the block is"
        if block.language == "bash":
            run_shell(block)
        elif block.language == "json":
            json.loads(block.text)
        elif block.language == "python":
            code = compile("\n" * block.line + block.text, str(page), "exec")
            if not block.not_run:
                exec(code, names)


def test_the_readme_is_short_and_says_how_to_start() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 900
    assert "make demo" in text
    assert "make test" in text


def test_links_of_the_readme_lead_somewhere() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert target.startswith("https://") or (page.parent / target).exists(), f"{page.name}: {target}"
