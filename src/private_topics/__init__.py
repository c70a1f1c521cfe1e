"""Topic models of sensitive text under differential privacy."""

from private_topics._version import __version__
from private_topics.configurations.plan import plan
from private_topics.corpus.synthetic import make_lda_corpus
from private_topics.errors import InputError, ModelFileError, PrivacyError, PrivacyWarning
from private_topics.estimators import SpectralLDA, load
from private_topics.privacy.budget import BudgetSplit
from private_topics.privacy.ledger import BudgetLedger
from private_topics.private_estimator import PrivateSpectralLDA

__all__ = [
    "BudgetLedger",
    "BudgetSplit",
    "InputError",
    "ModelFileError",
    "PrivacyError",
    "PrivacyWarning",
    "PrivateSpectralLDA",
    "SpectralLDA",
    "__version__",
    "load",
    "make_lda_corpus",
    "plan",
]
