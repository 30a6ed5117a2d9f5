"""The module is the command."""

from __future__ import annotations

import subprocess
import sys


def test_the_module_is_the_command():
    done = subprocess.run([sys.executable, "-m", "magnet", "datasets", "--help"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Usage: magnet datasets" in done.stdout
    assert subprocess.run([sys.executable, "-m", "magnet", "nonsense"], capture_output=True).returncode == 2
