"""What `membership.py` attacks, and the two scores a model gives a document.

`likelihood` is the query of Manzonelli, Zhang & Vadhan ("Membership inference attacks and privacy in topic
modeling", 2024): the log-likelihood of the document under the topics with its best topic mixture. `match` is the
inner product of the document, scaled to norm one, with the model's mean topic: the optimal query against Gaussian
noise on word frequencies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit

TOPICS = 25
DELTA = 1e-6
SKLEARN_ITERATIONS = 20
SHADOWS = 64
ROUNDS = 40
SMOOTHING = 1e-3  # weight of the uniform distribution in every topic, for words without probability


@dataclass(frozen=True)
class Method:
    """`estimator(random_state)` makes an unfitted model; `epsilon` is None where there is no noise.

    `seconds` is about how long a fit and its scores take on one core: a fit that would not end in time is not begun.
    With `english` the fit has public knowledge of the words. It is the same in every shadow model: what the attack
    finds is what a model says of its own documents.
    """

    label: str
    estimator: Callable[[int], Any]
    epsilon: float | None = None
    proved: bool = True
    shadows: int = SHADOWS
    english: bool = False
    seconds: float = 3.0


def sklearn_lda(random_state: int) -> Any:
    from sklearn.decomposition import LatentDirichletAllocation

    return LatentDirichletAllocation(
        TOPICS, learning_method="batch", max_iter=SKLEARN_ITERATIONS, random_state=random_state
    )


def spectral(random_state: int) -> Any:
    from private_topics import SpectralLDA

    return SpectralLDA(TOPICS, random_state=random_state)


def private_spectral(epsilon: float, **settings: Any) -> Callable[[int], Any]:
    def estimator(random_state: int) -> Any:
        from private_topics import PrivateSpectralLDA

        return PrivateSpectralLDA(TOPICS, epsilon=epsilon, delta=DELTA, random_state=random_state, **settings)

    return estimator


def variational(epsilon: float) -> Callable[[int], Any]:
    def estimator(random_state: int) -> Any:
        from private_topics import PrivateVariationalLDA

        return PrivateVariationalLDA(TOPICS, epsilon=epsilon, delta=DELTA, random_state=random_state)

    return estimator


def _sequential(epsilons: tuple[float, ...], seconds: float) -> dict[str, Method]:
    """Without public knowledge, and at epsilon 1 with what the package knows of English words."""
    methods = {
        f"sequential-{epsilon:g}": Method(
            f"sequential, ε = {epsilon:g}",
            private_spectral(epsilon),
            epsilon,
            shadows=2 * SHADOWS if epsilon == 1.0 else SHADOWS,
            seconds=seconds,
        )
        for epsilon in epsilons
    }
    informed = Method("sequential with english, ε = 1", private_spectral(1.0), 1.0, english=True, seconds=2 * seconds)
    return methods | {"english-1": informed}


def _configurations(epsilons: tuple[float, ...]) -> dict[str, Method]:
    methods = {}
    for number in (1, 2, 3, 4):
        for epsilon in epsilons:
            proved = private_spectral(epsilon, configuration=number)
            published = private_spectral(epsilon, configuration=number, calibration="published", allow_unproved=True)
            label = f"configuration {number}"
            methods[f"proved-{number}-{epsilon:g}"] = Method(f"{label} proved, ε = {epsilon:g}", proved, epsilon)
            methods[f"published-{number}-{epsilon:g}"] = Method(
                f"{label} published, ε = {epsilon:g}",
                published,
                epsilon,
                proved=False,
                shadows=SHADOWS // 2,
                seconds=40.0 if number == 1 else 6.0,
            )
    return methods


METHODS: dict[str, dict[str, Method]] = {
    "clinical": {
        "sklearn": Method(
            f"scikit-learn LDA, {SKLEARN_ITERATIONS} iterations", sklearn_lda, seconds=2.0 * SKLEARN_ITERATIONS
        ),
        "spectral": Method("SpectralLDA", spectral),
        **_sequential((1.0, 3.0, 10.0, 100.0), 3.0),
        **{
            f"vi-{epsilon:g}": Method(f"vi, ε = {epsilon:g}", variational(epsilon), epsilon, seconds=10.0)
            for epsilon in (1.0, 10.0)
        },
        **_configurations((1.0, 10.0)),
    },
    "wikipedia": {
        "spectral": Method("SpectralLDA", spectral, seconds=10.0),
        **_sequential((1.0, 3.0, 10.0), 10.0),
    },
}
"""By corpus: the small one, which leaks, with everything; the larger one, where a private fit finds topics."""


def topics_of(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Topics whose rows sum to one, and how much of the corpus each is taken to hold."""
    components = np.asarray(model.components_, dtype=np.float64)
    mass = components.sum(axis=1)
    prior = getattr(model, "doc_topic_prior_", None)
    held = mass if prior is None or np.ndim(prior) == 0 else np.asarray(prior)
    return components / mass[:, None], held / held.sum()


def scores_of(model: Any, targets: sp.csr_array) -> dict[str, np.ndarray]:
    """Both scores of every target document."""
    topics, held = topics_of(model)
    smooth = (1.0 - SMOOTHING) * topics + SMOOTHING / topics.shape[1]
    counts = targets.data.astype(np.float64)
    likelihood = best_likelihood(targets.indptr, targets.indices, counts, np.ascontiguousarray(smooth.T), ROUNDS)
    norms = np.sqrt(np.asarray(targets.multiply(targets).sum(axis=1), dtype=np.float64)).ravel()
    return {"likelihood": likelihood, "match": (targets @ (held @ topics)) / np.maximum(norms, 1.0)}


@njit(cache=True, fastmath=True)
def best_likelihood(indptr, words, counts, word_topics, rounds):  # type: ignore[no-untyped-def]
    """`max_theta Σ_w c_w log(theta · topics[:, w])` of each document, by `rounds` steps of EM from equal weights."""
    n_documents, n_topics = len(indptr) - 1, word_topics.shape[1]
    likelihood = np.zeros(n_documents)
    theta, pull = np.empty(n_topics), np.empty(n_topics)
    for n in range(n_documents):
        theta[:] = 1.0 / n_topics
        steps = rounds if n_topics > 1 else 1
        for step in range(steps):
            pull[:] = 0.0
            length = 0.0
            for p in range(indptr[n], indptr[n + 1]):
                topic = word_topics[words[p]]
                total = 0.0
                for a in range(n_topics):
                    total += theta[a] * topic[a]
                if step == steps - 1:
                    likelihood[n] += counts[p] * np.log(total)
                length += counts[p]
                scaled = counts[p] / total
                for a in range(n_topics):
                    pull[a] += scaled * topic[a]
            if length > 0.0:
                for a in range(n_topics):
                    theta[a] *= pull[a] / length
    return likelihood
