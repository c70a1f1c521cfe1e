"""What the tests of commands share: run one in this process."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner

from private_topics.cli.app import app


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "120"})


def ran(*arguments: Any) -> Any:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result
