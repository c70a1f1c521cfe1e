"""What `reliability` states, learnt: how often words and topics come again, from how far refits let them stand out.

    python research/reliability_map.py --out research/results/reliability_map.md

Fits of medical abstracts, clinical notes and mail, each 20 times with noise of its own (seeds 100 to 119): never the
corpora of benchmarks/reliability.py. Of the first three models of each case the refits' numbers are taken, as
`reliability` takes them, and how often topics and words are in the 19 other fits. A logistic regression of the latter
on the former is the map: three numbers for words, four for topics. What each corpus would have been told by the two
others is shown beside it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

from private_topics import PrivateSpectralLDA
from private_topics.audit.reliability import (
    REFITS,
    RELIABLE,
    came_again,
    chances,
    finds_topics,
    first_words,
    intervals,
    matched,
    refitted,
    settings_for_refits,
    topic_features,
    word_features,
)
from private_topics.progress import SILENT

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from reliability import FIRST, FITS, STATED, Case, actual, table
from stored import options_of, tell

SEEDS = range(100, 100 + FITS)
MEDICAL, CLINICAL, MAIL = ("medical_abstracts", "public"), ("mtsamples_clinical", "train"), ("enron_email", "train")
CASES = (
    *(Case(*MEDICAL, *sizes) for sizes in ((2_500, 3.0, 5), (5_000, 1.0), (5_000, 3.0), (7_000, 8.0))),
    *(Case(*CLINICAL, 2_126, epsilon) for epsilon in (1.0, 3.0, 8.0)),
    *(Case(*MAIL, *sizes) for sizes in ((5_000, 1.0), (5_000, 3.0), (15_232, 1.0), (15_232, 3.0))),
    Case(*MAIL, 15_232, 8.0, informed=False),
)
PAGE = """# From refits to how often a topic comes again

`python research/reliability_map.py`: {cases} cases, {fits} fits of each (seeds 100 to 119), {stated} models of each
with {refits} refits of drawn documents.

## The map

    WORD_MAP = {words}
    TOPIC_MAP = {topics}

Log odds: a constant, then the factors of margin over spread, of the margin and, for topics, of the logarithm of the
share over the average. The last is learnt where public knowledge finds the topics. Elsewhere rare topics are
discounted by it too, though some of the mail come again, and frequent ones have no credit.

## What each corpus would have been told by the others

Called: stated at 90 % or more. "really" come again in 90 % or more of the other fits.

{called}

## Why not the refits' own agreement

Documents drawn from a model are tidier than real ones: they have its topics and no others, and a topic that noise
made is in them as surely as any other. Here {agreed} topics come again in 90 % or more of the refits, and those do so
in {really:.0%} of the fits of the corpus.

## The cases

{table}
"""


class Seen(NamedTuple):
    """Of one model: numbers of the refits beside what comes again, for topics and words; then what is only shown."""

    corpus: str
    topics: np.ndarray
    topics_again: np.ndarray
    words: np.ndarray
    words_again: np.ndarray
    learnt_share: bool
    agreement: np.ndarray
    inside: float


def seen(case: Case, model: PrivateSpectralLDA, others: list[PrivateSpectralLDA]) -> Seen:
    settings = settings_for_refits(model, None, None)
    found = [matched(one, model.components_) for one in refitted(model, settings, REFITS, 0, SILENT)]
    words, first = word_features(found, FIRST), first_words(model.components_, FIRST)
    again = actual(model, others, intervals(found, model.components_))
    agreement = np.mean([came_again(first_words(one, FIRST), first) for one in found], axis=0)
    return Seen(
        case.corpus, topic_features(words, model, FIRST), again.topics, words[first], again.words,
        finds_topics(model), agreement, again.inside,
    )  # fmt: skip


def learnt(features: np.ndarray, again: np.ndarray) -> tuple[float, ...]:
    """A logistic regression on shares: each counts as that much of a success and the rest of a failure."""
    outcome = np.repeat([1, 0], len(again))
    weights = np.concatenate([again, 1.0 - again])
    found = LogisticRegression(C=1e3, max_iter=2_000).fit(np.tile(features, (2, 1)), outcome, weights)
    return (*found.intercept_.tolist(), *found.coef_[0].tolist())


def topic_map(models: list[Seen]) -> tuple[float, ...]:
    features = [one.topics * (1, 1, one.learnt_share) for one in models]
    return learnt(np.concatenate(features), np.concatenate([one.topics_again for one in models]))


def word_map(models: list[Seen]) -> tuple[float, ...]:
    return learnt(np.concatenate([one.words for one in models]), np.concatenate([one.words_again for one in models]))


def told(models: list[Seen], name: str) -> list[str]:
    """Of one corpus, what the others would have called, and how often that comes again."""
    here, elsewhere = ([one for one in models if (one.corpus == name) == same] for same in (True, False))
    row = [name]
    for what, found in (("topics", topic_map(elsewhere)), ("words", word_map(elsewhere))):
        again = np.concatenate([getattr(one, f"{what}_again") for one in here])
        called = again[chances(np.concatenate([getattr(one, what) for one in here]), found) >= RELIABLE]
        share = f"{called.mean():.0%}" if len(called) else "–"
        row += [f"{len(called)} of {len(again)}", share, str(np.count_nonzero(again >= RELIABLE))]
    return row


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    models, rows = [], []
    for case in CASES:
        print(*case, file=sys.stderr, flush=True)
        fits = case.fits(SEEDS)
        some = [seen(case, fits[at], fits[:at] + fits[at + 1 :]) for at in range(STATED)]
        models += some
        means = (
            np.mean([np.mean(getattr(one, name)) for one in some])
            for name in ("topics_again", "agreement", "words_again", "inside")
        )
        known = "english" if case.informed else "none"
        rows.append(
            [case.corpus, f"{case.documents:,}", f"{case.epsilon:g}", str(case.topics), known]
            + [f"{mean:.0%}" for mean in means]
        )
    agree = np.concatenate([one.agreement for one in models]) >= RELIABLE
    heads = ["topics called", "come again", "really", "words called", "are there again", "really"]
    tell(
        PAGE.format(
            cases=len(CASES), fits=FITS, stated=STATED, refits=REFITS, agreed=np.count_nonzero(agree),
            really=np.concatenate([one.topics_again for one in models])[agree].mean(),
            words=", ".join(f"{number:.2f}" for number in word_map(models)),
            topics=", ".join(f"{number:.2f}" for number in topic_map(models)),
            called=table(
                ["corpus", *heads], [told(models, name) for name in dict.fromkeys(one.corpus for one in models)]
            ),
            table=table(
                ["corpus", "documents", "epsilon", "topics", "knowledge", "topics come again", "in refits",
                 "words are there again", "intervals hold"], rows,
            ),
        ),
        options.out,
    )  # fmt: skip


if __name__ == "__main__":
    main()
