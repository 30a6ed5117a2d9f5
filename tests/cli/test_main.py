"""The command as a whole."""

import os
import subprocess
import sys


def test_help_answers_fast_and_lists_the_commands():
    command = [sys.executable, "-c", "from magnet.cli import app; app(['--help'])"]
    took = []
    for _ in range(3):
        before = os.times()
        done = subprocess.run(command, capture_output=True, text=True)
        after = os.times()
        # processor time, which does not depend on what else the machine is doing
        took.append(sum(after[2:4]) - sum(before[2:4]))
    assert done.returncode == 0
    assert all(name in done.stdout for name in ("demo", "clean", "apply", "bench", "datasets", "corrupt"))
    assert min(took) < 0.5


def test_the_package_imports_nothing_heavy():
    code = "import sys, magnet, magnet.cli; print(any(m in sys.modules for m in ('torch', 'numba', 'pandas')))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_the_module_is_the_command():
    done = subprocess.run([sys.executable, "-m", "magnet", "datasets", "--help"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Usage: magnet datasets" in done.stdout
    assert subprocess.run([sys.executable, "-m", "magnet", "nonsense"], capture_output=True).returncode == 2
