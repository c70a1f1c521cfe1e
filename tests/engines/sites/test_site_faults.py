"""Fits over several sites of which one drops out, refuses, or has other settings; and what the ledgers say then."""

from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse
from engine_support import counts
from fit_support import SEEDED, WORDS, fit_all, seed_of
from site_support import Loopback, make_sites, split_rows, together

from hang_support import HANG

pytest.importorskip("cryptography")

from private_topics import BudgetLedger, PrivateSpectralLDA
from private_topics.corpus.counts.blocks import MatrixBlocks
from private_topics.engines.sites.messages import Message, unpacked
from private_topics.engines.sites.site import Site
from private_topics.errors import EngineError, PrivacyError

KINDS = ("key", "masked", "heard", "refused", "ended")
pytestmark = pytest.mark.filterwarnings("ignore::private_topics.errors.PrivacyWarning")


def failing(name, round_number, asked, what):
    """A site that answers `what` instead when it is asked a certain thing in a certain round, and ever after."""
    failed = []

    def meddle(site, message, answer):
        said = unpacked(message, "begin", "keys", "total", "stop")
        if site == name and said.kind == "begin" and said.number("round") == round_number:
            failed.append("soon")
        if site == name and failed and (said.kind == asked or len(failed) > 3):
            failed.extend(["now"] * 3)
            return what
        return answer

    return meddle


def ledgers(count, **kind):
    return {f"clinic-{number:02d}": BudgetLedger(120.0, 1e-5, **kind) for number in range(count)}


@pytest.mark.slow
@pytest.mark.parametrize("what", [None, b"garbage"], ids=["silent", "garbage"])
@pytest.mark.parametrize(
    ("round_number", "asked"), [(0, "begin"), (1, "begin"), (1, "keys"), (4, "begin"), (4, "keys")]
)
def test_a_site_that_drops_out_is_left_out_and_the_others_finish(round_number, asked, what):
    count = 4
    sites = make_sites(count, 3, WORDS)
    transport = Loopback(sites)
    transport.meddle = failing("clinic-02", round_number, asked, what)
    books = ledgers(count)
    results, coordinator, problem = fit_all(
        count, 3, split_rows(counts(), count), topics=1, transport=transport, sites=sites, ledgers=books
    )
    assert problem is None
    assert coordinator.left == ["clinic-02"]
    assert isinstance(results.pop("clinic-02"), EngineError)
    models = list(results.values())
    assert all(np.array_equal(model.components_, models[0].components_) for model in models)
    names = [release.name for release in models[0].privacy_.releases]
    assert len(names) - len(set(names)) == int(asked == "keys")
    assert models[0].privacy_.epsilon_spent <= 60.0
    assert [len(books[name].spent) for name in results] == [1, 1, 1]
    added = "3 of 4" if (round_number, asked) == (0, "begin") else "3 to 4 of 4"
    statement = models[0].privacy_
    assert f"{added} sites were added up, of which at least 2 neither show nor use" in " ".join(statement.public)
    assert "counting the noise of 2 of 3 sites" in statement.accounting


def test_the_number_of_units_is_added_up_once_whoever_drops_out():
    """It has no noise: the coordinator says that one has dropped out, and would subtract the second sum."""
    sites, books = make_sites(4, 3, WORDS), ledgers(4)
    transport = Loopback(sites)
    transport.meddle = failing("clinic-02", 0, "keys", None)
    results, _, problem = fit_all(
        4, 3, split_rows(counts(), 4), topics=1, transport=transport, sites=sites, ledgers=books
    )
    assert isinstance(problem, EngineError)
    assert all(isinstance(result, EngineError) for result in results.values())
    assert "begin a new fit. Nothing was charged." in str(results["clinic-00"])
    assert [len(book.spent) for book in books.values()] == [0, 0, 0, 0]
    sent = [site for site, _, answer in transport.heard if unpacked(answer[:-64], *KINDS).kind == "masked"]
    assert len(sent) == len(set(sent))


def test_a_number_of_units_below_the_own_one_is_no_sum(monkeypatch):
    """Sensitivities are for sums over at most that many units: a coordinator must not be able to say fewer."""
    site = lone_site()
    monkeypatch.setattr(site, "exchange", lambda asked, size, own: own(2) - 1)
    with pytest.raises(EngineError, match="below this site's own number"):
        site.added_up(10)
    monkeypatch.setattr(site, "exchange", lambda asked, size, own: own(2))
    assert site.added_up(10) == 10


def test_with_too_few_left_every_fit_stops_and_what_was_charged_stays():
    sites = make_sites(3, 3, WORDS)
    transport = Loopback(sites)
    transport.meddle = failing("clinic-01", 3, "keys", None)
    books = ledgers(3)
    results, coordinator, problem = fit_all(
        3, 3, split_rows(counts(), 3), topics=1, transport=transport, sites=sites, ledgers=books
    )
    assert isinstance(problem, EngineError)
    assert coordinator.left == ["clinic-01"]
    assert all(isinstance(result, EngineError) for result in results.values())
    assert [len(book.spent) for book in books.values()] == [1, 1, 1]


def test_a_site_whose_ledger_refuses_is_left_out_by_itself():
    books = ledgers(4)
    books["clinic-03"] = BudgetLedger(1.0, 1e-6)
    results, coordinator, problem = fit_all(4, 3, split_rows(counts(), 4), topics=1, ledgers=books)
    assert problem is None
    assert coordinator.left == ["clinic-03"]
    assert isinstance(results["clinic-03"], PrivacyError)
    assert [len(book.spent) for book in books.values()] == [1, 1, 1, 0]


@pytest.mark.filterwarnings("default::private_topics.errors.PrivacyWarning")
@pytest.mark.parametrize("missing", ["", "clinic-02"])
def test_who_has_not_taken_part_is_said(missing):
    sites = make_sites(4, 3, WORDS)
    transport = Loopback(sites)
    transport.meddle = failing(missing, 0, "begin", None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit_all(4, 3, split_rows(counts(), 4), topics=1, transport=transport, sites=sites)
    said = [str(warning.message) for warning in caught if "taken part" in str(warning.message)]
    assert said == (["3 of 4 sites have taken part to the end, without clinic-02."] * 3 if missing else [])


def test_a_site_keeps_the_bound_on_its_units_by_itself():
    """Elsewhere the released number keeps it; here that is what the coordinator says: "one", of a thousand units."""
    books = ledgers(4, neighbours="add-remove")
    parts = split_rows(counts(), 4)
    parts[1] = scipy.sparse.vstack([parts[1]] * 100)
    settings = {"neighbours": "add-remove", "most_units": parts[1].shape[0] - 1, "epsilon": 4.0}
    results, coordinator, problem = fit_all(4, 3, parts, topics=1, ledgers=books, settings=settings)
    assert problem is None, results
    assert coordinator.left == ["clinic-01"]
    assert isinstance(results["clinic-01"], PrivacyError)
    assert "more units than the 'most_units' parameter promises" in str(results["clinic-01"])
    assert [len(book.spent) for book in books.values()] == [1, 0, 1, 1]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_summed_over_no_documents(value):
    """A coordinator can make a total of anything, such that what follows from it is no number."""
    corpus = lone_site().open(MatrixBlocks(counts()))

    @dataclass(frozen=True)
    class Asked:
        name: str
        size: int
        centre: np.ndarray
        clip: float

    for centre, clip in (([1.0, value], 1.0), ([1.0, 1.0], value)):
        with pytest.raises(EngineError, match="no number"):
            corpus.total(Asked("sum", 3, np.array(centre), clip))


@pytest.mark.parametrize("difference", ["words", "epsilon", "n_components"])
def test_a_site_with_other_settings_is_left_out_before_the_first_charge(difference):
    sites, books = make_sites(4, 3, WORDS), ledgers(4)
    if difference == "words":
        sites["clinic-01"].words = (*WORDS[1:], WORDS[0])
    parts = dict(zip(sites, split_rows(counts(), 4), strict=True))

    def work(name, site):
        odd = {"epsilon": {"epsilon": 59.0}, "n_components": {"n_components": 2}}.get(difference, {})
        chosen = {"n_components": 1, **SEEDED, **(odd if name == "clinic-01" else {})}
        model = PrivateSpectralLDA(engine=site, noise_seed=seed_of(name), ledger=books[name], **chosen)
        return model.fit(parts[name])

    results, coordinator, problem = together(sites, work)
    assert problem is None
    assert coordinator.left == ["clinic-01"]
    assert [len(book.spent) for book in books.values()] == [1, 0, 1, 1]
    assert isinstance(results["clinic-01"], EngineError)
    assert "This site was left out: its vocabulary, settings" in str(results["clinic-01"])
    assert "Nothing was charged." in str(results["clinic-01"])


def test_a_site_that_differs_hears_of_it_at_once_and_the_coordinator_says_so():
    """It does not wait for the end of the fit of the others."""
    sites, said = make_sites(4, 3, WORDS), []
    sites["clinic-01"].words = (*WORDS[1:], WORDS[0])
    transport = Loopback(sites)

    def work(name, site):
        model = PrivateSpectralLDA(1, engine=site, noise_seed=seed_of(name), **SEEDED)
        return model.fit(dict(zip(sites, split_rows(counts(), 4), strict=True))[name])

    together(sites, work, transport, said.append)
    kinds = [(name, unpacked(message, "begin", "keys", "total", "stop").kind) for name, message, _ in transport.heard]
    assert kinds.index(("clinic-01", "stop")) < kinds.index(("clinic-00", "keys"))
    assert [kind for name, kind in kinds if name == "clinic-01"] == ["begin", "stop"]
    assert said == ["clinic-01 is left out: it differs from most sites."]


@pytest.mark.parametrize("why", ["differs", "late", "too few", "Read this aloud: our fee is due.", None, 3])
def test_a_coordinator_chooses_among_reasons_and_words_none(why):
    site = lone_site()
    fields = {} if why is None else {"why": why}
    asking = in_background(lambda: site.answer(Message("stop", fields).packed()))
    with pytest.raises(EngineError, match=r"left out|ended the fit") as problem:
        site.exchange(lambda: b"", 1, lambda _: np.zeros(1, np.int64))
    asking.join(HANG)
    assert "aloud" not in str(problem.value)


def test_a_coordinator_that_is_gone_ends_the_fit():
    site = make_sites(2, 2, WORDS, patience=0.2)["clinic-00"]
    plain = Site(site.identity, site.directory, WORDS, patience=0.2)
    with pytest.raises(EngineError, match=r"Nothing was heard .* for 0.2 seconds"):
        PrivateSpectralLDA(1, engine=plain, noise_seed=0, **SEEDED).fit(counts())
    assert unpacked(plain.answer(b"")[:-64], "ended").text("heard") == ""


def lone_site(patience=HANG):
    """A site whose messages are handed over by the test."""
    site = make_sites(2, 2, WORDS)["clinic-00"]
    return Site(site.identity, site.directory, WORDS, patience=patience)


def in_background(work):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_a_round_that_fails_ends_the_site_for_good():
    """Whoever asks is told so at once, and is not left to wait for a fit that is over."""
    site, heard = lone_site(), []
    asking = in_background(lambda: heard.append(site.answer(Message("stop").packed())))
    with pytest.raises(EngineError, match="ended the fit"):
        site.exchange(lambda: b"", 1, lambda _: np.zeros(1, np.int64))
    asking.join(HANG)
    heard.append(site.answer(b"anything", 0.1))
    assert [unpacked(data[:-64], "ended").text("heard") for data in heard] == ["", ""]


def test_a_transport_waits_for_an_answer_as_long_as_the_site_has_patience():
    """No fit is under way, so that no answer comes."""
    site, problems = lone_site(0.2), []

    def ask():
        try:
            site.answer(b"")
        except EngineError as error:
            problems.append(str(error))

    in_background(ask).join(HANG)
    assert problems == ["The fit of this site has not come so far in time."]
