"""What `flower.py` has Flower carry: empty questions, or the rounds of a fit, and how long they take."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from flower_adapter import GridAsk, content_of, data_of
from flwr.app import Context, Message
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from private_topics import SiteCoordinator, SiteDirectory

client = ClientApp()
server = ServerApp()


@client.query()
def answer(message: Message, context: Context) -> Message:
    """Runs at a SuperNode, beside the letters, in a process for each question; whoever started the run sent it."""
    if not data_of(message):
        return Message(content_of(Path.cwd().name.encode()), reply_to=message)
    said = {"process": os.getpid(), "code": __file__, "read": Path("letters.txt").read_text()}
    return Message(content_of(json.dumps(said).encode()), reply_to=message)


@server.main()
def main(grid: Grid, context: Context) -> None:
    asked = context.run_config
    began = time.perf_counter()
    ask = GridAsk(grid, asked["nodes"], asked["every"])
    found = {"errors": ask.errors, "named": time.perf_counter() - began}
    if asked["directory"]:
        began = time.perf_counter()
        coordinator = SiteCoordinator(SiteDirectory.read(asked["directory"]), ask)
        coordinator.run()
        found |= {"fit": time.perf_counter() - began, "rounds": coordinator.rounds}
    else:
        seconds, answers = [], []
        for _ in range(asked["questions"]):
            began = time.perf_counter()
            answers += ask(dict.fromkeys(ask.nodes, b"question")).values()
            seconds.append(time.perf_counter() - began)
        found |= {"seconds": seconds, "answers": [one.decode() for one in answers]}
    partial = Path(asked["out"] + ".part")
    partial.write_text(json.dumps(found))
    partial.rename(asked["out"])
