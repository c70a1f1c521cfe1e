"""Sentences that the pages share."""

from __future__ import annotations

QUICK_NOTE = "**Quick run**: small corpora, to try the path from corpus to figure. It says nothing about the paper."
TEXT_NOTE = (
    "Setting of the text: d = 300 (N is said to exceed d², and figure 3b has 300 topics), documents of 100 words. "
    "`error`: App. B's distance `||y - f||_F` with every topic divided by its length, matched; zeros "
    "in place of three topics score √3. L2 is that of this library, for which the length of a topic does not "
    "matter."
)
AUTHORS_NOTE = (
    "Setting of the authors' public code: topics and prior are normalised uniform numbers. "
    "`error`: the sum of L1 distances of matched topics, as in that code; topics drawn at random score "
    "1.7 with 10 words, the plateau of the paper's plots, and 1.9 with 50. In this metric the plotted variational "
    "inference without noise (4.6 to 4.9) is worse than guessing; near-one-hot topics score as much."
)
READING_NOTE = (
    "In brackets what the noise really costs at the same delta: at least this epsilon, from the noise that is "
    "added and sensitivities that are attained (`losses.py`). '?': nothing is known. '∞': a value leaves without "
    "noise; the authors' code un-whitens configurations 2 and 3 with the exact W†. In its latest state it scales "
    "moments and sensitivities by powers of alpha0; before, the plots suggest, the moments alone. Above 200 words "
    "it puts no noise on M3 or T, so the setting of the text has no column for it; 'not scaled' there is our "
    "configurations 1 and 2 on its moments."
)
METHOD_NOTE = (
    "Median and range of the draws. A model with fewer topics than the truth is charged for the missing ones as "
    "if they shared no word with it; 'tiled' repeats what it has instead. 'oracle': the paper's protocol, the "
    "best split of the budget by the distance to the truth; it fits four or five models and charges for one: by "
    "the paper's own composition four or five times what is stated, and at least the number in brackets. "
    "'unigram' has the word frequencies in place of every topic: a model that scores no better has learnt "
    "nothing."
)
REFUSAL_NOTE = "'refused': the lower bound of Procedure 1 came out as zero, so the published noise is infinite."
VOCABULARY_NOTE = (
    "The paper's perplexities are for another vocabulary, which it does not print (it keeps short words and stop "
    "words, which are left out here), and are not comparable. Those of configuration 1 as published are so large "
    "because its topics are noise and give most words no probability."
)
INTRODUCTION = (
    "The page to cite, with every claim of the paper: [claims](claims.md). Every page, figure and number is "
    "written by `private-topics reproduce all --out DIR`; a test compares the pages with the rows. Noise seeds "
    "are fixed so that a run can be repeated, so none of these models is private. What is wrong with the claims "
    "themselves: [errata](../errata.md). Which configuration to use: [configurations](../configurations.md)."
)
UNEQUAL_NOTE = (
    "Figure 2 is judged in two settings: that of the text, and that of the authors' public code ('authors', "
    "'notebook'), because the paper prints neither its number of words nor the length of its documents. A reading "
    "is a column: the variance tau/N² that the text prints, the constants of its appendix with standard deviation "
    "Delta tau, and the code."
)
PROMISE_NOTE = (
    "Equal (epsilon, delta) throughout. 'As published' is the paper's noise, which is not proved; 'proved by us' "
    "are its configurations 1 and 2 with our clipping, one released frame and our accounting, so they are close "
    "where the problem is easy. A rival that refuses counts as beaten. Rivals by others (private Gibbs sampling, "
    "private clustering, a private vocabulary first), on other text too: [all private methods](rivals.md)."
)
PICTURE_NOTE = (
    "**Why the paper's picture comes out where sensitivities are not scaled.** The moments are multiplied by "
    "alpha0(alpha0+1) = 1,001,000 and alpha0(alpha0+1)(alpha0+2)/2 = 5e8, so the singular values that carry the "
    "topics are of order one and noise for the unscaled moments, about 1e-3, hardly shows. One document moves the "
    "scaled moments as many times further: it is not hidden. With sensitivities scaled likewise the noise is 1e3 "
    "and drowns everything; the floor of 0.1 under sigma_k is why nothing is refused even then."
)
NOTES = {
    "figure-1": "The pictures show where each configuration puts its noise.",
    "figure-3a": "One corpus for each alpha0, topics drawn in the same way.",
    "figure-3b": "One corpus for each number of topics. `residual`: the largest `||T(I, v, v) - lambda v||` over the "
    "largest lambda. Where it is not near zero, the tensor of the corpus is mostly sampling noise, which has no k "
    "orthogonal eigenvectors: the gap there is one of the values with which the power method ends, not of a "
    "spectrum, and another order of summation changes it. The plotted gaps are negative; the likely cause: "
    "[errata](../../errata.md), plotted-gap.",
    "figure-4": REFUSAL_NOTE,
    "table-utility": "The four theorems with the constants as printed, the singular values and gaps of the "
    "corpora of figure 2, the budget divided equally.",
    "table-top-words": "Three topics of each method, drawn at random as in the paper. The paper's own table does not "
    "say which configuration it is from, nor for how many topics.",
}
