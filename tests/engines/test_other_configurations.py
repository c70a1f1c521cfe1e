"""Configurations 2, 3 and 4 ask only for exact sums too: every engine gives their releases and topics bit for bit."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from engine_support import counts
from test_conformance import SPARK, fit, opened

from private_topics.errors import InputError

LAST = {2: "third clip factors", 3: "eigenpairs", 4: "topics"}
CERTAIN = 3000.0  # an epsilon at which the eigenpairs of this small corpus are certified


@cache
def reference(configuration):
    return fit(counts(), None, configuration=configuration, epsilon=CERTAIN, n_jobs=1)


@pytest.mark.parametrize("configuration", [2, 3, 4])
@pytest.mark.parametrize(
    "name", ["local, 2 threads, blocks of 70", pytest.param("spark, 17 partitions", marks=SPARK), "gpu"]
)
def test_a_fit_gives_the_same_releases_and_topics(name, configuration, request):
    engine, threads, X, groups = opened(request, name, grouped=False)
    releases, model = fit(X, groups, configuration=configuration, epsilon=CERTAIN, engine=engine, n_jobs=threads)
    expected, expected_model = reference(configuration)
    assert releases[-1][0] == LAST[configuration], "the fit did not take the whole path"
    for (release, aggregate, value), (its_release, its_aggregate, its_value) in zip(releases, expected, strict=True):
        assert release == its_release
        assert np.array_equal(aggregate, its_aggregate), release
        assert np.array_equal(value, its_value), release
    assert np.array_equal(model.components_, expected_model.components_)
    assert np.array_equal(model.doc_topic_prior_, expected_model.doc_topic_prior_)
    assert model.privacy_ == expected_model.privacy_


@pytest.mark.parametrize("engine", ["spark", "gpu"])
def test_a_rounding_that_depends_on_the_blocks_stays_on_this_machine(engine):
    with pytest.raises(InputError, match="Use 'local'"):
        fit(counts(), None, configuration=1, engine=engine)
