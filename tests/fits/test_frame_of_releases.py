"""The frame of a fit is that of its own released second moment: none is kept from another fit or made of exact sums.

Fit after fit, on one corpus and on another of the same size, the frame is computed anew from the released values; it
must have the spectrum of the model, and the norms that the next releases count must be the norms inside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from private_support import captured_releases
from private_topics import PrivateSpectralLDA, make_lda_corpus
from private_topics.corpus.counts.blocks import MatrixBlocks
from private_topics.engines.local import LocalCorpus
from private_topics.fits.fit import Spectrum
from private_topics.fits.sequential import SHOWN
from private_topics.inference.denoising import unigram_posterior
from private_topics.privacy.mechanisms import PrivateRun, Query, Released
from private_topics.spectral.frame import centred_rows, frame_of, leading
from private_topics.sums.unit_sums import FrameNormHistograms
from private_topics.threads import one_order

N_DOCUMENTS, N_WORDS, N_TOPICS, ALPHA0 = 2_000, 40, 3, 0.1


@contextmanager
def values_at_release() -> Iterator[dict[str, np.ndarray]]:
    """Copies of all values as they come out of `release`, whatever is done to them afterwards."""
    kept: dict[str, np.ndarray] = {}
    original = PrivateRun.release

    def release(run: PrivateRun, query: Query, aggregate: Any, share: float, *, consume: bool = False) -> Released:
        released = original(run, query, aggregate, share, consume=consume)
        kept[query.name] = released.value.copy()
        return released

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PrivateRun, "release", release)
        yield kept


def fit_and_check(corpus_seed: int, noise_seed: int) -> None:
    X = make_lda_corpus(N_DOCUMENTS, N_WORDS, N_TOPICS, alpha0=ALPHA0, random_state=corpus_seed)[0]
    model = PrivateSpectralLDA(
        N_TOPICS, epsilon=60.0, delta=1e-5, alpha0=ALPHA0, refine_steps=1, noise_seed=noise_seed, keep="untested"
    )
    with captured_releases() as seen, values_at_release() as values:
        model.fit(X)
    entering = {entered.query.name: entered for entered, _ in seen}
    sigma = {released.name: released.sigma for _, released in seen}
    unigram = unigram_posterior(values["unigram"], sigma["unigram"])
    scale = float(max(values["second clip factors"][0], sigma["second clip factors"]))
    moment, noise = values["second moment"] / scale, sigma["second moment"] / scale
    with one_order():
        frame = frame_of(moment, unigram, ALPHA0, rank=N_TOPICS + SHOWN, noise=noise)
        rows = centred_rows(leading(frame, N_TOPICS), unigram)
    assert model.spectrum_ == Spectrum.of(frame), "the spectrum is not that of the released second moment"
    corpus = LocalCorpus.of(MatrixBlocks(X))
    step = entering["frame second norms"].query.step
    (counts,) = corpus.total(FrameNormHistograms(np.arange(N_WORDS), rows, step))
    for row, order in zip(counts, ("second", "third"), strict=True):
        np.testing.assert_array_equal(entering[f"frame {order} norms"].aggregate, row, "another frame was used")


def test_every_fit_has_the_frame_of_its_own_releases():
    for corpus_seed, noise_seed in ((0, 0), (0, 0), (0, 1), (1, 0)):
        fit_and_check(corpus_seed, noise_seed)
