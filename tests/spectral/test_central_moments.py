"""Fed the exact population moments of `centred_rows`, the private fit's way to topics is exact."""

import numpy as np
import pytest
from spectral_support import INSIDE, SHARES, Truth

from private_topics.spectral.frame import CentralMoments, directions_of, topics_on_words

N_DOCUMENTS = 1000.0


@pytest.mark.parametrize("off", [0.0, 0.2], ids=["the mean as centre", "another centre"])
@pytest.mark.parametrize("shares", SHARES.values(), ids=SHARES)
@pytest.mark.parametrize("alpha0", [0.1, 1.0, 1000.0])
def test_topics_come_back_from_population_moments(alpha0, shares, off):
    truth = Truth(alpha0, shares, off)
    frame, centre = truth.frame, truth.centre
    second, third = truth.sums(centre)
    assert second.shape == (len(shares) + 1, len(shares) + 1)
    assert second[0, 0] == pytest.approx(1.0)  # the constant counts the documents
    moments = CentralMoments.of(N_DOCUMENTS * second, N_DOCUMENTS * third, 1e-12, 1e-12)
    found = directions_of(moments, alpha0, len(shares), np.random.RandomState(0))
    recovered = topics_on_words(frame, moments, found, centre)
    order = np.abs(recovered[:, None] - truth.inside).max(axis=2).argmin(axis=1)
    assert sorted(order) == list(range(len(shares)))
    gap = centre - truth.mean  # drops out, but for what the frame does not see
    outside = gap - frame.whitening.unwhiten(frame.matrix.T @ gap)
    np.testing.assert_allclose(recovered, truth.inside[order] + outside, atol=1e-6)
    np.testing.assert_allclose(found.shares, shares[order], atol=1e-6)


def test_central_moments_do_not_depend_on_the_centre():
    truth = Truth(1.0, SHARES["uneven"])
    found = []
    for centre in (truth.mean, 3.0 * truth.mean, np.zeros(INSIDE)):
        moments = CentralMoments.of(*truth.sums(centre), 0.0, 0.0)
        found.append((moments.second, moments.third, moments.mean + truth.frame.matrix.T @ centre))
    for one in found[1:]:
        for value, expected in zip(one, found[0], strict=True):
            np.testing.assert_allclose(value, expected, atol=1e-10 * np.abs(expected).max())
