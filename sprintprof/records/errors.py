"""Errors that reach a user: one line that names what, where and what to do."""

from __future__ import annotations


class SprintprofError(Exception):
    """Base of all errors the command line prints as one line."""

    exit_code = 1


class InputError(SprintprofError):
    """Bad usage or bad input: exit code 2, nothing written.

    `where` is the file, option or table; `what` says what is wrong; `remedy` what to do about it.
    """

    exit_code = 2

    def __init__(self, where: str, what: str, remedy: str = "") -> None:
        self.where = where
        self.what = what
        self.remedy = remedy
        text = f"{where}: {what}" + (f"; {remedy}" if remedy else "")
        super().__init__(" ".join(text.split()))


class PartialError(SprintprofError):
    """The work was done in part (a failed point, a full disk) and what was done is safe: exit code 1."""
