"""``python -m magnet`` is the command line, too."""

from magnet.cli import app

if __name__ == "__main__":
    app(prog_name="magnet")
