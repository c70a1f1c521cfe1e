"""Sites that show keys which are not theirs, or none: what others send is masked all the same, or not sent at all."""

from __future__ import annotations

import numpy as np
import pytest
from round_support import Sites, edited, keys, kind

pytest.importorskip("cryptography")

from test_masking import looks_uniform

from private_topics.engines.sites.messages import unpacked

SIZE = 40_000
LARGE = 2**255 - 19
LOW_ORDER = [0, 1, LARGE - 1, LARGE, LARGE + 1]


def public_key(announced):
    return unpacked(announced[:-64], "key").text("key")


@pytest.mark.parametrize(
    ("copied", "honest", "copying"),
    [
        ("clinic-01", "clinic-00", "clinic-02"),
        ("clinic-00", "clinic-01", "clinic-02"),
        ("clinic-02", "clinic-01", "clinic-00"),
    ],
)
def test_a_site_that_shows_the_key_of_another_takes_no_mask_off(copied, honest, copying):
    """The honest one has one secret with both: were the masks one, they would cancel, or be twice an even number."""
    sites = Sites(3, 2, size=SIZE)
    sites.values[honest] = np.full(SIZE, 7)
    announced = sites.begin()
    announced[copying] = edited(announced[copying], sites.known[copying], key=public_key(announced[copied]))
    answer = sites.machines[honest].receive(keys(announced))
    assert kind(answer) == "masked"
    assert looks_uniform(unpacked(answer[:-64], "masked").words())


def test_a_site_that_shows_the_own_key_of_the_asked_takes_no_mask_off():
    sites = Sites(3, 2, size=SIZE)
    announced = sites.begin()
    own = public_key(announced["clinic-00"])
    for name in ("clinic-01", "clinic-02"):
        announced[name] = edited(announced[name], sites.known[name], key=own)
    answer = sites[0].receive(keys(announced))
    assert looks_uniform(unpacked(answer[:-64], "masked").words())


@pytest.mark.parametrize("point", LOW_ORDER)
def test_a_key_with_which_everybody_has_the_same_secret_is_refused_before_anything_is_charged(point):
    sites = Sites(4, 3)
    announced = sites.begin()
    forged = point.to_bytes(32, "little").hex()
    announced["clinic-01"] = edited(announced["clinic-01"], sites.known["clinic-01"], key=forged)
    assert kind(sites[0].receive(keys(announced))) == "refused"
    assert np.sum(list(sites.sent.values())) == 0
