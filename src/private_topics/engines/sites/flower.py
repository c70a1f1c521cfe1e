"""Messages over a Flower federation that is there already: its SuperNodes carry them, and run no code.

A SuperNode with `--isolation process` runs nothing itself: whoever takes its tasks answers them. Here that is the
site's own fit, which hands back an answer and leaves the bundle that comes with every question unopened. The
coordinator is a ServerApp of this package (`server`); the bundle that starts it holds settings and no code.

What Flower says of a sender is not believed: a site shows who it is by signing a fresh number, as on the other
transport, and all that it says is signed and masked (`rounds.py`). Questions and answers carry run and node in their
own text, where whoever sends them can write anything; used are those that the site's SuperNode and this side noted.
"""

from __future__ import annotations

import json
import re
import ssl
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path
from typing import Any, Self

import httpx
from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.common.constant import SubStatus
from flwr.proto.runtime_pb2 import AcquireTaskRequest, SendTaskHeartbeatRequest
from flwr.serverapp import Grid, ServerApp
from flwr.supercore.constant import TaskType
from flwr.supercore.interceptors import RuntimeTokenHttpInterceptor, RuntimeVersionHttpInterceptor
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.supernode.runtime.run_clientapp import pull_task_input, push_message, push_task_output

from private_topics.engines.sites.coordinator import SiteCoordinator
from private_topics.engines.sites.identities import SiteDirectory
from private_topics.engines.sites.messages import Greeting, greeted, patience_for
from private_topics.engines.sites.site import Site
from private_topics.errors import EngineError, InputError

EVERY = 0.2
"""Seconds between two looks for a message: at a site's own SuperNode, and at the SuperLink."""
HEARTBEAT = 10.0
"""Seconds between two signs of life while a question is fetched and answered: a SuperNode gives up after thirty."""
CLOCKS = 60.0
"""Seconds by which a site's clock may be ahead: Flower reckons by it how long an answer is worth sending."""
GREETING = 10.0
"""Seconds for a node to say who it is, before all that have not are asked again."""
_FIELD = "message"
_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):[0-9]{1,5}")
_LOCAL = "127.0.0.1", "localhost", "[::1]"


def _content(data: bytes) -> RecordDict:
    return RecordDict({_FIELD: ConfigRecord({_FIELD: data})})


def _data(message: Message) -> bytes:
    """What a message carries; nothing where it is not one of ours."""
    record = message.content.config_records.get(_FIELD) if message.has_content() else None
    found = None if record is None else record.get(_FIELD)
    return found if isinstance(found, bytes) else b""


class FlowerAsk:
    """The coordinator's side, inside a ServerApp: an `ask` for `SiteCoordinator`.

    wait : how many seconds to wait for all sites.
    patience : how many seconds a site may take for an answer, its pass over its documents included.
    """

    def __init__(self, grid: Grid, directory: SiteDirectory, *, wait: float, patience: float) -> None:
        self.grid, self.directory, self.patience = grid, directory, patience
        self._nodes: dict[str, int] = {}
        end = time.monotonic() + wait
        while len(self._nodes) < len(directory.names) and time.monotonic() < end:
            greeting, new = Greeting(), set(grid.get_node_ids()) - set(self._nodes.values())
            answers = self._asked(dict.fromkeys(new, greeting.question), min(GREETING, end - time.monotonic()))
            named = {greeting.name_in(answer, directory): node for node, answer in answers.items()}
            self._nodes |= {name: node for name, node in named.items() if name is not None}
            time.sleep(EVERY)

    @property
    def there(self) -> list[str]:
        """The sites that have answered so far."""
        return sorted(self._nodes)

    def __call__(self, messages: Mapping[str, bytes]) -> dict[str, bytes]:
        """What each site answers; none of those that are not there, or take too long."""
        there = {name: node for name, node in self._nodes.items() if name in messages}
        answers = self._asked(
            {node: messages[name] for name, node in there.items()}, patience_for(messages, self.patience)
        )
        return {name: answers[node] for name, node in there.items() if answers.get(node)}

    def _asked(self, questions: Mapping[int, bytes], patience: float) -> dict[int, bytes]:
        """By node; nothing (b"") from one that Flower has given up, or that answers with what is no message."""
        sent = [Message(_content(data), node, "query", ttl=patience + CLOCKS) for node, data in questions.items()]
        numbers = list(self.grid.push_messages(sent))
        if len(numbers) < len(sent):
            raise EngineError("The SuperLink does not take messages of this size: the fit has ended.")
        waiting = dict(zip(numbers, questions, strict=True))
        answers, end = {}, time.monotonic() + patience
        while waiting and time.monotonic() < end:
            for number, node in list(waiting.items()):
                try:
                    replies = list(self.grid.pull_messages([number]))
                    answer = [_data(reply) for reply in replies]
                except httpx.HTTPError:
                    raise
                except Exception:  # whatever a node sends, the others are heard
                    answer = [b""]
                if answer:
                    answers[node] = answer[0]
                    del waiting[number]
            time.sleep(EVERY if waiting else 0.0)
        return answers


server = ServerApp()
client = ClientApp()
"""Flower wants one. It answers nothing: a site runs its own fit, beside a SuperNode with `--isolation process`."""


@server.main()
def coordinate(grid: Grid, context: Context) -> None:
    """One fit. What it prints is in the log of the run: `flwr log`."""
    given = context.run_config
    directory = SiteDirectory.parsed(json.loads(str(given["sites"])))
    ask = FlowerAsk(grid, directory, wait=float(given["wait"]), patience=float(given["patience"]))
    missing = [name for name in directory.names if name not in ask.there]
    without = f", without {', '.join(missing)}" if missing else ""
    print(f"{len(ask.there)} of {len(directory.names)} sites are there{without}.", flush=True)
    print(SiteCoordinator(directory, ask).tell(print), flush=True)


def write_bundle(folder: Path, directory: SiteDirectory, *, wait: float, patience: float) -> None:
    """A folder that `flwr run` takes: settings, and the names of two objects of this package."""
    here = __name__
    text = f"""[project]
name = "private-topics-coordinator"
version = "1.0.0"
description = "Adds up what sites send, for one fit"
license = "Apache-2.0"
dependencies = []

[tool.flwr.app]
publisher = "private-topics"

[tool.flwr.app.components]
serverapp = "{here}:server"
clientapp = "{here}:client"

[tool.flwr.app.config]
sites = {json.dumps(json.dumps(directory.as_json()))}
wait = {float(wait)!r}
patience = {float(patience)!r}
"""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise InputError(
            f"The folder {str(folder)!r} is there already, and all that it holds would be sent."
        ) from None
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")


class FlowerCall:
    """A site's side: answers what its own SuperNode has received, in a thread of its own, while the fit runs.

    supernode : where the SuperNode listens for whoever takes its tasks, "host:port" (its `--host` and `--port`).
    root : the certificate of that, PEM, where it has one; without, the two must be on one machine.
    """

    def __init__(self, site: Site, supernode: str, root: bytes | None = None, *, wait: float = 60.0) -> None:
        self.site, self.supernode, self.root, self.wait = site, supernode, root, wait
        host = _ADDRESS.fullmatch(supernode)
        if host is None:
            raise InputError(f"The address of a SuperNode must be 'host:port'. Got {supernode!r} instead.")
        if root is None and host[1] not in _LOCAL:
            raise InputError(
                f"The SuperNode at {supernode!r} is on another machine: --root must name its certificate. Or start "
                f"one on this machine, at {_LOCAL[0]}."
            )
        try:
            self._client().close()
        except (ssl.SSLError, ValueError):
            raise InputError("The certificate of the SuperNode is no PEM.") from None
        self._run: int | None = None
        self._begun = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True, name="coordinator")

    def __enter__(self) -> Self:
        end = time.monotonic() + self.wait
        while not self._is_there():
            if time.monotonic() > end:
                expected = "" if self.root is None else " with the expected certificate"
                raise EngineError(
                    f"No SuperNode{expected} answers at {self.supernode!r} within {self.wait:g} seconds. Nothing was "
                    "charged. (Where HTTP_PROXY is set, NO_PROXY must name the SuperNode's host.)"
                )
            time.sleep(EVERY)
        self._thread.start()
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        """The coordinator is told that the fit is over before the call ends."""
        self.site.end(failed=True)  # says nothing new where it has ended
        self._over.wait(self.wait if kind is None else 1.0)
        self._over.set()
        self._thread.join(1.0)

    def _client(self, token: str | None = None) -> RuntimeHttpClient:
        about = RuntimeVersionHttpInterceptor(component_name="flwr-clientapp")
        whose = [] if token is None else [RuntimeTokenHttpInterceptor(token)]
        return RuntimeHttpClient.from_server_address(
            self.supernode, self.root is None, self.root, [about, *whose], retry_invoker=None
        )

    def _is_there(self) -> bool:
        with closing(self._client()) as supernode:
            try:
                supernode.AcquireTask(AcquireTaskRequest(supported_task_types=[]))
            except httpx.HTTPError:
                return False
        return True

    def _listen(self) -> None:
        wanted = AcquireTaskRequest(supported_task_types=[TaskType.CLIENT_APP, TaskType.AGENT_APP])
        try:
            with closing(self._client()) as supernode, ThreadPoolExecutor(1, "answer") as worker:
                while not self._over.is_set():
                    found = supernode.AcquireTask(wanted)
                    if not found.token:
                        self._over.wait(EVERY)
                    elif self._answer(found.token, worker):
                        break
        except (httpx.HTTPError, EngineError):  # the SuperNode is gone, or the fit is late
            pass
        finally:
            self._over.set()
            self.site.hang_up()

    def _answer(self, token: str, worker: ThreadPoolExecutor) -> bool:
        """One question, under heartbeats; whether the coordinator has now been told that the fit is over."""
        with closing(self._client(token)) as task, closing(self._client(token)) as heart:
            answered = worker.submit(self._answer_task, task)
            while not answered.done():
                wait([answered], HEARTBEAT)
                if not answered.done():
                    heart.SendTaskHeartbeat(SendTaskHeartbeatRequest())
            try:
                return answered.result()
            except (httpx.TransportError, EngineError):
                raise
            except Exception:
                # A coordinator that asks again or is killed leaves questions that Flower has half forgotten.
                return False

    def _answer_task(self, task: RuntimeHttpClient) -> bool:
        """The code and the settings that come with a question are not looked at."""
        message, context, run, _ = pull_task_input(task)
        said = self._said(run.run_id, _data(message))
        push_message(task, Message(_content(said), reply_to=message), context)
        push_task_output(task, context, SubStatus.COMPLETED, "")
        return self.site.is_end(said)

    def _said(self, run: int, data: bytes) -> bytes:
        """To the run that greeted last before the fit began: a SuperNode may still hold questions of others."""
        hello = greeted(data, self.site.identity)
        if hello is not None:
            self._run = self._run if self._begun else run
            return hello
        if run != self._run:
            return b""
        self._begun = True
        return self.site.answer(data)
