"""The vocabularies that a user may ask for, and the words of those that a run releases.

Two of them are charged: words that many units use, whatever they are, and words chosen among public candidates. Both
read the same units, documents or the users that label them, and only the words of each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Set
from dataclasses import dataclass
from itertools import chain, tee
from typing import Any, ClassVar

import numpy as np

from private_topics.corpus.counts.counting import distinct_words
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.corpus.words.vocabulary import WordList, user_units
from private_topics.errors import InputError, NoWordsError, PrivacyError
from private_topics.fits.private import FitSettings
from private_topics.inference.informed_unigram import expected_weights
from private_topics.knowledge.sources import KnowledgeSource
from private_topics.privacy.ledger.in_memory import FitAccount
from private_topics.privacy.mechanisms import PrivateRun
from private_topics.progress import Progress
from private_topics.releases.candidates import CANDIDATES_PER_UNIT, CHOSEN_WORDS, Expected, release_candidates
from private_topics.releases.units_with_words import release_counted
from private_topics.releases.vocabulary import (
    FEWEST_UNITS,
    THRESHOLD_SHARE,
    VOCABULARY_SHARE,
    WORDS_PER_UNIT,
    release_vocabulary,
    units_needed,
)
from private_topics.threads import one_order

TOO_FEW = (
    "A private vocabulary needs at least {fewest:,} documents, or users, at this budget: with {number:,} a word can "
    "reach its threshold only through noise. {charged} Give a public word list, more documents or a larger epsilon."
)
NOBODY_ELSE = (
    "A private vocabulary needs at least {fewest:,} documents, or users: with {number:,} there is nobody to replace. "
    "{charged}"
)
NOTHING = "Nothing was charged."
THEIR_NUMBER = "That is a noisy number, and what was charged stays charged."


@dataclass(frozen=True)
class PrivateVocabulary:
    """Words that many units use, released under the budget of the run: docs/proofs/vocabulary.md.

    `size`: maximum number of words, those with the largest noisy weights. `most_words_per_unit`: maximum number of
    different words counted per unit.
    """

    size: int | None = None
    most_words_per_unit: int = WORDS_PER_UNIT

    threshold_share: ClassVar[float] = THRESHOLD_SHARE
    """The part of delta for the threshold."""

    @property
    def noted(self) -> dict[str, Any]:
        """What a ledger notes."""
        return {"vocabulary": "private", **_limits(self)}

    @property
    def public(self) -> str | None:
        """What a statement names as public."""
        return None


@dataclass(frozen=True)
class CandidateVocabulary:
    """Words of a public list that many units use, chosen under the budget of the run: docs/proofs/candidates.md.

    The names are public, so words need less support than in a `PrivateVocabulary`, and no part of delta is spent; a
    word that is not in the list is never chosen. `candidates`: the list, the likelier words first. `size`: maximum
    number of words, those with the largest noisy weights; None for all that stand out from the noise. The public
    knowledge of the fit adds words that are likely to be used, at least up to 250; without it the first words of the
    list join where fewer than 20 stand out. `most_words_per_unit`: maximum number of different candidates
    counted per unit.
    """

    candidates: WordList
    size: int | None = CHOSEN_WORDS
    most_words_per_unit: int = CANDIDATES_PER_UNIT

    threshold_share: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.candidates, WordList):
            raise InputError(
                "The 'candidates' parameter of CandidateVocabulary must be a WordList: see read_word_list and "
                "named_word_list."
            )

    @property
    def noted(self) -> dict[str, Any]:
        listed = {"candidates": self.candidates.name, "sha256": self.candidates.digest}
        return {"vocabulary": "candidates", **listed, **_limits(self)}

    @property
    def public(self) -> str | None:
        return f"the candidates for the vocabulary, {self.candidates.description}"


@dataclass(frozen=True)
class CorpusVocabulary:
    """The words that occur in the most documents, in two at least: 5,000 words if not told otherwise. No privacy."""

    size: int = 5_000
    fewest_documents: int = 2


Selection = PrivateVocabulary | CandidateVocabulary
"""A vocabulary that is released under the budget of a run."""


def vocabulary_share(settings: FitSettings) -> float:
    """The fraction of the budget for a vocabulary that is released; refused where there is none."""
    if settings.fit.adds_up:
        raise PrivacyError("A private vocabulary needs a proved calibration and a delta above 0.")
    share = VOCABULARY_SHARE if settings.split is None else settings.split["vocabulary"]
    if not share > 0:
        raise PrivacyError(
            "A private vocabulary needs a fraction of the budget: pass budget_split=None, or "
            "BudgetSplit(vocabulary=…, …)."
        )
    return share


def usable_words(words: WordList, tokeniser: Tokeniser) -> list[str]:
    """The entries of a public list that the tokeniser can give, in its order."""
    usable = tokeniser.usable(words.words)
    if not usable:
        raise InputError(f"No entry of the word list {words.name!r} is a word of the tokeniser.")
    return usable


def released_words(
    run: PrivateRun,
    share: float,
    texts: Iterable[Any],
    vocabulary: Selection,
    tokeniser: Tokeniser,
    account: FitAccount,
    progress: Progress,
    n_jobs: int | None = None,
    release_number: Callable[[int], int] | None = None,
    source: KnowledgeSource | None = None,
    texts_share: float = 0.0,
) -> tuple[list[str], int]:
    """The released words, sorted, and the number of units. Nothing is charged where those are too few for any word.

    The account notes both counts: that of the units, which is public, before it reserves; that of the words, after.
    Where the number of units is not public, `release_number` makes of it one that may be seen, and is charged.
    `source`: public knowledge, opened, which helps to choose among candidates. `texts_share`: the part of the budget
    that asks, first of all, how many units have words.
    """
    if iter(texts) is texts:
        raise InputError("The texts must be readable more than once: pass a list, or what open_texts gives.")
    names = None
    if isinstance(vocabulary, CandidateVocabulary):
        names = usable_words(vocabulary.candidates, tokeniser)
    documents = distinct_words(progress.documents(texts, "reading words"), tokeniser, n_jobs=n_jobs)
    return words_of_units(run, share, documents, vocabulary, names, account, release_number, source, texts_share)


def words_of_units(
    run: PrivateRun,
    share: float,
    documents: Iterator[tuple[Collection[str], Any]],
    vocabulary: Selection,
    names: list[str] | None,
    account: FitAccount,
    release_number: Callable[[int], int] | None = None,
    source: KnowledgeSource | None = None,
    texts_share: float = 0.0,
) -> tuple[list[str], int]:
    """The same for documents given as their words and a label, or None; `names`: the candidates, if there are any."""
    limits: dict[str, Any] = {"most_words_per_unit": vocabulary.most_words_per_unit, "size": vocabulary.size}
    if names is not None:
        units = _units(documents, vocabulary, account, frozenset(names))
        fewest = FEWEST_UNITS if release_number is None else 1
        counter = _Counted(units, fewest, NOBODY_ELSE, account, release_number, run, texts_share)
        words = release_candidates(run, counter, names, share=share, expected=_expected(source, names), **limits)
    else:
        units = _units(documents, vocabulary, account)
        fewest = units_needed(run, share, vocabulary.most_words_per_unit)
        counter = _Counted(units, fewest, TOO_FEW, account, release_number, run, texts_share)
        words = release_vocabulary(run, counter, share=share, **limits)
    account.note(n_words=len(words))
    return words, counter.number


def _expected(source: KnowledgeSource | None, names: list[str]) -> Expected | None:
    """What public knowledge makes of the noisy weights of these names; None where it has none of them."""
    knowledge = None if source is None else source.align_released(names)
    if knowledge is None:
        return None

    def expected(noisy: np.ndarray, sigma: float) -> np.ndarray:
        with one_order():
            return expected_weights(noisy, sigma, knowledge.all_log_frequencies, knowledge.vectors)

    return expected


def refuse_strict(texts: Any) -> None:
    """Whether a private run succeeds must not depend on what a record says."""
    if getattr(getattr(texts, "reading", None), "strict", False):
        raise PrivacyError(
            "strict=True stops at a broken record, and a private run that stops tells that there is one. Look at the "
            "file beforehand (private-topics check), then fit without strict: a broken record is an empty document."
        )


class _Counted:
    """Passes units on and counts them; fewer than `fewest` are refused at the end, before words are charged.

    `number` is public: the count, or what `release_number` makes of it.
    """

    def __init__(
        self,
        units: Iterable[Collection[str]],
        fewest: int,
        refusal: str,
        account: FitAccount,
        release_number: Callable[[int], int] | None,
        run: PrivateRun,
        texts_share: float,
    ) -> None:
        self.units, self.fewest, self.refusal, self.account = units, fewest, refusal, account
        self.release_number, self.number = release_number, 0
        self.run, self.texts_share = run, texts_share

    def __iter__(self) -> Iterator[Collection[str]]:
        seen = with_words = 0
        for unit in self.units:
            seen += 1
            with_words += len(unit) > 0
            yield unit
        if self.release_number is not None and seen == 0:
            raise InputError("The corpus is empty: a vocabulary needs at least one document.")
        self.number = seen if self.release_number is None else self.release_number(seen)
        if self.number < self.fewest:
            charged = NOTHING if self.release_number is None else THEIR_NUMBER
            raise InputError(self.refusal.format(fewest=self.fewest, number=self.number, charged=charged))
        self.account.note(n_units=self.number)
        if self.texts_share:
            with self.account.stopped_by(NoWordsError, self.run):
                release_counted(self.run, with_words, self.number, self.texts_share)


def _units(
    found: Iterator[tuple[Collection[str], Any]],
    vocabulary: Selection,
    account: FitAccount,
    among: Set[str] | None = None,
) -> Iterator[Collection[str]]:
    """The words of each unit (those in `among`): a document where the first one has no label, else a user.

    The account learns which, and the users' labels as they are read.
    """
    documents: Iterator[tuple[Collection[str], Any]] = found
    if among is not None:
        documents = ((among & set(words), label) for words, label in found)
    first = next(documents, None)
    if first is None:
        return
    pairs = chain([first], documents)
    if first[1] is None:
        account.protects("document")
        yield from (_unlabelled(*pair) for pair in pairs)
    else:
        seen: set[str | None] = set()
        account.protects("user", seen)
        for_words, for_labels = tee(pairs)
        labels = (seen.add(label) or label for _, label in for_labels)  # type: ignore[func-returns-value]
        yield from user_units((words for words, _ in for_words), labels, vocabulary.most_words_per_unit)


def _unlabelled(words: Collection[str], label: str | None) -> Collection[str]:
    if label is not None:
        raise InputError("Either all documents have a unit or none has.")
    return words


def _limits(vocabulary: Any) -> dict[str, Any]:
    return {"vocabulary_size": vocabulary.size, "most_words_per_unit": vocabulary.most_words_per_unit}
