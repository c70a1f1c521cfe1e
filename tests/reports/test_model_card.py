"""The model card says what the model holds, in both formats alike, and nothing in it acts."""

from __future__ import annotations

import copy
import hashlib
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from report_support import DATE, HOSTILE, N_WORDS, NAMES, ROOT, Page, assert_sound, labelled, trust_in

from private_topics import InputError, write_model_card

PARTS = [
    "What it is", "Intended use", "What it must not be used for", "Data", "Privacy", "What was released",
    "Evaluation", "Limits", "Settings", "Sign-off", "How to check",
]  # fmt: skip


def card(model, folder, suffix=".md", **options):
    path = write_model_card(model, folder / f"card{suffix}", **{"date": DATE, "feature_names": NAMES, **options})
    return path.read_text(encoding="utf-8")


def unescaped(text):
    plain = re.sub(r"\\([^\w\s])", r"\1", text)
    return plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def test_both_formats_say_the_same(model, tmp_path):
    scores = {"documents": 1200, "perplexity": 812.3456}
    options = {"title": "Letters", "purpose": "To plan wards.", "data": "Letters of 2025.", "evaluation": scores}
    markdown = unescaped(card(model, tmp_path, **options))
    page = Page(card(model, tmp_path, ".html", **options))
    assert_sound(page)
    assert re.findall("^## (.*)$", markdown, re.MULTILINE) == PARTS
    assert re.findall(r'<h2 id="part-\d+">(.*?)</h2>', page.source) == PARTS
    statement = model.privacy_
    said = ["Letters", DATE, "To plan wards.", "Letters of 2025.", "812.3", "1,200", statement.text]
    said += [*statement.public, *statement.not_covered, *(line.name for line in statement.releases)]
    said += ["Deciding anything about a single person", *(", ".join(words) for words in model.top_words(NAMES, n=8))]
    for text in said:
        assert text in markdown
        assert text in page.text
    rows = [line for line in markdown.splitlines() if line.startswith("| ")]
    for line in statement.releases:
        assert any(row.startswith(f"| {line.name} | {line.numbers} | {line.sensitivity:.4g} |") for row in rows)
        assert (ROOT / "docs" / "proofs" / f"{line.proof}.md").exists()


def test_a_model_without_a_guarantee_says_so_first(bad_models, tmp_path):
    for headline, model in bad_models.items():
        for suffix in (".md", ".html"):
            text = card(model, tmp_path, suffix)
            shown = unescaped(text) if suffix == ".md" else Page(text).text
            assert headline in shown[: shown.index("What it is")]
            assert "Publishing it, or anything computed from it" in shown
            assert "Nothing to sign." in shown
            assert "nearly the same probability" not in shown
            assert "987654321" not in text, "the noise seed"
        assert "must not be used for" in text


def test_the_people_who_asked_and_approved(model, tmp_path):
    assert card(model, tmp_path).count("…" * 20) == 4
    asked = copy.copy(model)
    asked.sign_off_ = SimpleNamespace(requested_by="A. Requester", approved_by="B. <Approver>", reason="")
    text = unescaped(card(asked, tmp_path))
    assert "| Requested by | A. Requester |" in text
    assert "| Approved by | B. <Approver> |" in text
    assert text.count("…" * 20) == 2
    assert "B. &lt;Approver&gt;" in card(asked, tmp_path, ".html")


def test_nothing_in_a_card_acts(model, tmp_path):
    """Names, labels and what the author says stay text: the same lines, cells and elements as harmless ones."""
    hostile = [f"{HOSTILE[j % len(HOSTILE)]}|`*_[x](y){j}" for j in range(N_WORDS)]
    k = len(model.components_)

    def written(names, text, suffix):
        options = {"feature_names": names, "title": text, "purpose": text, "data": text, "date": text.strip()}
        return card(labelled(model, [text] * k), tmp_path, suffix, evaluation={text: 1.0}, **options)

    attack = "# <img src=x onerror=alert(1)>\n\n<script>x</script> | [a](b)"
    markdown, calm = written(hostile, attack, ".md"), written(NAMES, "calm", ".md")
    assert len(markdown.splitlines()) == len(calm.splitlines())
    assert "<" not in markdown
    for line, other in zip(markdown.splitlines(), calm.splitlines(), strict=True):
        assert len(re.findall(r"(?<!\\)\|", line)) == len(re.findall(r"(?<!\\)\|", other))
        assert len(re.findall(r"(?<!\\)[`\[\]~]", line)) == 0
        assert re.match(r"[#>|-]*", line)[0] == re.match(r"[#>|-]*", other)[0]
    assert Page(written(hostile, attack, ".html")).shape == Page(written(NAMES, "calm", ".html")).shape


def test_the_file_and_its_digest(model, tmp_path):
    file = tmp_path / "topics.model"
    model.save(file)
    text = card(model, tmp_path, model_file=file)
    assert hashlib.sha256(file.read_bytes()).hexdigest() in text
    assert "private-topics report topics.model" in text
    assert str(tmp_path) not in text


def test_fewer_topics_than_asked_for(model, tmp_path):
    fewer = copy.copy(model)
    fewer.n_components = len(model.components_) + 3
    assert f"{len(model.components_)} of {fewer.n_components} topics asked for" in card(fewer, tmp_path)
    weak = copy.copy(model)
    weak.privacy_ = replace(model.privacy_, epsilon=20.0)
    assert "NEXT TO NO PROTECTION" in card(weak, tmp_path)


def test_refusals_leave_no_file(model, tmp_path):
    with pytest.raises(InputError, match=r"end in \.md or \.html"):
        write_model_card(model, tmp_path / "card.txt")
    for scores in ({"a": "b"}, {"a": True}, {"a": float("nan")}):
        with pytest.raises(InputError, match="'evaluation'"):
            card(model, tmp_path, evaluation=scores)
    with pytest.raises(InputError, match="'feature_names'"):
        card(model, tmp_path, feature_names=NAMES[:-1])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".md", ".html"])
def test_labels_and_reliability_are_on_the_card(model, tmp_path, suffix):
    k = len(model.components_)
    named, trust = labelled(model, [f"label {i}" for i in range(k)]), trust_in(model, [0.61] * k)
    plain = card(named, tmp_path, suffix)
    text = card(named, tmp_path, suffix, reliability=trust)
    assert all(f"label {i}" in text for i in range(k))
    assert text.count("61.0%") == plain.count("61.0%") + k
    other = labelled(model, None)
    other.components_ = model.components_[:-1]
    with pytest.raises(InputError, match="'reliability' parameter of write_model_card"):
        card(other, tmp_path, suffix, reliability=trust)
