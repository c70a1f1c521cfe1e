"""The coordinator adds up what it cannot read. It asks all sites at once, and goes on with those that answer in time.

A site that does not answer, answers with garbage, or holds something else to be agreed than most others do is left
out: the round is begun anew without it, if enough sites remain, else the fit ends. Who was left out stays out.
The transport is a function: messages by site in, the answers that came in time out.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from private_topics.engines.sites.identities import KEY_BYTES, SiteDirectory
from private_topics.engines.sites.masking import RoundKey, added
from private_topics.engines.sites.messages import GarbageError, Message, verified, words_body
from private_topics.engines.sites.rounds import DIFFERS, DIGEST_BYTES, LATE, TOO_FEW
from private_topics.errors import EngineError

Ask = Callable[[Mapping[str, bytes]], Mapping[str, bytes]]
MOST_ROUNDS = 10_000


@dataclass
class SiteCoordinator:
    """Sites that take part, and how to ask them. `left` names those that were left out, in order."""

    directory: SiteDirectory
    ask: Ask
    left: list[str] = field(default_factory=list)
    rounds: int = 0
    """How many rounds were completed."""
    say: Callable[[str], None] = lambda _: None
    """Told who is left out and why, as soon as it is known."""

    _told: list[str] = field(default_factory=list)
    _asked: bool = False  # for integers: before that no site has charged anything

    @property
    def present(self) -> list[str]:
        return [name for name in self.directory.names if name not in self.left]

    def run(self) -> str:
        """Round after round, until the fits of all sites have ended: a digest of what all of them heard."""
        try:
            for number in range(MOST_ROUNDS):
                ended = self._round(number)
                if ended is not None:
                    return _the_same(ended)
                self.rounds += 1
            raise EngineError("The sites do not come to an end.")
        finally:
            self._stop([name for name in self.left if name not in self._told], LATE)  # they may be waiting still

    def tell(self, say: Callable[[str], None]) -> str:
        """`run`, and in words what becomes of the sites."""
        self.say = say
        heard = self.run()
        without = f", without {', '.join(self.left)}" if self.left else ""
        say(f"{len(self.present)} sites have finished, after {self.rounds} rounds{without}.")
        return heard

    def _round(self, number: int) -> dict[str, str] | None:
        """Attempts until one succeeds; what the sites have heard where all have ended instead."""
        for attempt in itertools.count():
            self._require_enough()
            begin = Message("begin", {"round": number, "attempt": attempt, "sites": self.present})
            answers = self._answers(begin, "key", "ended")
            ended = {name: said.text("heard") for name, (_, said) in answers.items() if said.kind == "ended"}
            if ended and len(ended) == len(self.present):
                return ended
            announced = {name: given for name, given in answers.items() if name not in ended}
            keys = _of_most(announced)
            if self._leave_out(set(keys), differing=set(announced)):
                continue
            self._asked = True
            masked = self._answers(Message("keys", {"keys": keys}), "masked")
            parts = _of_one_size({name: said for name, (_, said) in masked.items()})
            if self._leave_out(set(parts), differing=set(masked)):
                continue
            context = next(iter(masked.values()))[1].text("context")
            body = words_body(added(list(parts.values())))
            self._answers(Message("total", {"context": context}, body), "heard")
            return None
        raise AssertionError("unreachable")

    def _answers(self, message: Message, *kinds: str) -> dict[str, tuple[bytes, Message]]:
        """The valid answers of the sites that are present: rightly signed, and such that other sites take them."""
        found, present = {}, self.present
        for name, data in self.ask(dict.fromkeys(present, message.packed())).items():
            try:
                said = verified(data, self.directory, name, *kinds)
                _require_sound(message, said)
            except GarbageError:
                continue
            found[name] = data, said
        return {name: answer for name, answer in found.items() if name in present}

    def _leave_out(self, going_on: set[str], differing: set[str]) -> bool:
        """All but these; who differs from them hears of it at once."""
        names = sorted(set(self.present) - going_on)
        self.left += names
        for name in names:
            why = "it differs from most sites" if name in differing else "it was not heard in time"
            self.say(f"{name} is left out: {why}.")
        self._stop([name for name in names if name in differing], DIFFERS)
        return bool(names)

    def _stop(self, names: list[str], why: str) -> None:
        self._told += names
        if names:
            self.ask(dict.fromkeys(names, Message("stop", {"why": why}).packed()))

    def _require_enough(self) -> None:
        if len(self.present) < self.directory.fewest:
            self._stop(self.present, TOO_FEW)
            charged = "What the sites have charged stays charged." if self._asked else "Nothing was charged."
            raise EngineError(
                f"{len(self.present)} of {len(self.directory.names)} sites are left and {self.directory.fewest} are "
                f"needed: the fit has ended. {charged}"
            )


def _the_same(ended: Mapping[str, str]) -> str:
    heard = set(ended.values())
    if len(heard) != 1 or "" in heard:
        raise EngineError("The fits of some sites have failed: see there.")
    return heard.pop()


def _require_sound(asked: Message, said: Message) -> None:
    """Refuse what a site has signed and the others would refuse: they would be left out in its place."""
    if said.kind == "ended":
        said.text("heard")
    elif said.kind == "masked":
        said.octets("context", DIGEST_BYTES)
        said.words()
    elif said.kind == "key":
        said.octets("agreed", DIGEST_BYTES)
        this = asked.number("round"), asked.number("attempt")
        if (said.number("round"), said.number("attempt")) != this or not RoundKey().accepts(
            said.octets("key", KEY_BYTES)
        ):
            raise GarbageError


def _of_most(answers: Mapping[str, tuple[bytes, Message]]) -> dict[str, str]:
    """The signed keys of the largest group of sites that hold the same to be agreed."""
    agreed = {name: said.text("agreed") for name, (_, said) in answers.items()}
    if not agreed:
        return {}
    most = Counter(agreed.values()).most_common(1)[0][0]
    return {name: answers[name][0].hex() for name, digest in agreed.items() if digest == most}


def _of_one_size(masked: Mapping[str, Message]) -> dict[str, npt.NDArray[np.uint64]]:
    """The masked integers of all sites that sent as many as most did, in the context that most have."""
    said = {name: (message.text("context"), len(message.body)) for name, message in masked.items()}
    if not said:
        return {}
    usual = Counter(said.values()).most_common(1)[0][0]
    return {name: masked[name].words() for name, sent in said.items() if sent == usual}
