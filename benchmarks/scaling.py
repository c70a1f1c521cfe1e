"""How the time of a fit grows with documents, words and topics: one of them is doubled, the others stay.

    python benchmarks/scaling.py [--quick] [--rounds R] [--out DIR]

Synthetic corpora (`make_lda_corpus`, mean length 100), all fits in one process after a warm-up, `refine_steps` 0 and
1. Each point is the fastest of the rounds; the exponent is the slope of log time on log size over all points, and
over the last two.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from private_topics import SpectralLDA, make_lda_corpus
from stored import options_of, store_json, tell

BASE = {"N": 20_000, "d": 4_000, "k": 20}
SIZES = {"N": (10_000, 20_000, 40_000, 80_000), "d": (1_000, 4_000, 16_000, 64_000), "k": (5, 10, 20, 40, 80)}
NAMES = {"N": "documents", "d": "words", "k": "topics"}
STEPS = (0, 1)
SEED = 0


def point(shape: dict[str, int], rounds: int, threads: int) -> dict[str, Any]:
    """Seconds of the fastest fit of one shape, for each number of refinement steps."""
    X, _, _ = make_lda_corpus(shape["N"], shape["d"], shape["k"], random_state=SEED)
    seconds: dict[int, float] = dict.fromkeys(STEPS, np.inf)
    for _ in range(rounds):
        for steps in STEPS:
            model = SpectralLDA(shape["k"], refine_steps=steps, n_jobs=threads, random_state=SEED)
            started = time.perf_counter()
            model.fit(X)
            seconds[steps] = min(seconds[steps], time.perf_counter() - started)
    return {**shape, "nonzeros": int(X.nnz), "seconds": seconds}


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Slope of the least-squares line through (log size, log seconds)."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def sweep(axis: str, sizes: tuple[int, ...], base: dict[str, int], options: argparse.Namespace) -> dict[str, Any]:
    points = []
    for size in sizes:
        points.append(point(base | {axis: size}, options.rounds, options.threads))
        told = ", ".join(f"{points[-1]['seconds'][steps]:.2f} s" for steps in STEPS)
        print(f"[{NAMES[axis]} {size:,}] {told}", file=sys.stderr, flush=True)
    times = {steps: [entry["seconds"][steps] for entry in points] for steps in STEPS}
    exponents = {steps: exponent(list(sizes), times[steps]) for steps in STEPS}
    last = {steps: exponent(list(sizes[-2:]), times[steps][-2:]) for steps in STEPS}
    return {"axis": axis, "points": points, "exponents": exponents, "last_exponents": last}


def markdown(result: dict[str, Any]) -> str:
    """One sweep as a table, its exponents below."""
    axis = result["axis"]
    fixed = ", ".join(f"{name} = {result['points'][0][name]:,}" for name in NAMES if name != axis)
    lines = [
        f"### Time in {NAMES[axis]} ({fixed})",
        "",
        f"| {NAMES[axis]:>10} | non-zeros | " + " | ".join(f"refine_steps={steps}, s" for steps in STEPS) + " |",
        "|" + "---:|" * (2 + len(STEPS)),
    ]
    for entry in result["points"]:
        times = " | ".join(f"{entry['seconds'][steps]:>17.2f}" for steps in STEPS)
        lines.append(f"| {entry[axis]:>10,} | {entry['nonzeros']:>9,} | {times} |")
    for title, key in (("exponent", "exponents"), ("last step", "last_exponents")):
        values = " | ".join(f"{result[key][steps]:>17.2f}" for steps in STEPS)
        lines.append(f"| {title:>10} | {'':>9} | {values} |")
    return "\n".join([*lines, ""])


def main(arguments: list[str] | None = None) -> None:
    parser = options_of(__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the documents: does it run?")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, metavar="DIR", help="write scaling.md and scaling.json there")
    options = parser.parse_args(arguments)
    shrink = 10 if options.quick else 1
    base = BASE | {"N": BASE["N"] // shrink}
    sizes = SIZES | {"N": tuple(size // shrink for size in SIZES["N"])}
    settings = f"mean length 100, {options.threads} threads, fastest of {options.rounds}"
    load = f"load {os.getloadavg()[0]:.2f} at the start"
    point({"N": 1_000, "d": 2_000, "k": 3}, 1, options.threads)  # numba compiles
    results = [sweep(axis, sizes[axis], base, options) for axis in NAMES]
    settings += f"; {load}, {os.getloadavg()[0]:.2f} at the end"
    tell("\n".join([settings, "", *map(markdown, results)]), options.out and options.out / "scaling.md")
    if options.out:
        store_json(options.out / "scaling.json", {"settings": settings, "quick": options.quick, "sweeps": results})


if __name__ == "__main__":
    main()
