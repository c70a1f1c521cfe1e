"""The `private-topics` command: results to standard output or files, messages to standard error.

Exit status 0, 1 (a run failed, with one line that says why) or 2 (bad usage). No message quotes a document.
"""

from private_topics.cli.app import app, print_no_tracebacks
from private_topics.cli.audit_command import audit
from private_topics.cli.budget import budget_app
from private_topics.cli.check_command import check
from private_topics.cli.demo_command import demo, reproduce_paper
from private_topics.cli.edit_command import edit
from private_topics.cli.evidence_command import evidence
from private_topics.cli.export_command import export
from private_topics.cli.fit_command import fit
from private_topics.cli.models import evaluate, report
from private_topics.cli.plan_command import plan
from private_topics.cli.shares_command import shares
from private_topics.cli.sites import sites_app
from private_topics.cli.topics_command import show_topics
from private_topics.cli.transform_command import transform
from private_topics.cli.verify_command import verify
from private_topics.cli.vocabulary import vocabulary_app

__all__ = ["app", "main"]

app.command()(demo)
app.command()(check)
app.command()(fit)
app.command("topics")(show_topics)
app.command()(edit)
app.command()(transform)
app.command()(evaluate)
app.command()(shares)
app.command()(evidence)
app.command()(report)
app.command()(export)
app.command()(plan)
app.command()(verify)
app.add_typer(vocabulary_app, name="vocabulary")
app.add_typer(budget_app, name="budget")
app.add_typer(sites_app, name="sites")
app.command()(audit)
app.command("reproduce")(reproduce_paper)


def main() -> None:
    """Entry point of the installed command."""
    print_no_tracebacks()
    app()
