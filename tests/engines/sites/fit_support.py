"""Fits of several sites in one process, with seeded shares of noise."""

from __future__ import annotations

from engine_support import N_WORDS
from site_support import make_sites, together

from private_topics import PrivateSpectralLDA

WORDS = [f"word{number}" for number in range(N_WORDS)]
SEEDED = {"sampler": "fast", "epsilon": 60.0}


def seed_of(name):
    return int(name.split("-")[1])


def fit_all(count, honest, parts, topics=3, transport=None, sites=None, settings=None, ledgers=None):
    """The models of all sites, with seeded shares of noise; and how it went."""
    sites = sites or make_sites(count, honest, WORDS)
    parts = dict(zip(sites, parts, strict=True))

    def work(name, site):
        chosen = {**SEEDED, "noise_seed": seed_of(name), **(settings or {})}
        ledger = None if ledgers is None else ledgers[name]
        return PrivateSpectralLDA(topics, engine=site, ledger=ledger, **chosen).fit(parts[name])

    return together(sites, work, transport)
