"""What a release is made of: versions that agree, files that parse, names that exist."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import magnet

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def requirement(line: str) -> tuple[str, str]:
    found = re.fullmatch(r"([\w.-]+)>=([\w.]+)", line)
    assert found is not None, f"{line} has no lower bound"
    return found[1].lower().replace("_", "-"), found[2]


def test_versions_agree():
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == magnet.__version__
    assert f'set version = "{magnet.__version__}"' in (ROOT / "recipe/meta.yaml").read_text()
    assert f"## {magnet.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_conda_recipe_asks_for_the_same_packages():
    text = re.sub(r"{%.*?%}", "", (ROOT / "recipe/meta.yaml").read_text())
    recipe = yaml.safe_load(re.sub(r"{{\s*(\w+)\s*}}", r"\1", text))
    conda_names = {"pytorch": "torch", "pytorch-geometric": "torch-geometric", "matplotlib-base": "matplotlib"}
    wanted = {}
    for line in recipe["requirements"]["run"]:
        name, bound = line.split(" >=")
        wanted[conda_names.get(name.replace("_", "-"), name.replace("_", "-"))] = bound
    assert wanted.pop("python") == PROJECT["requires-python"].removeprefix(">=")
    assert wanted == dict(requirement(line) for line in PROJECT["dependencies"])


def test_every_dependency_is_pinned():
    pins = {line.split("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text().split()}
    extras = PROJECT["optional-dependencies"]
    assert set(extras) >= {"search", "cluster", "image", "bench", "docs", "agent", "dev"}
    lines = [*PROJECT["dependencies"], *(line for extra in extras.values() for line in extra if "[" not in line)]
    assert {requirement(line)[0] for line in lines} <= pins


def test_what_is_imported_is_declared():
    """Every package that the library imports is a dependency or belongs to an extra."""
    names = {"sklearn": "scikit-learn", "PIL": "pillow", "skimage": "scikit-image", "yaml": "pyyaml"}
    lines = [*PROJECT["dependencies"], *(x for extra in PROJECT["optional-dependencies"].values() for x in extra)]
    declared = {requirement(line)[0] for line in lines if "[" not in line}
    used = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                used |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                used.add(node.module.split(".")[0])
    foreign = {names.get(name, name).lower().replace("_", "-") for name in used - set(sys.stdlib_module_names)}
    assert foreign - declared - {"magnet", "triton", "llvmlite", "click"} == set()  # with torch, numba and typer


@pytest.mark.parametrize(
    "path",
    sorted([*(ROOT / ".github/workflows").glob("*.yml"), ROOT / "action.yml", ROOT / ".pre-commit-config.yaml"]),
    ids=lambda path: path.name,
)
def test_workflows_parse_and_call_what_exists(path: Path) -> None:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    targets = set(re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    for job in content.get("jobs", {}).values():
        for step in job["steps"]:
            words = step.get("run", "").split()
            if words[:1] == ["make"]:
                assert words[1] in targets
            elif words and words[0].startswith(".ci/"):
                assert (ROOT / words[0]).stat().st_mode & 0o100
    if path.name == "action.yml":
        script = content["runs"]["steps"][-1]["run"]
        assert "${{" not in script  # inputs come through the environment, not as part of the script
        assert set(re.findall(r"\$([A-Z_]+)\b", script)) <= set(content["runs"]["steps"][-1]["env"])


def test_paths_named_in_the_documents_exist():
    for page in (ROOT / "CONTRIBUTING.md", ROOT / "docs/howto.md", ROOT / "README.md"):
        for name in re.findall(r"`((?:src|tests|benchmarks|docs|recipe)/[\w./-]+)`", page.read_text(encoding="utf-8")):
            assert (ROOT / name).exists() or name.startswith("docs/_build"), f"{page.name} names {name}"
