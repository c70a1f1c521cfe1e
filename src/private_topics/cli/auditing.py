"""`audit`: attack the claims of a private fit with one's own settings, on a corpus that needs no protection."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from private_topics.cli import options
from private_topics.cli.screen import Screen, print_json


def audit(
    corpus: Annotated[
        Path | None,
        typer.Option(
            help="A PUBLIC corpus of text or counts, as `fit` takes it; needs --corpus-is-public.", show_default=False
        ),
    ] = None,
    corpus_is_public: Annotated[
        bool,
        typer.Option(
            "--corpus-is-public",
            help="The corpus needs no protection. An audit spends no budget and tells what it measures.",
        ),
    ] = False,
    synthetic: Annotated[bool, typer.Option("--synthetic", help="Make up a corpus: the default.")] = False,
    documents: Annotated[
        int | None,
        typer.Option(
            min=50,
            help="Of a synthetic corpus; if not given, enough for all topics, or for the releases of the model.",
            show_default=False,
        ),
    ] = None,
    words: Annotated[
        int | None,
        typer.Option(
            min=4, help="Vocabulary of a synthetic corpus; if not given 200, or the model's.", show_default=False
        ),
    ] = None,
    documents_per_user: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Of a synthetic corpus: above 1, users are the units, not documents. If not given 1; 3 with a "
            "model whose units are users.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="Take settings, unit and vocabulary size from this model file, compare its releases with those "
            "attacked, and seal its statement too.",
            show_default=False,
        ),
    ] = None,
    topics: Annotated[int, typer.Option("--topics", "-k", min=1, help="Number of topics.")] = 10,
    epsilon: options.Epsilon = 1.0,
    delta: options.Delta = 1e-6,
    alpha0: options.Alpha0 = 1.0,
    refine_steps: Annotated[int, typer.Option(min=0, help="Refinement passes.")] = 4,
    configuration: Annotated[str, typer.Option(help="sequential, 1, 2, 3 or 4.")] = "sequential",
    vocabulary: Annotated[
        str | None,
        typer.Option(help="For text: a file with one word per line, or 'list:english'.", show_default=False),
    ] = None,
    vocabulary_size: options.VocabularySize = None,
    field: options.Field = "text",
    unit: options.Unit = None,
    format: options.Format = None,
    encoding: options.Encoding = "utf-8",
    language: options.Languages = None,
    min_length: options.MinLength = 3,
    stem: options.Stem = False,
    strict: options.Strict = False,
    trials: Annotated[int, typer.Option(min=10, help="Of each game against released values.")] = 1_000,
    fits: Annotated[int, typer.Option(min=10, help="Of the game against the final model.")] = 100,
    confidence: Annotated[float, typer.Option(help="That nothing fails by chance in the whole audit.")] = 0.9999,
    report: Annotated[
        Path | None, typer.Option(help="Write the sealed section, .html or .md; with --model, the report with it.")
    ] = None,
    check: Annotated[
        Path | None, typer.Option(help="Only compute the seal of such a page again.", show_default=False)
    ] = None,
    seal: Annotated[str | None, typer.Option(help="With --check: the SHA-256 noted elsewhere.")] = None,
    jobs: options.Jobs = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Of the synthetic corpus and the restarts; noise has no seed.")
    ] = 0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Attack the claims of a private fit with these settings; exit status 1 if one of them does not hold."""
    screen = Screen(quiet)
    if check is not None:
        _check(screen, check, seal)
        return
    if corpus is not None and (synthetic or any(size is not None for size in (documents, words, documents_per_user))):
        raise typer.BadParameter("a corpus is given or made up, not both", param_hint="--corpus")
    if corpus is not None and not corpus_is_public:
        raise typer.BadParameter(
            "an audit spends no budget and tells what it measures on the corpus: pass --corpus-is-public if it needs "
            "no protection, else --synthetic. The claims that are attacked hold for every corpus.",
            param_hint="--corpus",
        )
    if corpus is None and (vocabulary is not None or unit is not None):
        raise typer.BadParameter("needs --corpus", param_hint="--vocabulary, --unit")
    from private_topics.cli import audit_steps as steps
    from private_topics.cli.sources import check_writable, tokeniser_of

    if report is not None and report.suffix.lower() not in (".html", ".htm", ".md"):
        raise typer.BadParameter("give a name that ends in .html or .md", param_hint="--report")
    check_writable(report)
    settings: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "alpha0": alpha0, "refine_steps": refine_steps}
    settings |= {"configuration": steps.configuration_of(configuration), "n_jobs": jobs, "random_state": seed}
    estimator, fitted = steps.estimator_of(model, topics, settings)
    if corpus is None:
        counts, groups = steps.made_up(screen, estimator, fitted, documents, words, documents_per_user, seed)
    else:
        tokeniser = tokeniser_of(steps.languages_of(language, vocabulary), min_length, stem)
        texts: dict[str, Any] = {
            "format": format,
            "field": field,
            "unit": unit,
            "encoding": encoding,
            "strict": strict,
        }
        counts, groups = steps.given(corpus, vocabulary, vocabulary_size, tokeniser, **texts)
        steps.check_unit(fitted, groups)
    where = steps.place(corpus, fitted)
    screen.say(steps.announcement(estimator, where, groups))
    numbers: dict[str, Any] = {"trials": trials, "fits": fits, "confidence": confidence}
    result = steps.audited(screen, estimator, counts, groups, where, **numbers)
    content = steps.sealed(result, None if fitted is None else fitted.privacy_.to_dict())
    if report is not None:
        steps.write(content, report, model)
        screen.say(f"Wrote the section to {report}.")
    if as_json:
        print_json({"sealed": content, "sha256": steps.seal(content)})
    else:
        steps.print_result(content)
    if not result.passed:
        raise typer.Exit(1)


def _check(screen: Screen, page: Path, seal: str | None) -> None:
    from private_topics.audit import verify

    if not verify(page, seal):
        typer.echo(f"error: {page} is not what was sealed.", err=True)
        raise typer.Exit(1)
    screen.say(f"{page} is what was sealed" + ("." if seal else ", by the seal that it states itself."))
