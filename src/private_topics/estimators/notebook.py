"""How a fitted private model looks in a notebook: the guarantee, the topics, the statement. HTML without scripts."""

from __future__ import annotations

from html import escape
from typing import Any

from private_topics.estimators.topic_list import Topic, topics_of

SHOWN_WORDS = 8
CELL = "text-align:left;padding:0.15em 0.8em 0.15em 0;vertical-align:top"


class NotebookView:
    """For an estimator with `privacy_` and `components_`: until it is fitted it looks as scikit-learn shows it."""

    def _repr_html_(self) -> str:
        if hasattr(self, "privacy_"):
            return view_of(self)
        usual: str = super()._repr_html_()  # type: ignore[misc]
        return usual

    def _repr_mimebundle_(self, **kinds: Any) -> dict[str, str]:
        if hasattr(self, "privacy_"):
            return {"text/plain": repr(self), "text/html": view_of(self)}
        usual: dict[str, str] = super()._repr_mimebundle_(**kinds)  # type: ignore[misc]
        return usual


def view_of(model: Any) -> str:
    """The view as a fragment of a page."""
    statement = model.privacy_
    rows = "".join(_row(topic) for topic in topics_of(model, SHOWN_WORDS))
    head = "".join(f'<th style="{CELL}">{name}</th>' for name in ("topic", "share", "words"))
    return (
        f"<div><p><strong>{_clean(shield_of(statement))}</strong></p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        f"<details><summary>Privacy statement</summary><p>{_clean(statement.text)}</p></details></div>"
    )


def shield_of(statement: Any) -> str:
    """The guarantee in one line."""
    if not statement.private:
        return "✗ NOT PRIVATE: the noise was drawn from a known seed"
    if not statement.proved:
        return "✗ NOT PROVED: treat this model as not private"
    return (
        f"🛡 ({statement.epsilon:g}, {statement.delta:g})-differential privacy for {statement.units} "
        f"(unit: {statement.unit}), proved"
    )


def _row(topic: Topic) -> str:
    words = " ".join(word.word for word in topic.words)
    cells = f"{topic.number}: {topic.label}", f"{topic.share:.1%}", words
    return "<tr>" + "".join(f'<td style="{CELL}">{_clean(cell)}</td>' for cell in cells) + "</tr>"


def _clean(text: str) -> str:
    """Escaped, and what could rearrange or control the page replaced."""
    return escape("".join(character if character.isprintable() else "\ufffd" for character in text))
