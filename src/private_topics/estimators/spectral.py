"""`SpectralLDA`: the estimator without privacy."""

from __future__ import annotations

from contextlib import closing
from typing import Any, ClassVar, Self

from sklearn.utils import check_random_state

from private_topics.engines.protocol import open_corpus
from private_topics.estimators.base import TopicEstimator, unchanged_on_failure
from private_topics.fits.plain import fit_unnoised
from private_topics.parameters import check_parameters, one_of
from private_topics.progress import progress_of
from private_topics.threads import limited_threads


class SpectralLDA(TopicEstimator):
    """Latent Dirichlet allocation by moments, without privacy: two passes over the corpus, no local optimum to miss.

    Parameters
    ----------
    n_components : number of topics.
    alpha0 : sum of the Dirichlet prior over topics; small means few topics per document.
    refine_steps : passes of online learning from the spectral start, by sampling the topic of each word; 0 returns
        the spectral topics.
    engine : "local", or "gpu" (extra `gpu`), whose refinement takes larger batches: topics as good, not the same.
    n_jobs : threads; None means all cores. The result does not depend on it.
    random_state : seed of the tensor method's random restarts.
    verbose : print each stage to standard error.

    Attributes
    ----------
    components_ : (n_components, n_words), rows are probabilities.
    doc_topic_prior_ : (n_components,), sums to `alpha0`.
    """

    _constraints: ClassVar = {"engine": one_of("local", "gpu")}

    def __init__(
        self,
        n_components: int = 10,
        *,
        alpha0: float = 1.0,
        refine_steps: int = 1,
        engine: str = "local",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_components = n_components
        self.alpha0 = alpha0
        self.refine_steps = refine_steps
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 (scikit-learn passes it)
        """Learn topics from counts: a matrix (documents × words), an iterable of such blocks, or a path to them."""
        check_parameters(self)
        with (
            unchanged_on_failure(self),
            limited_threads(self.n_jobs),
            closing(open_corpus(self.engine, self._corpus(X))) as corpus,
        ):
            model = fit_unnoised(
                corpus,
                int(self.n_components),
                float(self.alpha0),
                int(self.refine_steps),
                check_random_state(0 if self.random_state is None else self.random_state),
                progress_of(self.verbose, type(self).__name__),
            )
        self.components_ = model.topics
        self.doc_topic_prior_ = model.alpha
        return self
