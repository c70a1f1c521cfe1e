"""`PrivateTopics`: text in, topics and data frames out. It composes what the command line composes, nothing more."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from private_topics.corpus.texts.frames import ONE_TEXT, has_columns, index_of, texts_of
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.corpus.words.vocabulary import WordList, read_word_list
from private_topics.engines.sites.site import Site
from private_topics.errors import InputError, PrivacyError, require, warn_user
from private_topics.estimators.applying import FITTED_TO_COUNTS, text_proportions, unknown_line, unknown_rows
from private_topics.estimators.choices import CANDIDATES, USUAL, knows_language, vocabulary_named, worth_using
from private_topics.estimators.notebook import NotebookView
from private_topics.estimators.private import PrivateSpectralLDA
from private_topics.estimators.texts import Vocabulary, fit_texts
from private_topics.estimators.topic_list import Topic, topics_of
from private_topics.evaluation.labels import labels_of
from private_topics.fits.private import shares_of
from private_topics.knowledge.sources import KnowledgeSource, open_knowledge
from private_topics.planning.refusal import PYTHON, PlannedLedger
from private_topics.privacy.ledger.durable import DurableLedger
from private_topics.privacy.neighbours import REPLACE, Neighbours
from private_topics.progress import progress_of

SAME_NAMES = (
    "epsilon",
    "delta",
    "alpha0",
    "refine_steps",
    "keep",
    "neighbours",
    "engine",
    "n_jobs",
    "random_state",
    "verbose",
)
"""Parameters that `PrivateSpectralLDA` has too."""


def _of_model(name: str, what: str) -> Any:
    return property(lambda self: getattr(self.model_, name), doc=what)


class PrivateTopics(NotebookView, BaseEstimator):
    """Topics of private texts, from a list or a data frame, with (epsilon, delta)-differential privacy.

    Parameters
    ----------
    n_topics : number of topics asked for; if the budget carries fewer, the model uses fewer and says so.
    epsilon, delta : the guarantee. Keep delta well below one over the number of units.
    vocabulary : "candidates": words that many units use, chosen under the budget among those that the knowledge
        names; where it names none, the same as "private": any words that many units use, for more of the budget.
        Or a public list: words, a path to a file with one per line, "list:english" (or another language);
        "candidates:list:german" to choose from one; a `WordList`, `PrivateVocabulary` or `CandidateVocabulary`.
    knowledge : what is publicly known of words. "english", for texts in English; None; a path to word vectors; a
        `PublicKnowledge`, with a public list of its words; a list of public texts. None of it may come from the
        private texts.
    language : whose stop words are dropped: a name, several names, or None.
    extra_stop_words : further words to drop, from outside the corpus.
    ledger : `DurableLedger` or `BudgetLedger` of the corpus, or the path of a ledger's file, with `corpus`.
    corpus : the name of the corpus in that file.
    neighbours, engine, alpha0, refine_steps, keep, n_jobs, random_state, verbose : as of `PrivateSpectralLDA`.

    Attributes
    ----------
    topics_ : one `Topic` for each: label, words with probabilities, share; and, once `reliability(model)` was asked,
        intervals and how surely it would come out again.
    reliability_ : the answer of `reliability(model)`, or None.
    privacy_ : `PrivacyStatement`.
    model_ : the fitted `PrivateSpectralLDA`, for counts.
    """

    def __init__(
        self,
        n_topics: int = 10,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        vocabulary: Any = CANDIDATES,
        knowledge: Any = USUAL,
        language: str | Iterable[str] | None = "english",
        extra_stop_words: Iterable[str] = (),
        ledger: Any = None,
        corpus: str | None = None,
        neighbours: Neighbours = REPLACE,
        engine: str | Site = "local",
        alpha0: float = 1.0,
        refine_steps: int = 4,
        keep: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_topics = n_topics
        self.epsilon = epsilon
        self.delta = delta
        self.vocabulary = vocabulary
        self.knowledge = knowledge
        self.language = language
        self.extra_stop_words = extra_stop_words
        self.ledger = ledger
        self.corpus = corpus
        self.neighbours = neighbours
        self.engine = engine
        self.alpha0 = alpha0
        self.refine_steps = refine_steps
        self.keep = keep
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    components_ = _of_model("components_", "The topics, rows over the words.")
    doc_topic_prior_ = _of_model("doc_topic_prior_", "The Dirichlet prior over the topics.")
    feature_names_in_ = _of_model("feature_names_in_", "The words.")
    n_features_in_ = _of_model("n_features_in_", "How many words there are.")
    tokeniser_ = _of_model("tokeniser_", "How text becomes words.")
    privacy_ = _of_model("privacy_", "What was released, and what is guaranteed.")
    supported_components_ = _of_model("supported_components_", "Topics that directions above the noise tell apart.")
    evidence_ = _of_model("evidence_", "How far the texts show each topic, where they were tested.")
    spectrum_ = _of_model("spectrum_", "Of the released second moment.")
    topic_labels_ = _of_model("topic_labels_", "Labels that people gave, if they did.")
    edits_ = _of_model("edits_", "What was changed after the release, if anything was.")
    sign_off_ = _of_model("sign_off_", "Who asked, who approved and why, if a ledger was told.")
    n_components = property(lambda self: self.n_topics, doc="Topics asked for, as reports look it up.")

    def fit(self, data: Any, text: str | None = None, unit: str | None = None, *, anyway: bool = False) -> Self:
        """Learn topics from texts. Every fit spends its budget anew; a `ledger` keeps several within one total.

        Parameters
        ----------
        data : a list of strings, a Series, a data frame (pandas, polars, pyarrow), a list of dicts, or the path of a
            file or folder that `open_texts` reads. A missing text is an empty document, which counts.
        text : the column of the texts, in a frame, in dicts or in a file (there "text" if None).
        unit : the column that says who a text belongs to (a patient): then users are protected with all their texts,
            else single texts are.
        anyway : fit even where the plan expects one topic, or hardly any word, of settings and public numbers; else
            such a fit is refused with a `PrivacyError`, before anything is charged.
        """
        caller = f"{type(self).__name__}.fit"
        tokeniser = self._tokeniser()
        known, words = self._public(data, tokeniser)
        ledger = self._opened_ledger(unit)
        texts = texts_of(data, text, unit, caller)
        shares = shares_of(self.engine) if isinstance(self.engine, Site) else None
        charged = ledger if anyway else PlannedLedger(ledger, wording=PYTHON, shares=shares)
        same = {name: getattr(self, name) for name in SAME_NAMES}
        sampler = "exact" if isinstance(self.engine, Site) else "fast"  # shares of noise are discrete Gaussian
        model = PrivateSpectralLDA(self.n_topics, ledger=charged, sampler=sampler, **same)
        model._of_private_topics = True
        progress = progress_of(self.verbose, type(self).__name__)
        fit_texts(model, texts, words, tokeniser, knowledge=known, progress=progress)
        self.model_ = model.set_params(ledger=ledger)
        self.text_ = text
        self.reliability_ = None
        return self

    def transform(self, data: Any, text: str | None = None) -> Any:
        """Topic proportions of texts as a pandas DataFrame: the index of the input, a named column for each topic.

        A text without a word of the vocabulary has a row of NaN, and a warning says how many there are. The guarantee
        does not cover the texts given here. `text` names the column; if None, the one of `fit`.
        """
        check_is_fitted(self)
        caller = f"{type(self).__name__}.transform"
        require("pandas", f"{caller} gives a data frame and needs pandas", "frames")
        import pandas

        if isinstance(data, str):
            raise InputError(f"{caller} takes texts. {ONE_TEXT}")
        if text is None and self.text_ is not None and has_columns(data):
            text = self.text_
        parts = list(text_proportions(self.model_, texts_of(data, text, None, caller), self.n_jobs))
        found = np.concatenate(parts) if parts else np.empty((0, len(self.components_)))
        if unknown := unknown_rows(found):
            warn_user(unknown_line(unknown, len(found)), UserWarning)
        return pandas.DataFrame(found, index=index_of(data), columns=self.get_feature_names_out())

    def fit_transform(
        self, data: Any, text: str | None = None, unit: str | None = None, *, anyway: bool = False
    ) -> Any:
        """`fit`, then `transform` of the same texts: the proportions are not private."""
        return self.fit(data, text, unit, anyway=anyway).transform(data)

    @property
    def topics_(self) -> tuple[Topic, ...]:
        """The topics with their ten most probable words; after `reliability(model)`, how far to trust them."""
        check_is_fitted(self)
        return topics_of(self.model_, reliability=getattr(self, "reliability_", None))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:  # noqa: ARG002 (scikit-learn passes it)
        """The labels of the topics: the columns of `transform`."""
        check_is_fitted(self)
        return np.asarray(labels_of(self.model_), dtype=object)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file (no pickle), which the command line reads too; `load` gives it back."""
        check_is_fitted(self)
        self.model_.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read any private model of texts, also one of the command `fit` or of an earlier version. Its statement
        names its vocabulary and its knowledge; the parameters of those names are the usual ones."""
        model = PrivateSpectralLDA.load(path)
        if not hasattr(model, "tokeniser_"):
            raise InputError(FITTED_TO_COUNTS)
        return cls._around(model)

    @classmethod
    def _around(cls, model: PrivateSpectralLDA) -> Self:
        """A fitted one, of a model that was read from a file."""
        made = cls(model.n_components, **{name: getattr(model, name) for name in SAME_NAMES})
        made.language, made.extra_stop_words = model.tokeniser_.languages, model.tokeniser_.stop_words
        made.model_, made.text_, made.reliability_ = model, None, None
        return made

    def _tokeniser(self) -> Tokeniser:
        language: Any = self.language if isinstance(self.language, list | tuple) else [self.language]
        languages: tuple[str, ...] = tuple(one for one in language if one is not None)
        for name, value in (("language", languages), ("extra_stop_words", self.extra_stop_words)):
            listed = isinstance(value, Iterable) and not isinstance(value, str)
            if not listed or not all(isinstance(word, str) for word in value):
                raise InputError(f"The {name!r} parameter of {type(self).__name__} must be a list of words.")
        return Tokeniser(languages=languages, stop_words=tuple(self.extra_stop_words))

    def _public(self, data: Any, tokeniser: Tokeniser) -> tuple[KnowledgeSource | None, Vocabulary]:
        """Knowledge and vocabulary, read before the texts are."""
        if self.knowledge is not None and (self.knowledge is data or _same_file(self.knowledge, data)):
            raise PrivacyError("The private texts are no public knowledge: what is taken from it gets no noise.")
        usual = isinstance(self.knowledge, str) and self.knowledge == USUAL
        spec = None if usual and not knows_language(tokeniser) else self.knowledge
        known = open_knowledge(spec, tokeniser=tokeniser)
        words = self._vocabulary(tokeniser, known)
        return (known if worth_using(known, not usual, words, tokeniser) else None), words

    def _vocabulary(self, tokeniser: Tokeniser, known: KnowledgeSource | None) -> Vocabulary:
        given = self.vocabulary
        if isinstance(given, str):
            if given == "corpus":
                raise PrivacyError("A vocabulary taken from a private corpus would leak it: give a public list.")
            return vocabulary_named(None if given == CANDIDATES else given, None, tokeniser, known)
        if isinstance(given, os.PathLike):
            return read_word_list(given)
        if isinstance(given, list | tuple | np.ndarray):
            return WordList("a list of words that was given", tuple(map(str, given)))
        if isinstance(given, Vocabulary):
            return given
        raise InputError(
            f"The 'vocabulary' parameter of {type(self).__name__} must be a name, a path, a list of words, a "
            "WordList, a PrivateVocabulary or a CandidateVocabulary. Got an object of type "
            f"{type(given).__name__!r} instead."
        )

    def _opened_ledger(self, unit: str | None) -> Any:
        if not isinstance(self.ledger, str | os.PathLike):
            if self.corpus is not None:
                raise InputError(
                    f"The 'corpus' parameter of {type(self).__name__} goes with the path of a ledger: "
                    "ledger='budget.db', corpus='letters'."
                )
            return self.ledger
        if self.corpus is None:
            raise InputError(
                f"The 'corpus' parameter of {type(self).__name__} must name the corpus in the ledger {self.ledger!r}."
            )
        ledger = DurableLedger(self.ledger, self.corpus)
        ledger.require("document" if unit is None else "user")
        return ledger


def _same_file(first: Any, second: Any) -> bool:
    paths = [item for item in (first, second) if isinstance(item, str | os.PathLike)]
    try:
        return len(paths) == 2 and os.path.samefile(*paths)
    except (OSError, ValueError):
        return False
