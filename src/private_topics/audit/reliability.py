"""How far to trust the topics of a private model: would they come out again if the noise were drawn afresh?

Documents are drawn from the model's own topics, and the same settings are fitted to them with fresh noise, more of
it; what comes out is compared with the model. All of it follows from released values and public settings, so it is
post-processing: it costs no budget, and the corpus is not needed. A refit has a seeded noise, says that it is not
private, and has no ledger.

Refits agree with the model more often than fits of the corpus do: a topic that noise made is in the drawn documents
as surely as any other, and these have no topics beside it. So refits have a third of the epsilon, which tells topics
that last from others better than the whole does, documents are drawn as long as the model's clip threshold says that
the corpus has them, and even so the refits' agreement is not what is stated. They tell how far a word stands above
those that are no longer among the first of its topic, and how far it moves from refit to refit. A topic comes again
where half of its first words do, so of a topic the word counts that is in the middle; and rare topics are made by
noise more often. How often words and topics with such numbers come again in fits of real text was learnt on three
corpora (research/reliability_map.py) and checked on two others (docs/utility/reliability.md).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from private_topics.audit.made_up import MEAN_LENGTH, drawn, fresh, knowledge_of
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
from private_topics.releases.features import FEATURES
from private_topics.releases.norms import PUBLIC_NORMS
from private_topics.releases.public_basis import PUBLIC_SECOND

RELIABLE = 0.9
"""From this share of fits on, a topic is called reliable, and a word surely among the first."""
TOP_WORDS = 10
COMMON = 0.5
"""A topic comes out again where this part of its first words are among those of the topic matched to it."""
FEWEST_DOCUMENTS, MOST_DOCUMENTS = 50, 20_000
SHORTEST, LONGEST = 10.0, 200.0
"""Words of a drawn document, on average."""
REFITS = 12
PART_OF_EPSILON = 1.0 / 3.0
"""What refits have of the model's epsilon."""
TINY, SMALLEST_SHARE = 1e-9, 1e-3  # of a probability; of the average share
WIDEST, LEAST_SPREAD, STEADIEST = 3.0, 0.05, 8.0
"""Logarithms of ratios end here; so much is added to their spread; and margins over spread end here."""
WORD_MAP = -0.30, 0.37, 0.71, 0.15, -0.33, 1.05
TOPIC_MAP = 0.62, 0.55, 0.93, 2.55
"""Log odds of coming again: a constant, the factors of `word_features` (of words) and those of `topic_features`."""
BELOW, ABOVE, LEAST_MOVE = 2.4, 0.9, 0.2
"""An interval goes so many times as far, in logarithms, as a word moves in refits and a little more."""
LARGEST_SEED, LENGTH_SEED = 2**31, 77


@dataclass(frozen=True, eq=False)
class Reliability:
    """What `reliability` found, for the topics (k) and words (d) of a model, in their order.

    Attributes
    ----------
    topics : (k,) the share of fits with fresh noise in which a topic is expected to come out again.
    top_share : (k × d) that in which a word is expected among the first `n_words` of the topic.
    low, high : (k × d) between these two the word's probability in another fit is expected, in nine of ten.
    refits, n_words : how many refits there were; how many words of a topic are its first.
    """

    topics: np.ndarray
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
    refits: int = REFITS,
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
    refits : of as many drawn documents as the corpus has, at most 20,000. What is stated was learnt with 12.
    n_words : how many words of a topic are its first.
    knowledge : the public knowledge that the model's statement names, as `fit_texts` takes it; what comes with the
        package, or is a parameter of the model, is found without.
    random_state : seed of documents and noise; the same seed gives the same result.
    n_jobs : threads; the result does not depend on it.
    progress : notified of each refit.
    """
    asked, model = model, getattr(model, "model_", model)
    _check(model, refits, n_words, random_state)
    estimator = settings_for_refits(model, knowledge, n_jobs)
    wanted = np.asarray(model.components_, dtype=np.float64)
    n_words = min(n_words, wanted.shape[1])
    found = [matched(one, wanted) for one in refitted(model, estimator, refits, random_state, progress)]
    words = word_features(found, n_words)
    topics = topic_features(words, model, n_words)
    low, high = intervals(found, wanted)
    result = Reliability(
        chances(topics, TOPIC_MAP), chances(with_topics(words, topics), WORD_MAP), low, high, refits, n_words
    )
    if asked is not model:
        asked.reliability_ = result
    return result


def chances(features: np.ndarray, learnt: tuple[float, ...]) -> np.ndarray:
    """A share from the numbers in the last axis, in whole per cent: 89.9 is not shown as 90."""
    shares = 1.0 / (1.0 + np.exp(-(learnt[0] + features @ np.array(learnt[1:]))))
    result: np.ndarray = np.floor(100.0 * shares) / 100.0
    return result


def word_features(found: Sequence[np.ndarray], n_words: int) -> np.ndarray:
    """Margin over spread and margin (k × d × 2): by what factor a word stands above the end of the first, in refits.

    In logarithms; the end is half way between the last of the first words and the next. In a refit without such a
    topic no word stands above any other.
    """
    logs = np.log(np.maximum(np.stack(found), TINY, dtype=np.float32))
    places = [-n_words, -min(n_words + 1, logs.shape[2])]
    end = np.partition(logs, places, axis=2)[:, :, places].mean(axis=2, keepdims=True)
    margins = np.clip(logs - end, -WIDEST, WIDEST)
    margin, spread = margins.mean(axis=0), margins.std(axis=0)
    return np.stack([np.clip(margin / (spread + LEAST_SPREAD), -STEADIEST, STEADIEST), margin], axis=2)


def topic_features(features: np.ndarray, model: PrivateSpectralLDA, n_words: int) -> np.ndarray:
    """Those of the word that decides whether enough of a topic's first come again, and its rarity (k × 3)."""
    first = np.argsort(-model.components_, axis=1, kind="stable")[:, :n_words, None]
    decides = math.ceil(COMMON * n_words)
    middle = np.sort(np.take_along_axis(features, first, axis=1), axis=1)[:, -decides]
    return np.column_stack([middle, _log_shares(model)])


def with_topics(words: np.ndarray, topics: np.ndarray) -> np.ndarray:
    """The features of words (k × d × 2) and, beside each, those of its topic (k × d × 5)."""
    beside = np.broadcast_to(topics[:, None, :], (*words.shape[:2], topics.shape[1]))
    return np.concatenate([words, beside], axis=2)


def _log_shares(model: PrivateSpectralLDA) -> np.ndarray:
    """Logarithms of a topic's share over the average; frequent topics have no credit for it."""
    shares = shares_of(model.doc_topic_prior_)
    return np.minimum(np.log(np.maximum(len(shares) * shares, SMALLEST_SHARE)), 0.0)


def finds_topics(model: PrivateSpectralLDA) -> bool:
    """Whether the topics are those that public knowledge let expect."""
    return any(release.name.startswith(FEATURES.name) for release in model.privacy_.releases)


def matched(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The topics found, in the order of those wanted; zeros for one that has no partner."""
    match = match_topics(found, wanted)
    return np.where((match != NO_PARTNER)[:, None], found[match], 0.0)


def intervals(found: Sequence[np.ndarray], wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Around the model's own values. Those of first words lead by chance too, so there is more room below."""
    own = np.log(np.maximum(wanted, TINY))
    logs = np.log(np.maximum(np.stack(found), TINY, dtype=np.float32))
    moved = np.median(np.abs(logs - own), axis=0)
    room = np.minimum(moved, WIDEST) + LEAST_MOVE
    return wanted * np.exp(-BELOW * room), np.minimum(wanted * np.exp(ABOVE * room), 1.0)


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


def settings_for_refits(model: PrivateSpectralLDA, knowledge: Any, n_jobs: int | None) -> PrivateSpectralLDA:
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
    estimator = fresh(model, source, n_jobs=n_jobs, random_state=0, keep="untested").set_params(sampler="fast")
    looked = PUBLIC_NORMS.name in {release.name for release in model.privacy_.releases}
    if source is not None and (looked or estimator.budget_split["features"]):
        names = [str(name) for name in getattr(model, "feature_names_in_", range(model.n_features_in_))]
        estimator.set_params(knowledge=source.align(names))
    return estimator


def _epsilon(model: PrivateSpectralLDA) -> float:
    """A fit on one machine with this epsilon has the noise of the model. Sums over several sites have more."""
    mu = mu_of_shares(model.privacy_.releases)
    return float(model.epsilon if mu is None else gdp_epsilon(mu, model.delta))


def refitted(
    model: PrivateSpectralLDA,
    estimator: PrivateSpectralLDA,
    refits: int,
    random_state: int,
    progress: Progress,
) -> Iterator[np.ndarray]:
    """The topics of each refit. Where documents would be too many, there are fewer, and less noise in proportion."""
    documents, epsilon = _size(model, 1.0)
    length = _mean_length(model, estimator.set_params(epsilon=epsilon, noise_seed=random_state), documents)
    documents, epsilon = _size(model, PART_OF_EPSILON)
    seeds = np.random.default_rng(random_state).integers(LARGEST_SEED, size=(refits, 2)).tolist()
    for number, (corpus_seed, noise_seed) in enumerate(seeds, start=1):
        progress.stage(f"refit {number} of {refits}, {documents:,} documents")
        estimator.set_params(epsilon=epsilon, noise_seed=noise_seed)
        yield _refit(model, estimator, documents, corpus_seed, length).components_


def _size(model: PrivateSpectralLDA, part: float) -> tuple[int, float]:
    """How many documents are drawn, and with which epsilon they are fitted, for a part of the model's."""
    documents, epsilon = max(FEWEST_DOCUMENTS, int(model.privacy_.n_units)), part * _epsilon(model)
    if documents <= MOST_DOCUMENTS:
        return documents, epsilon
    mu = mu_of_budget(epsilon, model.delta) * documents / MOST_DOCUMENTS
    return MOST_DOCUMENTS, gdp_epsilon(mu, model.delta)


def _refit(
    model: PrivateSpectralLDA, estimator: PrivateSpectralLDA, documents: int, seed: int, length: float
) -> PrivateSpectralLDA:
    topics = np.asarray(model.components_, dtype=np.float64)
    counts = drawn(topics, model.doc_topic_prior_, documents, seed, length)
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        return estimator.fit(counts)


def _mean_length(model: PrivateSpectralLDA, estimator: PrivateSpectralLDA, documents: int) -> float:
    """Short documents deviate more from the average, so that larger contributions are let pass: the released clip
    threshold along public vectors tells how long documents are. Where there are none, others tell too little."""
    wanted = _clip(model)
    if wanted is None:
        return float(MEAN_LENGTH)
    found = _clip(_refit(model, estimator, documents, LENGTH_SEED, MEAN_LENGTH))
    return float(np.clip(MEAN_LENGTH * (found or wanted) / wanted, SHORTEST, LONGEST))


def _clip(model: PrivateSpectralLDA) -> float | None:
    """The sensitivity of the moment along public vectors, where public knowledge found the topics."""
    wanted = PUBLIC_SECOND.numbered(1).name
    found = [release.sensitivity for release in model.privacy_.releases if release.name == wanted]
    return found[0] if found and finds_topics(model) else None
