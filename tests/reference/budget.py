"""Which part of the budget each release has (docs/proofs/index.md for the lists, composition.md for the branches).

Releases that name one fraction divide it equally; one that takes the place of another has its share. Fractions are
those of a `BudgetSplit`; `made` are the names of the releases that a fit made, in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

SIZES = ("second norms", "centred second norms", "second clip factors", "frame second norms", "frame third norms")
OF_ALL_WORDS = 0.4  # of the refinement's fraction, for a second unigram, where it sees some of the words only
LOOK, SECOND_LOOK = 0.14, 0.2  # at what public vectors are worth: of the fractions of the unigram and of the pairs
FEATURE_STEPS = 4
USUAL = {"unigram": 0.04, "histograms": 0.015, "second": 0.2, "frame": 0.03, "tensor": 0.06, "refine": 0.655}
"""The split of a sequential fit whose settings say nothing else."""

Shares = dict[str, float]


def sequential(split: Mapping[str, float], steps: int, made: Sequence[str], *, whole: float = 1.0) -> Shares:
    """The sequential fit; `whole` is what it may spend altogether, the releases before it included."""
    shares = {name: split["histograms"] / len(SIZES) for name in SIZES}
    shares |= {
        "unigram": split["unigram"],
        "second moment": split["second"],
        "centred second moment": split["second"],
        "frame second moment": split["frame"],
        "frame third moment": split["tensor"],
    }
    refine = split["refine"]
    if "unigram again" in made and "refinement 1" in made:
        shares["unigram again"] = OF_ALL_WORDS * refine
        refine *= 1 - OF_ALL_WORDS
    shares |= {f"refinement {step}": refine / steps for step in range(1, steps + 1)}
    shares["cross moment"] = refine * (steps - 1) / steps if steps else 0.0
    if "unigram again" in made and "unigram again" not in shares:  # one topic: all that is left
        shares["unigram again"] = whole - sum(shares[name] for name in made if name != "unigram again")
    return {name: shares[name] for name in made}


def informed(split: Mapping[str, float], steps: int, made: Sequence[str], usual: Mapping[str, float]) -> Shares:
    """The fit with public knowledge. Where the vectors know little, `usual`, the sequential split, has the rest.

    It has no moments inside the frame: their fractions go to the features.
    """
    look = max(LOOK * split["unigram"], min(split["unigram"], usual["unigram"]))
    shares = {
        "public second norms": split["histograms"],
        "unigram": look,
        "public second moment 1": SECOND_LOOK * split["second"],
        "public second moment 2": (1 - SECOND_LOOK) * split["second"],
        "unigram again": split["unigram"] - look,
    }
    features = split["features"] + split["frame"] + split["tensor"]
    shares |= {f"features {step}": features / FEATURE_STEPS for step in range(1, FEATURE_STEPS + 1)}
    shares |= {f"refinement {step}": split["refine"] / steps for step in range(1, steps + 1)}
    if "second norms" in made:
        looked = [name for name in made if name == "unigram" or name.startswith("public")]
        rest = [name for name in made if name not in looked]
        left = 1 - sum(shares[name] for name in looked)
        others = {name: part for name, part in usual.items() if name != "unigram"}
        scaled = {name: left * part / sum(others.values()) for name, part in others.items()} | {"unigram": 0.0}
        return {name: shares[name] for name in looked} | sequential(scaled, steps, rest, whole=left)
    if "unigram again" in made and "features 1" not in made:  # one topic: all that is left
        shares["unigram again"] = 1 - sum(shares[name] for name in made if name != "unigram again")
    return {name: shares[name] for name in made}
