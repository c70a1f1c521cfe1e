"""`evidence_of`: are these topics in our documents? A charged test of public or released topics on private texts."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sklearn.utils.validation import check_is_fitted

from private_topics.corpus.counts.block_source import CountBlocks
from private_topics.corpus.counts.blocks import as_blocks
from private_topics.corpus.counts.counting import count_texts
from private_topics.engines.protocol import Corpus
from private_topics.errors import InputError, PrivacyError
from private_topics.estimators.base import TopicEstimator
from private_topics.estimators.likelihood import sound_topics
from private_topics.estimators.vocabularies import refuse_strict
from private_topics.evaluation.labels import labels_of
from private_topics.fits.choice import EVIDENCE_ALONE
from private_topics.fits.private import for_one_release, opened_here, require_unit_of, units_of
from private_topics.parameters import CONSTRAINTS, check
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.ledger.in_memory import FitAccount
from private_topics.privacy.mechanisms import PrivateRun
from private_topics.privacy.neighbours import ADD_REMOVE, REPLACE, Neighbours
from private_topics.privacy.statement import PrivacyStatement, statement_of
from private_topics.progress import SILENT, Progress
from private_topics.releases.evidence import COVERAGE, LEVEL, Evidence, judged, release_evidence
from private_topics.releases.units import MOST_UNITS
from private_topics.threads import limited_threads

CALLER = "evidence_of"
NAMED_WORDS = 10


@dataclass(frozen=True)
class TopicEvidence:
    """Hold what a private corpus says of topics that were made without it.

    Attributes
    ----------
    labels, words : what each topic is about.
    evidence : `Evidence` for each topic and for all together.
    privacy : what the table is private for.
    """

    labels: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    evidence: Evidence
    privacy: PrivacyStatement

    @property
    def n_seen(self) -> int:
        return int(self.evidence.seen.sum())

    @property
    def sentence(self) -> str:
        """Say in one sentence what was found."""
        found, count = self.evidence, len(self.labels)
        if not self.n_seen and not found.seen_together:
            return f"None of the {count} topics is seen in the texts: they hold no such structure above the noise."
        if not self.n_seen:
            return (
                f"None of the {count} topics is seen in the texts by itself; together they are. More documents or a "
                "larger epsilon would tell which."
            )
        eased = 100.0 * -math.expm1(-max(found.gain, 0.0))
        return (
            f"{self.n_seen} of {count} topics are seen in the texts. Together the topics make the words of a text "
            f"{eased:.0f} % easier to foretell than word frequencies do."
        )

    def to_dict(self) -> dict[str, Any]:
        found = self.evidence
        topics = [
            {
                "label": label,
                "words": list(words),
                "seen": bool(found.seen[topic]),
                "deviations": float(found.deviations[topic]),
                "nats_per_word": float(found.losses[topic]),
                "interval": [float(found.losses_low[topic]), float(found.losses_high[topic])],
            }
            for topic, (label, words) in enumerate(zip(self.labels, self.words, strict=True))
        ]
        whole = {
            "seen": found.seen_together,
            "deviations": found.together,
            "nats_per_word": found.gain,
            "interval": [found.gain_low, found.gain_high],
        }
        return {
            "sentence": self.sentence,
            "level": LEVEL,
            "coverage": COVERAGE,
            "topics": topics,
            "all_topics": whole,
            "privacy": self.privacy.to_dict(),
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"

    def __str__(self) -> str:
        rows = sorted(range(len(self.labels)), key=lambda topic: -self.evidence.deviations[topic])
        lines = [self.sentence]
        for topic in rows:
            seen = "seen" if self.evidence.seen[topic] else "not seen"
            lines.append(f"{self.labels[topic]:<40} {seen:<9} {self.evidence.deviations[topic]:6.1f} deviations")
        return "\n".join(lines)


def evidence_of(
    model: Any,
    texts: Any,
    *,
    groups: Any = None,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    neighbours: Neighbours | None = None,
    most_units: int | None = None,
    public_model: bool = False,
    sampler: str = "fast",
    ledger: Any = None,
    noise_seed: int | None = None,
    n_jobs: int | None = None,
    progress: Progress = SILENT,
) -> TopicEvidence:
    """Test whether topics that were made without these texts are in them: last year's, a neighbour's, public ones.

    A topic is seen where its weight in one half of a document foretells its weight in the other; all together where
    the sum over them does, which takes fewer documents. Among texts without any topics (their words shuffled) a topic
    is seen in at most one of a hundred calls, and all together in one of a hundred; in more where texts recur, or
    lengths differ much and the topics are of other texts (docs/proofs/evidence.md). Topics that were learnt from the
    same texts have an unfair start: they fit chance as well.

    Parameters
    ----------
    model : a fitted model, released with a proved guarantee or public.
    texts : strings, or (text, unit) pairs, or what `open_texts` gives; for a model of counts, counts of its words.
    groups : with counts, the user of each document.
    epsilon, delta : what this test spends.
    neighbours, most_units : as in `PrivateSpectralLDA`; None for the relation of the model, "replace" without one.
    sampler, ledger, noise_seed, n_jobs : as in `PrivateSpectralLDA`.
    public_model : say that a model without a privacy statement does not depend on private texts. Where there is a
        statement, it decides.
    progress : notified of the texts as they are read.

    Returns
    -------
    TopicEvidence

    Examples
    --------
    >>> from private_topics import SpectralLDA, evidence_of, make_lda_corpus
    >>> counts, _, _ = make_lda_corpus(2000, 50, 3, random_state=0)
    >>> last_year, this_year = counts[:1000], counts[1000:]
    >>> public = SpectralLDA(3, random_state=0).fit(last_year)
    >>> evidence_of(public, this_year, public_model=True, delta=1e-5, noise_seed=0).n_seen
    3
    """
    inner = _checked_model(model, public_model, noise_seed)
    protected = getattr(inner, "privacy_", None)
    # A default alone: what the model keeps private is how many texts it was made from, and these are others. Whether
    # their number is public the caller knows, and an explicit relation says.
    if neighbours is None:
        neighbours = REPLACE if protected is None else protected.relation
    check(CONSTRAINTS["neighbours"], neighbours, "neighbours", CALLER)
    check(CONSTRAINTS["most_units"], most_units, "most_units", CALLER, optional=True)
    if most_units is not None and neighbours != ADD_REMOVE:
        raise InputError(f"The 'most_units' parameter of {CALLER} belongs to neighbours='add-remove'.")
    refuse_strict(texts)
    topics, prior = sound_topics(inner, CALLER)
    noted = {
        "estimator": "evidence",
        "topics": len(topics),
        "n_words": topics.shape[1],
        "model": inner._file_digest(),
    }
    account = FitAccount(ledger, noted, what="evidence", neighbours=neighbours)
    run = PrivateRun(
        PrivacyBudget(epsilon, delta),
        sampler=sampler,
        noise_seed=noise_seed,
        reserve=account.reserve,
        neighbours=neighbours,
    )
    most = MOST_UNITS if most_units is None else int(most_units)
    with _counted(inner, texts, n_jobs, progress) as counts, opened_here(counts, groups) as opened:
        require_unit_of(protected, opened, CALLER)
        account.protects(*units_of(opened, counts, groups))
        context, share = for_one_release(run, opened, EVIDENCE_ALONE, len(topics), account, most)
        with limited_threads(n_jobs):
            noisy = release_evidence(context, topics, prior, share)
    words = (
        tuple(tuple(top) for top in inner.top_words(n=NAMED_WORDS)) if _knows_words(inner) else ((),) * len(topics)
    )
    labels = tuple(labels_of(inner)) if _knows_words(inner) else tuple(f"topic {one}" for one in range(len(topics)))
    result = TopicEvidence(labels, words, judged(noisy), _statement(run, context.corpus, noted["model"]))
    account.finish(lambda: hashlib.sha256(result.to_json().encode()).hexdigest())
    return result


def _knows_words(model: TopicEstimator) -> bool:
    return getattr(model, "feature_names_in_", None) is not None


def _checked_model(model: Any, public_model: bool, noise_seed: int | None) -> TopicEstimator:
    inner = getattr(model, "model_", model)
    if not isinstance(inner, TopicEstimator):
        raise InputError(f"The 'model' parameter of {CALLER} must be a fitted topic model.")
    check_is_fitted(inner)
    statement = getattr(inner, "privacy_", None)
    public_model = public_model and statement is None  # a statement goes before the caller's word
    known = noise_seed is not None and statement is not None  # a test: nothing is private anyway
    if not (public_model or known) and (statement is None or not (statement.private and statement.proved)):
        raise PrivacyError(
            f"The 'model' parameter of {CALLER} was released without a proved guarantee: what is computed from it "
            "would have none either. If the model has no privacy statement and does not depend on private texts, say "
            "public_model=True."
        )
    return inner


@contextmanager
def _counted(model: TopicEstimator, texts: Any, n_jobs: int | None, progress: Progress) -> Iterator[CountBlocks]:
    if isinstance(texts, CountBlocks) or len(getattr(texts, "shape", ())) == 2:
        blocks = as_blocks(texts, caller=CALLER)
        if blocks.n_words != model.n_features_in_:
            raise InputError(f"X has {blocks.n_words} features, but the model has {model.n_features_in_}.")
        yield blocks
        return
    tokeniser = getattr(model, "tokeniser_", None)
    if tokeniser is None:
        raise InputError("The model was fitted to counts and does not know how text becomes words: give counts.")
    documents = progress.documents(texts, "counting words")
    with count_texts(documents, list(model.feature_names_in_), tokeniser, n_jobs=n_jobs) as counts:
        yield counts


def _statement(run: PrivateRun, corpus: Corpus, digest: str) -> PrivacyStatement:
    unit = "user" if corpus.grouped else "document"
    units = f"the number of {unit}s ({corpus.n_units:,})"
    if run.neighbours == ADD_REMOVE:
        units = f"that there is at least one {unit}"
    return statement_of(
        run,
        grouped=corpus.grouped,
        n_units=corpus.n_units,
        configuration=EVIDENCE_ALONE.name,
        public=(units, f"the model whose topics are tested (SHA-256 {digest})", "all settings"),
        components="One line for each topic of that model, and one for all of them.",
    )
