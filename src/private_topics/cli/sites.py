"""`sites`: keys, the coordinator and the fit of one of several sites that share no text (docs/guide/sites.md)."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from private_topics.cli import options
from private_topics.cli.screen import Screen, print_json
from private_topics.errors import InputError

sites_app = typer.Typer(no_args_is_help=True, help="Fit one model over several sites that share no text.")

Directory = Annotated[
    Path, typer.Option("--sites", help="The file of all sites' keys, the same everywhere; see `sites directory`.")
]
Patience = Annotated[
    float, typer.Option(min=0.1, help="Seconds to wait for an answer; it may take a pass over text.")
]
Wait = Annotated[float, typer.Option(min=0.0, help="Seconds to wait for all sites before the first round.")]


@sites_app.command()
def identity(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The site's name.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the private key: keep it to yourself.")],
) -> None:
    """Make a site's private key, and print NAME=KEY, the public one, for the file of all sites."""
    from private_topics.engines.sites.identities import SiteIdentity

    made = SiteIdentity.new(name)
    made.write(output)
    typer.echo(f"{made.name}={made.public_key.hex()}")


@sites_app.command()
def directory(
    sites: Annotated[list[str], typer.Argument(metavar="NAME=KEY ...", help="What `sites identity` printed.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write.")],
    honest: Annotated[
        int,
        typer.Option(
            min=1,
            help="How many sites neither show nor use what they know of their own noise; the others may. Every site "
            "sees the totals, so better at most all but one.",
        ),
    ],
) -> None:
    """Write the file of all sites' keys. Every site must have the same one; compare the digest that is printed."""
    from private_topics.engines.sites.identities import SiteDirectory

    given = [site.partition("=")[::2] for site in sites]
    if len({name for name, _ in given}) < len(given):
        raise InputError("Two sites have one name.")
    made = SiteDirectory(dict(given), honest)  # type: ignore[arg-type]
    _refuse_to_replace(output)
    made.write(output)
    if honest == len(made.names):
        typer.echo(
            "warning: every site sees the totals and knows its own noise. Where all must be honest, a single curious "
            "site has less noise before it than is charged: take one less.",
            err=True,
        )
    typer.echo(made.digest.hex())


@sites_app.command()
def certificate(
    host: Annotated[str, typer.Argument(metavar="HOST", help="The name or address at which sites find it.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the certificate, which sites are given.")],
    key: Annotated[Path, typer.Option(help="File for its private key.")],
    days: Annotated[int, typer.Option(min=1, help="How long it is valid.")] = 365,
) -> None:
    """Make a certificate for the coordinator, where it has none. Sites are given it outside the network."""
    from private_topics.engines.sites.transport import self_signed

    _refuse_to_replace(output, key)
    public, private = self_signed(host, days)
    with os.fdopen(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(private)
    output.write_bytes(public)


@sites_app.command()
def coordinate(
    *,
    sites: Directory,
    certificate: Annotated[Path, typer.Option(help="The coordinator's certificate, PEM.")],
    key: Annotated[Path, typer.Option(help="Its private key, PEM.")],
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where to listen; port 0 for any.")
    ] = "0.0.0.0:7600",
    wait: Wait = 600.0,
    patience: Patience = 600.0,
    quiet: options.Quiet = False,
) -> None:
    """Add up what the sites send, for one fit. The coordinator learns totals, which have noise, and nothing else."""
    from private_topics.engines.sites.coordinator import SiteCoordinator
    from private_topics.engines.sites.identities import SiteDirectory
    from private_topics.engines.sites.transport import SiteListener

    screen, known = Screen(quiet), SiteDirectory.read(sites)
    with SiteListener(known, listen, certificate.read_bytes(), key.read_bytes(), patience=patience) as listener:
        screen.say(
            f"Listening at port {listener.port} for {len(known.names)} sites (digest of their file "
            f"{known.digest.hex()}), for {wait:g} seconds or until all are there."
        )
        listener.wait(wait, screen.say)
        heard = SiteCoordinator(known, listener.ask).tell(screen.say)
    typer.echo(heard)


@sites_app.command()
@options.grouped
def fit(
    *,
    source: options.Source,
    output: options.ModelOutput,
    sites: Directory,
    identity: Annotated[Path, typer.Option(help="This site's private key; see `sites identity`.")],
    coordinator: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where the coordinator listens.")],
    root: Annotated[Path, typer.Option(help="The coordinator's certificate, or that of its issuer, PEM.")],
    vocabulary: Annotated[
        str, typer.Option(help="The public list of words, the same everywhere: a file, or 'list:english'.")
    ],
    vocabulary_size: options.VocabularySize = None,
    topics: options.Topics = 10,
    epsilon: options.Epsilon = 1.0,
    delta: options.Delta = 1e-6,
    neighbours: options.Neighbours = "replace",
    most_units: options.MostUnits = None,
    given: options.Known,
    reading: options.ReadingOfText,
    charged: options.Charged,
    report: options.Report = None,
    force: options.Force = False,
    anyway: options.Anyway = False,
    alpha0: options.Alpha0 = 1.0,
    refine_steps: options.RefineStepsOrUsual = None,
    jobs: options.Jobs = None,
    seed: options.FitSeed = 0,
    wait: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for the coordinator.")] = 600.0,
    patience: Patience = 3600.0,
    shown: options.Output,
) -> None:
    """Take part in a fit with this site's own text, which stays here. Every site gets the same model."""
    from private_topics.cli import fit_run as run
    from private_topics.cli.knowledge import knowledge_of, worth_using
    from private_topics.cli.sources import (
        check_new,
        check_writable,
        holds_counts,
        ledger_of,
        public_list,
        tokeniser_of,
        unit_of,
    )
    from private_topics.engines.sites.identities import SiteDirectory, SiteIdentity
    from private_topics.engines.sites.site import Site
    from private_topics.engines.sites.transport import SiteCall
    from private_topics.estimators.private import PrivateSpectralLDA
    from private_topics.estimators.vocabularies import usable_words

    screen, began = Screen(shown.quiet), datetime.now(UTC).date()
    certificate = root.read_bytes()
    check_new(output, force)
    check_writable(output, report)
    ledger = ledger_of(charged, output.name, unit_of(reading))
    if holds_counts(source, reading.format):
        raise InputError("`sites fit` takes text. Fit counts in Python: PrivateSpectralLDA(engine=Site(…)).")
    tokeniser = tokeniser_of(reading, vocabulary)
    words = public_list(vocabulary, vocabulary_size, tokeniser, "--vocabulary-size")
    known = knowledge_of(given, source, reading, tokeniser, private=True, counts=False)
    known = known if worth_using(known, given, words, tokeniser) else None
    directory = SiteDirectory.read(sites)
    site = Site(SiteIdentity.read(identity), directory, usable_words(words, tokeniser), patience=patience)
    site.agree("anyway", repr(anyway).encode())  # else a site that refuses would leave the others with a charge
    charge = ledger if anyway else run.planned(ledger, most_units, site)
    settings: dict[str, Any] = {
        "alpha0": alpha0,
        "epsilon": epsilon,
        "delta": delta,
        "neighbours": neighbours,
        "most_units": most_units,
    }
    settings |= {} if refine_steps is None else {"refine_steps": refine_steps}
    model = PrivateSpectralLDA(
        topics, n_jobs=jobs, random_state=seed, sampler="exact", engine=site, ledger=charge, **settings
    )
    run.check_beforehand(model, ledger, source, reading)
    screen.say(
        f"{site.identity.name} waits for {coordinator}. Digest of the file of sites: {directory.digest.hex()}."
    )
    with SiteCall(site, coordinator, certificate, wait=wait):
        screen.say(f"{site.identity.name} is connected, one of {len(site.directory.names)} sites.")
        with run.shown(screen, model, show_documents=False, informed=known is not None) as progress:
            run.fit_text(screen, model, source, reading, words, tokeniser, known, progress)
        run.deliver(screen, model, output, report, ledger, began)  # before anybody is waited for
        if shown.as_json:
            print_json(run.summary(model, output, report))


def _refuse_to_replace(*paths: Path) -> None:
    for path in paths:
        if os.path.lexists(path):
            raise InputError(f"{str(path)!r} exists, and is not replaced: give another name.")
        if not path.parent.is_dir():
            raise InputError(f"{str(path)!r} cannot be written: there is no such folder.")


@sites_app.command()
def demo(
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for everything.")] = Path("build/demo-sites"),
    clinics: Annotated[int, typer.Option(min=2, max=20, help="How many made-up clinics.")] = 5,
    honest: Annotated[
        int | None,
        typer.Option(min=1, help="How many of them are honest; all but one if not given."),
    ] = None,
    letters: Annotated[int, typer.Option(min=100, help="Letters of each.")] = 2_000,
    epsilon: options.Epsilon = 1.0,
    delta: options.Delta = 1e-6,
    quiet: options.Quiet = False,
) -> None:
    """Made-up clinics on this machine, a process each: one alone, and all together."""
    from private_topics.cli.sites_demo import run_sites_demo

    run_sites_demo(Screen(quiet), output, clinics, honest or clinics - 1, letters, epsilon, delta)
