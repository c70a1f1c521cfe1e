"""Corpora that an audit makes up: from settings alone, or resembling the corpus of a model, as far as its file tells.

The latter is drawn from the model's topics, over its words, with its kind and number of units, as far as that is
affordable. Topics and statement are released values, so nothing new is said about the corpus behind them. Which
releases a fit makes depends on these sizes; others are tried where the fit would not make those of the model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from private_topics.audit.recording import Audited, fit_afresh
from private_topics.audit.words import MOST_LONELY, NamedColumns
from private_topics.corpus.made_up.synthetic import make_lda_corpus
from private_topics.corpus.words.vocabulary import WordList
from private_topics.errors import InputError, PrivacyError
from private_topics.estimators.private import PrivateSpectralLDA, settings_of
from private_topics.estimators.vocabularies import CandidateVocabulary, PrivateVocabulary, Selection
from private_topics.fits.choice import chooses_words, comes_after
from private_topics.fits.informed import WORDS_ENOUGH
from private_topics.fits.private import FitSettings, known_digests
from private_topics.knowledge.public import joint_digest
from private_topics.knowledge.shipped import SHIPPED, shipped
from private_topics.knowledge.sources import KnowledgeSource
from private_topics.parameters import check_integer
from private_topics.privacy.mechanisms import PrivateRun
from private_topics.privacy.neighbours import gain
from private_topics.privacy.statement import ReleaseLine
from private_topics.progress import SILENT, Progress
from private_topics.releases.candidates import CHOSEN_WORDS
from private_topics.releases.units_with_words import UNITS_WITH_WORDS
from private_topics.releases.vocabulary import VOCABULARY_SHARE

MEAN_LENGTH = 50
DOCUMENTS_PER_TOPIC = 1_000  # at epsilon 1
FEWEST_DOCUMENTS, MOST_DOCUMENTS = 1_000, 50_000
DOCUMENTS_PER_USER = 3
MOST_INFORMED = 200_000  # units, where a fit needs as many to do without public knowledge
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

NO_CANDIDATES = 100
"""Columns for words that are no candidates."""

Counted = tuple[sp.csr_array, np.ndarray | None]


@dataclass(frozen=True)
class LikeModel:
    """The settings of a model, not fitted, and a corpus like its own; `words` where it released its vocabulary."""

    estimator: PrivateSpectralLDA
    counts: sp.csr_array
    groups: np.ndarray | None
    words: NamedColumns | None

    @property
    def audited(self) -> Audited:
        return Audited(settings_of(self.estimator, None if self.words is None else self.words.source), self.words)


def fresh(model: PrivateSpectralLDA, source: KnowledgeSource | None = None, **others: Any) -> PrivateSpectralLDA:
    """The settings of a model as an estimator that is not fitted: no ledger, no seed of the noise, this machine.

    The budget is split as it was for the model: a vocabulary that it released by default left less to the other
    releases, and public knowledge splits by the size of the corpus.
    """
    of_model = {name: getattr(model, name) for name in FROM_MODEL}
    found = PrivateSpectralLDA(**{"keep": _kept(model)} | others | of_model | {"budget_split": None})
    split, released = model.budget_split, _vocabulary_line(model)
    of_texts = any(UNITS_WITH_WORDS.made(line.name) for line in model.privacy_.releases)
    if split is None and (source is not None or released is not None or of_texts):
        settings = replace(settings_of(found, source), of_texts=of_texts)
        share = 0.0 if released is None else VOCABULARY_SHARE
        split = settings.split_for(_mu(model, settings), model.privacy_.n_units, model.n_features_in_, share)
    elif split is not None and source is None and split["features"]:  # whose knowledge is not at hand
        split = split.replace(refine=split["refine"] + split["features"], features=0.0)
    if split is not None and found.keep == "untested":
        split = split.replace(refine=split["refine"] + split["evidence"], evidence=0.0)
    return found.set_params(budget_split=split)


def _kept(model: PrivateSpectralLDA) -> str | None:
    """Return the `keep` that a model was fitted with: "untested" where its statement has no test of its topics."""
    tested = any(comes_after(line.name) for line in model.privacy_.releases)
    return model.keep if model.keep is not None or tested or len(model.components_) == 1 else "untested"


def knowledge_of(model: PrivateSpectralLDA, given: KnowledgeSource | None = None) -> KnowledgeSource | None:
    """The public knowledge that the statement of a model names: `given`, if it is that, else what is shipped.

    None where the model has none, or none that is at hand: the audit then leaves out what it was used for.
    """
    digests = known_digests(model.privacy_.public)
    if given is not None:
        if given.digest != joint_digest(digests):
            raise InputError("The model was not fitted with this public knowledge: its statement has another digest.")
        return given
    parts = {content.digest: content for content in map(shipped, SHIPPED)} if digests else {}
    known = [parts[digest] for digest in digests if digest in parts]
    return KnowledgeSource(tuple(known)) if known and len(known) == len(digests) else None


def _vocabulary_line(model: PrivateSpectralLDA) -> ReleaseLine | None:
    """The line of the statement about the choice of the vocabulary."""
    return next((release for release in model.privacy_.releases if chooses_words(release.name)), None)


def _mu(model: PrivateSpectralLDA, settings: FitSettings) -> float:
    """What the releases of a model share."""
    released = _vocabulary_line(model)
    share = PrivateVocabulary.threshold_share if released is not None and released.names_words else 0.0
    return PrivateRun(settings.budget, threshold_delta=share * settings.budget.delta).mu_total


def named_columns(model: PrivateSpectralLDA, words: list[str], source: KnowledgeSource | None) -> NamedColumns | None:
    """Columns for some words of a model that released its vocabulary, and for words that nobody uses.

    As many candidates as the model had; their names, except for the model's words, are made up: what is claimed does
    not depend on them.
    """
    released = _vocabulary_line(model)
    if released is None:
        return None
    unused = (name for number in count() if (name := f"unused{number}") not in set(words))
    if released.names_words:
        vocabulary: Selection = PrivateVocabulary(None, released.coordinates)
        names = (*words, *islice(unused, min(released.coordinates, MOST_LONELY)))
    else:
        listed = (*words, *islice(unused, max(0, released.coordinates - len(words))))
        candidates = WordList("the model's words and made-up names", listed)
        vocabulary = CandidateVocabulary(candidates, size=max(CHOSEN_WORDS, len(words)))
        names = (*listed, *islice(unused, NO_CANDIDATES))
    return NamedColumns(names, vocabulary, source)


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
    found = like_model(
        model,
        with_words=False,
        documents=documents,
        words=words,
        documents_per_user=documents_per_user,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )
    return found.counts, found.groups


def like_model(
    model: PrivateSpectralLDA,
    *,
    knowledge: KnowledgeSource | None = None,
    with_words: bool = True,
    documents: int | None = None,
    words: int | None = None,
    documents_per_user: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress = SILENT,
) -> LikeModel:
    """All that the audit of a fitted model needs; sizes as in `corpus_like`.

    `knowledge`: what the model's statement names, where it does not come with the package. Without `with_words`
    neither the vocabulary nor public knowledge is repeated.
    """
    _check(model, documents, words, documents_per_user, random_state)
    per_user = _per_user(model, documents_per_user)
    words = _affordable_words(model) if words is None else words
    if words > model.n_features_in_:
        raise InputError(f"The model has {model.n_features_in_} words: a synthetic corpus cannot have more.")
    kept = _frequent_words(model, words)
    topics = _on_words(model, kept)
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    source = knowledge_of(model, knowledge) if with_words and names else None
    estimator = fresh(model, source, n_jobs=n_jobs, random_state=random_state)
    columns = named_columns(model, [names[word] for word in kept], source) if with_words and names else None
    if source is not None and columns is None:
        estimator.set_params(knowledge=source.align([names[word] for word in kept]))
    n_columns = words if columns is None else len(columns.names)

    def of_size(documents: int) -> LikeModel:
        counts = drawn(topics, model.doc_topic_prior_, documents, random_state)
        counts = sp.csr_array((counts.data, counts.indices, counts.indptr), shape=(documents, n_columns))
        return LikeModel(estimator, counts, _users(documents, per_user), columns)

    if documents is not None:
        return of_size(documents)
    wanted = [line.name for line in model.privacy_.releases if columns is not None or not chooses_words(line.name)]
    best: tuple[int, LikeModel] | None = None
    for units in _sizes(int(model.privacy_.n_units), per_user, _least(model, source)):
        progress.stage(f"choosing the size of the corpus: {units:,} units")
        found = of_size(units * per_user)
        missing = _missing(found, wanted)
        if missing == 0:
            return found
        if best is None or missing < best[0]:
            best = missing, found
    assert best is not None  # there is always a first size
    return best[1]


def _check(model: Any, documents: Any, words: Any, documents_per_user: Any, random_state: Any) -> None:
    if not isinstance(model, PrivateSpectralLDA):
        raise InputError(
            f"An audit attacks what a private fit claims, and takes a PrivateSpectralLDA. Got {type(model).__name__}."
        )
    check_is_fitted(model, "components_")
    given = {"documents": documents, "words": words, "documents_per_user": documents_per_user}
    for name, value in given.items():
        if value is not None:
            check_integer(value, name, "an audit", 1)
    check_integer(random_state, "random_state", "an audit", 0)


def _least(model: PrivateSpectralLDA, source: KnowledgeSource | None) -> int:
    """Units from which on a fit with public knowledge does without it, where the model's did."""
    if source is None:
        return 0
    settings = settings_of(fresh(model, source), source)
    budget_per_unit = _mu(model, settings) * gain(settings.neighbours)
    least = math.ceil(WORDS_ENOUGH * settings.n_topics / budget_per_unit)
    return least if least <= min(model.privacy_.n_units, MOST_INFORMED) else 0


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


def _sizes(own: int, per_user: int, least: int = 0) -> Iterator[int]:
    """Numbers of units: the model's own, or the nearest that is cheap, or `least`; then others in turn."""
    first = max(least, int(np.clip(own, SMALLEST_CORPUS, MOST_DOCUMENTS // per_user)))
    yield first
    for factor in OTHER_SIZES:
        if SMALLEST_CORPUS <= factor * first <= LARGEST_FACTOR * MOST_DOCUMENTS // per_user:
            yield int(factor * first)


def _missing(found: LikeModel, wanted: list[str]) -> int:
    """How many of the wanted releases a fit does not make; at least one where it makes others in their place.

    Two fits must agree: near the edge of what a budget carries the noise decides.
    """
    most = 0
    for _ in range(2):
        made = _made(found)
        most = max(most, 0 if made == wanted else len(set(wanted) - set(made)) + 1)
        if most:
            break
    return most


def _made(found: LikeModel) -> list[str]:
    """The releases of a fit; none where no word of a private vocabulary is named."""
    try:
        statement = fit_afresh(found.audited, found.counts, found.groups).statement
    except (PrivacyError, InputError):
        if not found.audited.threshold_delta:
            raise
        return []
    return [release.name for release in statement.releases]


def _users(documents: int, per_user: int) -> np.ndarray | None:
    return None if per_user == 1 else np.arange(documents) // per_user


def _frequent_words(model: PrivateSpectralLDA, count: int) -> np.ndarray:
    """The columns of the words that are most frequent in the model."""
    order = np.argsort(-(model.doc_topic_prior_ @ model.components_), kind="stable")
    return np.sort(order[:count])


def _on_words(model: PrivateSpectralLDA, kept: np.ndarray) -> np.ndarray:
    """The topics on some words."""
    weights = np.maximum(np.asarray(model.components_, dtype=np.float64)[:, kept], SMALLEST_WEIGHT)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def drawn(
    topics: np.ndarray, prior: np.ndarray, documents: int, seed: int, mean_length: float = MEAN_LENGTH
) -> sp.csr_array:
    """Documents of the LDA model with these topics; lengths are Poisson."""
    random = np.random.default_rng(seed)
    lengths = random.poisson(mean_length, documents)
    weights = random.dirichlet(np.maximum(prior, SMALLEST_PRIOR), documents)
    tokens = random.multinomial(lengths, weights)
    rows, words = [], []
    for topic, row in enumerate(topics):
        rows.append(np.repeat(np.arange(documents), tokens[:, topic]))
        places = np.searchsorted(np.cumsum(row), random.random(len(rows[-1])), side="right")
        words.append(np.minimum(places, len(row) - 1))
    place = np.concatenate(rows), np.concatenate(words)
    return sp.csr_array((np.ones(len(place[0]), np.int32), place), shape=(documents, topics.shape[1]))
