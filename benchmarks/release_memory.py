"""Time and peak memory of one symmetric d x d release with the fast sampler.

python benchmarks/release_memory.py [d]
"""

from __future__ import annotations

import resource
import time

import numpy as np

from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.lattice import step_for
from private_topics.privacy.mechanisms import PrivateRun, Query
from stored import about, options_of


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("d", type=int, nargs="?", default=10_000)
    size = parser.parse_args().d
    run = PrivateRun(PrivacyBudget(1.0, 1e-6))
    probe = Query("second", "symmetric_matrix", 1.0, 1.0, "second.md")
    step = step_for(run.sigma(probe, 1.0), n_units=100_000, largest_sum=100_000)
    query = Query("second", "symmetric_matrix", 1.0, step, "second.md")
    aggregate = np.zeros((size, size), dtype=np.int64)
    aggregate.fill(1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    released = run.release(query, aggregate, 1.0, consume=True)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{about()}\n")
    print(f"symmetric release {size} x {size}: {seconds:.1f} s")
    print(f"peak memory: {peak / 2**20:.2f} GiB, of which {before / 2**20:.2f} GiB before the release")
    spread = float(np.std(released.value[0, 1:])) * np.sqrt(2) / released.sigma
    print(f"off-diagonal spread of the first row over sigma / sqrt(2): {spread:.3f}")


if __name__ == "__main__":
    main()
