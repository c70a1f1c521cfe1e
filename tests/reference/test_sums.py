"""Every sum over the units, integer by integer, against the reference."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from private_support import PublicInputs, corpus_of_units, entering_releases
from private_topics.fits.informed import INFORMED
from private_topics.fits.sequential import SEQUENTIAL
from reference import frame_second, refinement, third_moment
from reference.corpora import CORPORA, N_WORDS
from reference.moments import documents as documents_of
from reference.watched import EXPECTED, compare, flat, pulls_of, rational, watched_passes

WORDS = np.array([0, 1, 3, 4])
FRAME = np.array([[1.0, 0.7, -0.3], [1.0, -1.1, 0.2], [1.0, 0.1, 0.9], [1.0, 0.4, -2.3], [1.0, -0.25, 0.05]])
TOPICS = np.array([[0.4, 0.3, 0.1, 0.1, 0.06, 0.04], [0.05, 0.05, 0.2, 0.3, 0.2, 0.2]])
CLIPS = {"loose": (36, 40, 46), "tight": (20, 22, 22)}
OPEN = 0.03  # of the entries may lie so close to an integer that float64 decides


def public_inputs(clips: str) -> PublicInputs:
    second, frame_second, frame_third = CLIPS[clips]
    return PublicInputs(
        N_WORDS, WORDS, FRAME, TOPICS, second, frame_second, frame_third, weights=np.linspace(1.0, 3.0, N_WORDS)
    )


@pytest.mark.parametrize("clips", CLIPS)
@pytest.mark.parametrize("name", CORPORA)
def test_every_sum_is_that_of_the_reference(name, clips):
    units = CORPORA[name]
    with watched_passes() as passes:
        entering_releases(corpus_of_units(units, N_WORDS, block_documents=3), public_inputs(clips))
    seen, undecided = map(sum, zip(*(compare(one, units, len(units)) for one in passes), strict=True))
    assert undecided <= OPEN * seen


@pytest.mark.parametrize("clips", ["loose", "tight"])
@pytest.mark.parametrize("name", CORPORA)
def test_moments_inside_a_frame_are_those_of_pairs_and_triples(name, clips):
    """What the exact sums are put together to is `Σ s·W'phi2 W` and `Σ s·phi3(W,W,W)`, but for truncation."""
    units, frame = CORPORA[name], rational(FRAME)
    clip = Fraction(10) if clips == "loose" else Fraction(1, 20)
    for module, moment in ((frame_second, frame_second.second_moment), (third_moment, third_moment.third_moment)):
        assembled = entries(moment(units, WORDS.tolist(), frame, len(units), clip))
        meant = entries(module.unquantised(units, WORDS.tolist(), frame, clip))
        loss = module.loss(units, frame, clip)
        assert all(abs(one.low - two.low) <= loss + one.width for one, two in zip(assembled, meant, strict=True))
        largest = max(abs(entry.low) for entry in meant)
        assert loss < largest / 50, "a wrong term would not be seen"


def entries(array):
    return list(array.values()) if isinstance(array, dict) else flat(array)


@pytest.mark.parametrize("name", CORPORA)
def test_documents_are_folded_in_as_mean_field_inference_says(name):
    """To what the library's digamma is good for, 2e-6, through ten rounds."""
    units, prior = CORPORA[name], np.array([0.3, 0.7])
    found = pulls_of(units, np.ascontiguousarray(TOPICS.T), prior, None)
    for (document, _), pull in zip(documents_of(units), found, strict=True):
        meant = refinement.pull(document, TOPICS.T.tolist(), prior.tolist())
        np.testing.assert_allclose(pull, meant, rtol=2e-4, atol=1e-5 * max(meant))


def test_every_kind_of_sum_is_compared():
    sums = {release.unit_sum for fit in (SEQUENTIAL, INFORMED) for release in fit.releases}
    assert sums <= set(EXPECTED)
