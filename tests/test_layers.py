"""Imports, lazy ones included, point down the list of folders in the README; the tests mirror the modules."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import magnet

PACKAGE = Path(magnet.__file__).parent
README = PACKAGE.parents[1] / "README.md"

# Below every layer: the root's name and version.
FREE = {"__init__", "__main__"}


def layers() -> list[str]:
    """The parts of the package from top to bottom, as the README lists them."""
    block = re.search(r"src/magnet/\n((?:\s{4,}\S.*\n)+)", README.read_text(encoding="utf-8"))
    assert block is not None, "README.md has no list of folders under src/magnet/"
    # a folder begins its line; files of one line stand in their order
    return [name.strip() for line in block[1].splitlines() for name in re.findall(r"^\s*\w+(?=/\s)|\w+(?=\.py)", line)]


def imported(path: Path) -> set[str]:
    """The parts of the package that a file imports when it runs, also inside functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if node in for_types:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            parts = node.module.split(".")
            if parts[0] == "magnet":
                found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("magnet.")}
    return found


def test_every_part_is_in_the_list():
    parts = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert parts - FREE == set(layers())


def test_every_module_has_its_tests_at_the_mirrored_place():
    modules = [path.relative_to(PACKAGE) for path in sorted(PACKAGE.rglob("*.py")) if path.stem not in FREE]
    tests = Path(__file__).parent
    assert [str(path) for path in modules if not (tests / path.parent / f"test_{path.name}").exists()] == []


def test_imports_point_down():
    order = {name: place for place, name in enumerate(layers())}
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if own in FREE:
            continue
        above = [name for name in sorted(imported(path)) if order.get(name, len(order)) < order[own]]
        wrong += [f"{path.relative_to(PACKAGE)} imports {name}" for name in above]
    assert wrong == []


#: Packages that take longer to import than a small table to clean; tables without links need none of them.
HEAVY = {"torch", "torch_geometric", "numba", "sklearn", "scipy.stats", "scipy.optimize", "matplotlib"}


def test_what_a_table_without_links_needs_imports_no_heavy_package():
    names = "graph", "arrays", "files", "threads", "scales", "tables", "cleaner", "report"
    modules = ", ".join(f"magnet.{name}" for name in names)
    code = f"import sys, {modules}; print(sorted({HEAVY!r} & {{*sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_table_without_links_is_cleaned_without_heavy_packages(tmp_path):
    towns = ("Ulm,89", "Bonn,53", "Jena,36")
    rows = [f"{towns[k % 3]},{20 + k * 7 % 41},{k * k % 17 / 10}" for k in range(200)]
    rows[100] = rows[100].replace("Bonn", "Bomn")
    rows[150] = "Ulm,89,4100,0.3"
    (tmp_path / "t.csv").write_text("\n".join(["town,code,age,size", *rows]) + "\n")
    code = (
        "import sys; from magnet.cli import app\n"
        "try: app(sys.argv[1:])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        f"print(sorted({HEAVY!r} & {{*sys.modules}}))"
    )
    arguments = ["clean", "t.csv", "-o", "cleaned"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    cells = (tmp_path / "cleaned" / "suspicious_cells.csv").read_text()
    assert all(wrong in cells for wrong in ("Bomn", "4100"))
    assert done.stdout.splitlines()[-1] == "[]"


#: A named tuple's method; Numba's cache, which has no public key; votes of the class that ``brackets`` extends.
PRIVATE_BY_NEED = {"_replace", "_cache", "_cache_file", "_source_stamp", "_count"}


def test_no_class_reads_private_attributes_of_another():
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
        of_self = [a for a in attributes if isinstance(a.value, ast.Name) and a.value.id in ("self", "cls")]
        own |= {attribute.attr for attribute in of_self}
        for attribute in attributes:
            private = attribute.attr.startswith("_") and not attribute.attr.startswith("__")
            if private and attribute.attr not in own | PRIVATE_BY_NEED:
                found.append(f"{path.relative_to(PACKAGE)} line {attribute.lineno}: {ast.unparse(attribute)}")
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
        names = [alias.name for node in imports if node.module.startswith("magnet") for alias in node.names]
        found += [
            f"{path.relative_to(PACKAGE)} imports {name}" for name in names if name.startswith("_") and name[1] != "_"
        ]
    assert found == []
