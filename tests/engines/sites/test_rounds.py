"""Rounds without a network: what a site answers and refuses, and when it sends."""

from __future__ import annotations

import json

import numpy as np
import pytest
from round_support import SIZE, Sites, edited, keys, kind

pytest.importorskip("cryptography")

from test_masking import looks_uniform

from private_topics.engines.sites.coordinator import SiteCoordinator
from private_topics.engines.sites.identities import SiteIdentity
from private_topics.engines.sites.masking import RoundKey, added, masked, stream
from private_topics.engines.sites.messages import Message, unpacked, words_body
from private_topics.errors import EngineError

# -- a round that succeeds -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 3, 20])
def test_a_round_gives_everybody_the_sum(count):
    sites = Sites(count, count)
    coordinator = SiteCoordinator(sites.directory, sites.ask)
    assert coordinator._round(0) is None
    expected = sum(sites.values.values())
    assert all(np.array_equal(machine.total, expected) for machine in sites.machines.values())
    assert set(sites.sent.values()) == {1}
    assert sites.counts == [count] * count
    assert len({machine.context for machine in sites.machines.values()}) == 1


# -- what a site refuses -------------------------------------------------------------------------------------------


def test_a_key_that_its_site_has_not_signed_is_refused():
    """The coordinator puts a key of its own in place of a site's, with which it could take the masks off."""
    sites = Sites()
    announced = sites.begin()
    name, mine = "clinic-01", RoundKey()
    for forged in (
        edited(announced[name], SiteIdentity.new(name), key=mine.public.hex()),
        edited(announced[name], sites.known["clinic-02"], key=mine.public.hex()),
        edited(announced[name], SiteIdentity.new(name), key=mine.public.hex())[:-64] + announced[name][-64:],
    ):
        assert kind(sites[0].receive(keys({**announced, name: forged}))) == "refused"
    assert sites.sent["clinic-00"] == 0
    assert kind(sites[0].receive(keys(announced))) == "masked"  # what was refused has changed nothing


def test_another_digest_is_refused_by_the_others_and_nobody_sends():
    sites = Sites()
    sites.agreed["clinic-01"] = b"another vocabulary"
    message = keys(sites.begin())
    assert [kind(machine.receive(message)) for machine in sites.machines.values()] == ["refused"] * 3
    assert set(sites.sent.values()) == {0}


@pytest.mark.parametrize("change", [{"attempt": 1}, {"round": 1}])
def test_keys_of_another_attempt_or_round_are_refused(change):
    sites = Sites()
    announced = sites.begin()
    other = edited(announced["clinic-01"], sites.known["clinic-01"], **change)
    assert kind(sites[0].receive(keys({**announced, "clinic-01": other}))) == "refused"
    assert sites.sent["clinic-00"] == 0


def test_keys_of_other_sites_than_announced_are_refused():
    sites = Sites(4, 3)
    announced = sites.begin()
    del announced["clinic-03"]
    assert kind(sites[0].receive(keys(announced))) == "refused"
    assert sites.sent["clinic-00"] == 0


def test_the_own_key_must_be_among_them_as_it_was_sent():
    sites = Sites()
    announced = sites.begin()
    own = edited(announced["clinic-00"], sites.known["clinic-00"], key=RoundKey().public.hex())
    assert kind(sites[0].receive(keys({**announced, "clinic-00": own}))) == "refused"
    assert sites.sent["clinic-00"] == 0


@pytest.mark.parametrize(
    "fields",
    [
        {"round": 1, "attempt": 0, "sites": ["clinic-00", "clinic-01", "clinic-02"]},
        {"round": 0, "attempt": -1, "sites": ["clinic-00", "clinic-01", "clinic-02"]},
        {"round": 0, "attempt": 0, "sites": ["clinic-00", "clinic-01"]},
        {"round": 0, "attempt": 0, "sites": ["clinic-01", "clinic-02", "clinic-03"]},
        {"round": 0, "attempt": 0, "sites": ["clinic-00", "clinic-01", "stranger"]},
        {"round": 0, "attempt": 0, "sites": ["clinic-00", "clinic-00", "clinic-01"]},
        {"round": 0, "attempt": "0", "sites": ["clinic-00", "clinic-01", "clinic-02"]},
        {"round": 0, "attempt": 0, "sites": [0, 1, 2]},
        {"round": 0, "attempt": True, "sites": ["clinic-00", "clinic-01", "clinic-02"]},
        {},
    ],
)
def test_beginnings_that_are_wrong_are_refused(fields):
    sites = Sites(4, 3)
    assert kind(sites[0].receive(Message("begin", fields).packed())) == "refused"


def test_integers_are_sent_once_in_an_attempt_whatever_comes():
    sites = Sites()
    announced = sites.begin()
    message = keys(announced)
    first = sites[0].receive(message)
    assert kind(first) == "masked"
    assert sites[0].receive(message) == first  # twice the same: the same answer, no new noise
    spaced = b"".join([(len(message) - 4 + 1).to_bytes(4, "big"), message[4:], b" "])
    assert kind(sites[0].receive(spaced)) == "refused"
    assert sites[0].receive(message) == first
    again = Message("begin", {"round": 0, "attempt": 0, "sites": sites.names(0, 1, 2)}).packed()
    assert kind(sites[0].receive(again)) == "refused"
    assert sites.sent["clinic-00"] == 1


def test_a_message_is_the_same_whatever_the_order_of_its_fields():
    """A site knows a message that comes twice by its bytes, and answers it as it did before."""
    sites = Sites()
    fields = {"round": 0, "attempt": 0, "sites": sites.names(0, 1, 2)}
    first = sites[0].receive(Message("begin", fields).packed())
    assert kind(first) == "key"
    assert sites[0].receive(Message("begin", dict(reversed(fields.items()))).packed()) == first


def test_a_total_of_another_attempt_is_refused():
    sites = Sites(4, 3)
    sites.ask(dict.fromkeys(sites.known, keys(sites.begin())))
    context = sites[0].context
    sites.begin(attempt=1, places=[0, 1, 2])
    total = Message("total", {"context": context.hex()}, words_body(np.arange(SIZE))).packed()
    assert kind(sites[0].receive(total)) == "refused"
    assert sites[0].total is None


def test_a_total_for_others_is_refused():
    """One that names another digest than this site has agreed to with the others, and one before there is any."""
    sites = Sites()
    announced = sites.begin()
    other = Message("total", {"context": bytes(32).hex()}, words_body(np.arange(SIZE))).packed()
    assert kind(sites[0].receive(other)) == "refused"
    sites.ask(dict.fromkeys(sites.known, keys(announced)))
    assert sites[0].context != bytes(32)
    assert kind(sites[0].receive(other)) == "refused"
    assert sites[0].total is None


@pytest.mark.parametrize("body", [b"", bytes(8 * SIZE - 8), bytes(8 * SIZE + 1)])
def test_a_total_of_another_size_is_refused(body):
    sites = Sites()
    sites.ask(dict.fromkeys(sites.known, keys(sites.begin())))
    total = Message("total", {"context": sites[0].context.hex()}, body).packed()
    assert kind(sites[0].receive(total)) == "refused"


@pytest.mark.parametrize("entry", [2**63 - 1, 2**62 + 1, -(2**62) - 1, -(2**63)])
def test_a_total_that_cannot_be_one_ends_the_fit(entry):
    """Beyond 2^62 either way, in one of its entries."""
    sites = Sites()
    sites.ask(dict.fromkeys(sites.known, keys(sites.begin())))
    total = np.array([0, 2**62, entry, -(2**62)])
    with pytest.raises(EngineError, match="not one"):
        sites[0].receive(Message("total", {"context": sites[0].context.hex()}, words_body(total)).packed())
    total[2] = 0
    taken = Message("total", {"context": sites[1].context.hex()}, words_body(total)).packed()
    assert kind(sites[1].receive(taken)) == "heard"
    assert np.array_equal(sites[1].total, total)


def test_garbage_is_refused_and_changes_nothing():
    sites = Sites()
    announced = sites.begin()
    generator = np.random.default_rng(0)
    for length in (0, 3, 4, 20, 500):
        assert kind(sites[0].receive(generator.bytes(length))) == "refused"
    for keys_given in ({}, [], None, dict.fromkeys(announced, "zz"), dict.fromkeys(announced, 5)):
        assert kind(sites[0].receive(Message("keys", {"keys": keys_given}).packed())) == "refused"
    assert kind(sites[0].receive(keys(announced))) == "masked"


@pytest.mark.parametrize("seed", range(4))
def test_damaged_messages_are_refused_and_nothing_is_sent_twice(seed):
    """Bytes changed, cut, doubled and moved, at every stage of a round; the round can be finished all the same."""
    generator = np.random.default_rng(seed)
    sites = Sites()
    begin = Message("begin", {"round": 0, "attempt": 0, "sites": sites.names(0, 1, 2)}).packed()

    def damaged(data):
        place, other = sorted(generator.integers(0, len(data), 2))
        kinds = (
            data[:place] + bytes([int(generator.integers(256))]) + data[place + 1 :],
            data[:place],
            data[:other] + data[place:],
            data[:place] + data[other:],
            data + generator.bytes(8),
        )
        return kinds[generator.integers(len(kinds))]

    def attacked(data):
        for _ in range(150):
            wrong = damaged(data)
            if wrong != data:
                assert kind(sites[0].receive(wrong)) in ("refused", "key", "masked", "heard")

    announced = {name: machine.receive(begin) for name, machine in sites.machines.items()}
    message = keys(announced)
    attacked(message)
    assert sites.sent["clinic-00"] <= 1
    parts = [sites.machines[name].receive(message) for name in sites.names(1, 2)]
    assert all(kind(part) == "masked" for part in parts)
    attacked(begin)
    attacked(Message("total", {"context": sites[1].context.hex()}, bytes(8 * SIZE)).packed())
    assert sites.sent["clinic-00"] <= 1


# -- a coordinator that tells sites different things ----------------------------------------------------------------


def test_sites_that_were_told_of_different_rounds_add_up_to_nothing():
    """clinic-03 believes in a round of four, the others in one of three: no sum of what they send is bare."""
    sites = Sites(4, 3, size=40_000)
    four = sites.begin()
    sites[3].receive(keys(four))
    three = sites.begin(attempt=1, places=[0, 1, 2])
    parts = [sites[place].receive(keys(three)) for place in range(3)]
    parts = [unpacked(part[:-64], "masked").words() for part in parts]
    late = unpacked(sites[3].receive(keys(four))[:-64], "masked").words()
    assert looks_uniform(added([*parts, late]).view(np.uint64))
    assert not looks_uniform(added(parts).view(np.uint64))


def test_an_old_key_played_again_hides_everything():
    """A key of an earlier session, rightly signed: its owner has forgotten it, so that its masks never come off."""
    sites = Sites(3, 3, size=40_000)
    old = sites.begin()["clinic-02"]
    for name in sites.known:  # a new session
        sites.machines[name] = sites.machine(name, size=40_000)
    announced = {**sites.begin(), "clinic-02": old}
    parts = [unpacked(sites[place].receive(keys(announced))[:-64], "masked").words() for place in (0, 1)]
    assert looks_uniform(added(parts).view(np.uint64))
    assert kind(sites[2].receive(keys(announced))) == "refused"


def test_colluding_sites_see_the_sum_of_the_honest_and_nothing_less():
    """SiteCoordinator and two of five sites take off every mask that they know."""
    sites = Sites(5, 3, size=40_000)
    announced = sites.begin()
    known = {name: sites.machines[name]._key for name in sites.names(3, 4)}
    answers = sites.ask(dict.fromkeys(sites.known, keys(announced)))
    public = {name: bytes.fromhex(unpacked(data[:-64], "key").text("key")) for name, data in announced.items()}
    bare = {}
    for name in sites.names(0, 1, 2):
        words = unpacked(answers[name][:-64], "masked").words()
        for other, key in known.items():  # their names come after those of the honest, so these masks were added
            words = words - stream(key.secret(public[name]), sites[0].context, (name, other), words.size)
        bare[name] = words
    assert all(looks_uniform(words) for words in bare.values())
    assert all(looks_uniform(bare[a] + bare[b]) for a, b in [sites.names(0, 1), sites.names(0, 2), sites.names(1, 2)])
    honest = sum(sites.values[name] for name in bare)
    assert np.array_equal(added(list(bare.values())), honest)


def test_no_message_says_more_than_keys_digests_and_masked_words():
    sites = Sites(3, 3)
    heard = []

    def ask(messages):
        answers = sites.ask(messages)
        heard.extend(answers.values())
        return answers

    SiteCoordinator(sites.directory, ask)._round(0)
    fields = [json.loads(data[4 : 4 + int.from_bytes(data[:4], "big")]) for data in heard]
    always = {"site", "round", "attempt"}
    allowed = {"key": {"key", "agreed"}, "masked": {"context"}, "heard": set()}
    assert all(set(given) == always | allowed[said] for said, given in fields)


def test_masked_values_of_any_layout_are_those_of_the_site():
    """A transposed or strided array is sent in the order of its entries."""
    key, other = RoundKey(), RoundKey()
    public = {"a": key.public, "b": other.public}
    square = np.arange(9).reshape(3, 3)
    first = masked(square.T, "a", key, public, b"c" * 32)
    second = masked(np.zeros(9, np.int64), "b", other, public, b"c" * 32)
    assert np.array_equal(added([first, second]), square.T.reshape(-1))
