"""The group of commands: expected errors are one line, warnings are one line, nothing ends in a traceback."""

from __future__ import annotations

import os
import sys
import threading
import traceback
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from private_topics._version import __version__
from private_topics.cli.interrupts import remembered
from private_topics.errors import EngineError, InputError, ModelFileError, PrivacyError, PrivacyWarning

DEBUG = "PRIVATE_TOPICS_DEBUG"
USAGE_ERROR: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
PASSED_ON: tuple[type[BaseException], ...] = (BrokenPipeError, typer.Exit, typer.Abort, USAGE_ERROR)


class OneLineErrors(TyperGroup):
    """Expected errors end as one line on standard error and exit status 1, never as a traceback.

    An unexpected error may quote a document, so only its kind is shown, unless the environment asks for more.
    """

    def invoke(self, ctx: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("always", PrivacyWarning)
            warnings.showwarning = _show_warning
            try:
                with remembered():
                    return super().invoke(ctx)
            except PASSED_ON:
                raise
            except KeyboardInterrupt:
                typer.echo("interrupted. What a ledger had reserved stays spent.", err=True)
                raise
            except (EngineError, InputError, ModelFileError, PrivacyError) as error:
                message = " ".join(str(error).split())
            except OSError as error:
                message = error.strerror or type(error).__name__
                message += "" if error.filename is None else f": {error.filename}"
            except MemoryError:
                message = "out of memory. Give the run more, or fewer words. What a ledger had reserved stays spent."
            except Exception as error:
                message = (
                    f"internal error ({type(error).__name__}). {DEBUG}=1 shows more, which may quote the corpus."
                )
                if os.environ.get(DEBUG):
                    traceback.print_exc()
        typer.echo(f"error: {message}", err=True)
        raise typer.Exit(1)


def print_no_tracebacks() -> None:
    """For the rest of the process: what an object raises on its way out, or a thread, may quote a document too.

    An interrupt in the middle of a compilation, for one, leaves half-made objects that fail to be destroyed.
    """
    if not os.environ.get(DEBUG):
        sys.unraisablehook = lambda _: None
        threading.excepthook = lambda _: None


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Only warnings about privacy are shown to the user; they quote released values and settings alone."""
    if issubclass(category, PrivacyWarning):
        typer.echo(f"warning: {message}", err=True)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


app = typer.Typer(cls=OneLineErrors, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def _about(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Topic models of sensitive text under differential privacy."""
