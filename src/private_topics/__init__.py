"""Topic models of sensitive text under differential privacy."""

from private_topics._version import __version__
from private_topics.configurations.plan import plan
from private_topics.corpus.synthetic import make_lda_corpus
from private_topics.errors import InputError, LedgerError, ModelFileError, PrivacyError, PrivacyWarning
from private_topics.estimators import SpectralLDA, load
from private_topics.privacy.budget import BudgetSplit
from private_topics.privacy.durable_ledger import DurableLedger
from private_topics.privacy.ledger import BudgetLedger
from private_topics.private_estimator import PrivateSpectralLDA
from private_topics.variational_estimator import PrivateVariationalLDA, VariationalLDA

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
