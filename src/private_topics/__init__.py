"""Topic models of sensitive text under differential privacy."""

from private_topics._version import __version__
from private_topics.corpus.synthetic import make_lda_corpus
from private_topics.errors import InputError, ModelFileError, PrivacyError, PrivacyWarning
from private_topics.estimators import SpectralLDA, load

__all__ = [
    "InputError",
    "ModelFileError",
    "PrivacyError",
    "PrivacyWarning",
    "SpectralLDA",
    "__version__",
    "load",
    "make_lda_corpus",
]
