"""Rounds without a network: the machines of several sites, and their messages."""

from __future__ import annotations

import numpy as np
from site_support import directory_of, identities

from private_topics.engines.sites.messages import Message, unpacked
from private_topics.engines.sites.rounds import SiteRound
from private_topics.errors import EngineError

SIZE = 4


class Sites:
    """Machines of one round for several sites, their values, and how often each was asked for them."""

    def __init__(self, count=3, honest=3, number=0, agreed=b"settings", size=SIZE):
        self.known = identities(count)
        self.directory = directory_of(self.known, honest)
        self.values = {name: np.arange(size) + 100 * (place + 1) for place, name in enumerate(self.known)}
        self.sent = dict.fromkeys(self.known, 0)
        self.counts: list[int] = []
        self.stopped: list[str] = []
        self.agreed = dict.fromkeys(self.known, agreed)
        self.machines = {name: self.machine(name, number, size) for name in self.known}

    def machine(self, name, number=0, size=SIZE):
        def own(taking_part):
            self.sent[name] += 1
            self.counts.append(taking_part)
            return self.values[name]

        return SiteRound(self.known[name], self.directory, number, size, lambda: self.agreed[name], own)

    def __getitem__(self, place):
        return self.machines[list(self.known)[place]]

    def names(self, *places):
        return [list(self.known)[place] for place in places]

    def ask(self, messages):
        answers = {}
        for name, data in messages.items():
            try:
                answers[name] = self.machines[name].receive(data)
            except EngineError:
                self.stopped.append(name)
        return answers

    def begin(self, attempt=0, places=None, number=0):
        names = self.names(*(range(len(self.known)) if places is None else places))
        message = Message("begin", {"round": number, "attempt": attempt, "sites": names}).packed()
        return {name: self.machines[name].receive(message) for name in names}


def kind(answer):
    return unpacked(answer[:-64], "key", "masked", "heard", "refused", "ended").kind


def keys(announced):
    return Message("keys", {"keys": {name: data.hex() for name, data in announced.items()}}).packed()


def edited(data, identity, **fields):
    """A signed message with other fields, signed by `identity`."""
    message = unpacked(data[:-64], "key", "masked")
    return Message(message.kind, {**message.fields, **fields}, message.body).signed(identity)
