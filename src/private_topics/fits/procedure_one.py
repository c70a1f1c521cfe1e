"""The paper's Procedure 1: lower bounds from a noisy `σ_k` and, for configurations 3 and 4, a noisy `γ_s`.

Paper, Procedure 1, with its own constants: Laplace noise of scale `1/(N ε)`, margin `2/(N ε) ln(1/(2δ))`. Not proved:
docs/errata.md says why. There is no floor but zero, and at zero the published noise is infinite: the run refuses, on
the released value alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from private_topics.errors import PrivacyError
from private_topics.paper.noise_scales import procedure_lower_bound
from private_topics.privacy.lattice import LARGEST_INTEGER, quantise_nearest, step_for
from private_topics.privacy.mechanisms import Kind, Query, Released
from private_topics.privacy.simple_composition import SimpleRun

NOT_PROVED = "none: see docs/errata.md"


@dataclass(frozen=True)
class PublishedRelease:
    """Releases of a published configuration: mean values that are rounded to a lattice far below their noise."""

    run: SimpleRun
    n_units: int
    share: float

    def noisy(self, name: str, kind: Kind, values: np.ndarray, sensitivity: float) -> Released:
        """`values` plus Gaussian noise for this sensitivity."""
        draft = Query(name, kind, sensitivity, 1.0, NOT_PROVED)
        return self._released(draft, values, self.run.sigma(draft, self.share))

    def lower_bound(self, name: str, value: float) -> float:
        """A released lower bound of a spectral value. Paper, Procedure 1, lines 1, 2 and 4, 5."""
        draft = Query(name, "scalar", 1.0 / self.n_units, 1.0, NOT_PROVED, norm="l1")
        released = self._released(draft, np.asarray(value), self.run.laplace_scale(draft, self.share))
        epsilon, delta = self.run.part(self.share)
        bound = procedure_lower_bound(float(released.value), n_documents=self.n_units, epsilon=epsilon, delta=delta)
        if bound <= 0.0:
            raise PrivacyError(
                f"The released lower bound of {name} is zero, so the published noise would be infinite. The budget "
                "of this fit is spent. More documents, fewer topics or a larger epsilon may help; "
                "configuration='sequential' needs no such bound."
            )
        return bound

    def _released(self, draft: Query, values: np.ndarray, width: float) -> Released:
        query = replace(draft, step=step_for(width, self.n_units, width))
        limit = 0.5 * LARGEST_INTEGER * query.step  # beyond lies nothing but a degenerate whitening
        integers = quantise_nearest(np.clip(np.nan_to_num(values), -limit, limit), query.step)
        return self.run.release(query, integers, self.share)
