"""Sessions for several Python versions: ``nox -l`` lists them."""

from __future__ import annotations

import nox

nox.options.sessions = ["tests"]


@nox.session(python=["3.11", "3.12", "3.13"])
def tests(session: nox.Session) -> None:
    """The test suite with the pinned versions, as ``make test`` runs it."""
    session.install("-c", "constraints.txt", "torch")
    session.install("-c", "constraints.txt", "-e", ".[dev]")
    session.run("python", "-m", "pytest", *session.posargs, env={"OMP_NUM_THREADS": "1"})


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """The lower bounds of ``pyproject.toml`` on a quick subset, as ``make lowest`` runs it."""
    session.run(".ci/check-lowest", "python3.11", session.create_tmp(), external=True)


@nox.session(python="3.11")
def docs(session: nox.Session) -> None:
    """The documentation, as ``make docs`` builds it."""
    session.install("-c", "constraints.txt", "torch")
    session.install("-c", "constraints.txt", "-e", ".[docs,image]")
    session.run("python", "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", "docs/_build/html")
