"""An audit claims no more than it attacked: unit, releases, order, settings and noise of a model's statement."""

from __future__ import annotations

import copy
import dataclasses
import json
from functools import cache
from typing import Any

import numpy as np
import pytest

from private_topics import PrivateSpectralLDA, make_lda_corpus
from private_topics.audit import AuditResult, audit_privacy, seal, sealed, verify
from private_topics.reports.audit import audit_context, markdown, write_audit
from private_topics.reports.audit_scope import NOT_COMPARED

SETTINGS: dict[str, Any] = {"epsilon": 20.0, "delta": 1e-5, "alpha0": 0.2, "refine_steps": 1, "n_jobs": 1}
ALL = "attacked the model's unit and every release"


@cache
def counts() -> Any:
    return make_lda_corpus(300, 20, 2, alpha0=0.2, mean_length=30, random_state=0)[0]


@cache
def statement(grouped: bool = False) -> dict[str, Any]:
    groups = np.arange(300) // 2 if grouped else None
    fitted = PrivateSpectralLDA(2, **SETTINGS, noise_seed=3).fit(counts(), groups=groups)
    return json.loads(json.dumps(fitted.privacy_.to_dict()))


@cache
def of_documents() -> AuditResult:
    return audit_privacy(
        PrivateSpectralLDA(2, **SETTINGS, noise_seed=1), counts(), trials=10, fits=10, corpus="made up"
    )


def changed(grouped: bool = False, **changes: Any) -> dict[str, Any]:
    return copy.deepcopy(statement(grouped)) | changes


def shown(model: dict[str, Any] | None) -> tuple[dict[str, Any], str, str]:
    """Coverage, headline and page of an audit of documents that is sealed with a model's statement."""
    content = sealed(of_documents(), model)
    return content["coverage"], audit_context(content)["headline"], markdown(content, "Audit", "today")


def test_a_model_with_the_same_unit_and_releases_was_attacked_in_full():
    facts, headline, page = shown(statement())
    assert facts["complete"]
    assert facts["unit"] == {"model": "document", "audit": "document"}
    assert facts["n_units"] == {"model": 300, "audit": 300}
    assert facts["n_words"] == {"model": 20, "audit": 20}
    assert facts["not_attacked"] == facts["not_in_model"] == facts["other_settings"] == []
    assert ALL in headline
    assert "among 300 documents over 20 words. The corpus: made up." in page
    assert "the same names in the same order" in page


def test_an_audit_of_documents_never_speaks_for_users():
    """The model protects users; that documents were replaced must stand first and leave nothing to misread."""
    facts, headline, page = shown(statement(grouped=True))
    assert not facts["complete"]
    assert facts["unit"] == {"model": "user", "audit": "document"}
    assert "did NOT attack all that the model claims" in headline
    assert "It protects one user with all their documents; the audit replaced one document" in page
    assert ALL not in page
    assert "against the claims" not in page
    assert "The claims of the model were attacked" not in page


def test_releases_that_were_not_attacked_are_named():
    releases = copy.deepcopy(statement()["releases"])
    for place, name in ((len(releases), "refinement 2"), (0, "vocabulary")):
        releases.insert(place, releases[-1] | {"name": name})
    facts, headline, page = shown(changed(releases=releases))
    assert facts["not_attacked"] == ["vocabulary", "refinement 2"]
    assert not facts["complete"]
    assert "did NOT attack all" in headline
    assert f"2 releases of the model's {len(releases)}: vocabulary, refinement 2." in page
    assert "the same names" not in page


def test_releases_that_the_model_did_not_make_are_named_but_leave_nothing_out():
    facts, headline, page = shown(changed(releases=copy.deepcopy(statement()["releases"])[:-1]))
    assert facts["not_in_model"] == ["evidence"]
    assert facts["complete"]
    assert ALL in headline
    assert "The audited fit also made: evidence." in page


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"releases": statement()["releases"][::-1]}, "in another order"),
        ({"epsilon": 1.0, "delta": 1e-7}, "another epsilon, delta"),
        ({"configuration": "configuration 2 (proved)"}, "another configuration"),
        ({"sampler": "exact"}, "another sampler"),
        ({"unit": None}, "the model's unit"),
        ({"releases": []}, NOT_COMPARED),
    ],
    ids=["order", "budget", "configuration", "sampler", "no unit", "no releases"],
)
def test_whatever_differs_is_said(changes, said):
    facts, headline, page = shown(changed(**changes))
    assert not facts["complete"]
    assert "did NOT attack all" in headline
    assert said in page


def test_other_noise_is_said():
    releases = [release | {"sigma": release["sigma"] / 2} for release in statement()["releases"]]
    facts, headline, page = shown(changed(releases=releases))
    assert facts["noise"] == pytest.approx([2.0, 2.0])
    assert "did NOT attack all" in headline
    assert "had 2.0000 times the noise of the model's" in page


def test_other_numbers_of_units_and_words_are_stated_without_a_gap():
    releases = copy.deepcopy(statement()["releases"])
    releases[0]["coordinates"] = 70_000
    facts, headline, page = shown(changed(releases=releases, n_units=1_234_567))
    assert facts["complete"]
    assert ALL in headline
    assert "among 300 documents over 20 words" in page
    assert "of 1,234,567; it has 70,000 words" in page


@pytest.mark.parametrize("model", [{}, {"epsilon": 20.0}])
def test_a_statement_that_says_little_covers_little(model):
    facts, headline, _ = shown(model)
    assert not facts["complete"]
    assert "did NOT attack all" in headline


def test_without_a_model_no_model_is_spoken_of():
    facts, headline, page = shown(None)
    assert facts is None
    assert headline == "The audit found nothing against the claims of a fit with these settings"
    assert "among 300 documents over 20 words" in page
    assert "The model protects" not in page
    assert "Not attacked" not in page


def test_content_sealed_before_there_was_a_comparison_claims_nothing(tmp_path):
    content = sealed(of_documents(), statement())
    del content["coverage"]
    path = write_audit(content, tmp_path / "old.html")
    assert verify(path, seal(content))
    assert NOT_COMPARED in path.read_text(encoding="utf-8").replace("&#39;", "'")
    assert "did NOT attack all" in audit_context(content)["headline"]


def test_the_comparison_is_under_the_seal():
    content = sealed(of_documents(), statement())
    other = copy.deepcopy(content)
    other["coverage"]["complete"] = False
    assert seal(other) != seal(content)
    other = copy.deepcopy(content)
    other["coverage"]["unit"]["model"] = "user"
    assert seal(other) != seal(content)


def test_a_failed_audit_says_what_it_left_out_too():
    failed = dataclasses.replace(of_documents(), trouble=("The model depends on the corpus.",))
    page = markdown(sealed(failed, statement(grouped=True)), "Audit", "today")
    assert "The audit FAILED" in page
    assert "Not attacked: the model's unit." in page
