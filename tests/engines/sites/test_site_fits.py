"""Fits over several sites: the sums and models of the pooled corpus, what the coordinator sees, faults, and ledgers.

The chi-squared tests have a false-alarm rate of 1e-9 each.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache, partial
from types import SimpleNamespace

import numpy as np
import pytest
from engine_support import counts, every_unit_sum
from fit_support import SEEDED, WORDS, fit_all
from site_support import Loopback, make_sites, split_rows, together

pytest.importorskip("cryptography")

from test_masking import looks_uniform

from private_topics import PrivateSpectralLDA, PublicKnowledge
from private_topics.corpus.counts.blocks import MatrixBlocks
from private_topics.engines.local import LocalCorpus
from private_topics.engines.sites.messages import unpacked
from private_topics.engines.sites.site import Site
from private_topics.errors import InputError
from private_topics.privacy.randomness import NoiseStream
from private_topics.privacy.shares import SharedRun
from private_topics.releases import release as releasing
from private_topics.sums.fine import in_fine_steps

pytestmark = pytest.mark.filterwarnings("ignore::private_topics.errors.PrivacyWarning")
ASSEMBLED = {"frame second moment", "frame third moment", "centred second moment"}


class Pooled(Site):
    """A site that holds all documents and is alone: what it asks for is added up without masks."""

    def exchange(self, asked, size, own):
        return own(len(self.directory.names))

    def added_up(self, number):
        return number


@contextmanager
def noise_of(streams=None, halves=False):
    """Runs whose noise is the sum of what these streams give; `halves`: with half a step for every dither."""
    original = SharedRun._draw, SharedRun._dither
    halves = halves * (1 if streams is None else len(streams))
    if streams is not None:
        SharedRun._draw = lambda self, event: (
            lambda size, ratio: sum(stream.rounded_gaussian(size, ratio) for stream in streams)
        )
        dithers = [partial(original[1], SimpleNamespace(_stream=stream)) for stream in streams]
        SharedRun._dither = lambda self, count, bits: sum(dither(count, bits) for dither in dithers)
    if halves:
        SharedRun._dither = lambda self, count, bits: np.full(count, halves << (bits - 1), object)
    try:
        yield
    finally:
        SharedRun._draw, SharedRun._dither = original


@cache
def local_fit(count, honest, topics, halves=False, **settings):
    """The fit of the pooled corpus on this machine, with the sum of the shares of all sites as its noise."""
    site = next(iter(make_sites(count, honest, WORDS).values()))
    pooled = Pooled(site.identity, site.directory, WORDS)
    with noise_of([NoiseStream.seeded(number) for number in range(count)], halves):
        return PrivateSpectralLDA(topics, engine=pooled, noise_seed=0, **SEEDED | settings).fit(counts())


def the_same(model, expected):
    assert np.array_equal(model.components_, expected.components_)
    assert np.array_equal(model.doc_topic_prior_, expected.doc_topic_prior_)
    assert model.privacy_.releases == expected.privacy_.releases
    assert model.privacy_.n_units == counts().shape[0]


# -- the same sums, the same model -----------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 5, pytest.param(20, marks=pytest.mark.slow)])
def test_sums_over_sites_are_those_of_the_pooled_corpus(count):
    """Every kind of sum, under masks and without noise."""
    sites = make_sites(count, count, WORDS)
    parts = dict(zip(sites, split_rows(counts(), count), strict=True))

    def work(name, site):
        site.begin("settings")
        corpus = site.open(MatrixBlocks(parts[name]))
        found = {"units": [site.added_up(corpus.n_units)]}
        for kind, unit_sum in every_unit_sum().items():
            totals = corpus.total(unit_sum)
            found[kind] = [
                site.exchange(lambda: b"", total.size, lambda _, total=total: total).reshape(total.shape)
                for total in totals
            ]
        site.end()
        return found

    results, coordinator, problem = together(sites, work)
    assert problem is None
    assert coordinator.left == []
    assert {site.rounds for site in sites.values()} == {coordinator.rounds}
    pooled = LocalCorpus.of(MatrixBlocks(counts()))
    for found in results.values():
        assert found["units"] == [pooled.n_units]
        for kind, unit_sum in every_unit_sum().items():
            for total, expected in zip(found[kind], pooled.total(unit_sum), strict=True):
                assert np.array_equal(total, expected), kind


@pytest.mark.parametrize("topics", [1, 3])
@pytest.mark.parametrize(("count", "honest"), [(2, 2), (5, 3), (20, 20)])
def test_the_model_is_that_of_the_pooled_corpus(count, honest, topics):
    """Bit for bit, whether what is released is a sum or is assembled from sums."""
    results, coordinator, problem = fit_all(count, honest, split_rows(counts(), count), topics=topics)
    assert problem is None
    assert coordinator.left == []
    expected = local_fit(count, honest, topics)
    assert bool(ASSEMBLED & {release.name for release in expected.privacy_.releases}) == (topics > 1)
    assert len(expected.components_) == topics
    for model in results.values():
        the_same(model, expected)


def test_the_model_that_tests_its_topics_is_that_of_the_pooled_corpus():
    results, _, problem = fit_all(3, 2, split_rows(counts(), 3), settings={"keep": "seen"})
    assert problem is None
    expected = local_fit(3, 2, 3, keep="seen")
    assert expected.evidence_ is not None
    for model in results.values():
        the_same(model, expected)
        assert model.evidence_.to_dict() == expected.evidence_.to_dict()


def test_the_model_with_public_knowledge_is_that_of_the_pooled_corpus():
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 4))
    knowledge = PublicKnowledge(vectors, np.full(len(WORDS), np.nan), [("any", "vectors", "0" * 64, len(WORDS))])
    results, _, problem = fit_all(5, 3, split_rows(counts(), 5), settings={"knowledge": knowledge, "epsilon": 0.3})
    assert problem is None
    expected = local_fit(5, 3, 3, knowledge=knowledge, epsilon=0.3)
    assert "public second moment 1" in {release.name for release in expected.privacy_.releases}
    for model in results.values():
        the_same(model, expected)


def test_the_model_is_that_of_the_local_engine(monkeypatch):
    """Bit for bit with what every other engine assembles and rounds, where the dithers are half a step each."""
    with noise_of(halves=True):
        results, _, problem = fit_all(5, 3, split_rows(counts(), 5))
    assert problem is None
    monkeypatch.setattr(releasing, "in_fine_steps", lambda derived: derived)
    expected = local_fit(5, 3, 3, halves=True)
    assert {release.name for release in expected.privacy_.releases} & ASSEMBLED
    for model in results.values():
        the_same(model, expected)


@pytest.mark.parametrize("kind", every_unit_sum())
def test_what_is_released_is_a_sum_over_sites(kind):
    """Exactly: what is assembled from sums in fine steps, everything else as it is."""
    unit_sum = every_unit_sum()[kind]
    derived = in_fine_steps(getattr(unit_sum, "moments", unit_sum.aggregates))
    parts = [derived(LocalCorpus.of(MatrixBlocks(part)).total(unit_sum)) for part in split_rows(counts(), 5)]
    pooled = derived(LocalCorpus.of(MatrixBlocks(counts())).total(unit_sum))
    fine = 0
    for whole, *summed in zip(pooled, *parts, strict=True):
        if isinstance(whole, tuple):
            fine += 1
            assert {part.bits for part in summed} == {whole.bits}
            whole, summed = whole.values, [part.values for part in summed]
        assert np.array_equal(whole, sum(summed))
    assert bool(fine) == kind.startswith("ClippedFrame")


@pytest.mark.parametrize("neighbours", ["replace", "zero-out", "add-remove"])
def test_every_relation_of_neighbours(neighbours):
    settings = {"neighbours": neighbours, "epsilon": 4.0}
    results, _, problem = fit_all(3, 2, split_rows(counts(), 3), topics=1, settings=settings)
    assert problem is None
    models = list(results.values())
    assert all(np.array_equal(model.components_, models[0].components_) for model in models)
    exact = models[0].privacy_.n_units == counts().shape[0]
    assert exact == (neighbours != "add-remove")
    assert abs(models[0].privacy_.n_units - counts().shape[0]) < 100


def test_true_noise_is_fresh_and_the_statement_says_how_it_was_made():
    parts = split_rows(counts(), 3)
    settings = {"sampler": "exact", "noise_seed": None, "refine_steps": 0}
    first, second = (fit_all(3, 2, parts, topics=1, settings=settings)[0] for _ in range(2))
    model, again = first["clinic-00"], second["clinic-00"]
    assert np.array_equal(model.components_, first["clinic-02"].components_)
    assert not np.array_equal(model.components_, again.components_)
    assert model.privacy_.private
    assert model.privacy_.proved
    assert "counting the noise of 2 of 3 sites" in model.privacy_.text
    assert (
        "3 sites were added up, of which at least 2 neither show nor use what they know of their own noise"
        in model.privacy_.text
    )
    assert model.privacy_.epsilon_spent <= 60.0


# -- what the coordinator sees ---------------------------------------------------------------------------------------


def transcript(parts):
    """All masked words by site, and all totals, of one fit."""
    sites = make_sites(len(parts), len(parts), WORDS)
    transport = Loopback(sites)
    _, _, problem = fit_all(len(parts), len(parts), parts, topics=1, transport=transport, sites=sites)
    assert problem is None
    words, totals = {name: [] for name in sites}, []
    for name, message, answer in transport.heard:
        asked = unpacked(message, "begin", "keys", "total")
        if asked.kind == "keys":
            words[name].append(unpacked(answer[:-64], "masked").words())
        elif asked.kind == "total" and name == "clinic-00":
            totals.append(asked.body)
    return {name: np.concatenate(found) for name, found in words.items()}, totals


def test_all_but_the_totals_looks_like_chance():
    """Two corpora with the same totals: nothing else of what the coordinator sees tells them apart."""
    parts = split_rows(counts(), 3)
    words, totals = transcript(parts)
    others, same = transcript(parts[::-1])  # the documents of the first site are at the last one
    assert totals == same
    assert len(totals) > 5
    for found in (words, others):
        assert all(looks_uniform(one) for one in found.values())
        assert looks_uniform(sum(list(found.values())[:2]))
    assert all(looks_uniform(words[name] - others[name]) for name in words)
    assert not looks_uniform(sum(words.values()))


# -- settings --------------------------------------------------------------------------------------------------------


def one_site():
    return next(iter(make_sites(2, 2, WORDS, patience=0.1).values()))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sampler": "fast"}, "'sampler'"),
        ({"sampler": "exact", "configuration": 2}, "configuration='sequential'"),
        ({"sampler": "exact", "random_state": np.random.RandomState(0)}, "'random_state'"),
    ],
)
def test_settings_that_sites_cannot_have_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        PrivateSpectralLDA(1, engine=one_site(), **settings).fit(counts())


def test_counts_of_another_width_are_refused():
    with pytest.raises(InputError, match="one column for each word"):
        PrivateSpectralLDA(1, engine=one_site(), sampler="exact").fit(counts()[:, :-1])


def test_a_site_serves_one_fit():
    site = one_site()
    site.begin("settings")
    with pytest.raises(InputError, match="serves one fit"):
        PrivateSpectralLDA(1, engine=site, sampler="exact").fit(counts())


def test_a_model_of_several_sites_can_be_saved_and_says_so(tmp_path):
    results, _, _ = fit_all(2, 2, split_rows(counts(), 2), topics=1)
    model = results["clinic-00"]
    model.save(tmp_path / "model")
    loaded = PrivateSpectralLDA.load(tmp_path / "model")
    assert np.array_equal(loaded.components_, model.components_)
    assert loaded.privacy_ == model.privacy_
    assert loaded.engine == "local"
