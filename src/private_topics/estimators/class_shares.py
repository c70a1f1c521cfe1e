"""`class_shares`: topics over time, by ward or by class, as one further release under the ledger of the corpus.

The topics are those of a private model, so public by now; the classes are a public list. What is computed from the
corpus is one array, classes × topics, and it is released with noise. Proof: docs/proofs/class_shares.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from private_topics.corpus.counts.block_source import CountBlocks
from private_topics.corpus.counts.blocks import as_blocks
from private_topics.corpus.counts.counting import count_texts
from private_topics.corpus.counts.matrix import validate_counts
from private_topics.corpus.texts.source import unit_label
from private_topics.engines.protocol import Corpus
from private_topics.errors import InputError, PrivacyError
from private_topics.estimators.base import TopicEstimator
from private_topics.estimators.likelihood import sound_topics
from private_topics.estimators.shares_table import ClassShares
from private_topics.estimators.vocabularies import refuse_strict
from private_topics.evaluation.labels import labels_of
from private_topics.fits.choice import SHARES_OF_CLASSES
from private_topics.fits.private import (
    check_units,
    for_one_release,
    opened_here,
    require_relation_of,
    require_unit_of,
    units_of,
)
from private_topics.inference.class_shares import smallest_class
from private_topics.parameters import CONSTRAINTS, check
from private_topics.privacy.budget import PrivacyBudget, sigma_for
from private_topics.privacy.ledger.in_memory import FitAccount
from private_topics.privacy.mechanisms import PrivateRun
from private_topics.privacy.neighbours import ADD_REMOVE, Neighbours
from private_topics.privacy.statement import PrivacyStatement, statement_of
from private_topics.progress import SILENT, Progress
from private_topics.releases.class_shares import CLASS_SHARES, release_class_shares
from private_topics.releases.units import MOST_UNITS, UNITS_SHARE
from private_topics.threads import limited_threads

MOST_CLASSES = 10_000
NAMED_WORDS = 10
FOLD_IN_ROUNDS = 50
"""Of each document, whatever it holds: what is added up must be the same on every machine."""
CALLER = "class_shares"


def class_shares(
    model: Any,
    texts: Any,
    classes: Sequence[str | int],
    *,
    labels: Iterable[Any] | None = None,
    groups: Any = None,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    neighbours: Neighbours | None = None,
    most_units: int | None = None,
    sampler: str = "fast",
    ledger: Any = None,
    unlisted_model: bool = False,
    noise_seed: int | None = None,
    n_jobs: int | None = None,
    progress: Progress = SILENT,
) -> ClassShares:
    """How much of each class every topic takes up, for a budget of its own: topics by year, ward or kind.

    A document adds its topic proportions (nearly those of `transform`) to its class; a user with several documents
    adds their average. A document whose class is not in the list, or without a word of the vocabulary, adds nothing.

    Parameters
    ----------
    model : a fitted private model, or `PrivateTopics`: its topics are public by now. Others are refused.
    texts : what `open_texts(…, by=FIELD)` gives, or strings or (text, unit) pairs with `labels`; for a model of
        counts, what its `fit` takes, with `labels`.
    classes : a public list, not read off the corpus; a label is compared as text, without blanks around it.
    labels : the class of each document, text or a whole number; None for one that has none.
    groups : with counts, the user of each document, as in `fit`. Where the model protects users, a table that
        protects documents alone is refused.
    epsilon, delta : what this release spends, on top of what the model spent.
    neighbours, most_units : as in `PrivateSpectralLDA`; None for the relation of the model. Where that is add-remove,
        so must this be: otherwise the table would state the number of units, which the model keeps private.
    sampler, ledger, noise_seed, n_jobs : as in `PrivateSpectralLDA`. A `DurableLedger` must list the fit of the model
        too: the topics say something of the corpus that they were fitted to.
    unlisted_model : take a model that the ledger does not list, because it was fitted to another corpus, or is
        accounted for elsewhere. The ledger notes it.
    progress : notified of the texts as they are read.
    """
    model = getattr(model, "model_", model)  # of PrivateTopics
    topics, prior = _released_topics(model, noise_seed)
    names = _checked_classes(classes)
    relation = model.privacy_.relation if neighbours is None else neighbours
    check(CONSTRAINTS["neighbours"], relation, "neighbours", CALLER)
    require_relation_of(model.privacy_, relation, CALLER)
    check(CONSTRAINTS["most_units"], most_units, "most_units", CALLER, optional=True)
    if most_units is not None and relation != ADD_REMOVE:
        raise InputError(f"The 'most_units' parameter of {CALLER} belongs to neighbours='add-remove'.")
    refuse_strict(texts)
    by = getattr(getattr(texts, "reading", None), "by", None)
    digest = model._file_digest()
    noted = {"estimator": "class shares", "by": by, "classes": len(names), "topics": len(topics), "model": digest}
    if unlisted_model:
        noted["unlisted_model"] = True
    else:
        _require_listed(model, digest, ledger)
    account = FitAccount(ledger, noted | {"n_words": topics.shape[1]}, what="class shares", neighbours=relation)
    run = PrivateRun(
        PrivacyBudget(epsilon, delta),
        sampler=sampler,
        noise_seed=noise_seed,
        reserve=account.reserve,
        neighbours=relation,
    )
    most = MOST_UNITS if most_units is None else int(most_units)
    with _counted(model, texts, names, labels, n_jobs, progress) as counts, opened_here(counts, groups) as opened:
        require_unit_of(model.privacy_, opened, CALLER)
        account.protects(*units_of(opened, counts, groups))
        if relation != ADD_REMOVE:
            check_units(opened)
            _refuse_hopeless(run, opened.n_units, len(topics))
        context, share = for_one_release(run, opened, SHARES_OF_CLASSES, len(topics), account, most)
        with limited_threads(n_jobs):
            released = release_class_shares(context, topics, prior, len(names), FOLD_IN_ROUNDS, share)
    words = tuple(tuple(top) for top in model.top_words(n=NAMED_WORDS))
    statement = _statement(run, context.corpus, len(names), digest)
    result = ClassShares(names, words, tuple(labels_of(model)), released.value, released.sigma, statement, by)
    account.finish(lambda: hashlib.sha256(result.to_json().encode()).hexdigest())
    return result


def units_for_a_class(n_topics: int, budget: PrivacyBudget, neighbours: Neighbours) -> int:
    """How many units a class needs for its shares to be shown: a public number, known before anything is charged."""
    share = 1.0 - UNITS_SHARE if neighbours == ADD_REMOVE else 1.0
    sigma = sigma_for(share, CLASS_SHARES.sensitivity_to(neighbours), PrivateRun(budget).mu_total)
    return smallest_class(sigma, n_topics)


def _released_topics(model: Any, noise_seed: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Topics that anybody may see. With a known seed nothing is private, and any private estimator will do."""
    if not isinstance(model, TopicEstimator):
        raise InputError(f"{CALLER} takes a fitted private model. Got {type(model).__name__} instead.")
    check_is_fitted(model)
    statement = getattr(model, "privacy_", None)
    if statement is None or (noise_seed is None and not (statement.private and statement.proved)):
        raise PrivacyError(
            "Shares of topics say as much of the corpus as the topics do, and those of this model were released "
            "without a proved guarantee. Fit a private model first."
        )
    return sound_topics(model, CALLER)


def _require_listed(model: TopicEstimator, digest: str, ledger: Any) -> None:
    """Refuse a model of which a ledger with rows knows no fit; an edited one goes by the file that was released."""
    edits = getattr(model, "edits_", None)
    made = {digest} if edits is None else {digest, edits.released}
    if hasattr(ledger, "entries") and not any(entry.digest in made for entry in ledger.entries()):
        raise PrivacyError(
            "The ledger does not list the fit of this model, so it lacks what the topics cost if they are of this "
            "corpus. Nothing was charged. Give the ledger and the corpus of that fit; or, if the model was fitted to "
            "another corpus or its cost is noted elsewhere, --unlisted-model, in Python unlisted_model=True."
        )


def _checked_classes(classes: Any) -> tuple[str, ...]:
    named = [] if isinstance(classes, str) else [_label(one, "classes") for one in classes]
    if not 1 <= len(named) <= MOST_CLASSES or None in named or len(set(named)) != len(named):
        raise InputError(
            f"The 'classes' parameter of {CALLER} must be a list of 1 to {MOST_CLASSES:,} different names, text or "
            f"whole numbers. Got {classes!r} instead."
        )
    return tuple(str(name) for name in named)


def _label(value: Any, parameter: str = "labels") -> str | None:
    """A class as text; None for a missing one."""
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, str | int | float | None):
        raise InputError(f"The {parameter!r} parameter of {CALLER} must hold text, whole numbers or None.")
    return unit_label(value)


@contextmanager
def _counted(
    model: Any,
    texts: Any,
    names: tuple[str, ...],
    labels: Iterable[Any] | None,
    n_jobs: int | None,
    progress: Progress,
) -> Iterator[CountBlocks]:
    """The counts of the model's words, with a column for each class behind them."""
    places = {name: place for place, name in enumerate(names)}
    known = None if labels is None else [places.get(_label(one) or "", -1) for one in labels]
    if isinstance(texts, CountBlocks) or len(getattr(texts, "shape", ())) == 2:
        blocks = as_blocks(texts, caller=CALLER)
        if blocks.n_words != model.n_features_in_:
            raise InputError(f"X has {blocks.n_words} features, but the model has {model.n_features_in_}.")
        yield WithClasses(blocks, np.array(known or [], np.int64), len(names))
        return
    if not hasattr(model, "tokeniser_"):
        raise InputError("The model was fitted to counts and does not know how text becomes words: give counts.")
    found: list[int] = []
    documents = _without_classes(progress.documents(texts, "counting words"), known, places, found)
    with count_texts(documents, list(model.feature_names_in_), model.tokeniser_, n_jobs=n_jobs) as counts:
        yield WithClasses(counts, np.array(found, np.int64), len(names))


def _without_classes(
    texts: Iterable[Any], known: list[int] | None, places: dict[str, int], found: list[int]
) -> Iterator[Any]:
    """Texts, with their units where they have any; the place of each one's class goes into `found`."""
    for number, item in enumerate(texts):
        if known is not None:
            found += known[number : number + 1]
            yield item
            continue
        if not (isinstance(item, tuple) and len(item) == 3):
            raise InputError(f"{CALLER} needs the class of each text: open_texts(…, by=FIELD), or 'labels'.")
        found.append(places.get(item[2] or "", -1))
        yield item[:2]
    if known is not None and len(known) != len(found):
        found.append(-1)  # more labels than texts


class WithClasses(CountBlocks):
    """Counts with a further column for each class, one where the document belongs to it (-1: to none)."""

    def __init__(self, blocks: CountBlocks, classes: np.ndarray, n_classes: int) -> None:
        self._inside, self._classes, self._n_classes = blocks, classes, n_classes
        self.n_words, self.n_documents = blocks.n_words + n_classes, blocks.n_documents
        self.groups, self.unit_labels = (getattr(blocks, name, None) for name in ("groups", "unit_labels"))
        seen = sum(block.shape[0] for block in blocks) if self.n_documents is None else self.n_documents
        if seen != len(classes):
            raise InputError(f"The 'labels' parameter of {CALLER} must have one label for each document.")

    def _blocks(self) -> Iterator[sp.csr_array]:
        start = 0
        for block in self._inside:
            stop = start + block.shape[0]
            yield with_classes(block, self._classes[start:stop], self._n_classes)
            start = stop


def with_classes(block: Any, classes: np.ndarray, n_classes: int) -> sp.csr_array:
    """Counts of words, and behind them a column for each class."""
    rows = np.flatnonzero(classes >= 0)
    ones = sp.csr_array((np.ones(len(rows), np.int32), (rows, classes[rows])), shape=(block.shape[0], n_classes))
    return validate_counts(sp.hstack([block, ones], format="csr"), caller=CALLER)


def _refuse_hopeless(run: PrivateRun, n_units: int, n_topics: int) -> None:
    """By public numbers: where all units together would be too few, no class can be told from the noise."""
    needed = units_for_a_class(n_topics, run.budget, run.neighbours)
    if n_units < needed:
        raise InputError(
            f"At this budget a class needs about {needed:,} documents, or users, for its shares to be told, and "
            f"there are {n_units:,} in all. Nothing was charged. Give a larger epsilon, or a model of fewer topics."
        )


def _statement(run: PrivateRun, corpus: Corpus, n_classes: int, digest: str) -> PrivacyStatement:
    unit = "user" if corpus.grouped else "document"
    units = f"the number of {unit}s ({corpus.n_units:,})"
    if run.neighbours == ADD_REMOVE:
        units = f"that there is at least one {unit}"
    public = (
        units,
        f"the list of {n_classes:,} classes",
        f"the model whose topics are used (SHA-256 {digest}), released before at a cost of its own",
        "all settings",
    )
    return statement_of(
        run,
        grouped=corpus.grouped,
        n_units=corpus.n_units,
        configuration=SHARES_OF_CLASSES.name,
        public=public,
        components=f"Classes: {n_classes:,}.",
    )
