"""What every engine inherits."""

from __future__ import annotations

import inspect

import pytest

from private_topics.engines.protocol import Corpus
from private_topics.errors import InputError


class OnlySums(Corpus):
    """An engine that does what a private fit needs, and nothing else."""

    def total(self, unit_sum):
        return ()


@pytest.mark.parametrize("method", ["frequent_words", "first_and_second", "inside", "refined"])
def test_what_an_engine_does_not_support_is_refused(method):
    """Not answered with nothing, which a fit might take for an answer."""
    asked = getattr(OnlySums(), method)
    with pytest.raises(InputError, match="OnlySums computes the sums of private fits only"):
        asked(*[None] * len(inspect.signature(asked).parameters))
