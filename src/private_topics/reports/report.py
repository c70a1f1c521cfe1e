"""`write_report`: one HTML file on one model, for the person who has to sign for its privacy.

It is made from the fitted model alone, so from released values and public settings; the corpus is not available here.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from private_topics.audit.reliability import Reliability
from private_topics.evaluation.released_words import hints, possible_names
from private_topics.fits.choice import comes_after
from private_topics.privacy.statement import PrivacyStatement
from private_topics.reports.attacker import attacker_of, plain_words
from private_topics.reports.audit import audit_context
from private_topics.reports.charts import bar, topic_map_picture, word_bar
from private_topics.reports.explorer import LEADING, explorer_data
from private_topics.reports.page import date_text, write_page
from private_topics.reports.reliability import directions_above, directions_explained, trusted_topics
from private_topics.reports.sections import (
    GRAPH_STYLE,
    budget_of,
    file_digest,
    forecast_of,
    graph_of,
    recovery_of,
    settings_of,
    spectrum_of,
    tokeniser_settings,
    why_no_spectrum,
)
from private_topics.reports.topics import topic_map, topics_of, word_names
from private_topics.reports.verdict import statement_of_model, verdict_of

PRIVACY_PARTS = ("directions", "budget", "graph", "forecast", "spectrum", "no_spectrum", "attacker", "plain")


def write_report(
    model: Any,
    path: str | os.PathLike[str],
    *,
    feature_names: Any = None,
    title: str = "Topic model report",
    date: Any = None,
    truth: Any = None,
    truth_names: Any = None,
    ledger_entries: Any = None,
    ledger_total: Any = None,
    tokeniser: Any = None,
    model_file: str | os.PathLike[str] | None = None,
    audit: dict[str, Any] | None = None,
    reliability: Reliability | None = None,
) -> Path:
    """Write the report of a fitted model to `path`; returns the path.

    Parameters
    ----------
    model : a fitted estimator of this library. One without a proved guarantee gets a report that says so, loudly.
    feature_names : a name for each word; those of the fit, or numbers, where not given.
    title : heading of the page.
    date : date of the report, a `datetime.date` or text; today where not given.
    truth : known topics (topics × words), to show next to the estimate in a demonstration.
    truth_names : what to call them; numbers where not given.
    ledger_entries : rows of `DurableLedger.entries()`: all that was spent on the corpus.
    ledger_total : `DurableLedger.total`, the limit for all fits on the corpus together.
    tokeniser : the `Tokeniser`, or a dict of settings, that turned the text into words.
    model_file : the saved model, whose SHA-256 is printed.
    audit : `private_topics.audit.sealed(…)` of an audit with the model's settings: a section with its seal.
    reliability : what `reliability(model)` found: how far to trust each topic, and a section on it.
    """
    check_is_fitted(model, "components_")
    names = word_names(model, feature_names, "write_report")
    statement = statement_of_model(model)
    trusted = None if reliability is None else trusted_topics(model, reliability, names, "write_report")
    topics = topics_of(model, names, reliability=reliability)
    places = topic_map(model.components_)
    context = {
        "title": title,
        "date": date_text(date, "write_report"),
        "kind": type(model).__name__,
        "n_words": int(model.n_features_in_),
        "asked": int(model.n_components),
        "above": directions_above(model) if hasattr(model, "supported_components_") else None,
        "statement": statement,
        "verdict": verdict_of(statement),
        "found": found_in_texts(model),
        "seen_any": any(topic.seen for topic in topics),
        "topics": topics,
        "longest": max(topic.words[0].weight for topic in topics),
        "bar": bar,
        "word_bar": word_bar,
        "leading": min(LEADING, len(names)),
        "data": explorer_data(model, names, topics),
        "map_picture": topic_map_picture(topics, places) if len(topics) > 1 else None,
        "places": places,
        "settings": settings_of(model),
        "tokeniser": None if tokeniser is None else tokeniser_settings(tokeniser),
        "ledger": None if ledger_entries is None else list(ledger_entries),
        "ledger_total": ledger_total,
        "recovery": None if truth is None else recovery_of(model.components_, truth, names, truth_names),
        "file": None if model_file is None else (Path(model_file).name, file_digest(model_file)),
        "audit": None if audit is None else audit_context(audit),
        "trusted": trusted,
        "sign_off": getattr(model, "sign_off_", None),
    }
    context |= _privacy(model, statement) | _looked_at(model, names)
    return write_page(path, "report.html", context, [GRAPH_STYLE], "report.js")


def found_in_texts(model: Any) -> str | None:
    """Say how many topics the texts themselves show; None where the fit did not test them."""
    statement = getattr(model, "privacy_", None)
    if statement is None:
        return None
    tested = any(comes_after(line.name) for line in statement.releases)
    sequential = getattr(model, "configuration", None) in ("sequential", "auto")
    wanted = sequential and model.keep != "untested" and model.n_components > 1
    if len(model.components_) == 1 and (tested or wanted):
        return "No topic structure above the noise was found: the model is one topic, the word frequencies."
    if not tested:
        return None
    if model.evidence_ is None:
        return "The topics were edited after the test of which of them the texts show."
    return str(model.evidence_.sentence)


def _looked_at(model: Any, names: list[str]) -> dict[str, Any]:
    """What a person should look at in the released words, and the edits made since."""
    leading = [[word.name for word in topic.words] for topic in topics_of(model, names)]
    return {
        "possible_names": possible_names(names),
        "hints": hints(leading),
        "edits": getattr(model, "edits_", None),
    }


def _privacy(model: Any, statement: PrivacyStatement | None) -> dict[str, Any]:
    if statement is None:
        return dict.fromkeys(PRIVACY_PARTS)
    supported = getattr(model, "supported_components_", None)
    asked, used = int(model.n_components), len(model.components_)
    return {
        "directions": None
        if supported is None
        else directions_explained(asked, used, supported, directions_above(model)),
        "budget": budget_of(statement),
        "graph": graph_of(statement),
        "forecast": forecast_of(model, statement),
        "spectrum": spectrum_of(model),
        "no_spectrum": why_no_spectrum(model),
        "attacker": attacker_of(statement) if statement.private and statement.proved else None,
        "plain": plain_words(statement),
    }
