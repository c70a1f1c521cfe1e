"""`verify`: whether a model, its report and its row in the ledger belong together and were not altered."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from private_topics.cli import options
from private_topics.cli.screen import print_json

NO_AUTHOR = "This finds alterations. It proves no author: note the seal elsewhere, or sign it."


@options.grouped
def verify(
    *,
    model: options.ModelPath,
    report: Annotated[Path | None, typer.Option(help="A report on the model.")] = None,
    charged: options.LedgerOfCorpus,
    seal: Annotated[str | None, typer.Option(help="The model's seal as it was noted elsewhere.")] = None,
    as_json: options.Json = False,
) -> None:
    """Print the seal of a model, and check its report and its row in a ledger against it; status 1 if one differs."""
    from private_topics.audit.model_seal import model_seal, verify_model
    from private_topics.cli.sources import ledger_of

    checks = verify_model(model, report=report, ledger=ledger_of(charged), seal=seal)
    genuine = all(check.holds for check in checks)
    if as_json:
        print_json({"sha256": model_seal(model), "genuine": genuine, "checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            typer.echo(f"{'yes' if check.holds else 'NO'}\t{check.what}")
        typer.echo(f"seal\t{model_seal(model)}")
        typer.echo(NO_AUTHOR, err=True)
    if not genuine:
        raise typer.Exit(1)
