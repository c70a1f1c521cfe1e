"""A coordinator that tells sites different things, or plays again what was said elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from engine_support import counts
from fit_support import WORDS, fit_all
from round_support import Sites, keys, kind
from site_support import Loopback, make_sites, split_rows

pytest.importorskip("cryptography")

from private_topics.engines.sites.messages import Message, unpacked
from private_topics.errors import EngineError

pytestmark = pytest.mark.filterwarnings("ignore::private_topics.errors.PrivacyWarning")
LIAR_ROUND, FOOLED = 2, "clinic-01"


class Lying(Loopback):
    """Tells one site another total than the others, in one round."""

    def __init__(self, sites):
        super().__init__(sites)
        self.round = -1

    def __call__(self, messages):
        said = unpacked(next(iter(messages.values())), "begin", "keys", "total", "stop")
        self.round = said.number("round") if said.kind == "begin" else self.round
        if said.kind == "total" and self.round == LIAR_ROUND:
            body = (said.words() + np.uint64(1)).astype("<u8").tobytes()
            messages = {**messages, FOOLED: Message("total", said.fields, body).packed()}
        return super().__call__(messages)


def test_sites_that_heard_different_totals_send_nothing_more():
    """To each other: from then on their digests differ. The smaller group is left out before anybody sends."""
    sites = make_sites(4, 3, WORDS)
    transport = Lying(sites)
    results, coordinator, problem = fit_all(4, 3, split_rows(counts(), 4), topics=1, transport=transport, sites=sites)
    assert problem is None
    assert coordinator.left == [FOOLED]
    assert isinstance(results.pop(FOOLED), EngineError)
    models = list(results.values())
    assert all(np.array_equal(model.components_, models[0].components_) for model in models)
    sent = [
        site
        for site, message, _ in transport.heard
        if unpacked(message, "begin", "keys", "total", "stop").kind == "keys"
    ]
    assert sent.count(FOOLED) == LIAR_ROUND + 1
    assert sent.count("clinic-00") == coordinator.rounds  # and nobody sent twice for it


@pytest.mark.parametrize("before", [b"another total", b"other settings", b""])
def test_a_key_of_another_fit_is_refused(before):
    """The same sites, the same round and attempt; rightly signed, by a site for which other things came before."""
    sites = Sites()
    sites.agreed["clinic-01"] = before
    other = sites.begin()["clinic-01"]
    for name in sites.known:
        sites.agreed[name] = b"settings"
        sites.machines[name] = sites.machine(name)
    announced = sites.begin()
    assert kind(sites[0].receive(keys({**announced, "clinic-01": other}))) == "refused"
    assert sites.sent["clinic-00"] == 0
    assert kind(sites[0].receive(keys(announced))) == "masked"


def test_a_key_for_other_sites_of_the_same_attempt_is_refused():
    """One site was told of three, the others of four: the coordinator cannot have them mask for different rounds."""
    sites = Sites(4, 3)
    four = sites.begin()
    sites.machines["clinic-01"] = sites.machine("clinic-01")
    begin = Message("begin", {"round": 0, "attempt": 0, "sites": sites.names(0, 1, 2)}).packed()
    three = sites[1].receive(begin)
    assert kind(sites[0].receive(keys({**four, "clinic-01": three}))) == "refused"
    assert set(sites.sent.values()) == {0}
