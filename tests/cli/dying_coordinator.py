"""A coordinator of three sites that is killed in a fit: `dying_coordinator.py FOLDER WHEN`.

WHEN is "all have sent" (integers with noise, for the first time), "one has heard" (the last sums: the others have
not) or "all have ended" (and have said so).
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

from hang_support import FOREVER
from private_topics.engines.sites import transport
from private_topics.engines.sites.coordinator import SiteCoordinator
from private_topics.engines.sites.identities import SiteDirectory
from private_topics.engines.sites.messages import unpacked
from private_topics.engines.sites.transport import SiteListener

transport.HELLO_SECONDS = FOREVER
LAST_ROUND = 7
"""Of a fit of one topic: six releases after the number of units."""


def main(folder: Path, when: str) -> None:
    directory = SiteDirectory.read(folder / "sites.json")
    certificate, key = (folder / "root.pem").read_bytes(), (folder / "root.key").read_bytes()
    with SiteListener(directory, "127.0.0.1:0", certificate, key, patience=FOREVER) as listener:
        rounds = []

        def ask(messages):
            first = unpacked(next(iter(messages.values())), "begin", "keys", "total", "stop")
            if first.kind == "begin":
                rounds.append(first.number("round"))
            last = first.kind == "total" and rounds[-1] == LAST_ROUND and when == "one has heard"
            answers = listener.ask(dict(list(messages.items())[:1]) if last else messages)
            kinds = [
                unpacked(data[:-64], "key", "masked", "heard", "refused", "ended").kind for data in answers.values()
            ]
            sent = when == "all have sent" and "masked" in kinds and rounds[-1] == 1
            if last or sent or "ended" in kinds:
                os.kill(os.getpid(), signal.SIGKILL)
            return answers

        print(listener.port, flush=True)
        listener.wait(FOREVER)
        SiteCoordinator(directory, ask).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
