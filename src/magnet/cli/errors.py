"""Error handling of all commands: a one-line message and an exit code instead of a traceback.

====  ==========================================================================================
code  meaning
====  ==========================================================================================
0     success
1     failure: damaged file, not a table, no memory, no space, no permission
2     invalid call: option, name or combination; a file that is missing or already exists
3     ``magnet check``: more cells look wrong than allowed
130   stopped by Ctrl-C
143   stopped by SIGTERM; partial output is removed
====  ==========================================================================================
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer

# the codes of the table above
FAILED = 1
USAGE = 2
TOO_MUCH = 3
INTERRUPTED = 130


@contextmanager
def clear_errors(verbose: bool = False, quiet: bool = False) -> Iterator[None]:
    """Run a command: whatever it raises becomes one line on the error stream and an exit code of the table above.

    Args:
        verbose: show the traceback of an unexpected error. (default: ``False``)
        quiet: suppress warnings about the table. (default: ``False``)
    """
    from magnet.files import exit_on_sigterm
    from magnet.tables.errors import BadTable

    try:
        with exit_on_sigterm(), _one_line_warnings(quiet):
            yield
    except (typer.Exit, typer.Abort, BrokenPipeError):  # the last: nobody reads on, as behind ``| head``
        raise
    except KeyboardInterrupt:
        fail("stopped", INTERRUPTED)
    except BadTable as error:
        fail(str(error), FAILED)
    except (FileNotFoundError, FileExistsError) as error:
        fail(_words(error), USAGE)
    except ValueError as error:
        fail(str(error), FAILED if str(error).startswith("damaged file") else USAGE)
    except MemoryError:
        fail("not enough memory", FAILED)
    except (OSError, ImportError, RuntimeError) as error:
        fail(_words(error), FAILED)
    except Exception as error:
        if verbose:
            raise
        fail(f"internal error ({type(error).__name__}: {error}); please report it with the output of -v", FAILED)


@contextmanager
def _one_line_warnings(quiet: bool) -> Iterator[None]:
    """Print our table warnings as single lines, and suppress warnings of libraries."""
    from magnet.tables.errors import TableWarning

    def show(message: Warning | str, category: type[Warning], *_: Any) -> None:
        typer.echo(_one_line(f"warning: {message}"), err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not quiet:
            warnings.simplefilter("always", TableWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def fail(message: str, code: int = USAGE) -> NoReturn:
    """End with a line on the error stream."""
    typer.echo(_one_line(message), err=True)
    raise typer.Exit(code)


def _one_line(message: str) -> str:
    return ("magnet: " + " ".join(message.split())).encode(errors="replace").decode()


def _words(error: BaseException) -> str:
    """What an error says, without its number; the file that it is about is named."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return str(error) or type(error).__name__
