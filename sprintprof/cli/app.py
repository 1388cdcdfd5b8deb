"""The `sprintprof` command: one module per verb, errors as one line, exit codes 0, 1, 2.

A verb module defines `register(app)`. At its top it imports only typer, the standard library and the light rooms
(records, units, cli.output); everything else is imported inside the command, so that `--help` starts at once.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

import typer

from sprintprof.records.errors import SprintprofError

VERBS = (
    "doctor", "list", "run", "show", "check", "env", "recover", "merge", "importing", "fit", "predict", "simulate",
    "search", "compare", "networks", "machines",
)  # fmt: skip
"""Order in the help text."""


def build(words: Sequence[str] = ()) -> typer.Typer:
    """The application; where `words` begin with a verb only that one is registered (all of them take 0.2 s)."""
    app = typer.Typer(
        name="sprintprof",
        help="Measure a machine, fit its coefficients, predict distributed deep learning on it.",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # plain help in half the time: rich takes 0.2 s to import
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    first = words[0] if words else ""
    named = {"import": "importing"}.get(first, first)
    for verb in (named,) if named in VERBS else VERBS:
        importlib.import_module(f"sprintprof.cli.{verb}").register(app)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        from sprintprof import __version__

        typer.echo(f"sprintprof {__version__}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Measure a machine, fit its coefficients, predict distributed deep learning on it."""


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code; every error a user can cause becomes one line on stderr."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        code = build(words)(args=words, obj=words, prog_name="sprintprof", standalone_mode=False)
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else 1
    except SprintprofError as error:
        _say(str(error))
        return error.exit_code
    except BrokenPipeError:  # `sprintprof show r.h5 | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        _say("interrupted")
        return 130
    except Exception as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # no words, or a group without its command: the help text
            print(error.format_message(), file=sys.stderr)  # type: ignore[attr-defined]  # noqa: T201
            return 2
        usage = _usage(error)
        if usage is None:
            raise
        _say(usage)
        return 2
    return code if isinstance(code, int) else 0


def _usage(error: Exception) -> str | None:
    """The one line of a usage error of the option parser; None for any other error.

    Told by its shape: the parser's exception classes move between typer's versions.
    """
    describe = getattr(error, "format_message", None)
    if describe is None:
        return None
    context = getattr(error, "ctx", None)
    command = getattr(context, "command_path", None) or "sprintprof"
    return f"{' '.join(str(describe()).split()).rstrip('.')}; see {command} --help"


def _say(line: str) -> None:
    print(f"sprintprof: {line}", file=sys.stderr)  # noqa: T201
