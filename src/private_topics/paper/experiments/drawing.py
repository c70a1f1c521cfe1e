"""Figures: ours on the left, the paper's own points on the right, on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from private_topics.errors import InputError
from private_topics.paper.experiments.methods import METHODS, NOT_PRIVATE, ORACLE, PRIVATE
from private_topics.paper.experiments.noise_free import LARGEST_DISTANCE
from private_topics.paper.experiments.paper_points import ERRORS, PERPLEXITY, Curve
from private_topics.paper.experiments.rows import LEFT_OUT, REFUSED, Row, median, selected, status
from private_topics.paper.experiments.synthetic_error import error_key

STYLES: dict[str, dict[str, Any]] = {
    "config 1": {"color": "#08519c", "marker": "o"},
    "config 2": {"color": "#4292c6", "marker": "v"},
    "config 3": {"color": "#807dba", "marker": "D"},
    "config 4": {"color": "#bcbddc", "marker": "s"},
    "sequential": {"color": "#006d2c", "marker": "*", "linewidth": 2.5, "markersize": 11},
    "vi": {"color": "#d94801", "marker": "<"},
    "vi-u": {"color": "#fd8d3c", "linestyle": "-."},
    "unnoised": {"color": "#74c476", "linestyle": "-."},
    "unnoised refined": {"color": "#31a354", "linestyle": ":"},
    "unigram": {"color": "#252525", "linestyle": ":"},
}
SUFFIXES: dict[str, dict[str, Any]] = {
    "published": {"linestyle": "-"},
    "proved": {"linestyle": "--", "markerfacecolor": "white"},
    "scaled": {"linestyle": ":", "alpha": 0.75},
    "printed": {"linestyle": "-.", "alpha": 0.75},
    "code": {"linestyle": "--", "alpha": 0.4},
    "unscaled": {"linestyle": ":", "alpha": 0.75},
    "oracle": {"linestyle": ":", "alpha": 0.4},
}

CUT_OFF = 3.0  # times the perplexity of word frequencies: worse is named below the axis


def pyplot() -> Any:
    """matplotlib without a display, or a clear error."""
    try:
        import matplotlib
    except ImportError as error:
        raise InputError("Figures need matplotlib: pip install 'private-topics[plots]'.") from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import matplotlib.ticker

    return plt


def style(method: str) -> dict[str, Any]:
    base = " ".join(method.split()[:2]) if method.startswith("config") else method
    suffix = SUFFIXES.get(method.split()[-1], {}) if method.startswith("config") else {}
    return {"linewidth": 1.6, "markersize": 6} | STYLES[base] | suffix


def _save(plt: Any, figure: Any, path: Path) -> None:
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def _curves(axis: Any, rows: Sequence[Row], key: str, **wanted: Any) -> list[str]:
    """Draw every method that has a number, and the range of its draws; return where which refused."""
    refused = []
    chosen = selected(rows, **wanted)
    for method in METHODS:
        mine = selected(chosen, method=method)
        if method in NOT_PRIVATE:
            value = median(mine, key)
            if value is not None:
                axis.axhline(value, label=f"{method} (not private)", **style(method))
            continue
        levels = sorted({row["epsilon"] for row in mine})
        points = [(level, median(mine, key, epsilon=level)) for level in levels]
        points = [(level, value) for level, value in points if value is not None]
        if points:
            axis.plot(*zip(*points, strict=True), label=method, **style(method))
            ranges = [
                [row[key] for row in selected(mine, epsilon=level) if row[key] is not None] for level, _ in points
            ]
            ends = [min(each) for each in ranges], [max(each) for each in ranges]
            axis.fill_between([level for level, _ in points], *ends, color=style(method)["color"], alpha=0.08, lw=0)
        without = [level for level in levels if status(mine, epsilon=level) == REFUSED]
        if without:
            refused.append(f"{method} (ε = {', '.join(f'{level:g}' for level in without)})")
    return refused


def _notes(axis: Any, xlabel: str, notes: Sequence[str]) -> None:
    """Below the axis: its name, and what cannot be drawn inside."""
    axis.set_xlabel("\n".join((xlabel, *notes)) if notes else xlabel, fontsize=9)


def _refusals(refused: Sequence[str]) -> list[str]:
    return ["refused, the lower bound being zero:", *refused] if refused else []


def _plain_scale(plt: Any, axis: Any) -> None:
    """A logarithmic axis with plain numbers on it."""
    axis.set_yscale("log")
    axis.yaxis.set_major_locator(plt.matplotlib.ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.yaxis.set_major_formatter(plt.matplotlib.ticker.FormatStrFormatter("%g"))
    axis.yaxis.set_minor_formatter(plt.matplotlib.ticker.NullFormatter())


def _paper_curves(axis: Any, curves: dict[str, Curve]) -> None:
    for method, curve in curves.items():
        axis.plot(sorted(curve), [curve[x] for x in sorted(curve)], label=method, **style(method))


def draw_errors(name: str, rows: Sequence[Row], path: Path) -> None:
    plt = pyplot()
    figure, (ours, paper) = plt.subplots(1, 2, figsize=(11, 7.2), sharey=True, layout="constrained")
    refused = _curves(ours, [row for row in rows if row["method"] not in ORACLE], error_key(name))
    _paper_curves(paper, ERRORS[name[:9]])
    first = rows[0]
    size = f"α₀ = {first['alpha0']:g}, N = {first['documents']:,.0f}, d = {first['words']:.0f}"
    _plain_scale(plt, ours)
    ours.set(ylabel="error (smaller is better)", title=f"measured: {size}, k = {first['topics']:.0f}")
    paper.set(title=f"the paper's figure {name[7:9]}, as plotted")
    _notes(ours, "composite ε (δ = 1e-7)", _refusals(refused))
    _notes(paper, "composite ε (δ = 1e-7)", [])
    for axis in (ours, paper):
        axis.set(xlim=(-0.1, 3.1))
        axis.grid(alpha=0.25, which="both")
    paper.legend(fontsize=8, loc="center right")
    figure.legend(*ours.get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    _save(plt, figure, path)


def draw_singular_values(rows: Sequence[Row], path: Path) -> None:
    x = [row["alpha0"] for row in rows]
    looks: dict[str, dict[str, Any]] = {
        "singular_value": {
            "color": "#006d2c",
            "marker": "o",
            "linewidth": 2,
            "label": "σ₃ of M2 as defined, measured",
        },
        "largest_possible": {"color": "#74c476", "linestyle": "--", "label": "largest possible for LDA: 1/(3(α₀+1))"},
        "scaled": {"color": "#4292c6", "marker": "v", "linestyle": ":", "label": "α₀(α₀+1) times the measured"},
        "paper": {"color": "#d94801", "marker": "s", "label": "the paper's figure 3a"},
    }
    curves = [(x, [row[key] for row in rows], look) for key, look in looks.items()]
    _draw_spectrum(path, rows, curves, "α₀", "k-th singular value, k = 3")


def draw_gaps(rows: Sequence[Row], path: Path) -> None:
    k = [row["topics"] for row in rows]
    measured = [row for row in rows if row["gap"] is not None]
    model = {"marker": "o", "linestyle": "--", "color": "#006d2c", "label": "LDA with random α, exact"}
    corpus = {"marker": "v", "color": "#4292c6", "label": "measured on a corpus, equal α"}
    paper = {"marker": "s", "color": "#d94801", "label": "the paper's figure 3b, if its axis is log10"}
    curves = [
        (k, [row["model_gap"] for row in rows], model),
        ([row["topics"] for row in measured], [row["gap"] for row in measured], corpus),
        (k, [10.0 ** row["paper"] for row in rows], paper),
    ]
    _draw_spectrum(path, rows, curves, "topics k", "smallest gap of the eigenvalues of T", "α₀ = 1000, ")


def _draw_spectrum(
    path: Path, rows: Sequence[Row], curves: Sequence[Any], xlabel: str, ylabel: str, title: str = ""
) -> None:
    """Curves, each of x, y and a look, on logarithmic axes."""
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(8, 5.2), layout="constrained")
    for x, y, look in curves:
        axis.plot(x, y, **look)
    axis.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)
    axis.set_title(f"{title}N = {rows[0]['documents']:,.0f}, d = {rows[0]['words']:.0f}")
    axis.grid(alpha=0.25)
    axis.legend(fontsize=9)
    _save(plt, figure, path)


def draw_perplexities(rows: Sequence[Row], path: Path) -> None:
    plt = pyplot()
    sizes = sorted({row["topics"] for row in rows})
    columns = max(len(sizes), len(PERPLEXITY))
    figure, axes = plt.subplots(2, columns, figsize=(4.4 * columns, 10), sharey="row", layout="constrained")
    source = f"{rows[0]['corpus']}, N = {rows[0]['documents']:,.0f}, d = {rows[0]['words']:,.0f}"
    for axis, topics in zip(axes[0], sizes, strict=False):
        refused = _curves(axis, rows, "perplexity", topics=topics)
        axis.set(title=f"measured: k = {topics:.0f}\n{source}")
        _notes(axis, "ε (δ = 1e-6)", [*_beyond(rows, topics), *_refusals(refused), *_omissions(rows, topics)])
    for axis, (topics, curves) in zip(axes[1], PERPLEXITY.items(), strict=False):
        _paper_curves(axis, curves)
        axis.set(title=f"the paper's figure 4: k = {topics}", xlabel="ε")
    for axis in axes.flat:
        axis.set_visible(axis.has_data())
        if axis.has_data():
            _plain_scale(plt, axis)
            axis.set(xscale="log", xlim=(0.0007, 4.5))
            axis.grid(alpha=0.25, which="both")
    axes[0, 0].set_ylim(top=CUT_OFF * _reference(rows, sizes[0]))
    axes[0, 0].set_ylabel("held-out perplexity (smaller is better)")
    axes[1, 0].set_ylabel("perplexity, as plotted")
    axes[1, 0].legend(fontsize=8)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=9)
    _save(plt, figure, path)


def _reference(rows: Sequence[Row], topics: float) -> float:
    return median(rows, "perplexity", topics=topics, method="unigram") or 1.0


def _omissions(rows: Sequence[Row], topics: float) -> list[str]:
    """Methods without a single point, for their cost."""
    mine = selected(rows, topics=topics)
    methods = [method for method in (*PRIVATE, *NOT_PRIVATE) if status(mine, method=method) == LEFT_OUT]
    whole = [method for method in methods if all(row["status"] == LEFT_OUT for row in selected(mine, method=method))]
    lines = [", ".join(whole[start : start + 3]) for start in range(0, len(whole), 3)]
    return ["left out for their cost:", *lines] if lines else []


def _beyond(rows: Sequence[Row], topics: float) -> list[str]:
    """What is too far above the word frequencies to be drawn."""
    limit, mine = CUT_OFF * _reference(rows, topics), selected(rows, topics=topics)
    places = dict.fromkeys((row["method"], row["epsilon"]) for row in mine)
    found = {place: median(mine, "perplexity", method=place[0], epsilon=place[1]) or 0.0 for place in places}
    return [
        f"above: {method} {value:.2g} (ε = {level:g})" for (method, level), value in found.items() if value > limit
    ]


def draw_bounds(rows: Sequence[Row], path: Path) -> None:
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(8, 5.2), layout="constrained")
    for number in sorted({row["configuration"] for row in rows}):
        mine = selected(rows, configuration=number, epsilon=1.0)
        names = [f"{row['setting']}\nα₀ = {row['alpha0']:g}, N = {row['documents']:,.0f}" for row in mine]
        look = STYLES[f"config {number}"] | {"linestyle": "none", "markersize": 10}
        axis.plot(names, [row["bound"] for row in mine], label=f"config {number}", **look)
    axis.axhline(LARGEST_DISTANCE, color="#cb181d", label="no two topics are further apart")
    axis.set(yscale="log", ylabel="bound on the distance of a topic, ε = 1")
    axis.set_ylim(bottom=0.1 * LARGEST_DISTANCE)
    axis.grid(alpha=0.25)
    axis.margins(x=0.2)
    axis.legend(fontsize=9)
    _save(plt, figure, path)


def draw_top_words(rows: Sequence[Row], path: Path) -> None:
    """Mean coherence of the topics of each method."""
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(8, 4.2), layout="constrained")
    methods = list(dict.fromkeys(row["method"] for row in rows))
    for place, method in enumerate(methods):
        value = median(rows, "coherence", method=method)
        if value is None:
            axis.text(0.0, place, " refused", va="center", color="#555555")
        else:
            axis.barh(place, value, color=style(method)["color"])
            axis.text(max(value, 0.0), place, f" {value:.2f}", va="center")
    axis.set_yticks(range(len(methods)), methods)
    axis.set_ylim(len(methods) - 0.5, -0.5)
    axis.margins(x=0.1)
    axis.axvline(0.0, color="black", linewidth=0.8)
    axis.set(xlabel="mean NPMI coherence of all topics, on held-out documents", title="ε = 1")
    _save(plt, figure, path)
