"""Packages that only some settings need: extras of this one, which are missed before anything is done."""

from __future__ import annotations

from importlib.util import find_spec

from private_topics.errors import InputError


def require(module: str, what: str, extra: str) -> None:
    """Refuse, in words that name the extra, where a module is not installed. It is not imported yet."""
    if find_spec(module) is None:
        raise InputError(f"{what}, which is not installed: pip install 'private-topics[{extra}]'.")
