"""The parts of a report, each from released values and public settings: budget, graph, forecast, settings, truth."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from markupsafe import Markup

from private_topics.errors import InputError
from private_topics.evaluation import match_topics, topic_error_l1, topic_error_l2
from private_topics.fits.choice import comes_after, comes_before, placements, release_behind
from private_topics.fits.informed import INFORMED, left_alone
from private_topics.fits.sequential import SEQUENTIAL
from private_topics.paper.graph import Placement
from private_topics.paper.graph_picture import STYLE, render
from private_topics.planning.plan import ENGLISH, Plan, plan
from private_topics.privacy.shares import mu_of_shares
from private_topics.privacy.statement import PrivacyStatement
from private_topics.reports.charts import Segment, segments, spectrum_picture, stacked_bar
from private_topics.reports.topics import Word, printable, top_words

OTHER_DOCUMENTS, OTHER_EPSILON = (0.1, 0.3, 1.0, 3.0, 10.0), (0.1, 0.3, 1.0, 3.0)
SHADES = 4
COMPARED_WORDS = 8
LARGEST_SHOWN = 1e30
"""No corpus gives eigenvalues above this, or noise below its inverse."""
GRAPH_STYLE = f"\n{STYLE}\n"
NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'
MOST_LISTED = 40
PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True)
class Budget:
    """Where the budget went."""

    parts: list[Segment]
    picture: Markup


def budget_of(statement: PrivacyStatement) -> Budget:
    shares: dict[str, float] = {}
    for release in statement.releases:
        described = release_behind(release.name, statement.configuration)
        stage = release.name if described is None else described.stage
        shares[stage] = shares.get(stage, 0.0) + release.share
    parts = segments(shares)
    return Budget(parts, stacked_bar(parts, "Where the privacy budget went", "budget"))


@dataclass(frozen=True)
class NoisyEdge:
    """An edge of the graph that carries noise, and the releases that put it there."""

    key: str
    flow: str
    releases: str
    share: float


@dataclass(frozen=True)
class GraphView:
    """The algorithm of a configuration with its noisy edges; `known` where the releases name their edges.

    `before`: releases that the graph starts from, with their shares (a private vocabulary); `after`: those that test
    what it ends with.
    """

    picture: Markup
    summary: str
    edges: list[NoisyEdge]
    known: bool
    before: list[tuple[str, float]]
    after: list[tuple[str, float]]


def graph_of(statement: PrivacyStatement) -> GraphView | None:
    """The graph of the model's configuration; None for an algorithm without one."""
    placement = _placement(statement.configuration)
    if placement is None:
        return None
    picture = render(placement).replace(NAMESPACE, "")  # an SVG inside HTML needs no namespace
    edges = []
    for edge in placement.graph.edges:
        if edge.key in placement.noisy:
            found = [release for release in statement.releases if _edge_of(release.name, statement) == edge.key]
            names = ", ".join(release.name for release in found)
            edges.append(NoisyEdge(edge.key, edge.flow, names, sum(release.share for release in found)))
    drawn = {edge.key for edge in edges}
    before: list[tuple[str, float]] = []
    inside: list[tuple[str, float]] = []
    after: list[tuple[str, float]] = []
    for release in statement.releases:
        place = before if comes_before(release.name) else after if comes_after(release.name) else inside
        place.append((release.name, release.share))
    known = all(_edge_of(name, statement) in drawn for name, _ in inside)
    return GraphView(Markup(picture), placement.summary, edges, known, before, after)


def _edge_of(line: str, statement: PrivacyStatement) -> str | None:
    """The edge on which a release puts its noise."""
    release = release_behind(line, statement.configuration)
    return None if release is None else release.edge


def _placement(configuration: str) -> Placement | None:
    name = SEQUENTIAL.name if configuration == INFORMED.name else configuration.split(" (")[0]
    return placements().get(name)


@dataclass(frozen=True)
class Forecast:
    """What the public numbers buy, and a table of what other numbers would."""

    plan: Plan
    text: str
    documents: list[int]
    rows: list[tuple[float, list[tuple[int, int]]]]
    current: tuple[float, int]


def forecast_of(model: Any, statement: PrivacyStatement) -> Forecast | None:
    """The forecast of the sequential release, or of a fit with public knowledge, unless it left that alone.

    None where delta is zero or the algorithm is another one.
    """
    if statement.delta == 0.0 or _placement(statement.configuration) is None:
        return None
    informed = statement.configuration == INFORMED.name
    informed = informed and not left_alone({release.name for release in statement.releases})
    base = plan(
        statement.n_units,
        int(model.n_features_in_),
        int(model.n_components),
        epsilon=statement.epsilon,
        delta=statement.delta,
        alpha0=float(model.alpha0),
        neighbours=statement.relation,
        knowledge=ENGLISH if informed else None,
    )
    base = replace(base, refine_steps=max(1, int(model.refine_steps)))
    documents = [max(1, round(base.n_documents * factor)) for factor in OTHER_DOCUMENTS]
    rows = [(base.epsilon * factor, _expected(base, base.epsilon * factor, documents)) for factor in OTHER_EPSILON]
    text = str(base) if statement.unit == "document" else str(base).replace("documents", f"{statement.unit}s")
    return Forecast(base, text, documents, rows, (base.epsilon, base.n_documents))


def _expected(base: Plan, epsilon: float, documents: list[int]) -> list[tuple[int, int]]:
    """Expected topics, and a shade for their part of those asked for."""
    found = [replace(base, epsilon=epsilon, n_documents=n).expected_topics for n in documents]
    return [(topics, SHADES * topics // base.n_components) for topics in found]


def spectrum_of(model: Any) -> Markup | None:
    """The picture of the released eigenvalues; None for a model that has none."""
    spectrum = getattr(model, "spectrum_", None)
    if spectrum is None or not spectrum.eigenvalues or not 1.0 / LARGEST_SHOWN < spectrum.noise_edge < LARGEST_SHOWN:
        return None
    if not max(map(abs, spectrum.eigenvalues)) < LARGEST_SHOWN:
        return None
    return spectrum_picture(spectrum.eigenvalues, spectrum.level, spectrum.above)


def why_no_spectrum(model: Any) -> str:
    """The text shown instead of the picture of the eigenvalues."""
    if not hasattr(model, "spectrum_"):
        return "Its algorithm takes no eigenvalues: it fits the topics to minibatches."
    if model.spectrum_ is None:
        return (
            "Only the sequential configuration keeps the eigenvalues of its second moment with the edge of their "
            "noise; this model has another configuration."
        )
    return "Its second moment has no eigenvalue to show, or its noise has no edge."


def settings_of(model: Any) -> list[tuple[str, str]]:
    """Constructor parameters. Objects appear by their type; a noise seed must not be read off a page."""
    parameters = model.get_params(deep=False)
    if parameters.get("noise_seed") is not None:
        parameters["noise_seed"] = "set (not shown)"
    if mu_of_shares(getattr(getattr(model, "privacy_", None), "releases", ())) is not None:
        parameters["engine"] = "several sites"
    return [(name, setting_text(value)) for name, value in sorted(parameters.items())]


def setting_text(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        return ", ".join(setting_text(item) for item in value) or "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {setting_text(item)}" for name, item in value.items())
    return str(value) if isinstance(value, PLAIN) else type(value).__name__


def tokeniser_settings(tokeniser: Any) -> list[tuple[str, str]]:
    """Settings of a `Tokeniser`, or a mapping of settings."""
    settings = tokeniser.to_dict() if hasattr(tokeniser, "to_dict") else tokeniser
    if not isinstance(settings, dict):
        raise InputError("The 'tokeniser' parameter of write_report must be None, a Tokeniser or a dict of settings.")
    return [(str(name), _shortened(value)) for name, value in settings.items()]


def _shortened(value: Any) -> str:
    many = isinstance(value, list | tuple) and len(value) > MOST_LISTED
    return (
        f"{setting_text(value[:MOST_LISTED])} and {len(value) - MOST_LISTED:,} more" if many else setting_text(value)
    )


def file_digest(path: str | os.PathLike[str]) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class Recovered:
    """A true topic and the estimate matched to it; `found` is None where there is none."""

    true_name: str
    found: int | None
    true_words: tuple[Word, ...]
    found_words: tuple[Word, ...]
    error: float


@dataclass(frozen=True)
class Recovery:
    """Known topics next to the learnt ones."""

    rows: list[Recovered]
    error_l1: float
    error_l2: float


def recovery_of(components: np.ndarray, truth: Any, names: list[str], truth_names: Any = None) -> Recovery:
    wanted = np.asarray(truth, dtype=np.float64)
    called = [printable(name) for name in (range(len(wanted)) if truth_names is None else truth_names)]
    if len(called) != len(wanted):
        raise InputError("The 'truth_names' parameter of write_report must have one name for each known topic.")
    match = match_topics(components, wanted)
    rows = []
    for i, j in enumerate(match):
        partner = components[j] if j >= 0 else None
        rows.append(
            Recovered(
                called[i],
                int(j) if partner is not None else None,
                top_words(wanted[i], names, COMPARED_WORDS),
                top_words(partner, names, COMPARED_WORDS) if partner is not None else (),
                float(np.abs(partner - wanted[i]).sum()) if partner is not None else 2.0,
            )
        )
    return Recovery(rows, topic_error_l1(components, wanted), topic_error_l2(components, wanted))
