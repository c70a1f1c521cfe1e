"""The corpora of the benchmarks: text or a generator in, one pair of count files out for every system."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from private_topics import make_lda_corpus
from private_topics.corpus.texts.readers import open_texts

CORPORA = {"arxiv": "arxiv_abstracts", "wikipedia": "wikipedia_en", "synthetic": None}
VECTORIZER = {"max_features": 3000, "stop_words": "english", "token_pattern": "[a-z]{3,}", "min_df": 5}
SYNTHETIC = {"n_documents": 33_000, "n_words": 3000, "alpha0": 1.0, "mean_length": 100}
SYNTHETIC_TEST = 3_000  # the last documents of the synthetic corpus


class Corpus(NamedTuple):
    """Where the counts of one corpus lie; `truth` holds the topics that generated it, if known."""

    name: str
    train: Path
    test: Path
    truth: Path | None


class MissingDataError(RuntimeError):
    """The files of a corpus are not on this machine."""


def data_folder() -> Path:
    """Folder of the real corpora: $PRIVATE_TOPICS_DATA, or shared/data beside the repository."""
    named = os.environ.get("PRIVATE_TOPICS_DATA")
    return Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"


def prepare(name: str, folder: Path, *, n_topics: int, train: int | None, test: int | None) -> Corpus:
    """Write the counts of corpus `name` under `folder`, cut to the first `train` and `test` documents."""
    truth = None
    if name == "synthetic":
        X_train, X_test, topics = _synthetic(n_topics, train, test)
        truth = folder / "synthetic.truth.npy"
        np.save(truth, topics)
    else:
        X_train, X_test = _vectorised(CORPORA[name], train, test)
    corpus = Corpus(name, folder / f"{name}.train.npz", folder / f"{name}.test.npz", truth)
    for path, counts in ((corpus.train, X_train), (corpus.test, X_test)):
        sp.save_npz(path, sp.csr_array(counts, dtype=np.int32), compressed=False)
    return corpus


def real_counts(name: str, n_words: int) -> tuple[Any, Any]:
    """Train and test counts of a real corpus on its `n_words` most frequent words."""
    return _vectorised(CORPORA[name], None, None, n_words)


def _vectorised(stem: str, train: int | None, test: int | None, n_words: int = 3000) -> tuple[Any, Any]:
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(**VECTORIZER | {"max_features": n_words})
    X_train = vectorizer.fit_transform(texts(stem, "train", train))
    return X_train, vectorizer.transform(texts(stem, "test", test))


def texts(stem: str, part: str, limit: int | None = None) -> list[str]:
    """The texts of one file of the data folder."""
    path = data_folder() / f"{stem}.{part}.jsonl.gz"
    if not path.exists():
        raise MissingDataError(
            f"{path} is not there. Put the corpora into {data_folder()}, or name their folder in "
            "$PRIVATE_TOPICS_DATA."
        )
    return [text for text, _ in islice(open_texts(path), limit)]


def _synthetic(n_topics: int, train: int | None, test: int | None) -> tuple[Any, Any, np.ndarray]:
    n_test = test or SYNTHETIC_TEST
    n_train = train or SYNTHETIC["n_documents"] - SYNTHETIC_TEST
    settings = SYNTHETIC | {"n_documents": n_train + n_test}
    X, topics, _ = make_lda_corpus(n_topics=n_topics, random_state=0, **settings)
    return X[:n_train], X[n_train:], topics
