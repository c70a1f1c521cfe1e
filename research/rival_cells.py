"""One cell of the table of rivals: a method on a corpus, at an epsilon, for one draw of the noise.

Text: counts over the 1,000 most frequent words, which all methods but the pipelines with a private vocabulary take as
public, 10 topics; score: held-out perplexity by document completion (`benchmarks/utility.py`). Corpora of figure 2:
every draw has its own corpus; score: the error that the figure is judged by, the topics repeated where a method
returns fewer than asked for.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from corpora import CORPORA, VECTORIZER, texts
from private_topics import PrivateSpectralLDA, PublicKnowledge, SpectralLDA
from private_topics.corpus.counts.blocks import MatrixBlocks
from private_topics.engines.local import LocalCorpus
from private_topics.errors import PrivacyError
from private_topics.estimators.variational import PrivateVariationalLDA, VariationalLDA
from private_topics.evaluation import document_completion_perplexity
from private_topics.fits.fit import BudgetSplit
from private_topics.fits.sequential import SEQUENTIAL
from private_topics.inference.denoising import unigram_posterior
from private_topics.paper.experiments.synthetic_error import AUTHORS, SETTINGS, paper_error, summed_l1, tiled
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.curves import gdp_epsilon, mu_of_budget
from private_topics.privacy.mechanisms import PrivateRun
from private_topics.releases.moments import release_unigram
from private_topics.releases.release import FitContext
from rival_clusters import Clusters
from rival_gibbs import MOST_TOKENS, PerDocument, PerWord
from rival_vocabulary import THRESHOLD_PART, Pipeline, published

DELTA, WORDS, TOPICS = 1e-6, 1_000, 10
STEMS = {
    "wikipedia": CORPORA["wikipedia"],
    "arxiv": CORPORA["arxiv"],
    "enron": "enron_email",
    "clinical": "mtsamples_clinical",
}
MADE_UP = ("figure-2a", "figure-2b", "figure-2a-authors", "figure-2b-authors")
NAMES = (*STEMS, *MADE_UP)


class Corpus(NamedTuple):
    """`every` has the counts of all words of the corpus, those of `train` first."""

    train: sp.csr_array
    every: sp.csr_array
    n_topics: int
    alpha0: float
    score: Callable[[np.ndarray], float]
    words: list[str] | None


def prepare(folder: Path, names: list[str]) -> None:
    """Counts of the real corpora, where they are not there yet."""
    from sklearn.feature_extraction.text import CountVectorizer

    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        if name in STEMS and not (folder / f"{name}.json").exists():
            read = texts(STEMS[name], "train")
            chosen = CountVectorizer(**VECTORIZER | {"max_features": WORDS}).fit(read)
            public = list(chosen.get_feature_names_out())
            others = CountVectorizer(
                **VECTORIZER | {"max_features": None, "min_df": 1, "stop_words": _left_out(public)}
            )
            every = sp.hstack([chosen.transform(read), others.fit_transform(read)], format="csr", dtype=np.int32)
            sp.save_npz(folder / f"{name}.train.npz", sp.csr_array(every))
            test = sp.csr_array(chosen.transform(texts(STEMS[name], "test")), dtype=np.int32)
            sp.save_npz(folder / f"{name}.test.npz", test)
            (folder / f"{name}.json").write_text(json.dumps(public), encoding="utf-8")


def _left_out(words: list[str]) -> list[str]:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return [*ENGLISH_STOP_WORDS, *words]


@cache
def corpus_of(folder: Path, name: str, draw: int) -> Corpus:
    if name in STEMS:
        every = sp.csr_array(sp.load_npz(folder / f"{name}.train.npz"))
        test = sp.csr_array(sp.load_npz(folder / f"{name}.test.npz"))
        words = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        train = sp.csr_array(every[:, : len(words)])
        return Corpus(train, every, TOPICS, 1.0, lambda topics: document_completion_perplexity(topics, test), words)
    setting = (SETTINGS | AUTHORS)[name]
    task, truth = setting.drawn(draw)
    error = summed_l1 if name in AUTHORS else paper_error
    counts = sp.csr_array(task.counts)
    return Corpus(
        counts, counts, task.n_topics, task.alpha0, lambda topics: error(tiled(topics, task.n_topics), truth), None
    )


# -- methods --------------------------------------------------------------------------------------------------------

Method = Callable[[Corpus, float, int], np.ndarray]


def _ours(corpus: Corpus, epsilon: float, seed: int, **settings: Any) -> np.ndarray:
    return _fitted(PrivateSpectralLDA, corpus, seed, epsilon=epsilon, delta=DELTA, noise_seed=seed, **settings)


def _fitted(kind: Any, corpus: Corpus, seed: int, **settings: Any) -> np.ndarray:
    model = kind(corpus.n_topics, alpha0=corpus.alpha0, random_state=seed, n_jobs=1, **settings)
    topics: np.ndarray = model.fit(corpus.train).components_
    return topics


def _english(corpus: Corpus, epsilon: float, seed: int) -> np.ndarray:
    assert corpus.words is not None
    return _ours(corpus, epsilon, seed, knowledge=PublicKnowledge.english(corpus.words))


def _variational(corpus: Corpus, epsilon: float, seed: int) -> np.ndarray:
    return _fitted(PrivateVariationalLDA, corpus, seed, epsilon=epsilon, delta=DELTA, noise_seed=seed, steps=50)


def _unigram(corpus: Corpus, epsilon: float, seed: int) -> np.ndarray:
    """The whole budget on the word frequencies."""
    units = LocalCorpus.of(MatrixBlocks(corpus.train))
    run = PrivateRun(PrivacyBudget(epsilon, DELTA), noise_seed=seed)
    released = release_unigram(FitContext(run, units, SEQUENTIAL.releases, BudgetSplit(), 1), share=1.0)
    return unigram_posterior(released.value, released.sigma)[None]


def _clusters(corpus: Corpus, epsilon: float, seed: int) -> np.ndarray:
    return Clusters().fit(corpus.train, corpus.n_topics, mu_of_budget(epsilon, DELTA), seed)


def _gibbs(corpus: Corpus, epsilon: float, seed: int) -> np.ndarray:
    return PerDocument().fit(corpus.train, corpus.n_topics, corpus.alpha0, mu_of_budget(epsilon, DELTA), seed)


def _gibbs_of_words(corpus: Corpus, epsilon: float, seed: int) -> np.ndarray:
    return PerWord().fit(corpus.train, corpus.n_topics, corpus.alpha0, epsilon, seed)


def _gibbs_of_rounds(corpus: Corpus, epsilon: float, seed: int) -> np.ndarray:
    settings = PerWord.of_rounds()
    return settings.fit(corpus.train, corpus.n_topics, corpus.alpha0, settings.rounds * epsilon, seed)


def _words_and_gibbs(corpus: Corpus, epsilon: float, seed: int) -> np.ndarray:
    def fit(counts: sp.csr_array, mu: float) -> np.ndarray:
        return PerDocument().fit(counts, corpus.n_topics, corpus.alpha0, mu, seed)

    return Pipeline().topics(corpus.every, corpus.train.shape[1], fit, epsilon, DELTA, seed)


def _words_and_ours(corpus: Corpus, epsilon: float, seed: int) -> np.ndarray:
    def fit(counts: sp.csr_array, mu: float) -> np.ndarray:
        delta = (1.0 - THRESHOLD_PART) * DELTA
        settings = {"epsilon": gdp_epsilon(mu, delta), "delta": delta, "noise_seed": seed}
        return _fitted(PrivateSpectralLDA, corpus._replace(train=counts), seed, **settings)

    return Pipeline().topics(corpus.every, corpus.train.shape[1], fit, epsilon, DELTA, seed)


def _published_pipeline(corpus: Corpus, epsilon: float, seed: int) -> np.ndarray:
    return published(corpus.every, corpus.train.shape[1], corpus.n_topics, epsilon, DELTA, seed)


EQUAL: dict[str, Method] = {
    "sequential": _ours,
    "sequential, English": _english,
    "sequential, private words": _words_and_ours,
    "config 1 proved": lambda corpus, epsilon, seed: _ours(corpus, epsilon, seed, configuration=1),
    "config 2 proved": lambda corpus, epsilon, seed: _ours(corpus, epsilon, seed, configuration=2),
    "variational": _variational,
    "clusters": _clusters,
    "Gibbs": _gibbs,
    "Gibbs, private words": _words_and_gibbs,
    "unigram": _unigram,
}
"""(epsilon, 1e-6) for replaced documents, all of them."""
PUBLISHED: dict[str, Method] = {
    "Gibbs as published, epsilon of a word": _gibbs_of_words,
    "Gibbs as published, epsilon of a word in a round": _gibbs_of_rounds,
    "private words and Gibbs as published": _published_pipeline,
}
"""Rivals with the epsilon they state; it does not hold for documents."""
NOT_PRIVATE: dict[str, Method] = {
    "spectral, not private": lambda corpus, _, seed: _fitted(SpectralLDA, corpus, seed),
    "spectral, not refined, not private": lambda corpus, _, seed: _fitted(SpectralLDA, corpus, seed, refine_steps=0),
    "variational, not private": lambda corpus, _, seed: _fitted(VariationalLDA, corpus, seed),
}
METHODS = EQUAL | PUBLISHED | NOT_PRIVATE
OURS = ("sequential", "sequential, English", "sequential, private words")


def true_epsilon(method: str, epsilon: float) -> float:
    """What is proved for replaced documents, at delta 1e-6."""
    if method in EQUAL:
        return epsilon
    of_word = {
        "Gibbs as published, epsilon of a word": epsilon,
        "Gibbs as published, epsilon of a word in a round": PerWord.of_rounds().rounds * epsilon,
    }
    return MOST_TOKENS * of_word[method] if method in of_word else math.inf


def measured(cell: tuple[Path, str, str, float, int]) -> dict[str, Any]:
    """A row of the table's CSV; no score where the method refuses."""
    folder, name, method, epsilon, draw = cell
    corpus, begin = corpus_of(folder, name, draw if name in MADE_UP else 0), time.process_time()
    row = {"corpus": name, "method": method, "epsilon": epsilon, "draw": draw}
    try:
        topics = METHODS[method](corpus, epsilon, draw)
        found = {"score": f"{corpus.score(topics):.6g}", "topics": len(topics)}
    except PrivacyError:
        found = {"score": "", "topics": 0}
    return row | found | {"seconds": round(time.process_time() - begin, 1)}
