"""Does the private fit end at the truth? Errors over epsilon, documents and lengths, on corpora nobody tunes for.

    python benchmarks/consistency.py dense      d = 10, k = 3, topics Dirichlet(1), 100 words a document
    python benchmarks/consistency.py lengths    100 to 10^6 words a document; N = 20,000, d = 300, k = 5
    python benchmarks/consistency.py alike      alpha0 = 1000, 500 to 10,000 words a document, d = 50, k = 3

Public estimator, default settings, everything charged. Beside it the spectral fit without privacy (`refine_steps=0`).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from private_topics import PrivateSpectralLDA, SpectralLDA, topic_error_l1, topic_error_l2
from stored import about, options_of

SEEDS = 3


def corpus(n: int, d: int, k: int, alpha0: float, lengths: Any, concentration: float, seed: int) -> tuple[Any, Any]:
    """Documents drawn by multinomials; `lengths` is a number, or the ends of a range."""
    generator = np.random.default_rng(seed)
    topics = generator.dirichlet(np.full(d, concentration), k)
    words = generator.dirichlet(np.full(k, alpha0 / k), n) @ topics
    drawn = generator.integers(lengths[0], lengths[1] + 1, n) if isinstance(lengths, tuple) else lengths
    return sp.csr_array(
        generator.multinomial(drawn, words / words.sum(axis=1, keepdims=True)).astype(np.int32)
    ), topics


def private(X: Any, k: int, seed: int, **settings: Any) -> np.ndarray:
    with warnings.catch_warnings(action="ignore"):
        return np.asarray(PrivateSpectralLDA(k, noise_seed=seed, **settings).fit(X).components_)


def plain(X: Any, k: int, alpha0: float) -> np.ndarray:
    return np.asarray(SpectralLDA(k, alpha0=alpha0, refine_steps=0).fit(X).components_)


def dense() -> None:
    print("| documents | epsilon | relative L2 error, each seed | without privacy |\n|---|---|---|---|")
    for n in (10_000, 100_000, 1_000_000):
        made = [corpus(n, 10, 3, 1.0, 100, 1.0, seed) for seed in range(SEEDS)]
        spectral = [topic_error_l2(plain(X, 3, 1.0), topics) for X, topics in made]
        for epsilon in (1.0, 10.0, 100.0):
            fits = [private(X, 3, seed, epsilon=epsilon, delta=1e-7) for seed, (X, _) in enumerate(made)]
            errors = [topic_error_l2(fit, topics) for fit, (_, topics) in zip(fits, made, strict=True)]
            print(f"| {n:,} | {epsilon:g} | {_told(errors)} | {_told(spectral)} |", flush=True)


def lengths() -> None:
    print("| words a document | topics | relative L2 error, each seed | without privacy |\n|---|---|---|---|")
    for length in (100, 1_000, 10_000, 100_000, 1_000_000):
        made = [corpus(20_000, 300, 5, 0.1, length, 0.1, seed) for seed in range(SEEDS)]
        fits = [private(X, 5, seed, epsilon=3.0, delta=1e-6, alpha0=0.1) for seed, (X, _) in enumerate(made)]
        errors = [topic_error_l2(fit, topics) for fit, (_, topics) in zip(fits, made, strict=True)]
        spectral = [topic_error_l2(plain(X, 5, 0.1), topics) for X, topics in made]
        found = sorted({len(fit) for fit in fits})
        print(f"| {length:,} | {found} | {_told(errors)} | {_told(spectral)} |", flush=True)


def alike() -> None:
    """Summed L1 distances of matched topics, as the paper's figures have them."""
    print(
        "| epsilon | summed L1 error, each draw | mean | word frequencies | without privacy |\n|---|---|---|---|---|"
    )
    made = [corpus(100_000, 50, 3, 1000.0, (500, 10_000), 0.1, seed) for seed in range(SEEDS)]
    spectral = [3.0 * topic_error_l1(plain(X, 3, 1000.0), topics) for X, topics in made]
    frequencies = [3.0 * topic_error_l1(np.tile(X.sum(axis=0) / X.sum(), (3, 1)), topics) for X, topics in made]
    for epsilon in (1.0, 3.0, 10.0, 100.0):
        errors = [
            3.0 * topic_error_l1(private(X, 3, 10 * draw + seed, epsilon=epsilon, delta=1e-7, alpha0=1000.0), topics)
            for seed, (X, topics) in enumerate(made)
            for draw in range(4)
        ]
        each = ", ".join(f"{error:.2f}" for error in errors)
        means = " | ".join(f"{np.mean(values):.2f}" for values in (errors, frequencies, spectral))
        print(f"| {epsilon:g} | {each} | {means} |", flush=True)


def _told(errors: list[float]) -> str:
    return ", ".join(f"{error:.4f}" for error in errors)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("what", choices=("dense", "lengths", "alike"))
    what = parser.parse_args().what
    print(f"{about()}\n")
    {"dense": dense, "lengths": lengths, "alike": alike}[what]()


if __name__ == "__main__":
    main()
