"""Scores of the shadow models → the attack's rates, curves and verdict, as CSV, Markdown and PNG."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import membership_attack as attack
from membership_attack import FALSE_ALARMS, Rate
from membership_methods import DELTA, METHODS, TOPICS, Method

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from stored import read_csv, store_csv, tell

CURVE = np.logspace(-4, 0, 81)
LEAST_SHADOWS = 16  # of a method whose rate is reported
QUERIES = ("likelihood", "centred", "match")
SPREADS = ("own", "shared")
COLOURS = (
    "#222222",
    "#2a9d4a",
    "#1b6ca8",
    "#5aa9e6",
    "#9bcbf0",
    "#7b4fa3",
    "#d95f02",
    "#e6a15a",
    "#b3262e",
    "#888888",
)
ALLOWED = {"plain": 0.01, "private": 0.003}


def report(folder: Path, out: Path) -> None:
    """Write `rates.csv`, `roc.csv` and `membership.md`."""
    out.mkdir(parents=True, exist_ok=True)
    fits = read_csv(folder / "fits.csv")
    rows, curves = [], []
    with np.load(folder / "likelihood.npz") as likelihood, np.load(folder / "match.npz") as match:
        sizes = {name: _sizes(likelihood, name) for name in METHODS if f"{name}.documents" in likelihood}
        for corpus in sizes:
            for name, method in METHODS[corpus].items():
                own = [fit for fit in fits if (fit["corpus"], fit["method"]) == (corpus, name)]
                if not own:
                    continue
                row: dict[str, Any] = {"corpus": corpus, "method": name, **_about(method, own)}
                if row["measured"] >= LEAST_SHADOWS:
                    row |= _attacked(likelihood, match, corpus, name, curves)
                rows.append(row)
                print(row["label"], row.get("likelihood", "no attack"), flush=True)
    store_csv(out / "rates.csv", [_flat(row) for row in rows])
    store_csv(out / "roc.csv", curves)
    origin = (folder / "fits.csv").read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
    tell(_markdown(rows, sizes, origin), out / "membership.md")


def _sizes(arrays: Any, corpus: str) -> dict[str, int]:
    return {what: int(arrays[f"{corpus}.{what}"]) for what in ("documents", "targets", "words")}


def _about(method: Method, fits: list[dict[str, str]]) -> dict[str, Any]:
    """What the table of fits says of one method."""
    measured = [fit for fit in fits if fit["status"] == "measured"]
    perplexities = [float(fit["perplexity"]) for fit in measured if fit["perplexity"] != "nan"]
    others = Counter(fit["status"] for fit in fits if fit["status"] != "measured")
    return {
        "label": method.label,
        "epsilon": method.epsilon,
        "proved": method.proved,
        "measured": len(measured),
        "not_measured": ", ".join(f"{number} {status}" for status, number in others.items()),
        "topics": float(np.median([int(fit["topics"]) for fit in measured])) if measured else None,
        "perplexity": float(np.median(perplexities)) if perplexities else None,
        "seconds": float(np.median([float(fit["seconds"]) for fit in fits])),
    }


def _attacked(likelihood: Any, match: Any, corpus: str, name: str, curves: list[dict[str, Any]]) -> dict[str, Any]:
    """Rates by query; the curve of each goes to `curves`."""
    targets, documents = int(likelihood[f"{corpus}.targets"]), int(likelihood[f"{corpus}.documents"])
    shadows = likelihood[f"{corpus}.{name}.shadows"]
    members = np.array([attack.random_half(attack.SEED, int(shadow), documents, targets)[1] for shadow in shadows])
    values = likelihood[f"{corpus}.{name}.scores"].astype(np.float64)
    assert np.array_equal(shadows, match[f"{corpus}.{name}.shadows"])
    scores = {
        "likelihood": values,
        "centred": attack.centred(values, likelihood[f"{corpus}.lengths"]),
        "match": match[f"{corpus}.{name}.scores"].astype(np.float64),
    }
    found: dict[str, Any] = {}
    for query in QUERIES:
        fits = {kind: attack.evidence(scores[query], members, shared_spread=kind == "shared") for kind in SPREADS}
        rates = np.array([FALSE_ALARMS, 0.01])
        at = {kind: attack.true_alarms(ratios, members, rates) for kind, ratios in fits.items()}
        best = max(SPREADS, key=lambda kind: at[kind][0])
        found[query] = attack.rate_with_interval(fits[best], members)
        found |= {f"{query}_{kind}": float(at[kind][0]) for kind in SPREADS}
        found |= {f"{query}_spread": best, f"{query}_auc": attack.area(fits[best], members)}
        found[f"{query}_at_1_percent"] = float(at[best][1])
        for false_rate, true_rate in zip(CURVE, attack.true_alarms(fits[best], members, CURVE), strict=True):
            place = {"corpus": corpus, "method": name, "query": query}
            curves.append(place | {"false_rate": f"{false_rate:.6g}", "true_rate": f"{true_rate:.6g}"})
    return found


def bound(epsilon: float | None, proved: bool, false_rate: float = FALSE_ALARMS) -> float | None:
    """The most that any attack can reach at this rate of false alarms; None where nothing is proved."""
    return None if epsilon is None or not proved else min(1.0, float(np.exp(epsilon)) * false_rate + DELTA)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    flat = {key: value for key, value in row.items() if not isinstance(value, Rate)}
    for query in QUERIES:
        rate: Rate | None = row.get(query)
        for part in Rate._fields:
            flat[f"{query}_{part}"] = "" if rate is None else getattr(rate, part)
    flat["bound"] = bound(row["epsilon"], row["proved"])
    return flat


def _markdown(rows: list[dict[str, Any]], sizes: dict[str, dict[str, int]], origin: str) -> str:
    lines = [
        "# Membership inference: who was in the training set?",
        "",
        "`attacks/membership.py`: the online likelihood-ratio attack, every shadow model in turn the "
        "attacked one. True alarms in per cent at 0.1 % false alarms, with 95 % intervals over models and documents, "
        "for three queries: the log-likelihood with the best topic mixture; the same per word less the model's mean; "
        "the inner product with the mean topic. Each with Gaussians of own or shared spread, whichever serves the "
        f"attacker better. {TOPICS} topics asked for, delta = {DELTA:g}. The bound is what the proved "
        "guarantee leaves any attack; the perplexity is of held-out documents, by document completion.",
        "",
        f"The shadow models: {origin}",
        "",
    ]
    for corpus, size in sizes.items():
        if corpus not in {row["corpus"] for row in rows}:
            continue
        lines += [
            f"## {corpus}: {size['documents']:,} documents, each model trained on {size['documents'] // 2:,}, "
            f"{size['targets']:,} targets, {size['words']:,} words",
            "",
            "| model | models | likelihood | centred | match | AUC | bound | topics used | perplexity |",
            "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
            *[_line(row) for row in rows if row["corpus"] == corpus],
            "",
        ]
    return "\n".join([*lines, *_verdict(rows), "", "![ROC curves](roc.png)", ""])


def _line(row: dict[str, Any]) -> str:
    limit = bound(row["epsilon"], row["proved"])
    told = "–" if row["epsilon"] is None else "not proved" if limit is None else f"{100 * limit:.3g}"
    models = f"{row['measured']}" + (f" ({row['not_measured']})" if row["not_measured"] else "")
    rates = [_rate(row.get(query)) for query in QUERIES]
    best = max((row[f"{query}_auc"] for query in QUERIES if f"{query}_auc" in row), default=None)
    numbers = [
        f"{value:{form}}" if value is not None else "–"
        for value, form in ((row["topics"], "g"), (row["perplexity"], ".0f"))
    ]
    area_told = "–" if best is None else f"{best:.3f}"
    return f"| {row['label']} | {models} | {' | '.join(rates)} | {area_told} | {told} | {' | '.join(numbers)} |"


def _rate(rate: Rate | None) -> str:
    return "–" if rate is None else f"{100 * rate.value:.2f} ({100 * rate.low:.2f}–{100 * rate.high:.2f})"


def _verdict(rows: list[dict[str, Any]]) -> list[str]:
    """The two claims, each by the query that serves the attacker best."""
    claims = {
        ("clinical", "sklearn"): ("above 1 %", lambda rate: rate.low > ALLOWED["plain"]),
    } | {
        (corpus, method): ("at most 0.3 %", lambda rate: rate.high <= ALLOWED["private"])
        for corpus in ("clinical", "wikipedia")
        for method in ("sequential-1", "english-1")
    }
    lines = []
    for row in rows:
        claim = claims.get((row["corpus"], row["method"]))
        if claim is None or "likelihood" not in row:
            continue
        best = max(QUERIES, key=lambda query: row[query].value)
        verdict = "holds with the whole interval" if claim[1](row[best]) else "is NOT shown by the whole interval"
        lines.append(
            f"- {row['corpus']}, {row['label']}: {_rate(row[best])} % by the strongest query ({best}); "
            f'"{claim[0]}" {verdict}.'
        )
    return lines


def plot(folder: Path) -> None:
    """Draw `roc.csv`; without matplotlib, say so."""
    try:
        import matplotlib
    except ImportError:
        print(f"matplotlib is not installed: `membership.py plot {folder}` draws {folder / 'roc.csv'} where it is.")
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    curves = [row for row in read_csv(folder / "roc.csv") if row["query"] == "likelihood"]
    corpora = list(dict.fromkeys(row["corpus"] for row in curves))
    if not corpora:
        print(f"No method has {LEAST_SHADOWS} models: there is no curve to draw.")
        return
    figure, axes = plt.subplots(
        1, len(corpora), figsize=(7.5 * len(corpora), 7), constrained_layout=True, squeeze=False
    )
    for axis, corpus in zip(axes.flat, corpora, strict=True):
        names = list(dict.fromkeys(row["method"] for row in curves if row["corpus"] == corpus))
        for place, name in enumerate(names):
            points = [row for row in curves if (row["corpus"], row["method"]) == (corpus, name)]
            false_rate = [float(row["false_rate"]) for row in points]
            true_rate = [max(float(row["true_rate"]), 1e-5) for row in points]
            label = METHODS[corpus][name].label
            style = "-" if place < len(COLOURS) else "--"
            axis.plot(false_rate, true_rate, style, color=COLOURS[place % len(COLOURS)], lw=1.6, label=label)
        axis.plot(CURVE, CURVE, ":", color="#aaaaaa", label="guessing")
        axis.axvline(FALSE_ALARMS, color="#dddddd", lw=1)
        axis.set(xscale="log", yscale="log", xlim=(1e-4, 1), ylim=(1e-4, 1), title=f"{corpus}, query: likelihood")
        axis.set(xlabel="rate of false alarms", ylabel="rate of true alarms")
        axis.grid(alpha=0.25)
        axis.legend(fontsize=8, loc="lower right")
    figure.savefig(folder / "roc.png", dpi=110)
