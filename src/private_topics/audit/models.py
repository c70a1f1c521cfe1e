"""The audit of a fitted model, from its file alone: each release of its statement, on a corpus like its own."""

from __future__ import annotations

from typing import Any

from private_topics.audit.auditing import audit_privacy
from private_topics.audit.made_up import like_model
from private_topics.audit.seal import sealed
from private_topics.estimators.private import PrivateSpectralLDA
from private_topics.knowledge.sources import open_knowledge
from private_topics.progress import SILENT, Progress

LIKE_MODEL = "made up, drawn from the model's topics"


def audit_model(
    model: PrivateSpectralLDA,
    *,
    knowledge: Any = None,
    documents: int | None = None,
    words: int | None = None,
    documents_per_user: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    trials: int = 1_000,
    fits: int = 100,
    confidence: float = 0.9999,
    progress: Progress = SILENT,
) -> dict[str, Any]:
    """Attack what a fitted model claims; the sealed content, for `write_audit` and `write_report`.

    Parameters
    ----------
    model : a fitted model; its topics and its statement are looked at, and nothing is charged.
    knowledge : the public knowledge that its statement names, as `fit_texts` takes it; what comes with the package is
        found without. If it is not at hand, the content says what was not attacked.
    documents, words, documents_per_user, random_state, n_jobs : see `corpus_like`.
    trials, fits, confidence : see `audit_privacy`.
    progress : notified of each stage.
    """
    found = like_model(
        model,
        knowledge=open_knowledge(knowledge, tokeniser=getattr(model, "tokeniser_", None)),
        documents=documents,
        words=words,
        documents_per_user=documents_per_user,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )
    result = audit_privacy(
        found.estimator,
        found.counts,
        groups=found.groups,
        words=found.words,
        trials=trials,
        fits=fits,
        confidence=confidence,
        corpus=LIKE_MODEL,
        progress=progress,
    )
    return sealed(result, model.privacy_.to_dict())
