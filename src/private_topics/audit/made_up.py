"""Corpora that an audit makes up: from settings alone, or resembling the corpus of a model, as far as its file tells.

The latter is drawn from the model's topics, over its words, with its kind and number of units, as far as that is
affordable. Topics and statement are released values, so nothing new is said about the corpus behind them. Which
releases a fit makes depends on these sizes; others are tried where the fit would not make those of the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from private_topics.audit.recording import fit_quietly
from private_topics.corpus.made_up.synthetic import make_lda_corpus
from private_topics.errors import InputError
from private_topics.estimators.private import PrivateSpectralLDA, settings_of
from private_topics.fits.choice import chooses_words
from private_topics.progress import SILENT, Progress
from private_topics.releases.vocabulary import VOCABULARY_SHARE

MEAN_LENGTH = 50
DOCUMENTS_PER_TOPIC = 1_000  # at epsilon 1
FEWEST_DOCUMENTS, MOST_DOCUMENTS = 1_000, 50_000
DOCUMENTS_PER_USER = 3
SMALLEST_CORPUS = 50
FEWEST_WORDS = 4
MOST_NUMBERS = 1_500_000
"""Released numbers of a fit; the games of an audit draw the noise of all of them thousands of times."""
OTHER_SIZES = (2.0, 4.0, 0.5, 0.25)
LARGEST_FACTOR = 2
SMALLEST_PRIOR, SMALLEST_WEIGHT = 1e-6, 1e-15
FROM_MODEL = ("n_components", "epsilon", "delta", "alpha0", "refine_steps", "configuration", "budget_split",
              "calibration", "allow_unproved", "sampler", "neighbours", "most_units")  # fmt: skip
"""Settings of a model; some of them the audit refuses."""

Counted = tuple[sp.csr_array, np.ndarray | None]


def fresh(model: PrivateSpectralLDA, **others: Any) -> PrivateSpectralLDA:
    """The settings of a model as an estimator that is not fitted: no ledger, no seed of the noise, this machine.

    A vocabulary that the model released by default leaves less to the other releases, here too.
    """
    found = PrivateSpectralLDA(**others | {name: getattr(model, name) for name in FROM_MODEL})
    if model.budget_split is None and any(chooses_words(release.name) for release in model.privacy_.releases):
        found.set_params(budget_split=settings_of(found).default_split(vocabulary=VOCABULARY_SHARE))
    return found


def corpus_for(
    settings: PrivateSpectralLDA, *, documents: int | None, words: int, per_user: int, seed: int
) -> Counted:
    """A corpus of made-up topics, large enough that the fit takes all its steps where that is cheap."""
    topics = int(settings.n_components)
    if documents is None:
        wanted = DOCUMENTS_PER_TOPIC * topics / float(settings.epsilon)
        documents = per_user * int(np.clip(wanted, FEWEST_DOCUMENTS, MOST_DOCUMENTS))
    alpha0 = float(settings.alpha0)
    counts = make_lda_corpus(documents, words, topics, alpha0=alpha0, mean_length=MEAN_LENGTH, random_state=seed)[0]
    return counts, _users(documents, per_user)


def corpus_like(
    model: PrivateSpectralLDA,
    *,
    documents: int | None = None,
    words: int | None = None,
    documents_per_user: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress = SILENT,
) -> tuple[sp.csr_array, np.ndarray | None]:
    """Counts, and the user of each document or None, for `audit_privacy` of a fitted model.

    Parameters
    ----------
    model : a fitted model; its topics and its statement are looked at, and nothing is charged.
    documents : by default as many as make the releases of the model, near its own number of units.
    words : by default the model's own, or as many of its frequent ones as an audit can afford.
    documents_per_user : for a model whose units are users; 3 by default.
    random_state, n_jobs : seed of the corpus; threads of the fits that are tried.
    progress : notified of each stage.
    """
    per_user = _per_user(model, documents_per_user)
    words = _affordable_words(model) if words is None else words
    if words > model.n_features_in_:
        raise InputError(f"The model has {model.n_features_in_} words: a synthetic corpus cannot have more.")
    topics = _on_frequent_words(model, words)
    if documents is not None:
        return _drawn(topics, model.doc_topic_prior_, documents, random_state), _users(documents, per_user)
    wanted = [release.name for release in model.privacy_.releases if not chooses_words(release.name)]
    settings = fresh(model, n_jobs=n_jobs, random_state=0)
    best: tuple[int, Counted] | None = None
    for units in _sizes(int(model.privacy_.n_units), per_user):
        progress.stage(f"choosing the size of the corpus: {units:,} units")
        documents = units * per_user
        corpus = _drawn(topics, model.doc_topic_prior_, documents, random_state), _users(documents, per_user)
        missing = _missing(settings, corpus, wanted)
        if missing == 0:
            return corpus
        if best is None or missing < best[0]:
            best = missing, corpus
    assert best is not None  # there is always a first size
    return best[1]


def _per_user(model: PrivateSpectralLDA, asked: int | None) -> int:
    """The units of the corpus must be those of the model: an audit of others says nothing about its guarantee."""
    users = model.privacy_.unit == "user"
    if asked is None:
        return DOCUMENTS_PER_USER if users else 1
    if users and asked < 2:
        raise InputError(
            "The model protects users: with one document per user an audit would attack documents alone. Give two "
            "or more documents per user."
        )
    if not users and asked > 1:
        raise InputError("The model protects documents, not users: give one document per user, or none.")
    return asked


def _affordable_words(model: PrivateSpectralLDA) -> int:
    """All words of the model, unless its releases hold too many numbers to be drawn thousands of times."""
    n_words = int(model.n_features_in_)
    numbers = sum(release.coordinates for release in model.privacy_.releases if not chooses_words(release.name))
    return n_words if numbers <= MOST_NUMBERS else max(min(n_words, FEWEST_WORDS), n_words * MOST_NUMBERS // numbers)


def _sizes(own: int, per_user: int) -> Iterator[int]:
    """Numbers of units: the model's own, or the nearest that is cheap; then others in turn."""
    first = int(np.clip(own, SMALLEST_CORPUS, MOST_DOCUMENTS // per_user))
    yield first
    for factor in OTHER_SIZES:
        if SMALLEST_CORPUS <= factor * first <= LARGEST_FACTOR * MOST_DOCUMENTS // per_user:
            yield int(factor * first)


def _missing(settings: PrivateSpectralLDA, corpus: Counted, wanted: list[str]) -> int:
    """How many of the wanted releases a fit does not make; at least one where it makes others in their place.

    Two fits must agree: near the edge of what a budget carries the noise decides.
    """
    most = 0
    for _ in range(2):
        fit_quietly(settings, *corpus)
        made = [release.name for release in settings.privacy_.releases]
        most = max(most, 0 if made == wanted else len(set(wanted) - set(made)) + 1)
        if most:
            break
    return most


def _users(documents: int, per_user: int) -> np.ndarray | None:
    return None if per_user == 1 else np.arange(documents) // per_user


def _on_frequent_words(model: PrivateSpectralLDA, count: int) -> np.ndarray:
    """The topics on the words that are most frequent in the model."""
    topics = np.asarray(model.components_, dtype=np.float64)
    if count < topics.shape[1]:
        order = np.argsort(-(model.doc_topic_prior_ @ topics), kind="stable")
        topics = topics[:, np.sort(order[:count])]
    weights = np.maximum(topics, SMALLEST_WEIGHT)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _drawn(topics: np.ndarray, prior: np.ndarray, documents: int, seed: int) -> sp.csr_array:
    """Documents of the LDA model with these topics; lengths are Poisson."""
    random = np.random.default_rng(seed)
    lengths = random.poisson(MEAN_LENGTH, documents)
    weights = random.dirichlet(np.maximum(prior, SMALLEST_PRIOR), documents)
    tokens = random.multinomial(lengths, weights)
    rows, words = [], []
    for topic, row in enumerate(topics):
        rows.append(np.repeat(np.arange(documents), tokens[:, topic]))
        places = np.searchsorted(np.cumsum(row), random.random(len(rows[-1])), side="right")
        words.append(np.minimum(places, len(row) - 1))
    place = np.concatenate(rows), np.concatenate(words)
    return sp.csr_array((np.ones(len(place[0]), np.int32), place), shape=(documents, topics.shape[1]))
