"""Counts and a fixed topic model → topic assignments of single words, by Gibbs sampling inside each document.

With the document's topic proportions integrated out, word `w` is in topic `i` with probability proportional to
`(n_i + prior) · topics[w, i]`, `n_i` counting the document's other words (Griffiths & Steyvers 2004). Sampling a
document exactly, instead of by a mean-field approximation, is what makes online refinement good on short texts
(Mimno, Hoffman & Blei 2012). The sum splits into a part over the few topics the document has and a part that depends
on the word alone (Yao, Mimno & McCallum 2009), so a draw costs little more than the number of topics present.

A word counts with its probabilities given the others of its document, not with the topic it then draws: the same
expectation with less noise (Rao-Blackwell), so a few sweeps do. Mean-field inference would have no noise at all, and
finds worse topics on short texts.

Each document has its own stream of random bits, made from the seed and its position: no thread shares state.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from private_topics.corpus.counts.layout import WordBlock, interleaved, word_block
from private_topics.corpus.counts.matrix import row_sums
from private_topics.inference.fold_in import fold_in, topic_statistic

SMOOTHING, LAST_SMOOTHING = 1.0, 0.01
START_UNIGRAM_SHARE = 0.5
SMALLEST_BATCH, FEWEST_BATCHES = 32, 40


def topics_of_counts(expected: np.ndarray, smoothing: float = SMOOTHING) -> np.ndarray:
    """Words × topics with columns that sum to one: the posterior mean under a symmetric Dirichlet prior."""
    smoothed = expected + smoothing
    smoothed /= smoothed.sum(axis=0)
    return smoothed


def start_counts(topics: np.ndarray, unigram: np.ndarray, n_tokens: float) -> np.ndarray:
    """Pseudo-counts (words × topics) that stand for the spectral topics, all of the same size.

    Half of the unigram model keeps every word reachable, and lets the common words spread over the topics.
    """
    mixed = (1.0 - START_UNIGRAM_SHARE) * topics + START_UNIGRAM_SHARE * unigram
    return np.ascontiguousarray(mixed.T) * (n_tokens / len(topics))


def step_size(step: int) -> float:
    """Weight of the new batch in the running statistic; it falls slowly, since the iterates are averaged."""
    return float((step + 2.0) ** -0.35)


def sweeps(step: int, last: bool) -> tuple[int, int]:
    """Sweeps over a document before its words are counted, and while they are, in one pass of several.

    Few leave a document near its warm start, which biases the topics; only late passes, and the last, need better.
    With fewer in the last pass, the most probable words of a topic go less well together.
    """
    more = min(max(step - 1, 0), 2)
    return (5 + 3 * more // 2, 4) if last else (2 + more, 1 + more)


WARMTH = 5.0  # the prior falls from WARMTH times its value during the burn-in, so documents first move freely
LONGEST_SAMPLED = 20_000
MOST_HELD = 1 << 23  # probabilities of words that are held at a time

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)


def document_statistic(
    block: WordBlock, word_topics: np.ndarray, prior: float, seed: int, burn_in: int, samples: int
) -> np.ndarray:
    """Words × topics: expected counts under the posterior of each document, given the topics.

    Documents of more than `LONGEST_SAMPLED` words take the mean-field path: their posterior is sharp, and a list of
    their words could be arbitrarily long.
    """
    length = row_sums(block.indptr, block.counts)
    if length.max(initial=0) <= LONGEST_SAMPLED:
        return _sampled_statistic(block, word_topics, prior, seed, burn_in, samples)
    short = _only(block, length <= LONGEST_SAMPLED)
    long = _only(block, length > LONGEST_SAMPLED)
    _, pull = fold_in(long.indptr, long.words, long.counts, word_topics, np.full(word_topics.shape[1], prior))
    sampled = _sampled_statistic(short, word_topics, prior, seed, burn_in, samples)
    return sampled + topic_statistic(long, word_topics, pull)


def _sampled_statistic(
    block: WordBlock, word_topics: np.ndarray, prior: float, seed: int, burn_in: int, samples: int
) -> np.ndarray:
    totals, order = _row_totals(word_topics), interleaved(block.n_words)
    out = np.zeros(word_topics.shape)
    columns = word_topics.shape[1] + 1
    start = 0
    while start < block.n_documents:
        last = np.searchsorted(block.indptr, block.indptr[start] + MOST_HELD // columns, side="right") - 1
        stop = max(start + 1, int(last))
        part = _documents(block, start, stop)
        pull = np.zeros((len(part.words), columns), np.float32)
        _sample_documents(
            part.indptr, part.words, part.counts, word_topics, totals, prior, WARMTH * prior, burn_in, samples,
            np.uint64(seed), start, pull,
        )  # fmt: skip
        _add_expected(order, part.word_start, part.by_word, pull, word_topics, prior, 1.0 / samples, out)
        start = stop
    return out


def _documents(block: WordBlock, start: int, stop: int) -> WordBlock:
    low, high = block.indptr[start], block.indptr[stop]
    return word_block(
        block.indptr[start : stop + 1] - low, block.words[low:high], block.counts[low:high], block.n_words
    )


def _only(block: WordBlock, keep: np.ndarray) -> WordBlock:
    """The block with the documents outside `keep` emptied (their positions, and so their seeds, stay)."""
    sizes = np.where(keep, np.diff(block.indptr), 0)
    entries = np.repeat(keep, np.diff(block.indptr))
    indptr = np.concatenate(([0], np.cumsum(sizes)))
    return word_block(indptr, block.words[entries], block.counts[entries], block.n_words)


@njit(cache=True, inline="always")
def _next(state):  # type: ignore[no-untyped-def]
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state


@njit(cache=True, inline="always")
def _seed_state(seed, document):  # type: ignore[no-untyped-def]
    state = seed * GOLDEN + np.uint64(document + 1) * MIX_2
    state ^= state >> np.uint64(30)
    state *= MIX_1
    state ^= state >> np.uint64(27)
    state *= MIX_2
    state ^= state >> np.uint64(31)
    return state | np.uint64(1)


@njit(cache=True, nogil=True)
def _row_totals(word_topics):  # type: ignore[no-untyped-def]
    """Row sums, added in the order in which the sampler adds them again."""
    totals = np.empty(len(word_topics))
    for word in range(len(word_topics)):
        total = 0.0
        for value in word_topics[word]:
            total += value
        totals[word] = total
    return totals


@njit(cache=True, parallel=True, nogil=True)
def _sample_documents(  # type: ignore[no-untyped-def]
    indptr, words, counts, word_topics, totals, prior, warm_prior, burn_in, samples, seed, first, pull
):
    """Sweep over each document; `pull` (entries × topics, and a column for the prior) adds up what draws each word.

    In the sweeps after the burn-in, a word of probability P given the others adds `n_i / P` for the topics present
    and `1 / P` in the last column: its probabilities, but for the factor `topics[w, i]`.
    Indices are unsigned where the inner loop uses them: numba then leaves out the test for negative ones.
    """
    k = word_topics.shape[1]
    one = np.uint64(1)
    for n in prange(len(indptr) - 1):
        length = 0
        for p in range(indptr[n], indptr[n + 1]):
            length += counts[p]
        topic_of = np.empty(length, np.uint32)
        present = np.empty(k, np.uint32)  # the topics with a count, in the first `n_present` places
        count = np.empty(k)  # of the topic in each place
        place = np.full(k, k, np.uint32)  # of each topic; k if it has no count
        running = np.empty(k)
        n_present = np.uint64(0)
        state = _seed_state(seed, first + n)
        for sweep in range(burn_in + samples):
            warmth = max(0.0, 1.0 - sweep / max(1, burn_in))
            smoothing = prior + (warm_prior - prior) * warmth
            token = np.uint64(0)
            for p in range(indptr[n], indptr[n + 1]):
                topic = word_topics[words[p]]
                from_prior = smoothing * totals[words[p]]
                for _ in range(counts[p]):
                    if sweep > 0:
                        old = topic_of[token]
                        j = np.uint64(place[old])
                        count[j] -= 1.0
                        if count[j] == 0.0:
                            n_present -= one
                            present[j] = present[n_present]
                            count[j] = count[n_present]
                            place[present[j]] = j
                            place[old] = k
                    total = 0.0
                    for i in range(n_present):
                        total += count[i] * topic[present[i]]
                        running[i] = total
                    if sweep >= burn_in:
                        scale = 1.0 / (total + from_prior)
                        pull[p, k] += scale
                        for i in range(n_present):
                            pull[p, present[i]] += count[i] * scale
                    state = _next(state)
                    point = np.float64(np.int64(state >> np.uint64(11))) * (1.0 / 9007199254740992.0)
                    point *= total + from_prior
                    if point < total:
                        j = np.uint64(0)
                        while running[j] <= point:
                            j += one
                        new = present[j]
                        count[j] += 1.0
                    else:
                        point = (point - total) / smoothing
                        new = np.uint32(0)
                        partial = topic[0]
                        while new < k - 1 and partial <= point:
                            new += np.uint32(1)
                            partial += topic[new]
                        j = np.uint64(place[new])
                        if j == k:
                            present[n_present] = new
                            count[n_present] = 1.0
                            place[new] = n_present
                            n_present += one
                        else:
                            count[j] += 1.0
                    topic_of[token] = new
                    token += one


@njit(cache=True, parallel=True, nogil=True)
def _add_expected(order, word_start, by_word, pull, word_topics, prior, share, out):  # type: ignore[no-untyped-def]
    k = word_topics.shape[1]
    for o in prange(len(order)):
        word = order[o]
        topic, row = word_topics[word], out[word]
        drawn = np.zeros(k)
        from_prior = 0.0
        for q in range(word_start[word], word_start[word + 1]):
            p = by_word[q]
            from_prior += pull[p, k]
            for a in range(k):
                drawn[a] += pull[p, a]
        from_prior *= prior
        for a in range(k):
            row[a] += share * topic[a] * (drawn[a] + from_prior)
