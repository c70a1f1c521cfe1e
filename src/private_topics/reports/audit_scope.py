"""What an audit attacked, in plain words: unit, sizes, releases, and which claims of a model it did not attack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from private_topics.privacy.neighbours import ADD_REMOVE, REPLACE, ZERO_OUT

UNITS = {"user": "one user with all their documents", "document": "one document"}
UNKNOWN = "not stated"
CHANGES: dict[str, str] = {REPLACE: "replaced by any other", ZERO_OUT: "emptied", ADD_REMOVE: "added or removed"}
NOT_COMPARED = (
    "The model's unit and releases were not compared with those of the audited fit: do not take one for the other."
)
KNOWLEDGE_MISSING = (
    "The model used public knowledge that was not at hand: give the audit the word vectors (--knowledge) or texts "
    "(--public-corpus) that the model's statement names."
)


@dataclass(frozen=True)
class Fact:
    """A prominent number, with what to know about it."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Scope:
    """`gaps`: which of the model's claims were not attacked; None where there is no model."""

    facts: list[Fact]
    sentences: list[str]
    gaps: list[str] | None

    @property
    def complete(self) -> bool:
        return not self.gaps

    @property
    def lead(self) -> str:
        if self.gaps is None:
            return "A private fit with the settings below was attacked on a corpus that needs no protection."
        if self.gaps:
            return (
                "A fit with the model's settings was attacked on a corpus that needs no protection; not all that the "
                "model claims was."
            )
        return (
            "The claims of the model were attacked on another fit with its settings, with its unit and all of its "
            "releases, on a corpus that needs no protection."
        )


def scope_of(content: dict[str, Any]) -> Scope:
    """From the sealed content alone."""
    audit, compared = content["audit"], content.get("coverage")
    settings = audit["settings"]
    if compared is None:
        gaps = None if content.get("model_statement") is None else [NOT_COMPARED]
        return Scope(_facts(audit, None), [_attacked(settings)], gaps)
    gaps = _gaps(compared)
    sentences = [_attacked(settings), _model(compared)]
    sentences += [_extra(compared["not_in_model"])] if compared["not_in_model"] else []
    if not gaps and not compared["complete"]:
        gaps = [NOT_COMPARED]
    return Scope(_facts(audit, compared), sentences, gaps)


def headline(audit: dict[str, Any], scope: Scope) -> str:
    if not audit["passed"]:
        return "The audit FAILED: at least one claim does not hold"
    if scope.gaps is None:
        return "The audit found nothing against the claims of a fit with these settings"
    if scope.gaps:
        return "The audit found nothing, but did NOT attack all that the model claims"
    return "The audit found nothing against the claims: it attacked the model's unit and every release"


def _attacked(settings: dict[str, Any]) -> str:
    unit = settings.get("unit")
    sizes = f"{_counted(settings, 'n_units')} {unit}s" if unit else "units of a kind that is not stated"
    if unit == "user":
        sizes += f" with {_counted(settings, 'n_documents')} documents"
    where = settings.get("corpus", "public or made up")
    return (
        f"Attacked: {UNITS.get(str(unit), UNKNOWN)}, {_change(settings)}, among {sizes} over "
        f"{_counted(settings, 'n_words')} words. The corpus: {where}.{_known(settings)}"
    )


def _change(settings: dict[str, Any]) -> str:
    return CHANGES.get(str(settings.get("neighbours", REPLACE)), UNKNOWN)


def _known(settings: dict[str, Any]) -> str:
    name = settings.get("knowledge", "none")
    return "" if name == "none" else f" Public knowledge: {name}."


def _model(compared: dict[str, Any]) -> str:
    unit, units, words = (compared[name]["model"] for name in ("unit", "n_units", "n_words"))
    made = compared["releases"]["model"]
    return (
        f"The model protects {UNITS.get(str(unit), UNKNOWN)}, of {_number(units)}; it has {_number(words)} words and "
        f"made {_plural(made, 'release')}{_agreement(compared)}."
    )


def _agreement(compared: dict[str, Any]) -> str:
    if not compared["releases"]["model"] or compared["not_attacked"] or not compared["same_order"]:
        return ""
    names = "the same names in the same order"
    return (
        f": the audited fit made them too, {names}"
        if compared["not_in_model"]
        else f", as did the audited fit: {names}"
    )


def _extra(names: list[str]) -> str:
    return f"The audited fit also made: {', '.join(names)}."


def _gaps(compared: dict[str, Any]) -> list[str]:
    found = []
    model, audit = compared["unit"]["model"], compared["unit"]["audit"]
    if model != audit:
        found.append(
            f"Not attacked: the model's unit. It protects {UNITS.get(str(model), UNKNOWN)}; the audit replaced "
            f"{UNITS.get(str(audit), UNKNOWN)}, which says nothing about that."
        )
    if compared["not_attacked"]:
        found.append(
            f"Not attacked: {_plural(len(compared['not_attacked']), 'release')} of the model's "
            f"{compared['releases']['model']}: {', '.join(compared['not_attacked'])}."
        )
    if not compared["same_order"]:
        found.append("The model made its releases in another order than the audited fit.")
    if compared["other_settings"]:
        found.append(f"The model's statement has another {', '.join(compared['other_settings'])}.")
    knowledge = compared.get("knowledge", {"model": [], "audit": []})
    if knowledge["model"] != knowledge["audit"]:
        found.append(
            KNOWLEDGE_MISSING if knowledge["model"] else "The audited fit had public knowledge, the model not."
        )
    if not compared["same_noise"]:
        found.append(
            f"The audited releases had {_range(*compared['noise'])} times the noise of the model's, in units of "
            "their sensitivities."
        )
    return found


def _range(low: float, high: float) -> str:
    ends = f"{low:.4f}", f"{high:.4f}"
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _facts(audit: dict[str, Any], compared: dict[str, Any] | None) -> list[Fact]:
    """Tiles: unit, units, words, releases, confidence; each next to the model's where there is one."""
    settings = audit["settings"]
    unit = settings.get("unit", "unit")
    documents = f"{_counted(settings, 'n_documents')} documents" if unit == "user" else ""
    notes = {"unit": _change(settings), "n_units": str(settings.get("corpus", "")), "n_words": "in the vocabulary"}
    made = "all that the fit made"
    if compared is not None:
        notes = {name: _beside(compared[name]) for name in notes}
        reached = compared["releases"]["model"] - len(compared["not_attacked"])
        made = f"{reached} of the model's {compared['releases']['model']}"
        made += "" if compared["unit"]["model"] == compared["unit"]["audit"] else ", for another unit"
    return [
        Fact("Unit attacked", unit, notes["unit"]),
        Fact(f"{unit.capitalize()}s", _counted(settings, "n_units"), _joined(documents, notes["n_units"])),
        Fact("Words", _counted(settings, "n_words"), notes["n_words"]),
        Fact("Releases attacked", str(len(audit["releases"])), made),
        Fact("Confidence", f"{audit['confidence']:.6g}", "that true claims pass"),
    ]


def _beside(pair: dict[str, Any]) -> str:
    if pair["model"] is None:
        return "the model's is not stated"
    shown = _number(pair["model"]) if isinstance(pair["model"], int) else f"one {pair['model']}"
    return "as in the model" if pair["model"] == pair["audit"] else f"the model: {shown}"


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def _counted(settings: dict[str, Any], name: str) -> str:
    return _number(settings.get(name))


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else UNKNOWN


def _plural(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
