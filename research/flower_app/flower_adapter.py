"""The least that carries rounds over Flower: what `SiteListener.ask` and `SiteCall` do, for `flower.py` to measure.

A site speaks to the SuperLink itself, in one lasting process: a SuperNode would run code that it is sent, a process
for each question. So this takes modules of Flower that no page of its documentation names, and looks for messages
more often than a SuperNode, which sleeps for three seconds. Not here: starting a SuperLink, a second key for every
site and its registration.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.serialization import load_ssh_private_key
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree
from flwr.supercore.inflatable.inflatable_utils import inflate_object_from_contents, pull_objects
from flwr.supernode.fleet_http_connection import http_request_response

EVERY = 0.6
FIELD = "data"


def content_of(data: bytes) -> RecordDict:
    return RecordDict({FIELD: ConfigRecord({FIELD: data})})


def data_of(message: Message) -> bytes:
    return message.content[FIELD][FIELD]


class GridAsk:
    """The coordinator's side, inside a ServerApp. A site is asked for its name first, since Flower numbers nodes."""

    def __init__(self, grid: Any, count: int, every: float = EVERY, patience: float = 600.0) -> None:
        self.grid, self.every, self.patience = grid, every, patience
        self.errors: list[str] = []
        while len(nodes := list(grid.get_node_ids())) < count:
            time.sleep(every)
        self.nodes = {answer.decode(): node for node, answer in self._asked(dict.fromkeys(nodes, b"")).items()}

    def __call__(self, messages: Mapping[str, bytes]) -> dict[str, bytes]:
        answers = self._asked({self.nodes[name]: data for name, data in messages.items() if name in self.nodes})
        return {name: answers[node] for name, node in self.nodes.items() if node in answers}

    def _asked(self, messages: Mapping[int, bytes]) -> dict[int, bytes]:
        end, answers = time.monotonic() + self.patience, {}
        questions = [Message(content_of(data), node, "query") for node, data in messages.items()]
        waiting = set(self.grid.push_messages(questions))
        while waiting and time.monotonic() < end:
            for reply in self.grid.pull_messages(waiting):
                waiting.discard(reply.metadata.reply_to_message_id)
                if reply.has_error():
                    self.errors.append(reply.error.reason)
                else:
                    answers[reply.metadata.src_node_id] = data_of(reply)
            if waiting:
                time.sleep(self.every)
        return answers


def serve(answer: Callable[[bytes], bytes], name: str, address: str, root: str, key: str) -> None:
    """A site's side: answers for ever."""
    private = load_ssh_private_key(Path(key).read_bytes(), None)
    with http_request_response(address, False, root, (private, private.public_key())) as line:
        _, receive, send, _, _, pull_object, push_object, confirm = line
        while True:
            found = receive()
            if found is None:
                time.sleep(EVERY)
                continue
            message, tree = found
            run, number = message.metadata.run_id, message.metadata.message_id
            contents = pull_objects(list(_objects(tree)), lambda wanted, run=run: pull_object(run, wanted))
            confirm(run, number)
            asked = inflate_object_from_contents(number, contents)
            asked.metadata.__dict__["_message_id"] = number
            reply = Message(content_of(answer(data_of(asked)) if data_of(asked) else name.encode()), reply_to=asked)
            reply.metadata.__dict__["_message_id"] = reply.object_id
            objects = get_all_nested_objects(reply)
            missing, session = send(reply, get_object_tree(reply), 0.0)
            for wanted in missing:
                push_object(run, session, wanted, objects[wanted].deflate())


def _objects(tree: Any) -> Iterator[str]:
    yield tree.object_id
    for child in tree.children:
        yield from _objects(child)
