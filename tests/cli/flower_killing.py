"""The coordinator of a Flower federation, as a ServerApp that kills processes at certain points of a fit.

`kills.json` in the folder where the SuperLink was started lists them: a kind of question, a round, whether before or
after the question is answered, and the process; 0 is the coordinator itself.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from private_topics.engines.sites import flower
from private_topics.engines.sites.messages import unpacked

KILLS = Path(os.environ["KILLS"])


class Killing(flower.FlowerAsk):
    due = None
    round = -1

    def __call__(self, messages):
        if self.due is None:
            self.due = json.loads(KILLS.read_text())
        first = unpacked(next(iter(messages.values())), "begin", "keys", "total", "stop")
        if first.kind == "begin":
            self.round = first.number("round")
        self.kill(first.kind, after=False)
        answers = super().__call__(messages)
        kinds = {unpacked(data[:-64], "key", "masked", "heard", "refused", "ended").kind for data in answers.values()}
        self.kill("ended" if "ended" in kinds else first.kind, after=True)
        return answers

    def kill(self, kind, *, after):
        for one in [one for one in self.due if (one["kind"], one["after"]) == (kind, after)]:
            if one["round"] in (self.round, None):
                self.due.remove(one)
                os.kill(one["process"] or os.getpid(), signal.SIGKILL)


flower.FlowerAsk = Killing
server = flower.server
client = flower.client
