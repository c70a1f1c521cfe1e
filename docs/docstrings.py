"""Docstrings for the site: the lines of a `Parameters` or `Attributes` section become a list."""

import re
from typing import Any

import griffe

SECTION = re.compile(r"^(Parameters|Attributes)\n-+\n", re.MULTILINE)
ENTRY = re.compile(r"^(\w+(?:, \w+)*) : ", re.MULTILINE)


def listed(text: str) -> str:
    """The docstring with its sections as Markdown lists; text without sections is left alone."""
    head, *sections = SECTION.split(text)
    parts = [head]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        entries, _, rest = body.partition("\n\n")
        parts.append(f"**{title}**\n\n{ENTRY.sub(_item, entries)}\n\n{rest}")
    return "".join(parts)


def _item(entry: re.Match[str]) -> str:
    names = ", ".join(f"`{name}`" for name in entry[1].split(", "))
    return f"- {names}: "


class ListedParameters(griffe.Extension):
    """Rewrites every docstring as it is read."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = listed(obj.docstring.value)
