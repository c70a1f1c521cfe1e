"""Rounds without a network in which a site fails: who is left out, who sends again, when the fit stops."""

from __future__ import annotations

import numpy as np
import pytest
from round_support import Sites, edited

pytest.importorskip("cryptography")

from private_topics.engines.sites.coordinator import SiteCoordinator
from private_topics.engines.sites.messages import Message, unpacked
from private_topics.errors import EngineError


class Faulty:
    """Sites of which one misbehaves when it is asked a certain thing."""

    def __init__(self, sites, place, asked, fault):
        self.sites, self.name, self.asked, self.fault = sites, sites.names(place)[0], asked, fault

    def __call__(self, messages):
        answers = self.sites.ask(messages)
        first = unpacked(next(iter(messages.values())), "begin", "keys", "total", "stop").kind
        if self.name in answers and first == self.asked:
            answer = self.fault(answers[self.name])
            if answer is None:
                del answers[self.name]
            else:
                answers[self.name] = answer
        return answers


FAULTS = {
    "silence": lambda answer: None,
    "garbage": lambda answer: b"\x00garbage" * 20,
    "cut": lambda answer: answer[:-1],
    "one bit": lambda answer: answer[:-70] + bytes([answer[-70] ^ 1]) + answer[-69:],
    "empty": lambda answer: b"",
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("asked", "repeats"), [("begin", 1), ("keys", 2)])
def test_a_site_that_fails_is_left_out_and_the_round_repeated(asked, repeats, fault):
    sites = Sites(4, 3)
    coordinator = SiteCoordinator(sites.directory, Faulty(sites, 1, asked, FAULTS[fault]))
    assert coordinator._round(0) is None
    assert coordinator.left == ["clinic-01"]
    remaining = sites.names(0, 2, 3)
    expected = sum(sites.values[name] for name in remaining)
    for name in remaining:
        assert np.array_equal(sites.machines[name].total, expected)
        assert sites.sent[name] == repeats  # whoever had sent has to pay again
    assert sites.machines["clinic-01"].total is None


def test_a_total_that_one_site_does_not_hear_is_no_reason_to_repeat():
    sites = Sites(4, 3)
    coordinator = SiteCoordinator(sites.directory, Faulty(sites, 1, "total", FAULTS["silence"]))
    assert coordinator._round(0) is None
    assert coordinator.left == []
    assert set(sites.sent.values()) == {1}


def test_a_site_with_another_vocabulary_is_left_out_before_anybody_sends():
    sites = Sites(4, 3)
    sites.agreed["clinic-02"] = b"another vocabulary"
    coordinator = SiteCoordinator(sites.directory, sites.ask)
    assert coordinator._round(0) is None
    assert coordinator.left == ["clinic-02"]
    assert sites.sent == {"clinic-00": 1, "clinic-01": 1, "clinic-02": 0, "clinic-03": 1}


def test_with_too_few_sites_the_fit_stops_everywhere():
    sites = Sites(3, 3)
    with pytest.raises(EngineError, match="2 of 3 sites are left and 3 are needed"):
        SiteCoordinator(sites.directory, Faulty(sites, 1, "keys", FAULTS["silence"]))._round(0)
    assert sites.stopped == sites.names(0, 2)
    assert all(machine.total is None for machine in sites.machines.values())
    assert set(sites.sent.values()) == {1}


def test_a_site_of_another_round_is_left_out():
    """A site that was restarted begins at the first round again; the others are further."""
    sites = Sites(4, 3, number=5)
    sites.machines["clinic-03"] = sites.machine("clinic-03", number=0)
    coordinator = SiteCoordinator(sites.directory, sites.ask)
    assert coordinator._round(5) is None
    assert coordinator.left == ["clinic-03"]


def test_answers_for_others_and_of_strangers_count_for_nothing():
    sites = Sites(4, 3)

    def ask(messages):
        answers = sites.ask(messages)
        if "clinic-01" in answers:
            answers["clinic-01"] = answers["clinic-00"]
        return answers | {"stranger": b"", "clinic-01 ": b""}

    coordinator = SiteCoordinator(sites.directory, ask)
    assert coordinator._round(0) is None
    assert coordinator.left == ["clinic-01"]


SOUND_BUT_FOR = {
    "no key": {"key": None},
    "a short key": {"key": "00"},
    "a key of small order": {"key": bytes(32).hex()},
    "a key of another round": {"round": 7},
    "a key of another attempt": {"attempt": 7},
    "no digest": {"agreed": None},
    "another kind of digest": {"agreed": []},
}


@pytest.mark.parametrize("wrong", SOUND_BUT_FOR.values(), ids=SOUND_BUT_FOR)
def test_who_signs_a_key_that_others_refuse_is_left_out_in_their_place(wrong):
    sites = Sites(4, 3)
    fault = Faulty(sites, 1, "begin", lambda answer: edited(answer, sites.known["clinic-01"], **wrong))
    coordinator = SiteCoordinator(sites.directory, fault)
    assert coordinator._round(0) is None
    assert coordinator.left == ["clinic-01"]
    assert sites.sent == {"clinic-00": 1, "clinic-01": 0, "clinic-02": 1, "clinic-03": 1}


@pytest.mark.parametrize("context", [None, [], {}, 5, "", "zz", bytes(32).hex()])
def test_who_signs_integers_of_an_unknown_context_is_left_out(context):
    sites = Sites(4, 3)
    fault = Faulty(sites, 1, "keys", lambda answer: edited(answer, sites.known["clinic-01"], context=context))
    coordinator = SiteCoordinator(sites.directory, fault)
    assert coordinator._round(0) is None
    assert coordinator.left == ["clinic-01"]


@pytest.mark.parametrize("heard", [None, [], 5])
def test_who_signs_an_end_without_saying_what_it_heard_is_left_out(heard):
    sites = Sites(4, 3)
    said = Message("ended", {"site": "clinic-01", "heard": heard}).signed(sites.known["clinic-01"])
    coordinator = SiteCoordinator(sites.directory, Faulty(sites, 1, "begin", lambda answer: said))
    assert coordinator._round(0) is None
    assert coordinator.left == ["clinic-01"]
