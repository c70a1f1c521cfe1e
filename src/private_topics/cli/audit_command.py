"""`audit`: attack the claims of a private fit with the user's settings, on a corpus that needs no protection."""

from __future__ import annotations

from pathlib import Path

import typer

from private_topics.cli import options
from private_topics.cli.screen import Screen


@options.grouped
def audit(
    *,
    chosen: options.AuditCorpus,
    model: options.AuditedModel = None,
    knowledge: options.AuditedKnowledge = None,
    public_corpus: options.AuditedPublicCorpus = None,
    settings: options.AuditedSettings,
    vocabulary: options.PublicVocabulary = None,
    vocabulary_size: options.VocabularySize = None,
    reading: options.ReadingOfText,
    games: options.Games,
    page: options.SealedPage,
    jobs: options.Jobs = None,
    seed: options.AuditSeed = 0,
    shown: options.Output,
) -> None:
    """Attack the claims of a private fit with these settings; exit status 1 if one of them does not hold."""
    screen = Screen(shown.quiet)
    if page.check is not None:
        _check(screen, page.check, page.seal)
        return
    _refuse(chosen, vocabulary is not None or reading.unit is not None)
    if (knowledge or public_corpus) and (model is None or chosen.corpus is not None):
        raise typer.BadParameter("goes with --model and a made-up corpus", param_hint="--knowledge, --public-corpus")
    if page.report is not None and page.report.suffix.lower() not in (".html", ".htm", ".md"):
        raise typer.BadParameter("give a name that ends in .html or .md", param_hint="--report")
    from private_topics.cli import audit_run as run
    from private_topics.cli.sources import check_writable

    check_writable(page.report)
    estimator, fitted = run.estimator_of(model, settings, jobs, seed)
    if fitted is not None and chosen.corpus is None:
        known = run.known(fitted, knowledge, public_corpus, reading)
        content = run.audited_model(screen, estimator, fitted, known, chosen, games)
    else:
        if chosen.corpus is None:
            counts, groups = run.made_up(estimator, chosen, seed)
        else:
            counts, groups = run.given(chosen.corpus, vocabulary, vocabulary_size, reading)
            run.check_unit(fitted, groups)
        content = run.audited(screen, estimator, fitted, counts, groups, run.place(chosen.corpus), games)
    if page.report is not None:
        run.write(content, page.report, model)
        screen.say(f"Wrote the section to {page.report}.")
    run.print_result(content, shown.as_json)
    if not content["audit"]["passed"]:
        raise typer.Exit(1)


def _refuse(chosen: options.AuditCorpus, for_text: bool) -> None:
    if chosen.corpus is None:
        if for_text:
            raise typer.BadParameter("needs --corpus", param_hint="--vocabulary, --unit")
    elif chosen.synthetic or any(size is not None for size in chosen.sizes.values()):
        raise typer.BadParameter("a corpus is given or made up, not both", param_hint="--corpus")
    elif not chosen.corpus_is_public:
        raise typer.BadParameter(
            "an audit spends no budget and shows what it measures on the corpus: pass --corpus-is-public if it needs "
            "no protection, else --synthetic. The claims that are attacked hold for every corpus.",
            param_hint="--corpus",
        )


def _check(screen: Screen, page: Path, seal: str | None) -> None:
    from private_topics.audit import verify

    if not verify(page, seal):
        typer.echo(f"error: {page} is not what was sealed.", err=True)
        raise typer.Exit(1)
    screen.say(f"{page} is what was sealed" + ("." if seal else ", by the seal that it states itself."))
