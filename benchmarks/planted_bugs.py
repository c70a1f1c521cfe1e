"""Bugs that would break the privacy of a fit, each an exact edit of one file, and the tests that must notice it.

`benchmarks/mutants.py` plants them, one at a time, in a copy of the library.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """`edits`: pairs of old and new text, each old text once in `file` (below src/private_topics)."""

    name: str
    file: str
    edits: tuple[tuple[str, str], ...]
    tests: tuple[str, ...]


MECHANISMS, RANDOMNESS = "privacy/mechanisms.py", "privacy/randomness.py"
SEQUENTIAL, UNIT_SUMS = "fits/sequential.py", "sums/unit_sums.py"
DRAWN = "tests/privacy/test_mechanisms.py::"
NEIGHBOURS = "tests/releases/test_sensitivity.py::test_the_declared_sensitivity_holds_and_is_needed"
TAINT = ("tests/fits/test_noise_everywhere.py::test_nothing_but_released_values_is_left_behind[1-60.0-documents]",)
SIZES = "tests/sums/test_unit_sums.py::test_no_size_goes_without_its_clip"
OWN_FRAME = ("tests/fits/test_frame_of_releases.py",)

NOISE = (
    Mutant(
        "half of the noise",
        MECHANISMS,
        (
            (
                'order="C")\n    ratio = sigma / query.step * (1 + 2.0**-50)',
                'order="C")\n    ratio = sigma / query.step / 2',
            ),
        ),
        (f"{DRAWN}test_noise_is_as_recorded[vector]",),
    ),
    Mutant(
        "half of the noise on the words of a vocabulary",
        MECHANISMS,
        (("_add_noise(totals, ratio, self._draw(event))", "_add_noise(totals, 0.5 * ratio, self._draw(event))"),),
        ("tests/privacy/test_set_union.py::test_noise_is_as_recorded",),
    ),
    Mutant(
        "too little noise off the diagonal",
        "privacy/symmetric.py",
        (("return ratio / math.sqrt(permutations) * (1 + 2.0**-50)", "return ratio / permutations"),),
        (f"{DRAWN}test_noise_is_as_recorded[symmetric_matrix]",),
    ),
    Mutant(
        "no noise beyond the first chunk",
        MECHANISMS,
        (
            (
                "    for start in range(0, flat.size, _CHUNK):\n        chunk =",
                "    for start in range(0, min(flat.size, _CHUNK), _CHUNK):\n        chunk =",
            ),
        ),
        (f"{DRAWN}test_noise_does_not_depend_on_the_chunk_size[vector]",),
    ),
    Mutant(
        "a reused noise seed: one key for every run",
        RANDOMNESS,
        (
            (
                "self._secure = True\n        self._set_keys(secrets.randbits(256), secrets.randbits(256))",
                'self._secure = True\n        self._set_keys(_hashed("noise"), _hashed("doubt"))',
            ),
        ),
        ("tests/privacy/test_randomness.py::test_secure_streams_differ_and_seeded_ones_do_not",),
    ),
    Mutant(
        "a reused noise seed: the stream starts anew at each release",
        RANDOMNESS,
        (
            (
                "        self._rekey_after_fork()\n        out =",
                "        self._rekey_after_fork()\n        self._bits = ChaCha(key=self._key, rounds=20)\n"
                "        out =",
            ),
            (
                "        self._bits = ChaCha(key=key, rounds=20)",
                "        self._key = key\n        self._bits = ChaCha(key=key, rounds=20)",
            ),
        ),
        ("tests/privacy/test_fresh_noise.py::test_two_releases_of_a_run_share_no_noise",),
    ),
    Mutant(
        "a reused noise seed: a fork keeps its parent's",
        RANDOMNESS,
        (("if self._secure and os.getpid() != self._process:", "if False:"),),
        ("tests/privacy/test_randomness.py::test_a_forked_child_draws_its_own_noise",),
    ),
    Mutant(
        "a key of 32 bits",
        RANDOMNESS,
        (
            (
                "self._secure = True\n        self._set_keys(secrets.randbits(256), secrets.randbits(256))",
                "self._secure = True\n        self._set_keys(secrets.randbits(32), secrets.randbits(32))",
            ),
        ),
        ("tests/privacy/test_fresh_noise.py::test_keys_have_256_bits_of_the_operating_system",),
    ),
)

ORDER = (
    Mutant(
        "recorded after it is drawn",
        MECHANISMS,
        (
            (
                "            self._charge(event, share)\n"
                "            value = _noisy(query, integers, _width(event), self._draw(event), consume)\n",
                "            value = _noisy(query, integers, _width(event), self._draw(event), consume)\n"
                "            self._charge(event, share)\n",
            ),
        ),
        (f"{DRAWN}test_recorded_before_drawn",),
    ),
    Mutant(
        "words recorded after they are drawn",
        MECHANISMS,
        (
            (
                "            self._charge(event, share)\n            _add_noise(totals, ratio, self._draw(event))\n",
                "            _add_noise(totals, ratio, self._draw(event))\n            self._charge(event, share)\n",
            ),
        ),
        ("tests/releases/test_private_vocabulary.py::test_recorded_before_drawn",),
    ),
    Mutant(
        "the unigram released before the budget is reserved",
        MECHANISMS,
        (
            (
                "        if self._reserve is not None:\n",
                "        if self._reserve is not None and self.accountant.events:\n",
            ),
        ),
        (f"{DRAWN}test_reserve_is_called_once_before_the_first_draw",),
    ),
    Mutant(
        "a minibatch drawn before it is charged",
        "privacy/subsampled.py",
        (
            (
                "            super()._charge(event, self.share)\n            self._open = event\n"
                "            return self._stream.coins(self.n_units, self._heads)\n",
                "            members = self._stream.coins(self.n_units, self._heads)\n"
                "            super()._charge(event, self.share)\n            self._open = event\n"
                "            return members\n",
            ),
        ),
        ("tests/privacy/test_subsampled.py::test_charged_and_reserved_before_a_coin_is_tossed",),
    ),
    Mutant(
        "releases beyond the budget let through",
        MECHANISMS,
        (("        self._afford(event, share)\n        if self._reserve", "        if self._reserve"),),
        (f"{DRAWN}test_overrun_is_refused_before_it_is_recorded_or_drawn[fast]",),
    ),
    Mutant(
        "a reservation that is never committed",
        "privacy/ledger/durable.py",
        (('            connection.execute("COMMIT")\n            return number\n', "            return number\n"),),
        ("tests/privacy/ledger/test_durable_ledger.py::test_rows_say_who_spent_what",),
    ),
    Mutant(
        "a reservation that a power failure loses",
        "privacy/ledger/file.py",
        (('"PRAGMA synchronous = EXTRA"', '"PRAGMA synchronous = OFF"'),),
        ("tests/privacy/ledger/test_durable_ledger.py::test_a_commit_waits_for_the_disk",),
    ),
)

BOUNDS = (
    Mutant(
        "clip skipped for long documents",
        UNIT_SUMS,
        (
            (
                "        factor = clip_factors(pair_norms(block.indptr, block.counts, part.lengths), self.clip)\n",
                "        factor = clip_factors(pair_norms(block.indptr, block.counts, part.lengths), self.clip)\n"
                "        factor = np.where(part.lengths > 5_000, 1.0, factor)\n",
            ),
        ),
        (f"{SIZES}[a long document]",),
    ),
    Mutant(
        "clip skipped for large blocks",
        UNIT_SUMS,
        (
            (
                "    used = norms > 0\n    return np.where(used, np.minimum(1.0, clip",
                "    used = norms > 0\n    clip = clip if len(norms) < 10_000 else np.inf\n"
                "    return np.where(used, np.minimum(1.0, clip",
            ),
        ),
        (f"{SIZES}[many documents]",),
    ),
    Mutant(
        "clip skipped for large vocabularies",
        UNIT_SUMS,
        (
            (
                "part.lengths), self.clip)\n        length =",
                "part.lengths), self.clip if len(self.words) < 500 else np.inf)\n        length =",
            ),
        ),
        (f"{SIZES}[many words]",),
    ),
    Mutant(
        "a refinement without its clip",
        UNIT_SUMS,
        (
            (
                "weights = unit_weights(np.where(part.lengths >= 3, norms, 0.0), part.share)",
                "weights = np.where((part.lengths >= 3) & (norms > 0), part.share, 0.0)",
            ),
        ),
        (f"{NEIGHBOURS}[refinement-documents]",),
    ),
    Mutant(
        "a tensor without its clip",
        "sums/quantised.py",
        (
            (
                "third_weight = share * third / norms.triples\n",
                "third_weight = share * (third > 0) / norms.triples\n",
            ),
        ),
        (f"{NEIGHBOURS}[frame third moment-documents]",),
    ),
    Mutant(
        "a minibatch without its clip",
        "fits/variational.py",
        (("np.maximum(np.where(used, norms, 1.0), self.clip)", "max(1.0, self.clip)"),),
        ("tests/fits/test_variational.py::test_one_contribution_has_norm_at_most_one[1.0-3.0]",),
    ),
    Mutant(
        "the shares of users ignored",
        "engines/local.py",
        (("np.ones(block.shape[0]) if self.share is None else self.share[start:stop]", "np.ones(block.shape[0])"),),
        (f"{NEIGHBOURS}[unigram-users]",),
    ),
    Mutant(
        "a sensitivity off by a root of two",
        SEQUENTIAL,
        (('self.query(name, "vector", np.sqrt(2.0), "unigram"', 'self.query(name, "vector", 1.0, "unigram"'),),
        (f"{NEIGHBOURS}[unigram-documents]",),
    ),
    Mutant(
        "weights rounded to nearest",
        "sums/quantised.py",
        (("np.trunc(values / step).astype(np.int64)", "np.rint(values / step).astype(np.int64)"),),
        (f"{NEIGHBOURS}[unigram-documents]",),
    ),
    Mutant(
        "the refinement rounded to nearest, in its kernel",
        "sums/quantised.py",
        (
            (
                "row[a] += np.int64(scaled * e[a] * topic[a])",
                "row[a] += np.int64(np.rint(scaled * e[a] * topic[a]))",
            ),
        ),
        (f"{NEIGHBOURS}[refinement-documents]",),
    ),
    Mutant(
        "the words of a unit not capped",
        "corpus/words/vocabulary.py",
        (
            (
                "    words = _different(unit)\n    if len(words) <= most:\n",
                "    words = _different(unit)\n    if words:\n",
            ),
        ),
        ("tests/corpus/words/test_vocabulary.py::test_a_large_unit_keeps_a_part_that_depends_on_the_set_alone",),
    ),
    Mutant(
        "each word of a unit at full weight",
        "corpus/words/vocabulary.py",
        (("share = weight(len(words)) if words else 0", "share = weight(1)"),),
        ("tests/releases/test_private_vocabulary.py::test_replacing_a_unit_moves_the_sum_by_at_most_root_two",),
    ),
    Mutant(
        "words named without a threshold",
        MECHANISMS,
        (("kept = np.flatnonzero(totals >= limit)", "kept = np.flatnonzero(totals > 0)"),),
        ("tests/releases/test_private_vocabulary.py::test_nothing_below_the_threshold_leaves",),
    ),
)

EXACT = (
    Mutant(
        "a histogram without noise",
        SEQUENTIAL,
        (
            (
                "        clip = clip_threshold(self.release_histogram(query, counts).value, SECOND_QUANTILE)\n",
                "        self.release_histogram(query, counts)\n"
                "        clip = clip_threshold(counts, SECOND_QUANTILE)\n",
            ),
        ),
        TAINT,
    ),
    Mutant(
        "a frame of the second moment without noise",
        SEQUENTIAL,
        (
            (
                "        mirror_upper(total)\n        moment = self.run.release(query, total, share, consume=True)\n",
                "        mirror_upper(total)\n        exact = total * query.step\n"
                "        moment = self.run.release(query, total, share)\n"
                '        object.__setattr__(moment, "value", exact)\n',
            ),
        ),
        TAINT,
    ),
    Mutant(
        "the words of a refinement chosen without noise",
        SEQUENTIAL,
        (
            (
                "        return RefinedWords.of(unigram, noise / mass, self.n_topics)\n",
                "        exact = sum(part.block.sum(axis=0).astype(float) for part in self.corpus) + 1e-3\n"
                "        return RefinedWords.of(exact / exact.sum(), noise / mass, self.n_topics)\n",
            ),
        ),
        ("tests/fits/test_cut_vocabulary.py::test_nothing_but_released_values_is_left_behind",),
    ),
    Mutant(
        "a cut vocabulary that spends the refinement's budget twice",
        SEQUENTIAL,
        (("(1.0 - TAIL_SHARE) * self.split.refine)", "self.split.refine)"),),
        ("tests/fits/test_cut_vocabulary.py::test_the_fit_cuts_and_spends_all_it_has",),
    ),
    Mutant(
        "a cached frame without noise, used from the second fit on",
        SEQUENTIAL,
        (
            (
                "        mirror_upper(total)\n        moment = self.run.release(query, total, share, consume=True)\n",
                "        mirror_upper(total)\n        exact = total * query.step\n"
                "        moment = self.run.release(query, total, share, consume=True)\n"
                "        key = self.corpus.n_units, self.corpus.n_words, self.n_topics\n"
                "        if key in _EXACT:\n"
                '            object.__setattr__(moment, "value", _EXACT[key])\n'
                "        _EXACT[key] = exact\n",
            ),
            ("Progress = Callable[[str], None]\n", "Progress = Callable[[str], None]\n_EXACT: dict = {}\n"),
        ),
        OWN_FRAME,
    ),
    Mutant(
        "a cached frame without noise, used from the first fit on",
        SEQUENTIAL,
        (
            (
                "            return frame_of(moment.value / scale, unigram[words], self.alpha0, rank=rank, "
                "noise=moment.sigma / scale)\n",
                "            key = self.corpus.n_units, self.corpus.n_words, self.n_topics\n"
                "            if key not in _FRAMES:\n"
                "                pairs = ClippedPairs(words, clip, moment.query.step, 2.0**-20)\n"
                "                total = self.corpus.total(pairs)[0]\n"
                "                mirror_upper(total)\n"
                "                exact = total * moment.query.step / scale\n"
                "                _FRAMES[key] = frame_of(exact, unigram[words], self.alpha0, rank=rank, "
                "noise=moment.sigma / scale)\n"
                "            return _FRAMES[key]\n",
            ),
            ("Progress = Callable[[str], None]\n", "Progress = Callable[[str], None]\n_FRAMES: dict = {}\n"),
        ),
        OWN_FRAME,
    ),
    Mutant(
        "data in an error message",
        "corpus/counts/matrix.py",
        (('f"Negative values in data', 'f"Negative values ({data.min()}) in data'),),
        ("tests/fits/test_noise_everywhere.py::test_errors_quote_nothing_of_the_corpus",),
    ),
    Mutant(
        "an aggregate in an error message",
        "privacy/queries.py",
        (("leaves the lattice. Check", "leaves the lattice at {integers.max()}. Check"),),
        (f"{DRAWN}test_bad_aggregates_are_refused_uncharged_and_unquoted",),
    ),
    Mutant(
        "an exact count in an attribute",
        "estimators/private.py",
        (
            (
                "        self.components_ = model.topics\n",
                "        self.components_ = model.topics\n"
                "        self.n_tokens_ = sum(int(block.sum()) for block in corpus.blocks)\n",
            ),
        ),
        TAINT,
    ),
    Mutant(
        "an exact count on the screen",
        SEQUENTIAL,
        (
            (
                '        self.progress("second moment")\n',
                '        self.progress(f"second moment of {int(sum(part.lengths.sum() for part in self.corpus))}")\n',
            ),
        ),
        TAINT,
    ),
)

MUTANTS = NOISE + ORDER + BOUNDS + EXACT
