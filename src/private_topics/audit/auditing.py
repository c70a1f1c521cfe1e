"""`audit`: the claims of a private fit, attacked with the user's own settings on a public or synthetic corpus.

    record a fit → replay neighbours → distances → games on each release and on all → whole fits → size of the noise

Exact aggregates stay inside; the result holds distances, bounds and verdicts. They depend on the corpus, which is why
it has to be public.
"""

from __future__ import annotations

from typing import Any

from scipy.sparse import csr_array

from private_topics.audit.bounds import epsilon_of
from private_topics.audit.games import Played, Residual, play, residual, seed_of, stakes_each, stakes_together
from private_topics.audit.lonely import TESTS as LONELY_TESTS
from private_topics.audit.lonely import LonelyWords, attack_lonely_words
from private_topics.audit.neighbours import CENTRES, Base, extreme_units
from private_topics.audit.recording import (
    Audited,
    CorpusDependenceError,
    Entering,
    EnteringWords,
    Fitted,
    RecordingRun,
    aligned,
    audited_parameters,
    record,
    replay,
)
from private_topics.audit.result import AuditResult, ReleaseAudit, WholeAudit, public_settings
from private_topics.audit.sensitivity import Family, Farthest, exceeds
from private_topics.audit.whole_fits import GUESSED_FROM, Attack, attack_final_model, attack_in_one_run
from private_topics.audit.words import NamedColumns
from private_topics.errors import InputError
from private_topics.estimators.private import PrivateSpectralLDA, settings_of
from private_topics.privacy.events import GaussianEvent
from private_topics.privacy.mechanisms import ReleasedWords
from private_topics.progress import SILENT, Progress

WHOLE_TESTS = 3
FEWEST_TOGETHER = 3


def audit_privacy(
    model: PrivateSpectralLDA,
    X: Any,
    *,
    groups: Any = None,
    words: NamedColumns | None = None,
    trials: int = 1_000,
    fits: int = 100,
    confidence: float = 0.9999,
    corpus: str = "public or made up",
    progress: Progress = SILENT,
) -> AuditResult:
    """Attack what `model`, fitted or not, claims about a fit to `X`. `X` must be public: nothing is charged.

    Parameters
    ----------
    model : the settings; proved calibration, delta above 0, the fast sampler. Its ledger is left alone.
    X, groups : a public or synthetic corpus of counts, and the user of each document where users are the units.
    words : names of the columns, where the fit releases its vocabulary first; the public knowledge then goes here.
    trials : runs of each game against released values, half with canaries and half without.
    fits : whole fits of the game against the final model, on the first `SMALL_UNITS` units.
    confidence : probability that no test of the whole audit fails by chance if every claim holds.
    corpus : where `X` comes from, a short description for the page.
    progress : notified of each stage.
    """
    _check_numbers(trials, fits, confidence)
    source = None if words is None else words.source
    parameters, base = audited_parameters(model, source), Base.of(X, groups)
    if words is not None and len(words.names) != base.n_words:
        raise InputError(f"audit got {len(words.names)} names for a corpus of {base.n_words} columns.")
    estimator = PrivateSpectralLDA(**parameters)
    audited = Audited(settings_of(estimator, source), words)
    progress.stage("recording a fit")
    fitted, run = record(audited, *base.replaced([base.first_unit()]))
    events = tuple(released.event for _, released in run.seen if isinstance(released.event, GaussianEvent))
    named = sum(isinstance(entering, EnteringWords) for entering, _ in run.seen)
    level = (1.0 - confidence) / (2 * len(events) + LONELY_TESTS * named + WHOLE_TESTS)
    units = extreme_units(base, fitted, words, audited.settings.neighbours)
    family, trouble = _replayed(audited, base, fitted, run, units, events, progress)
    farthest = [family.farthest(index) for index in range(len(events))]
    together = family.farthest_together()
    mu = run.accountant.mu
    trouble += _group_trouble(audited, base, run, units, together, mu)
    seed = audited.settings.noise_seed
    kind: dict[str, Any] = {"threshold_delta": run.threshold_delta, "neighbours": run.neighbours}
    progress.stage("playing against each release")
    each = play(stakes_each(farthest, base.n_units), run.budget, trials, seed_of(seed, 1), **kind)
    lonely = _lonely(run, family, trials, level, seed_of(seed, 6))
    progress.stage("playing against all releases together")
    whole = play(stakes_together(together, mu, base.n_units), run.budget, trials, seed_of(seed, 2), **kind)
    progress.stage("playing against the final model")
    pair = (units[together[0].pair[0]], units[together[0].pair[1]])
    final = attack_final_model(audited, base, pair, mu=run.mu_total, fits=fits, level=level)
    progress.stage("guessing many coins in one run")
    first_mu = next(event.mu for event in events if event.name in GUESSED_FROM)
    one_run = attack_in_one_run(audited, base, mu=first_mu, level=level, seed=seed_of(seed, 5))
    delta = run.budget.delta - run.threshold_delta
    return AuditResult(
        settings=public_settings(parameters, base, fitted, trials, fits) | {"corpus": corpus},
        statement=fitted.statement.to_dict(),
        confidence=confidence,
        neighbours=tuple(units),
        trouble=tuple(trouble),
        releases=_release_audits(run, farthest, each, whole, lonely, level, delta),
        whole=_whole_audits(together, whole, final, one_run, (mu, run.mu_total, first_mu), level, delta),
    )


def _check_numbers(trials: int, fits: int, confidence: float) -> None:
    for name, value in (("trials", trials), ("fits", fits)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 10:
            raise InputError(f"The {name!r} parameter of audit must be an int of at least 10. Got {value!r} instead.")
    if not 0.5 <= confidence < 1.0:
        raise InputError(f"The 'confidence' parameter of audit must lie in [0.5, 1). Got {confidence!r} instead.")


def _replayed(
    audited: Audited,
    base: Base,
    fitted: Fitted,
    run: RecordingRun,
    units: dict[str, csr_array],
    events: tuple[GaussianEvent, ...],
    progress: Progress,
) -> tuple[Family, list[str]]:
    """Every neighbour through the whole fit; what is not an aggregate must not move."""
    members: dict[str, list[Entering]] = {"as it was": [entering for entering, _ in run.seen]}
    trouble: list[str] = []
    for name, unit in units.items():
        if name in members:
            continue
        progress.stage(f"replaying a neighbour: {name}")
        try:
            other, members[name] = replay(audited, run.seen, *base.replaced([unit]))
        except CorpusDependenceError as error:
            trouble.append(str(error))
            continue
        if not other.like(fitted):
            trouble.append("The model depends on the corpus beyond its released values.")
    return Family.of(events, members, CENTRES[audited.settings.neighbours]), list(dict.fromkeys(trouble))


def _lonely(run: RecordingRun, family: Family, trials: int, level: float, seed: int | None) -> dict[str, LonelyWords]:
    """For each release of words: whether words that one unit alone has stay hidden."""
    found = {}
    for index, (_, released) in enumerate(run.seen):
        if isinstance(released, ReleasedWords):
            entering = [member[index] for member in family.members.values()]
            members = [one for one in entering if isinstance(one, EnteringWords)]
            found[released.name] = attack_lonely_words(
                members, released, run.neighbours, trials=trials, level=level, seed=seed
            )
    return found


def _group_trouble(
    audited: Audited,
    base: Base,
    run: RecordingRun,
    units: dict[str, csr_array],
    together: list[Farthest],
    mu: float,
) -> list[str]:
    """A group of canaries, really replaced, moves each release by at most as many sensitivities."""
    copies = max(FEWEST_TOGETHER, stakes_together(together, mu, base.n_units)[0].copies)
    try:
        one, other = (
            replay(audited, run.seen, *base.replaced([units[name]] * copies))[1] for name in together[0].pair
        )
    except CorpusDependenceError as error:
        return [str(error)]
    return [
        f"Several units replaced together move release {first.query.name!r} further than its sensitivity allows."
        for first, second in map(aligned, zip(one, other, strict=True))
        if exceeds(first, second, copies)
    ]


def _release_audits(
    run: RecordingRun,
    farthest: list[Farthest],
    each: Played,
    whole: Played,
    lonely: dict[str, LonelyWords],
    level: float,
    delta: float,
) -> tuple[ReleaseAudit, ...]:
    found = []
    for index, ((entering, released), one) in enumerate(zip(run.seen, farthest, strict=True)):
        noise = residual(entering, released)
        for played in (each, whole):
            noise += Residual(float(played.squares[index]), int(played.draws[index]))
        bound = each.release_bound(index, level)
        found.append(
            ReleaseAudit(
                name=one.name,
                sensitivity=one.event.sensitivity,
                attained=one.ratio,
                pair=one.pair,
                within=one.within,
                copies=each.stakes[index].copies,
                mu=one.event.mu,
                mu_bound=bound,
                epsilon=epsilon_of(one.event.mu, delta),
                epsilon_bound=epsilon_of(bound, delta),
                noise=noise.ratio,
                noise_draws=noise.draws,
                noise_as_recorded=noise.as_recorded(level),
                lonely=lonely.get(one.name),
            )
        )
    return tuple(found)


def _whole_audits(
    together: list[Farthest],
    whole: Played,
    final: Attack,
    one_run: Attack,
    claims: tuple[float, float, float],
    level: float,
    delta: float,
) -> tuple[WholeAudit, ...]:
    """Claims for: the recorded releases together; any fit within the budget; the release read in the one run."""
    composed = whole.whole_bound(level)
    pair = f"{together[0].pair[0]} / {together[0].pair[1]}"
    facts = (
        ("all releases together", claims[0], composed, whole.stakes[0].copies, 2 * len(whole.without), pair),
        ("final model", claims[1], final.bound, final.copies, final.trials, pair),
        ("one run", claims[2], one_run.bound, one_run.copies, one_run.trials, f"{one_run.correct} coins guessed"),
    )
    return tuple(
        WholeAudit(name, claim, bound, epsilon_of(claim, delta), epsilon_of(bound, delta), copies, trials, detail)
        for name, claim, bound, copies, trials, detail in facts
    )
