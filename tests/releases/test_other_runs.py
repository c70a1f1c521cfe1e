"""The suite of `other_runs.py`; and every release that there is, is in it or in that of the fits."""

from __future__ import annotations

import gc
import pickle
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from live_releases import live_releases
from other_runs import RUNS, OtherRun, check_other_run
from release_suite import proved_fits

from private_topics.fits.choice import FITS, LIKELIHOOD_ALONE
from private_topics.releases.release import Release

TESTS = Path(__file__).resolve().parents[1]
IMPORTED = f"""
import importlib, pickle, pkgutil, sys
sys.path.insert(0, {str(TESTS / "releases")!r})
import private_topics, live_releases
for module in pkgutil.walk_packages(private_topics.__path__, "private_topics."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
sys.stdout.buffer.write(pickle.dumps(live_releases.live_releases()))
"""
CASES = [(run, relation) for run in RUNS for relation in run.neighbours]


def named(value: Any) -> str | None:
    return getattr(value, "name", value if isinstance(value, str) else None)


@pytest.mark.parametrize("grouped", [False, True], ids=["documents", "users"])
@pytest.mark.parametrize(("run", "neighbours"), CASES, ids=named)
def test_neighbouring_runs_differ_in_released_values_alone(run: OtherRun, neighbours: Any, grouped: bool) -> None:
    check_other_run(run, grouped, neighbours)


def every_release_object() -> set[Release]:
    """All releases that the package makes as it is imported, by a process that has those of no test."""
    made = subprocess.run([sys.executable, "-c", IMPORTED], stdout=subprocess.PIPE, check=True).stdout
    found: set[Release] = pickle.loads(made)
    return found


def attacked_by_hand() -> set[Release]:
    """Those of fits whose epsilons add up: by name, from the tables that their own tests go through."""
    pure = runpy.run_path(str(TESTS / "fits/test_pure_epsilon.py"))["NAMES"]
    published = runpy.run_path(str(TESTS / "fits/test_published.py"))["RELEASES"]
    return {
        release
        for fit in FITS.values()
        if fit.adds_up
        for release in fit.releases
        if release.name in (pure if fit.pure else published[int(fit.name.split()[1])])
    }


@pytest.mark.process
def test_every_release_that_there_is_is_attacked() -> None:
    """One that is in no suite is one whose sensitivity, noise and messages nothing tests."""
    in_fits = {release for fit in proved_fits() for release in fit.releases}
    in_runs = {release for run in RUNS for release in run.releases}
    every = every_release_object()
    missing = every - in_fits - in_runs - attacked_by_hand()
    assert not missing, f"in no suite: {sorted(release.name for release in missing)}"
    assert len(every) > 40


def test_a_release_is_found_wherever_it_is() -> None:
    """In a set, a class, a dict of tuples, the cell of a function, an object with slots; also a numbered one."""
    planted = [replace(LIKELIHOOD_ALONE.releases[0], name=f"planted {place}") for place in range(6)]

    class Holder:
        held = planted[1]

    class Slotted:
        __slots__ = ("held",)

    slotted, in_cell = Slotted(), planted[4]
    slotted.held = planted[3]  # type: ignore[attr-defined]
    holders = [
        {planted[0]},
        Holder,
        {"a": ((planted[2],),)},
        slotted,
        lambda: in_cell,
        frozenset({planted[5].numbered(2)}),
    ]
    wanted = {*planted[:5], planted[5].numbered(2)}
    planted = []
    gc.collect()
    assert wanted <= live_releases()
    assert len(holders) == 6
