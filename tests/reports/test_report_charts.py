"""The map keeps distances, its discs can be read, and colours stand out from their ground."""

from __future__ import annotations

import re

import numpy as np
import pytest
from report_support import ROOT, assert_sound, report

from private_topics import SpectralLDA
from private_topics.reports import charts
from private_topics.reports.topics import hellinger, topic_map


def test_the_map_keeps_distances_where_it_can():
    topics = np.random.default_rng(0).dirichlet(np.ones(20), size=3)
    placed = topic_map(topics)
    between = np.linalg.norm(placed.places[:, None] - placed.places, axis=2)
    np.testing.assert_allclose(between, hellinger(topics, topics), atol=1e-7)
    assert placed.shown == pytest.approx(1.0)
    upper = between + 9 * np.tri(3)
    assert placed.closest == tuple(np.unravel_index(upper.argmin(), (3, 3)))
    assert placed.nearest == pytest.approx(upper.min(), abs=1e-7)


def test_the_map_says_how_much_it_shows():
    """Four topics that share no word are equally far apart: a plane shows two of their three dimensions."""
    assert topic_map(np.eye(4)).shown == pytest.approx(2 / 3)
    assert topic_map(np.full((1, 4), 0.25)).shown == 1.0


def test_hellinger_is_between_zero_and_one():
    rows = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.5, 0.0]])
    found = hellinger(rows, rows)
    np.testing.assert_allclose(np.diag(found), 0.0, atol=1e-7)
    assert found[0, 1] == 1.0
    assert found[0, 2] == pytest.approx(np.sqrt(1 - np.sqrt(0.5)))


def test_discs_do_not_cover_each_other():
    centres = charts._moved_apart(np.full((12, 2), 200.0), np.full(12, 15.0))
    distances = np.linalg.norm(centres[:, None] - centres, axis=2) + 99 * np.eye(12)
    assert distances.min() > 30.0


def test_many_topics_keep_their_numbers_readable(tmp_path):
    """Labels that would cover a disc or another label are left out."""
    many = SpectralLDA(40)
    many.components_ = np.random.default_rng(1).dirichlet(np.ones(50) / 5, size=40)
    many.doc_topic_prior_, many.n_features_in_ = np.linspace(1, 3, 40), 50
    page = report(many, tmp_path, feature_names=None)
    assert_sound(page)
    picture = page.part('<svg class="map broad"')
    assert picture.count("<circle") == 40
    assert 5 < picture.count('class="words"') < 40
    rows = re.findall(r'class="words" x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)">(.*?)<', picture)
    boxes = [charts.Label(text, float(x), float(y), anchor).box for x, y, anchor, text in rows]
    for i, box in enumerate(boxes):
        assert charts._cost(box, boxes[:i]) <= 1.2 * charts.SMALL_OVERLAP  # coordinates are rounded


def test_a_map_has_no_empty_edges(model, tmp_path):
    """It would be cut off on a telephone, where there is room for the discs and their words alone."""
    picture = report(model, tmp_path).part('<svg class="map')
    left, _, width, _ = (float(number) for number in re.findall(r'viewBox="([^"]*)"', picture)[0].split())
    discs = [tuple(map(float, found)) for found in re.findall(r'cx="([\d.]+)" cy="[\d.]+" r="([\d.]+)"', picture)]
    rows = re.findall(r'class="words" x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)">(.*?)<', picture)
    boxes = [charts.Label(text, float(x), float(y), anchor).box for x, y, anchor, text in rows]
    spans = [(x - r, x + r) for x, r in discs] + [box[::2] for box in boxes]
    assert min(start for start, _ in spans) - left == pytest.approx(charts.MAP_EDGE, abs=2)
    assert left + width - max(end for _, end in spans) == pytest.approx(charts.MAP_EDGE, abs=2)


def test_a_spectrum_below_zero_is_drawn():
    picture = charts.spectrum_picture((3e-3, 1e-4, -2e-4), 5e-4, 1)
    assert picture.count("<circle") == 3
    assert "nan" not in picture
    assert "inf" not in picture


def luminance(colour: str) -> float:
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("theme", [0, 1, 2], ids=["light", "dark", "print"])
def test_text_stands_out_from_its_ground(theme):
    """WCAG 2.2: a contrast of 4.5 for text, 3 for parts of pictures."""
    sheet = (ROOT / "src/private_topics/reports/templates/style.css").read_text(encoding="utf-8")
    roots = re.findall(r":root \{(.*?)\n *\}", sheet, re.DOTALL)
    assert len(roots) == 3
    colours = dict(re.findall(r"--([\w-]+): (#\w{6})", roots[0] + roots[theme]))

    def contrast(pair: tuple[str, str]) -> float:
        low, high = sorted(luminance(colours[name]) for name in pair)
        return (high + 0.05) / (low + 0.05)

    texts = [(ink, ground) for ink in ("ink", "soft", "accent") for ground in ("page", "card")]
    texts += [("ink", "accent-soft"), ("soft", "accent-soft"), ("on-accent", "accent"), ("on-alarm", "alarm")]
    texts += [("ink", "caution-soft"), ("caution", "caution-soft"), ("ink", "graph-box"), ("ink", "track")]
    texts += [("graph-label", "graph-noise")]
    assert [pair for pair in texts if contrast(pair) < 4.5] == []
    parts = [(f"c{i}", "card") for i in range(1, 9)] + [("graph-noise", "card"), ("graph-line", "card")]
    assert [pair for pair in parts if contrast(pair) < 3.0] == []


def test_the_picture_of_a_report_is_small():
    """docs/screenshots.py --readme writes it."""
    assert 10_000 < (ROOT / "docs/images/report.png").stat().st_size < 250_000
