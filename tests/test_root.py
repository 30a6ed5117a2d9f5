"""The root of the package: every public name imports, and type checkers see the same names."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import magnet

SOURCE = Path(magnet.__file__)


def test_every_public_name_imports_in_a_fresh_interpreter():
    code = "import magnet; print(*(getattr(getattr(magnet, n), '__name__', n) for n in magnet.__all__))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [name.removeprefix("magnet.") for name in done.stdout.split()] == magnet.__all__


def test_type_checkers_see_the_same_names():
    block = next(node for node in ast.parse(SOURCE.read_text()).body if isinstance(node, ast.If))
    typed = {alias.name for node in block.body for alias in node.names}
    assert typed | {"__version__"} == set(magnet.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'recovr'"):
        _ = magnet.recovr
    assert set(dir(magnet)) == set(magnet.__all__)
