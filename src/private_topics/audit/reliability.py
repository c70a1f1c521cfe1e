"""How far to trust the topics of a private model: would they come out again if the noise were drawn afresh?

A parametric bootstrap. Documents are drawn from the model's own topics, the same settings are fitted to them with
fresh noise, and what comes out is compared with the model. All of it follows from released values and public
settings, so it is post-processing: it costs no budget, and the corpus is not needed. A refit has a seeded noise, says
that it is not private, and has no ledger.

A model is an estimate itself: it has its noise once already, and documents drawn from it are as tidy as it is. Refits
of as many such documents come out like the model more often than fits of the corpus do: that share is `at_best`. For
what is called reliable there are a quarter of them, with four times the noise beside what they say, and shares are
counted as if one more refit had failed, those of words as if two had. A topic that noise made is in the drawn
documents as surely as any other, but as a rule it is a rare one: of a topic with half the average share it is said
how often it comes again twice in a row. Where the number of documents is just enough for the topics, a quarter is
not, and the cautious share says little. How that was chosen, and what it is worth: docs/utility/reliability.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from private_topics.audit.made_up import drawn, fresh, knowledge_of
from private_topics.errors import InputError, PrivacyWarning
from private_topics.estimators.private import PrivateSpectralLDA, settings_of
from private_topics.evaluation.recovery import NO_PARTNER, match_topics
from private_topics.evaluation.relevance import shares_of
from private_topics.fits.private import known_digests
from private_topics.knowledge.sources import open_knowledge
from private_topics.parameters import check_integer
from private_topics.privacy.curves import gdp_epsilon, mu_of_budget
from private_topics.privacy.shares import mu_of_shares
from private_topics.progress import SILENT, Progress
from private_topics.releases.norms import PUBLIC_NORMS

RELIABLE = 0.9
"""From this share of refits on, a topic is called reliable, and a word surely among the first."""
TOP_WORDS = 10
COMMON = 0.5
"""A topic comes out again where this part of its first words are among those of the topic matched to it."""
PART_OF_DOCUMENTS = 4
FAILED_TOPICS, FAILED_WORDS = 1, 2
"""Refits that are counted as failed beside those that were made."""
FEWEST_DOCUMENTS, MOST_DOCUMENTS = 50, 20_000
SMALLEST_SHARE = 1e-3  # of the average
LOW, HIGH = 0.05, 0.95
LARGEST_SEED = 2**31


@dataclass(frozen=True, eq=False)
class Reliability:
    """What `reliability` found, for the topics (k) and words (d) of a model, in their order.

    Attributes
    ----------
    topics : (k,) share of the refits in which a topic comes out again, stated cautiously: at least so often. For a
        topic below the average share, in which it does so several times in a row.
    at_best : (k,) the same of refits with as many documents as the corpus has: hardly more often than that.
    top_share : (k × d) share of the refits in which a word is among the first `n_words` of the topic, likewise.
    low, high : (k × d) between these two the word's probability in another fit is expected, in nine of ten.
    refits, n_words : how many refits there were; how many words of a topic are its first.
    """

    topics: np.ndarray
    at_best: np.ndarray
    top_share: np.ndarray
    low: np.ndarray
    high: np.ndarray
    refits: int
    n_words: int

    def require(self, model: Any, caller: str) -> None:
        """Refuse to speak of another model."""
        if self.top_share.shape != model.components_.shape:
            raise InputError(f"The 'reliability' parameter of {caller} must be that of the same model.")

    def is_reliable(self, topic: int) -> bool:
        """Whether a topic is called reliable."""
        return bool(self.topics[topic] >= RELIABLE)

    def is_sure(self, topic: int, word: int) -> bool:
        """Whether a word is called surely among the first of a topic."""
        return bool(self.top_share[topic, word] >= RELIABLE)


def reliability(
    model: Any,
    *,
    refits: int = 20,
    n_words: int = TOP_WORDS,
    knowledge: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress = SILENT,
) -> Reliability:
    """How often the topics of a private model, and their first words, come out again with fresh noise.

    Parameters
    ----------
    model : a fitted `PrivateSpectralLDA`, or one that was loaded. Its topics, its prior and its statement are looked
        at; nothing is charged, and the corpus is not needed. Where users are units, each is drawn as one document.
        Or `PrivateTopics`, which keeps the answer: its `topics_` then have intervals and reliabilities.
    refits : so many with a quarter of the documents, and half as many with all of them, at most 20,000; fewer than
        9 can call no topic reliable, fewer than 18 no word.
    n_words : how many words of a topic are its first.
    knowledge : the public knowledge that the model's statement names, as `fit_texts` takes it; what comes with the
        package, or is a parameter of the model, is found without.
    random_state : seed of documents and noise; the same seed gives the same result.
    n_jobs : threads; the result does not depend on it.
    progress : notified of each refit.
    """
    asked, model = model, getattr(model, "model_", model)
    _check(model, refits, n_words, random_state)
    estimator = _refitted(model, knowledge, n_jobs)
    wanted = np.asarray(model.components_, dtype=np.float64)
    n_words = min(n_words, wanted.shape[1])
    first = first_words(wanted, n_words)
    inside, again = np.zeros(wanted.shape), np.zeros(len(wanted))
    probabilities = np.zeros((refits, *wanted.shape), np.float32)
    for number, found in enumerate(_refits(model, estimator, PART_OF_DOCUMENTS, refits, random_state, progress)):
        probabilities[number] = matched = _matched(found, wanted)
        here = first_words(matched, n_words)
        inside += here
        again += came_again(here, first)
    low, high = _intervals(probabilities, wanted)
    at_best, more = np.zeros(len(wanted)), (refits + 1) // 2
    for found in _refits(model, estimator, 1, more, random_state, progress):
        at_best += came_again(first_words(_matched(found, wanted), n_words), first)
    cautious = (again / (refits + FAILED_TOPICS)) ** _times_in_a_row(model)
    at_best = np.maximum(at_best / more, cautious)
    result = Reliability(cautious, at_best, inside / (refits + FAILED_WORDS), low, high, refits, n_words)
    if asked is not model:
        asked.reliability_ = result
    return result


def _times_in_a_row(model: PrivateSpectralLDA) -> np.ndarray:
    """How often each topic has to come again: once, and a rare one as often as its share goes into the average."""
    shares = shares_of(model.doc_topic_prior_)
    return np.maximum(1.0, 1.0 / np.maximum(len(shares) * shares, SMALLEST_SHARE))


def _matched(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The topics found, in the order of those wanted; zeros for one that has no partner."""
    match = match_topics(found, wanted)
    return np.where((match != NO_PARTNER)[:, None], found[match], 0.0)


def _intervals(found: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the refits are, and where they would be if their median were the model's value: both together.

    Words that lead by chance fall back in a refit, so neither alone says where another fit of the corpus would be.
    """
    low, middle, high = np.quantile(found, (LOW, 0.5, HIGH), axis=0).astype(np.float64)
    scale = np.divide(wanted, middle, out=np.ones_like(wanted), where=middle > 0.0)
    low = np.minimum(np.minimum(low, scale * low), wanted)
    high = np.maximum(np.maximum(high, scale * high), wanted)
    return low, np.minimum(high, 1.0)


def first_words(topics: np.ndarray, n_words: int) -> np.ndarray:
    """Which words are the first of each topic (k × d), none of a topic without words."""
    order = np.argsort(-topics, axis=1, kind="stable")[:, :n_words]
    result = np.zeros(topics.shape, dtype=bool)
    np.put_along_axis(result, order, True, axis=1)
    return result & (topics > 0.0)


def came_again(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Of each topic, whether it came out again, from the first words of both."""
    result: np.ndarray = (found & wanted).sum(axis=1) >= COMMON * wanted.sum(axis=1)
    return result


def _check(model: Any, refits: Any, n_words: Any, random_state: Any) -> None:
    if not isinstance(model, PrivateSpectralLDA):
        raise InputError(
            "reliability asks what the noise of a private fit may have changed, so it takes a PrivateSpectralLDA. "
            f"Got {type(model).__name__} instead."
        )
    check_is_fitted(model, "components_")
    check_integer(refits, "refits", "reliability", 2)
    check_integer(n_words, "n_words", "reliability", 1)
    check_integer(random_state, "random_state", "reliability", 0)


def _refitted(model: PrivateSpectralLDA, knowledge: Any, n_jobs: int | None) -> PrivateSpectralLDA:
    """The settings of a model for its refits: no ledger, this machine, noise that can be seeded."""
    source = None
    if known_digests(model.privacy_.public):
        source = knowledge_of(model, open_knowledge(model.knowledge if knowledge is None else knowledge))
        if source is None or not (source.is_for_columns or hasattr(model, "feature_names_in_")):
            raise InputError(
                "The model was fitted with public knowledge that is not at hand, and its refits need it. "
                "Pass the 'knowledge' parameter of reliability: a PublicKnowledge of the columns, or its source."
            )
    if settings_of(model, source).fit.adds_up:
        raise InputError(
            "reliability takes calibration='proved' and a delta above 0: elsewhere nobody has tried what it is worth."
        )
    estimator = fresh(model, source, n_jobs=n_jobs, random_state=0).set_params(sampler="fast")
    looked = PUBLIC_NORMS.name in {release.name for release in model.privacy_.releases}
    if source is not None and (looked or estimator.budget_split["features"]):
        names = [str(name) for name in getattr(model, "feature_names_in_", range(model.n_features_in_))]
        estimator.set_params(knowledge=source.align(names))
    return estimator


def _epsilon(model: PrivateSpectralLDA) -> float:
    """A fit on one machine with this epsilon has the noise of the model. Sums over several sites have more."""
    mu = mu_of_shares(model.privacy_.releases)
    return float(model.epsilon if mu is None else gdp_epsilon(mu, model.delta))


def _refits(
    model: PrivateSpectralLDA,
    estimator: PrivateSpectralLDA,
    part: int,
    refits: int,
    random_state: int,
    progress: Progress,
) -> Iterator[np.ndarray]:
    """The topics of each refit. Where documents would be too many, there are fewer, and less noise in proportion."""
    documents, epsilon = max(FEWEST_DOCUMENTS, int(model.privacy_.n_units) // part), _epsilon(model)
    if documents > MOST_DOCUMENTS:
        mu = mu_of_budget(epsilon, model.delta) * documents / MOST_DOCUMENTS
        documents, epsilon = MOST_DOCUMENTS, gdp_epsilon(mu, model.delta)
    topics = np.asarray(model.components_, dtype=np.float64)
    seeds = np.random.default_rng([random_state, part]).integers(LARGEST_SEED, size=(refits, 2)).tolist()
    for number, (corpus_seed, noise_seed) in enumerate(seeds, start=1):
        progress.stage(f"refit {number} of {refits}, {documents:,} documents")
        counts = drawn(topics, model.doc_topic_prior_, documents, corpus_seed)
        with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
            yield estimator.set_params(epsilon=epsilon, noise_seed=noise_seed).fit(counts).components_
