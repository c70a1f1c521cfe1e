"""Figure 4 and the table of top words: perplexity of held-out Wikipedia articles, and what the topics say.

The vocabulary is the 3,000 most frequent words and is treated as public. In a quick run a synthetic corpus stands in
for the articles, and the rows say so.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from private_topics.corpus.made_up.synthetic import make_lda_corpus
from private_topics.corpus.texts.readers import open_texts
from private_topics.errors import InputError
from private_topics.evaluation import document_completion_perplexity, npmi_coherence
from private_topics.paper.experiments.methods import (
    NOT_PRIVATE,
    PRIVATE,
    PROVED,
    PUBLISHED,
    SEQUENTIAL,
    Task,
    attempt,
)
from private_topics.paper.experiments.rows import Row
from private_topics.paper.experiments.running import rows_of_parts

STEM, MOST_FREQUENT, ALPHA0, DELTA = "wikipedia_en", 3_000, 1.0, 1e-6
STAND_IN = "synthetic stand-in"
COUNTING = {"stop_words": "english", "token_pattern": "[a-z]{3,}", "min_df": 5}
EPSILONS = (0.001, 0.1, 1.0, 3.0)
DRAWS = {25: 5, 100: 1, 500: 1}
"""By the number of topics: draws of the noise and of the random starts."""
TABLE_TOPICS, TABLE_EPSILON, TABLE_WORDS, TABLE_ROWS = 25, 1.0, 10, 3
TABLE_METHODS = (SEQUENTIAL, *PROVED, *PUBLISHED)


@dataclass(frozen=True)
class Articles:
    """Train and test counts over one vocabulary; `source` says where they come from."""

    source: str
    train: Any
    test: Any
    vocabulary: np.ndarray


def data_folder() -> Path:
    """Folder of the real corpora: $PRIVATE_TOPICS_DATA, or ../shared/data seen from the working directory."""
    named = os.environ.get("PRIVATE_TOPICS_DATA")
    return Path(named) if named else Path("..") / "shared" / "data"


def articles() -> Articles:
    """Wikipedia articles as counts over their most frequent words."""
    vectorizer = CountVectorizer(max_features=MOST_FREQUENT, **COUNTING)
    train = vectorizer.fit_transform(_texts("train"))
    return Articles("wikipedia", train, vectorizer.transform(_texts("test")), vectorizer.get_feature_names_out())


def stand_in(seed: int) -> Articles:
    """A small corpus drawn from LDA, for a quick run."""
    counts, _, _ = make_lda_corpus(2_200, 200, 8, alpha0=ALPHA0, random_state=seed)
    return Articles(STAND_IN, counts[:2_000], counts[2_000:], np.array([f"word{j}" for j in range(200)]))


def _texts(part: str) -> list[str]:
    path = data_folder() / f"{STEM}.{part}.jsonl.gz"
    if not path.exists():
        raise InputError(
            f"{path} is not there. Name the folder of the articles in $PRIVATE_TOPICS_DATA, or run with --quick, "
            "which uses a small synthetic corpus instead."
        )
    return [text for text, _ in open_texts(path, strict=True)]


def perplexities(
    *,
    quick: bool,
    seed: int,
    methods: Sequence[str] | None = None,
    topics: Sequence[int] | None = None,
    jobs: int = 1,
) -> list[Row]:
    """One row for every number of topics, method, epsilon and draw."""
    draws = {4: 1, 8: 1} if quick else {size: DRAWS[size] for size in topics or DRAWS}
    known = [method for method in (*NOT_PRIVATE, *PRIVATE) if methods is None or method in methods]
    parts = [
        (quick, seed, size, method, epsilon, draw)
        for size, n_draws in sorted(draws.items(), reverse=True)  # slow ones first: no process ends with one
        for method in known
        for epsilon in ((None,) if method in NOT_PRIVATE else (1.0,) if quick else EPSILONS)
        for draw in range(n_draws)
    ]
    return rows_of_parts(_rows, parts, jobs)


@cache
def _corpus(quick: bool, seed: int) -> Articles:
    return stand_in(seed) if quick else articles()


def _rows(quick: bool, seed: int, topics: int, method: str, epsilon: float | None, draw: int) -> list[Row]:
    corpus = _corpus(quick, seed if quick else 0)
    task = Task(corpus.train, topics, ALPHA0, DELTA)
    start = time.perf_counter()
    fitted = attempt(method, task, epsilon or 1.0, seed + draw)
    row: Row = {
        "corpus": corpus.source,
        "documents": corpus.train.shape[0],
        "words": corpus.train.shape[1],
        "topics": topics,
        "method": method,
        "epsilon": epsilon,
        "draw": draw,
        "status": fitted.status,
        "topics_used": None,
        "perplexity": None,
        "seconds": time.perf_counter() - start,
    }
    if fitted.topics is not None:
        row["topics_used"] = len(fitted.topics)
        row["perplexity"] = document_completion_perplexity(fitted.topics, corpus.test)
    return [row]


def top_words(*, quick: bool, seed: int) -> list[Row]:
    """Three topics of each method at epsilon = 1, drawn at random as in the paper, with their coherence."""
    corpus = _corpus(quick, seed if quick else 0)
    task = Task(corpus.train, 8 if quick else TABLE_TOPICS, ALPHA0, DELTA)
    rows = []
    for method in TABLE_METHODS:
        fitted = attempt(method, task, TABLE_EPSILON, seed)
        base = {"corpus": corpus.source, "method": method, "epsilon": TABLE_EPSILON, "status": fitted.status}
        if fitted.topics is None:
            rows.append(base | {"topic": "", "coherence": None, "top_words": ""})
            continue
        coherence = npmi_coherence(fitted.topics, corpus.test, top_n=TABLE_WORDS)
        shown = np.random.default_rng(seed).choice(
            len(fitted.topics), min(TABLE_ROWS, len(fitted.topics)), replace=False
        )
        for topic in np.sort(shown):
            words = corpus.vocabulary[np.argsort(-fitted.topics[topic], kind="stable")[:TABLE_WORDS]]
            line = {"topic": str(topic + 1), "coherence": float(coherence.mean()), "top_words": " ".join(words)}
            rows.append(base | line)
    return rows
