"""From texts to a fitted model: vocabulary → counts → topics, and for a private model all of it in one run.

Where the vocabulary is read off a private corpus, or chosen by it among public candidates, it is the first release of
the run whose later releases are the fit: one budget, one accountant, one line in the ledger, one statement. A public
word list costs nothing and is named in the statement, as candidates are. Privacy units are the same in both stages:
documents, or the users that label them.

Public knowledge is read before the corpus and aligned to the words once they are known: listed, or released.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from private_topics.corpus.counts.counting import CountedTexts, count_texts, distinct_words
from private_topics.corpus.texts.frames import refuse_other_than_texts
from private_topics.corpus.texts.source import Document
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.corpus.words.vocabulary import WordList, with_phrases
from private_topics.engines.sites.site import Site
from private_topics.errors import InputError, PrivacyError
from private_topics.estimators.base import TopicEstimator
from private_topics.estimators.private import PrivateSpectralLDA, fit_in, settings_of
from private_topics.estimators.spectral import SpectralLDA
from private_topics.estimators.vocabularies import (
    CandidateVocabulary,
    CorpusVocabulary,
    PrivateVocabulary,
    Selection,
    refuse_strict,
    released_words,
    usable_words,
    vocabulary_share,
)
from private_topics.fits.fit import BudgetSplit
from private_topics.fits.private import PrivateFit
from private_topics.knowledge.sources import KnowledgeSource, open_knowledge
from private_topics.parameters import CONSTRAINTS, check
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.ledger.in_memory import FitAccount
from private_topics.privacy.mechanisms import PrivateRun
from private_topics.privacy.neighbours import ADD_REMOVE, REPLACE, Neighbours
from private_topics.progress import SILENT, Progress
from private_topics.releases.units import MOST_UNITS, UNITS_SHARE, release_units
from private_topics.releases.units_with_words import TEXTS_SHARE
from private_topics.releases.vocabulary import VOCABULARY_SHARE

if TYPE_CHECKING:
    from private_topics.engines.spark.texts import SparkTexts

__all__ = [
    "WITH_VOCABULARY",
    "CandidateVocabulary",
    "CorpusVocabulary",
    "PrivateVocabulary",
    "Vocabulary",
    "fit_texts",
    "make_vocabulary",
]

WITH_VOCABULARY = BudgetSplit(vocabulary=VOCABULARY_SHARE, refine=BudgetSplit().refine - VOCABULARY_SHARE)
"""The default split of the sequential fit where the vocabulary is released too: the refinement pays for it."""
Vocabulary = WordList | Selection | CorpusVocabulary
Model = TypeVar("Model", bound=TopicEstimator)


def fit_texts(
    model: Model,
    texts: Iterable[str | Document],
    vocabulary: Vocabulary,
    tokeniser: Tokeniser | None = None,
    *,
    knowledge: Any = None,
    progress: Progress = SILENT,
) -> Model:
    """Fit a model to texts; it remembers its words and how text becomes words.

    Parameters
    ----------
    model : `PrivateSpectralLDA`, whose `ledger` is charged once for vocabulary and topics, or `SpectralLDA`. With a
        `PrivateVocabulary` or `CandidateVocabulary` its `budget_split`, if not None, needs a fraction for the
        vocabulary. The `knowledge` of the model goes with a public list of as many words.
    texts : what `open_texts` gives, or an iterable of strings or (text, unit) pairs that can be read twice, such as
        one column of a data frame; a whole frame is for `PrivateTopics`.
    vocabulary : a `WordList` is public; a `PrivateVocabulary` is charged, and so is a `CandidateVocabulary`, which
        chooses among public words; a `CorpusVocabulary` is refused for a private model.
    tokeniser : how text becomes words; None for the default. No setting may be chosen by looking at the corpus.
    knowledge : of a private model: what is publicly known of words, read before the texts are. "english" or
        "english-documents"; a path to word vectors; public texts; a `PublicKnowledge`, with a public list of its
        words; a list of those; None for none. A source that turns out to know none of the released words is not used.
    progress : notified of each stage and of the texts as they are read.
    """
    tokeniser = Tokeniser() if tokeniser is None else tokeniser
    refuse_other_than_texts(texts, "fit_texts")
    vocabulary = _with_phrases(vocabulary, tokeniser)
    if isinstance(model, PrivateSpectralLDA):
        if not isinstance(vocabulary, Selection | WordList):
            raise PrivacyError(
                "A vocabulary read off the private corpus would leak it. Give a public word list, or have one "
                "released under the budget."
            )
        if knowledge is not None and knowledge is texts:
            raise PrivacyError("The private texts are no public knowledge: what is taken from it gets no noise.")
        refuse_strict(texts)
        source = _opened(model, knowledge, vocabulary, tokeniser)
        if isinstance(vocabulary, Selection):
            _fit_with_vocabulary(model, texts, vocabulary, source, tokeniser, progress)
        else:
            _fit_with_list(model, texts, vocabulary, source, tokeniser, progress)
    elif isinstance(model, SpectralLDA):
        if open_knowledge(knowledge) is not None:
            raise InputError("Public knowledge serves a private model. Got SpectralLDA: pass knowledge=None.")
        if isinstance(vocabulary, Selection):
            raise InputError("A private vocabulary needs a private model. Read one off the corpus, or give a list.")
        words = _public_words(vocabulary, texts, tokeniser, progress, model.n_jobs)
        with _counted(texts, words, tokeniser, progress, model.n_jobs) as counts:
            model.fit(counts)
    else:
        raise InputError(f"fit_texts fits PrivateSpectralLDA and SpectralLDA. Got {type(model).__name__} instead.")
    return model


def make_vocabulary(
    texts: Iterable[str | Document],
    budget: PrivacyBudget,
    vocabulary: Selection,
    tokeniser: Tokeniser | None = None,
    *,
    ledger: Any = None,
    neighbours: Neighbours = REPLACE,
    most_units: int | None = None,
    progress: Progress = SILENT,
) -> tuple[list[str], PrivateRun]:
    """A vocabulary alone, private or chosen among candidates, for a whole budget, and the run that released it.

    `neighbours` and `most_units` as in `PrivateSpectralLDA`.
    """
    if not isinstance(vocabulary, Selection):
        raise InputError(
            "The 'vocabulary' parameter of make_vocabulary must be a PrivateVocabulary or a CandidateVocabulary. "
            f"Got {type(vocabulary).__name__} instead."
        )
    tokeniser = Tokeniser() if tokeniser is None else tokeniser
    vocabulary = _with_phrases(vocabulary, tokeniser)
    check(CONSTRAINTS["neighbours"], neighbours, "neighbours", "make_vocabulary")
    check(CONSTRAINTS["most_units"], most_units, "most_units", "make_vocabulary", optional=True)
    if most_units is not None and neighbours != ADD_REMOVE:
        raise InputError("The 'most_units' parameter of make_vocabulary belongs to neighbours='add-remove'.")
    refuse_other_than_texts(texts, "make_vocabulary")
    refuse_strict(texts)
    noted = {"estimator": "vocabulary", **vocabulary.noted}
    account = FitAccount(ledger, noted, what="vocabulary", neighbours=neighbours)
    threshold_delta = vocabulary.threshold_share * budget.delta
    run = PrivateRun(budget, reserve=account.reserve, threshold_delta=threshold_delta, neighbours=neighbours)
    share, released_number = 1.0 - TEXTS_SHARE, None
    if neighbours == ADD_REMOVE:
        share, most = share - UNITS_SHARE, MOST_UNITS if most_units is None else int(most_units)
        released_number = partial(release_units, run, share=UNITS_SHARE, most_units=most)
    words, _ = released_words(
        run,
        share,
        texts,
        vocabulary,
        tokeniser,
        account,
        progress,
        release_number=released_number,
        texts_share=TEXTS_SHARE,
    )
    account.finish(lambda: hashlib.sha256(list_text(words).encode()).hexdigest())
    return words, run


def list_text(words: Iterable[str]) -> str:
    """A vocabulary as a file: a word on each line."""
    return "".join(f"{word}\n" for word in words)


def _with_phrases(vocabulary: Any, tokeniser: Tokeniser) -> Any:
    """The phrases of the tokeniser join the words of a public list, and candidates."""
    if isinstance(vocabulary, CandidateVocabulary):
        return replace(vocabulary, candidates=with_phrases(vocabulary.candidates, tokeniser))
    return with_phrases(vocabulary, tokeniser) if isinstance(vocabulary, WordList) else vocabulary


def _opened(
    model: PrivateSpectralLDA, knowledge: Any, vocabulary: WordList | Selection, tokeniser: Tokeniser
) -> KnowledgeSource | None:
    """What is publicly known of words, read and digested before the corpus is read."""
    if knowledge is not None and model.knowledge is not None:
        raise InputError("Public knowledge is given twice: pass the 'knowledge' parameter of fit_texts alone.")
    source = open_knowledge(model.knowledge if knowledge is None else knowledge, tokeniser=tokeniser)
    if source is not None and source.is_for_columns and not isinstance(vocabulary, WordList):
        raise InputError(
            "A ready-made PublicKnowledge is for columns that are known beforehand, so it needs a public word list. "
            "Where the vocabulary is released, name the source: knowledge='english', a path or public texts."
        )
    return source


def _fit_with_list(
    model: PrivateSpectralLDA,
    texts: Iterable[Any],
    vocabulary: WordList,
    source: KnowledgeSource | None,
    tokeniser: Tokeniser,
    progress: Progress,
) -> None:
    settings = replace(settings_of(model, source), of_texts=True)
    words = usable_words(vocabulary, tokeniser)
    if source is not None:
        settings = settings.informed_by(source.align(words), source)
    if isinstance(model.engine, Site):
        _agree(model.engine, words, tokeniser)
    fit = PrivateFit.begin(settings, vocabulary=vocabulary.name, sha256=vocabulary.digest)
    with _counter(model, progress)(texts, words, tokeniser) as counts:
        described = f"{vocabulary.description}, of which {len(words):,} are used"
        fit_in(model, fit, counts, counts.groups, described)


def _agree(site: Site, words: list[str], tokeniser: Tokeniser) -> None:
    """How text becomes words must be the same at all sites."""
    if site.words != tuple(words):
        raise InputError(
            "The words of a Site must be those of the vocabulary that can occur, in its order: without stop words, "
            "for example. Make the Site with Tokeniser(…).usable(words), the same Tokeniser as here."
        )
    site.agree("tokeniser", json.dumps(tokeniser.to_dict(), sort_keys=True).encode())


def _fit_with_vocabulary(
    model: PrivateSpectralLDA,
    texts: Iterable[Any],
    vocabulary: Selection,
    source: KnowledgeSource | None,
    tokeniser: Tokeniser,
    progress: Progress,
) -> None:
    """The vocabulary first, then the fit on the words it named, in one run."""
    if isinstance(model.engine, Site):
        raise InputError("Several sites agree on a public vocabulary before the first round: give a list of words.")
    settings = replace(settings_of(model, source), of_texts=True)
    share = vocabulary_share(settings)
    counted = _counter(model, progress)
    threshold_delta = vocabulary.threshold_share * settings.budget.delta
    fit = PrivateFit.begin(settings, threshold_delta=threshold_delta, **vocabulary.noted)
    words, n_units = released_words(
        fit.run,
        share,
        texts,
        vocabulary,
        tokeniser,
        fit.account,
        progress,
        model.n_jobs,
        fit.release_number,
        source,
        settings.texts_share,
    )
    fit = fit.with_words(words, n_units, share, source)
    with counted(texts, words, tokeniser) as counts:
        fit_in(model, fit, counts, counts.groups, vocabulary.public)


def _counter(model: PrivateSpectralLDA, progress: Progress) -> Callable[..., CountedTexts | SparkTexts]:
    """What counts the texts for a model: this machine, or Spark's executors. Spark starts before any charge."""
    if model.engine != "spark":
        return partial(_counted, progress=progress, n_jobs=model.n_jobs)
    from private_topics.engines.spark.session import session
    from private_topics.engines.spark.texts import SparkTexts

    def sent(texts: Iterable[Any], words: list[str], tokeniser: Tokeniser) -> SparkTexts:
        return SparkTexts(progress.documents(texts, "sending texts"), words, tokeniser)

    session()
    return sent


def _counted(
    texts: Iterable[Any], words: list[str], tokeniser: Tokeniser, progress: Progress, n_jobs: int | None
) -> CountedTexts:
    return count_texts(progress.documents(texts, "counting words"), words, tokeniser, n_jobs=n_jobs)


def _public_words(
    vocabulary: WordList | CorpusVocabulary,
    texts: Iterable[Any],
    tokeniser: Tokeniser,
    progress: Progress,
    n_jobs: int | None,
) -> list[str]:
    if isinstance(vocabulary, WordList):
        return usable_words(vocabulary, tokeniser)
    documents: Counter[str] = Counter()
    for words, _ in distinct_words(progress.documents(texts, "reading words"), tokeniser, n_jobs=n_jobs):
        documents.update(words)
    common = [word for word, count in documents.items() if count >= vocabulary.fewest_documents]
    if not common:
        raise InputError("No word occurs in enough documents to make a vocabulary.")
    return sorted(sorted(common, key=lambda word: (-documents[word], word))[: vocabulary.size])
