"""For every counter-example the assumption or statement of the paper that it contradicts, and where that stands."""

from __future__ import annotations

PREMISES = {
    "second-moment-l1": "replacing a document moves M2 by at most 2/N in L1 (theorem on global sensitivity)",
    "second-moment-l2": "that L1 bound is one for L2 too (section on sensitivity)",
    "third-moment-l1-theorem": "replacing a document moves M3 by at most 2/N in L1 (theorem on global sensitivity)",
    "third-moment-l1-appendix": "of B1, B2, B3 one counts, the others behaving alike (App. I)",
    "third-moment-prefactor": "the factor in front of M3 (App. D) does not change its sensitivity (App. I)",
    "moment-lemma": "M3 with the weight 1/(alpha0+2) is a sum over topics (lemma on LDA moments)",
    "estimator-bias": "the printed B1 and b are unbiased (App. D)",
    "prefactor-bias": "with the factor in front the estimator of M3 is unbiased (App. D)",
    "cube-identity": "the cube of a sum of numbers expands alike for tensors (App. D, M)",
    "double-sum": "phi3 is a probability array (App. I) with the sum over i and j (App. G)",
    "unwhitening-scale": "a topic is rho lambda_i (W†)'v_i with the rho of App. I, M2 as defined",
    "whitening-tie": "W' is W A D^(-1/2) A', the one whitening of the neighbour near W (App. I)",
    "tensor-tie": "T' is formed with that W' (App. I)",
    "gap-condition": "the condition on the spectral gap holds (App. I), whatever the corpus",
    "truncation": "M2 cut to rank k moves no further than M2 (App. I)",
    "whitening-gap": "W and W' span the same space if the gap is wide (App. I)",
    "cross-terms": "M3(W,W,W) - M3(W',W',W') = M3(W-W',W-W',W-W') (App. I)",
    "singular-value": "Laplace noise of scale 1/(N eps) makes sigma_k private (Procedure 1)",
    "tensor-gap": "gamma_s moves by at most 2/N (lemma on sigma_k and gamma_s)",
    "eigenvectors-together": "noise for one eigenpair makes all k private (configuration 3)",
    "two-frames": "W† of another noisy M2 un-whitens what W whitened (configurations 1 to 3)",
    "printed-variance": "variance Delta² tau is (eps, delta)-DP (Procedure 1, configurations; App. B has tau²)",
    "dropped-constants": "variance tau/N² on a moment is (eps, delta)-DP (configurations 1 to 3)",
    "lower-bound-zero": "the lower bound of sigma_k is positive (Procedure 1, figure 2b)",
    "unreleased-scale": "noise may be scaled by sigma_1 of the corpus (configuration 4)",
    "selection": "the best of a grid costs what one fit costs (App. K)",
    "statistic-entry": "a document moves an entry of the statistic by at most d/N (App. K)",
    "tensor-norm-bound": "the norm of a Gaussian tensor is bounded as printed (App. M)",
    "root-of-topics": "the theorems on configurations 2 and 3 follow from their proofs (App. J)",
    "cube-exponent": "the theorem on configuration 1 follows from its proof (App. J)",
    "table-exponent": "the table of App. I repeats the theorems",
    "vector-constant": "the proof for configuration 3 uses the theorem on eigenvectors",
    "first-against-second": "configuration 1 loses more than configuration 2 by √d (remark 1)",
    "third-against-fourth": "N > √d suffices for configuration 3 to beat 4 (remark 3)",
    "tensor-condition": "configuration 3 needs a condition on Delta_3 (remark 2)",
    "vacuous-bound": "the bounds say something once N >= √d (comparison of configurations)",
    "plotted-singular-value": "figure 3a shows sigma_3 of M2 as defined",
    "plotted-gap": "figure 3b shows gaps of ordered singular values",
    "systematically-better": "the method systematically outperforms private variational inference (abstract)",
    "best-at-large-alpha": "configuration 1 performs best in figure 2c (experiments)",
}


def premise(name: str) -> str:
    """What the paper says; findings that differ by a number at the end share it."""
    stem, _, last = name.rpartition("-")
    return PREMISES[stem if last.isdigit() else name]
