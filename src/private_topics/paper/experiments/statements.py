"""The statements of the paper, one by one, and what is true of each: theorems, lemmas, remarks, recommendations."""

from __future__ import annotations

from dataclasses import dataclass

TRUE, FALSE, PARTLY, OPEN = "holds", "does not hold", "holds in part", "open"


@dataclass(frozen=True)
class Statement:
    """`errata` are names on the page of errata, each a test; `command` shows what needs more than that."""

    where: str
    says: str
    verdict: str
    truth: str
    errata: tuple[str, ...] = ()
    command: str = "python research/errata.py"


# fmt: off
STATEMENTS = (
    Statement(
        "abstract; configurations 1 to 4", "adding noise to the edges of a configuration makes the method private",
        PARTLY, "The edges are cuts. With the constants of App. I, standard deviation Delta tau and M3 without its "
        "prefactor, configuration 1 is private; as the text prints it, it is not. For 2 to 4 the "
        "sensitivities do not hold.", ("printed-variance", "dropped-constants", "unreleased-scale"),
        "private-topics reproduce figure-1"),
    Statement(
        "introduction", "noise on e0 and e2 alone gives no privacy", TRUE, "They are not a cut.", (),
        "private-topics reproduce figure-1"),
    Statement(
        "introduction", "consistency guarantees: the error to the true parameters is bounded", PARTLY,
        "Without noise, by the paper that is cited. With noise configurations 1 to 3 un-whiten in another "
        "frame and need not converge; one released frame repairs it.",
        ("two-frames-1", "two-frames-2", "two-frames-3")),
    Statement(
        "introduction", "computationally more efficient than variational inference", TRUE, "{seconds}", (),
        "private-topics reproduce figure-2c-authors"),
    Statement(
        "introduction", "no composition over iterations; less data efficient; no posterior uncertainty", TRUE,
        "As said; but for the grid over splits, which composes.", ("selection",)),
    Statement(
        "lemma on LDA moments", "M1, M2, M3 are sums over topics", PARTLY,
        "M1 and M2; M3 with alpha0/(alpha0+2) in place of 1/(alpha0+2).", ("moment-lemma",)),
    Statement(
        "App. D, lemma on single-topic moments", "the moments of a document are unbiased", TRUE,
        "App. G repeats the third with a sum too many.", ("double-sum",)),
    Statement(
        "App. D, lemma on LDA estimators", "the estimators are unbiased", PARTLY,
        "M1 and M2; M3 with the terms of the proof and without the prefactor. This library uses products of "
        "means, which differ by O(1/N).", ("estimator-bias", "prefactor-bias", "cube-identity")),
    Statement(
        "App. E, F, H", "Dirichlet moments, raw moments, and the sample complexity of the method of moments", TRUE,
        "The first two are tested; the third is cited and was not derived again."),
    Statement(
        "theorem on global sensitivity", "2/N in L1 for M2 and M3", FALSE,
        "App. I has (2+4a)/N for M2, which is attained; for M3 it is (2+12b+6c)/N, "
        "b = alpha0/(alpha0+2), times the prefactor.",
        ("second-moment-l1", "second-moment-l2", "third-moment-l1-theorem",
         "third-moment-l1-appendix", "third-moment-prefactor")),
    Statement(
        "App. I, lemma on products with probabilities; proposition on probability arrays", "norms do not grow",
        TRUE, "The per-document moments are probability arrays."),
    Statement(
        "App. I, lemma on W' - W", "the whitening moves by √(2k) Delta_2/(sigma_k √…)", FALSE,
        "Rank-k truncation is not 1-Lipschitz, and the frame may turn.",
        ("whitening-tie", "truncation", "whitening-gap", "gap-condition")),
    Statement(
        "theorem on the whitened tensor", "O(k^1.5/(N sigma_k^1.5))", FALSE,
        "The proof drops the terms of first order.", ("cross-terms", "tensor-tie")),
    Statement(
        "theorem on eigenpairs", "O(k²/(gamma_s N sigma_k^1.5))", FALSE,
        "It rests on the one before, and is for one pair of k.", ("eigenvectors-together",)),
    Statement(
        "theorem on the final output; remark below it", "O(k² √sigma_1/(gamma_s N sigma_k^1.5))", FALSE,
        "It rests on the one before; above alpha0 = 0.618 its scale is too small.", ("unwhitening-scale",)),
    Statement(
        "lemma on local sensitivity", "noise for a private upper bound of the local sensitivity is private", TRUE,
        "Given such a bound.", (), "pytest tests/privacy"),
    Statement(
        "lemma on sigma_k and gamma_s", "each moves by at most 2/N", PARTLY, "sigma_k; gamma_s has no known bound.",
        ("tensor-gap-1", "tensor-gap-10", "tensor-gap-100")),
    Statement(
        "Procedure 1", "calibrates the noise", FALSE,
        "Its Laplace scale is half of what the lemma asks for; a lower bound of zero means infinite noise.",
        ("singular-value", "lower-bound-zero")),
    Statement(
        "App. B", "Gaussian mechanism for epsilon up to 1; composition adds up", TRUE,
        "Both are used within range."),
    Statement(
        "configuration 1", "allows pure epsilon with Laplace noise", TRUE, "docs/proofs/pure_epsilon.md.", (),
        "pytest tests/fits/test_pure_epsilon.py"),
    Statement(
        "configurations", "input perturbation does not decay with N", TRUE, "Its sensitivity is √2 L."),
    Statement(
        "utility theorems 1 to 4; table of App. I", "the printed losses", PARTLY,
        "The proofs give other exponents; where frames differ, no bound.",
        ("root-of-topics", "cube-exponent", "table-exponent", "vector-constant"),
        "private-topics reproduce table-utility"),
    Statement(
        "comparison of configurations", "not vacuous from N = √d on", FALSE, "They divide by sigma_k^1.5 too.",
        ("vacuous-bound",), "private-topics reproduce table-utility"),
    Statement(
        "remark 1", "configuration 1 loses more than 2, by √d", PARTLY, "By √d/k²: only for k below d^(1/4).",
        ("first-against-second",)),
    Statement(
        "remark 2", "configuration 3 beats 2 by √k under a condition on Delta_3", PARTLY,
        "The proof needs the condition of Delta_T, thousands of times larger.", ("tensor-condition",)),
    Statement(
        "remark 3", "configuration 3 beats 4 for N > √d", PARTLY, "For N > tau √d.", ("third-against-fourth",)),
    Statement(
        "App. K", "the best of a grid, scored by a private likelihood, costs one fit", FALSE,
        "It costs all fits and all scores. A private likelihood: `private_log_likelihood`, one number in "
        "place of a noisy statistic.", ("selection", "statistic-entry"),
        "pytest tests/estimators/test_private_likelihood.py"),
    Statement(
        "App. M", "identities and norms", PARTLY, "Weyl, vectors and matrices; the tensor bound lacks a factor.",
        ("tensor-norm-bound",)),
    Statement(
        "figure 3a; conclusion", "more mixing means larger singular values of M2", FALSE,
        "They fall like 1/alpha0.", ("plotted-singular-value",), "private-topics reproduce figure-3a"),
    Statement(
        "figure 3b", "the gap of T grows with k", FALSE, "It falls; the plotted gaps are negative.",
        ("plotted-gap",), "private-topics reproduce figure-3b"),
    Statement(
        "abstract; figures 2 and 4", "systematically outperforms private variational inference", FALSE,
        "Not in the paper's own figure 4, nor in ours below.", ("systematically-better",)),
    Statement(
        "experiments", "configuration 1 is best at large alpha0", FALSE, "Not in the paper's own figure 2c.",
        ("best-at-large-alpha",)),
    Statement(
        "conclusion", "configuration 1 for N much larger than k, or polarised topics", TRUE,
        "At epsilon = 3 it is the best of the four in figure 2a, as printed and with the appendix's constants.", (),
        "private-topics reproduce figure-2a"),
    Statement(
        "conclusion", "configuration 2 for small N and mixed topics", FALSE,
        "Refused at N = 1,000; in the authors' code no better than word frequencies.", (),
        "private-topics reproduce figure-2b-authors"),
    Statement(
        "conclusion", "configuration 3 for large k", OPEN,
        "Refused for k = 25 to 500 on Wikipedia: its noise cannot be computed there.", (),
        "private-topics reproduce figure-4"),
)
# fmt: on
