"""Progress: stages and rates on a terminal, silence in a pipe, and no number of documents where it is not public."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from private_topics.cli.screen import Screen
from private_topics.progress import Progress


def watched(*, show_documents: bool, terminal: bool = True, quiet: bool = False) -> tuple[str, type[Progress]]:
    screen = Screen(quiet)
    screen.console = Console(file=io.StringIO(), force_terminal=terminal, width=120)
    with screen.progress(stages=2, show_documents=show_documents) as progress:
        for _ in range(2):
            assert list(progress.documents(range(3_717), "reading words")) == list(range(3_717))
        progress.stage("unigram")
        progress.stage("second moment")
    return screen.console.file.getvalue(), type(progress)


def test_a_terminal_sees_documents_and_stages() -> None:
    shown, _ = watched(show_documents=True)
    assert "reading words" in shown
    assert "3,717 documents" in shown
    assert "fitted" in shown


def test_the_number_of_documents_of_users_is_not_shown() -> None:
    shown, _ = watched(show_documents=False)
    assert "reading words" in shown
    assert "3,717" not in shown
    assert "3717" not in shown
    assert "documents" not in shown


@pytest.mark.parametrize(("terminal", "quiet"), [(False, False), (True, True)])
def test_nothing_in_a_pipe_or_when_quiet(terminal: bool, quiet: bool) -> None:
    assert watched(show_documents=True, terminal=terminal, quiet=quiet) == ("", Progress)
