"""The systems that are compared, one class each, and the process in which one of them is fitted once.

    python benchmarks/systems.py SYSTEM COUNTS.npz COMPONENTS.npy N_TOPICS THREADS [--quick]

prints one line of JSON: seconds of the fit call alone, memory before it, version. `peers.py` starts it, one
fresh process per fit, and watches its memory. What is not timed: importing, reading the counts, putting them
into the system's own format, and a small fit beforehand for the systems that start slowly: ours, whose kernels
numba compiles, and scikit-learn's batch method, which starts worker processes (`prepare`).
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

SEED = 0
WARM_UP_DOCUMENTS = 500


class Ours:
    """SpectralLDA with its default settings, or with another number of refinement steps."""

    module = "private_topics"
    starts_workers = False

    def __init__(self, refine_steps: int | None = None) -> None:
        self.settings = {} if refine_steps is None else {"refine_steps": refine_steps}

    def prepare(self, X: sp.csr_array, n_topics: int, threads: int, _quick: bool) -> None:
        from private_topics import SpectralLDA, make_lda_corpus

        self.X = X
        settings = {"n_jobs": threads, "random_state": SEED, **self.settings}
        small, _, _ = make_lda_corpus(WARM_UP_DOCUMENTS, 200, 3, random_state=SEED)
        SpectralLDA(n_components=3, **settings).fit(small)
        self.model = SpectralLDA(n_components=n_topics, **settings)

    def fit(self) -> None:
        self.model.fit(self.X)

    def components(self) -> np.ndarray:
        return self.model.components_


class ScikitLearn:
    """LatentDirichletAllocation; parallel only for `batch`: small mini-batches only lose by it."""

    module = "sklearn.decomposition"

    def __init__(self, method: str, passes: int, **settings: Any) -> None:
        self.method, self.passes, self.settings = method, passes, settings
        self.starts_workers = method == "batch"

    def prepare(self, X: sp.csr_array, n_topics: int, threads: int, quick: bool) -> None:
        from sklearn.base import clone
        from sklearn.decomposition import LatentDirichletAllocation

        self.X = sp.csr_matrix(X)
        self.model = LatentDirichletAllocation(
            n_components=n_topics,
            learning_method=self.method,
            max_iter=1 if quick else self.passes,
            n_jobs=threads if self.starts_workers else 1,
            random_state=SEED,
            **self.settings,
        )
        if self.starts_workers:  # joblib keeps its workers: starting them is not timed
            clone(self.model).set_params(max_iter=1, n_components=2).fit(self.X[:WARM_UP_DOCUMENTS])

    def fit(self) -> None:
        self.model.fit(self.X)

    def components(self) -> np.ndarray:
        return self.model.components_


class BagOfWords:
    """Documents as gensim wants them, made one at a time: keeping all as lists only costs it memory."""

    def __init__(self, X: sp.csr_array) -> None:
        self.X = X

    def __len__(self) -> int:
        return self.X.shape[0]

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        for low, high in zip(self.X.indptr[:-1], self.X.indptr[1:], strict=True):
            yield list(zip(self.X.indices[low:high].tolist(), self.X.data[low:high].tolist(), strict=True))


class Gensim:
    """LdaMulticore with its default settings."""

    module = "gensim.models"
    starts_workers = True

    def __init__(self, passes: int) -> None:
        self.passes = passes

    def prepare(self, X: sp.csr_array, n_topics: int, threads: int, quick: bool) -> None:
        from gensim.models import LdaMulticore

        self.build = LdaMulticore
        self.corpus = BagOfWords(X)
        self.settings = {
            "id2word": {word: str(word) for word in range(X.shape[1])},
            "num_topics": n_topics,
            "workers": threads,
            "passes": 1 if quick else self.passes,
            "random_state": SEED,
        }

    def fit(self) -> None:
        self.model = self.build(corpus=self.corpus, **self.settings)

    def components(self) -> np.ndarray:
        return self.model.get_topics()


class Tomotopy:
    """LDAModel (collapsed Gibbs sampling) with its default settings: it learns asymmetric document priors."""

    module = "tomotopy"
    starts_workers = False  # threads

    def __init__(self, iterations: int) -> None:
        self.iterations = iterations

    def prepare(self, X: sp.csr_array, n_topics: int, threads: int, quick: bool) -> None:
        import tomotopy

        self.n_words, self.threads = X.shape[1], threads
        if quick:
            self.iterations //= 10
        self.model = tomotopy.LDAModel(k=n_topics, seed=SEED)
        names = np.array([str(word) for word in range(X.shape[1])])
        for low, high in zip(X.indptr[:-1], X.indptr[1:], strict=True):
            if high > low:
                self.model.add_doc(np.repeat(names[X.indices[low:high]], X.data[low:high]).tolist())

    def fit(self) -> None:
        self.model.train(self.iterations, workers=self.threads)

    def components(self) -> np.ndarray:
        words = np.array([int(name) for name in self.model.used_vocabs])
        topics = np.zeros((self.model.k, self.n_words))
        for topic in range(self.model.k):
            topics[topic, words] = self.model.get_topic_word_dist(topic)
        return topics


SYSTEMS: dict[str, Any] = {
    "ours": lambda: Ours(),
    "ours refine_steps=0": lambda: Ours(0),
    "ours refine_steps=5": lambda: Ours(5),
    "scikit-learn online, 1 pass": lambda: ScikitLearn("online", 1),
    "scikit-learn online, 1 pass, batch_size=2048": lambda: ScikitLearn("online", 1, batch_size=2048),
    "scikit-learn batch, 5 iterations": lambda: ScikitLearn("batch", 5),
    "gensim LdaMulticore, 1 pass": lambda: Gensim(1),
    "gensim LdaMulticore, 5 passes": lambda: Gensim(5),
    "tomotopy, 200 iterations": lambda: Tomotopy(200),
    "tomotopy, 500 iterations": lambda: Tomotopy(500),
}
LONG = (
    "scikit-learn online, 1 pass, batch_size=2048",
    "gensim LdaMulticore, 5 passes",
    "tomotopy, 500 iterations",
)
REFERENCE = "ours"  # ratios are to this row


def resident_mb() -> float:
    """Proportional set size of this process, in MB: what `peers.py` adds up over a system's processes."""
    return proportional_mb("self")


def proportional_mb(process: str) -> float:
    """Memory of one process, a page that n processes share counted 1/n; 0 where it has ended (Linux)."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024 / 1e6
    except (OSError, StopIteration):
        return 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("counts", type=Path)
    parser.add_argument("components", type=Path)
    parser.add_argument("n_topics", type=int)
    parser.add_argument("threads", type=int)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()

    system = SYSTEMS[arguments.system]()
    importlib.import_module("sklearn.feature_extraction.text")  # what made the counts, in everybody's process
    importlib.import_module(system.module)
    package = system.module.split(".")[0]
    version = getattr(sys.modules[package], "__version__", "")
    X = sp.csr_array(sp.load_npz(arguments.counts))
    baseline = resident_mb()
    system.prepare(X, arguments.n_topics, arguments.threads, arguments.quick)
    start = time.perf_counter()
    system.fit()
    seconds = time.perf_counter() - start
    measured = {"seconds": seconds, "before_mb": baseline}
    topics = np.asarray(system.components(), dtype=np.float64)
    np.save(arguments.components, topics / topics.sum(axis=1, keepdims=True))
    print(json.dumps(measured | {"package": package, "version": version}))


if __name__ == "__main__":
    main()
