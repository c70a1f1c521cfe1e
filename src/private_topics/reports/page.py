"""Templates to one HTML file that needs nothing else: no network, and styles and scripts allowed by their digest."""

from __future__ import annotations

import base64
import datetime
import hashlib
import os
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from private_topics._version import versions
from private_topics.audit.model_seal import UNSEALED, seal_page
from private_topics.errors import InputError
from private_topics.whole_files import write_whole_text

SECURITY = "default-src 'none'; {sources}base-uri 'none'; form-action 'none'"
NO_MARKUP = "require-trusted-types-for 'script'; trusted-types 'none'; "
"""A script that would turn text into elements is stopped by the browser."""


def write_page(
    path: str | os.PathLike[str],
    template: str,
    context: dict[str, Any],
    styles: list[str],
    script: str | None = None,
) -> Path:
    """Render `template` and write it.

    `styles` are the style sheets that the page's pictures bring along; `script` is the file of the one that may run.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("private_topics.reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "number": number, "whole": "{:,}".format}
    sheet = environment.loader.get_source(environment, "style.css")[0]  # type: ignore[union-attr]
    sources = _sources("style-src", [sheet, *styles])
    if script is not None:
        text = environment.loader.get_source(environment, script)[0]  # type: ignore[union-attr]
        sources += _sources("script-src", [text]) + NO_MARKUP
        context = {**context, "script": Markup(text)}
    wrote = [(name.replace("python", "Python"), version) for name, version in versions().items()]
    page = environment.get_template(template).render(
        **context,
        sheet=Markup(sheet),
        security=Markup(SECURITY.format(sources=sources)),
        versions=wrote,
        page_seal=UNSEALED,
    )
    write_whole_text(path, seal_page(page))
    return Path(path)


def _sources(directive: str, texts: list[str]) -> str:
    digests = " ".join(f"'sha256-{_digest(text)}'" for text in texts)
    return f"{directive} {digests}; "


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def date_text(date: Any, caller: str) -> str:
    """A public setting: today, in UTC, where it is not given."""
    if date is None:
        date = datetime.datetime.now(datetime.UTC).date()
    if isinstance(date, str):
        return date
    if not isinstance(date, datetime.date):
        raise InputError(f"The 'date' parameter of {caller} must be None, a string or a date. Got {date!r} instead.")
    return f"{date.day} {date:%B %Y}"


def percent(fraction: float) -> str:
    """Three figures at most; a value that rounds to zero is shown as such."""
    value = 100.0 * fraction
    if 0.0 < value < 0.05:
        return "<0.1%"
    return f"{value:.0f}%" if value >= 99.95 or value == 0.0 else f"{value:.1f}%"


def number(value: float) -> str:
    return f"{value:.4g}"
