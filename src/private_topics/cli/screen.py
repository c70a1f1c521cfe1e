"""What a person sees: messages and progress on standard error, results on standard output."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.text import Text

from private_topics.progress import SILENT, Progress

Item = TypeVar("Item")
UPDATE_EVERY = 256


class Screen:
    """Standard error: messages unless quiet, progress on a terminal only."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.console = Console(stderr=True)

    def say(self, message: str) -> None:
        if not self.quiet:
            typer.echo(message, err=True)

    @contextmanager
    def progress(self, *, stages: int | None, show_documents: bool) -> Iterator[Progress]:
        """For one run. The number of documents is shown only where it is public, so not for users."""
        if self.quiet or not self.console.is_terminal:
            yield SILENT
            return
        columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), _Documents()
        with Bars(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=self.console) as bars:
            progress = ShownProgress(bars, stages, show_documents)
            yield progress
            progress.finished()


class ShownProgress(Progress):
    """A bar for each pass over the texts and one for the stages of the fit; the length of a second pass is known."""

    def __init__(self, bars: Bars, stages: int | None, show_documents: bool) -> None:
        self.bars, self.stages, self.show_documents = bars, stages, show_documents
        self._documents: int | None = None
        self._fitting: Any = None

    def documents(self, texts: Iterable[Item], what: str) -> Iterable[Item]:
        task = self.bars.add_task(what, total=self._documents, counted=self.show_documents)
        number = 0
        for number, text in enumerate(texts, start=1):
            yield text
            if number % UPDATE_EVERY == 0:
                self.bars.update(task, completed=number)
        self._documents = number
        self.bars.update(task, completed=number, total=max(number, 1))

    def stage(self, name: str) -> None:
        if self._fitting is None:
            self._fitting = self.bars.add_task(name, total=self.stages, counted=False)
        else:
            self.bars.advance(self._fitting)
            self.bars.update(self._fitting, description=name)

    def finished(self) -> None:
        """The last stage has ended."""
        if self._fitting is not None:
            self.bars.update(self._fitting, total=1, completed=1, description="fitted")


class _Documents(TextColumn):
    """Documents so far and per second."""

    def __init__(self) -> None:
        super().__init__("")

    def render(self, task: Task) -> Text:
        if not task.fields.get("counted"):
            return Text("")
        speed = f" {task.speed:,.0f}/s" if task.speed else ""
        return Text(f"{int(task.completed):,} documents{speed}")


def plain(text: str) -> str:
    """A text from a file that may be untrusted: what could control a terminal becomes a replacement character."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def print_json(value: Any) -> None:
    """A result for a machine."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
