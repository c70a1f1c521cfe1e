"""Topic models of sensitive text under differential privacy."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from private_topics._version import __version__

if TYPE_CHECKING:
    from private_topics.corpus.made_up.synthetic import make_lda_corpus
    from private_topics.errors import InputError, LedgerError, ModelFileError, PrivacyError, PrivacyWarning
    from private_topics.estimators.private import PrivateSpectralLDA
    from private_topics.estimators.saving import load
    from private_topics.estimators.spectral import SpectralLDA
    from private_topics.estimators.variational import PrivateVariationalLDA, VariationalLDA
    from private_topics.fits.split import BudgetSplit
    from private_topics.planning.plan import plan
    from private_topics.privacy.ledger.durable import DurableLedger
    from private_topics.privacy.ledger.in_memory import BudgetLedger

__all__ = [
    "BudgetLedger",
    "BudgetSplit",
    "DurableLedger",
    "InputError",
    "LedgerError",
    "ModelFileError",
    "PrivacyError",
    "PrivacyWarning",
    "PrivateSpectralLDA",
    "PrivateVariationalLDA",
    "SpectralLDA",
    "VariationalLDA",
    "__version__",
    "load",
    "make_lda_corpus",
    "plan",
]

_HOMES = {
    "planning.plan": ("plan",),
    "corpus.made_up.synthetic": ("make_lda_corpus",),
    "errors": ("InputError", "LedgerError", "ModelFileError", "PrivacyError", "PrivacyWarning"),
    "estimators.saving": ("load",),
    "estimators.spectral": ("SpectralLDA",),
    "fits.split": ("BudgetSplit",),
    "privacy.ledger.durable": ("DurableLedger",),
    "privacy.ledger.in_memory": ("BudgetLedger",),
    "estimators.private": ("PrivateSpectralLDA",),
    "estimators.variational": ("PrivateVariationalLDA", "VariationalLDA"),
}
"""Where the public names live. They are imported at first use: `private-topics --help` needs none of them."""


def __getattr__(name: str) -> Any:
    if name in {"evaluation", *(home.split(".")[0] for home in _HOMES)}:
        return import_module(f"private_topics.{name}")
    for home, names in _HOMES.items():
        if name in names:
            globals()[name] = value = getattr(import_module(f"private_topics.{home}"), name)
            return value
    raise AttributeError(f"module 'private_topics' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
