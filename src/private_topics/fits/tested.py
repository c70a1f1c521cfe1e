"""No topic without evidence: the topics of a fit are tested on words that it has not learnt from.

Topics that are alike are joined, two by two, into a tree: a function of the topics alone, made before the test. Every
topic and every joined group is tested at once. Kept are the smallest groups that the documents show; the rest is one
topic more where they show that too, and else goes to the nearest. Where nothing is shown, one topic is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.cluster.hierarchy import linkage

from private_topics.errors import warn_user
from private_topics.fits.fit import PrivateModel
from private_topics.releases.evidence import (
    EVIDENCE,
    NoisyEvidence,
    all_deviations,
    deviations,
    discovery_limit,
    judged,
    limit_of,
    release_evidence,
)
from private_topics.releases.release import FitContext
from private_topics.sums.evidence import SIXTEENTH
from private_topics.threads import one_order

Group = tuple[int, ...]


def tested_model(context: FitContext, model: PrivateModel, share: float, *, keep_all: bool) -> PrivateModel:
    """The model with the evidence for its topics; those without are joined, unless `keep_all`."""
    if len(model.topics) == 1:
        return model
    context.progress.stage("evidence")
    topics, alpha = model.topics, model.alpha
    with one_order():
        directions = directions_of(topics, alpha)
        tree = tree_of(directions)
    noisy = release_evidence(replace(context, releases=(EVIDENCE,)), topics, alpha, share, SIXTEENTH)
    groups = [(topic,) for topic in range(len(topics))] if keep_all else seen_groups(noisy, tree, directions)
    weight = np.array([alpha[list(group)].sum() for group in groups])
    joined = np.stack([alpha[list(group)] @ topics[list(group)] for group in groups]) / weight[:, None]
    evidence = judged(noisy, groups) if len(groups) > 1 else None
    if len(groups) < len(topics):
        warn_user(_said(len(groups), len(topics)))
    return replace(model, topics=joined, alpha=weight, evidence=evidence)


def _said(kept: int, made: int) -> str:
    if kept == 1:
        return (
            f"The documents do not tell the {made} topics apart that the fit made: the model is one topic, the word "
            "frequencies. More documents, longer ones or a larger epsilon show more; keep='all' (--keep all) returns "
            "all, marked."
        )
    return (
        f"The documents show {kept} of the {made} topics that the fit made, and the others are joined with these; "
        "keep='all' (--keep all) returns all, marked."
    )


def directions_of(topics: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Unit vectors along which the roots of the topics differ from those of their average."""
    apart = np.sqrt(topics) - np.sqrt(alpha @ topics / alpha.sum())
    return apart / np.maximum(np.linalg.norm(apart, axis=1, keepdims=True), np.finfo(float).tiny)


def tree_of(directions: np.ndarray) -> list[Group]:
    """The topics, then the groups made by joining the two nearest, by their average cosine, until one is left."""
    apart = 1.0 - directions @ directions.T
    groups: list[Group] = [(topic,) for topic in range(len(directions))]
    for left, right, *_ in linkage(apart[np.triu_indices(len(apart), 1)], "average"):
        groups.append(tuple(sorted(groups[int(left)] + groups[int(right)])))
    return groups


def seen_groups(noisy: NoisyEvidence, tree: Sequence[Group], directions: np.ndarray) -> list[Group]:
    """A partition of the topics into those that are seen, groups that are only seen together, and the rest.

    All are one where no topic, no group and no sum over all topics stands out.
    """
    k = len(directions)
    found = {group: deviations(noisy, group) for group in tree[:-1]}  # everything together says nothing
    if all_deviations(noisy) < limit_of(2) and max(found.values()) < limit_of(2 * len(found)):
        return [tuple(range(k))]
    limit = discovery_limit([found[group] for group in tree[:k]])
    seen: list[Group] = []
    for group, size in found.items():  # small ones first
        if size > limit and not any(set(one) & set(group) for one in seen):
            seen.append(group)
    rest = tuple(sorted(set(range(k)) - {topic for group in seen for topic in group}))
    if not seen:
        return [tuple(range(k))]
    if rest and (len(seen) == 1 or deviations(noisy, rest) > limit):  # two groups show each other
        return [*seen, rest]
    means = np.stack([directions[list(group)].mean(axis=0) for group in seen])
    nearest = (directions @ means.T).argmax(axis=1)
    return [
        tuple(sorted((*group, *(topic for topic in rest if nearest[topic] == at)))) for at, group in enumerate(seen)
    ]
