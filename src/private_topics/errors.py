"""Errors and warnings of the package. No message carries a value read from a corpus."""

import sys
import warnings
from importlib.util import find_spec


class InputError(ValueError):
    """The input cannot be used: what is wrong with it and what would be right."""


class ModelFileError(ValueError):
    """A model file is truncated, corrupt, altered, or of another version."""


class PrivacyError(ValueError):
    """A request that would break, or could not be covered by, the stated guarantee."""


class NoWordsError(PrivacyError):
    """Next to no text holds a word, by a released number: the run stopped, and only that number was charged."""


class LedgerError(PrivacyError):
    """A budget ledger cannot be read or written, or is not one: nothing was reserved, so nothing may be drawn."""


class PrivacyWarning(UserWarning):
    """The guarantee holds, but is weak, or the model is poor at these settings."""


class EngineError(RuntimeError):
    """An engine failed while computing sums: a task of a cluster, its start, the connection to it."""


def warn_user(message: str, category: type[Warning] = PrivacyWarning) -> None:
    """Warn, at the line of the user's program that called the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in OURS:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


OURS = ("private_topics", "contextlib")


def require(module: str, what: str, extra: str) -> None:
    """Refuse, in words that name the extra of this package, where a module is not installed. It is not imported."""
    if find_spec(module) is None:
        raise InputError(f"{what}, which is not installed: pip install 'private-topics[{extra}]'.")
