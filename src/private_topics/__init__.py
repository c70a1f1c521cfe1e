"""Topic models of sensitive text under differential privacy."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from private_topics._version import __version__

if TYPE_CHECKING:
    from private_topics.audit.auditing import audit_privacy
    from private_topics.audit.made_up import corpus_like
    from private_topics.audit.model_seal import verify_model
    from private_topics.audit.models import audit_model
    from private_topics.audit.reliability import Reliability, reliability
    from private_topics.audit.seal import sealed, verify
    from private_topics.corpus.made_up.synthetic import make_lda_corpus
    from private_topics.corpus.texts.files import read_unit_labels
    from private_topics.corpus.texts.readers import open_texts
    from private_topics.corpus.words.tokens import Tokeniser
    from private_topics.corpus.words.vocabulary import WordList, named_word_list, read_word_list
    from private_topics.engines.gpu.corpus import GpuCounts
    from private_topics.engines.sites.coordinator import SiteCoordinator
    from private_topics.engines.sites.identities import SiteDirectory, SiteIdentity
    from private_topics.engines.sites.site import Site
    from private_topics.engines.spark.counts import SparkCounts
    from private_topics.errors import (
        EngineError,
        InputError,
        LedgerError,
        ModelFileError,
        NoWordsError,
        PrivacyError,
        PrivacyWarning,
    )
    from private_topics.estimators.class_shares import class_shares
    from private_topics.estimators.edited import Edits
    from private_topics.estimators.edits import block_words, drop_topics, merge_topics, name_topics, rename_topics
    from private_topics.estimators.evidence import TopicEvidence, evidence_of
    from private_topics.estimators.export import export_topics, pyldavis_arguments
    from private_topics.estimators.likelihood import PrivateLikelihood, private_log_likelihood
    from private_topics.estimators.private import PrivateSpectralLDA
    from private_topics.estimators.private_topics import PrivateTopics
    from private_topics.estimators.saving import load
    from private_topics.estimators.shares_table import ClassShares
    from private_topics.estimators.spectral import SpectralLDA
    from private_topics.estimators.texts import (
        WITH_VOCABULARY,
        CandidateVocabulary,
        CorpusVocabulary,
        PrivateVocabulary,
        fit_texts,
        make_vocabulary,
    )
    from private_topics.estimators.topic_list import Topic, TopicWord, topics_of
    from private_topics.estimators.variational import PrivateVariationalLDA, VariationalLDA
    from private_topics.evaluation.coherence import npmi_coherence, topic_diversity, umass_coherence
    from private_topics.evaluation.labels import labels, labels_of
    from private_topics.evaluation.perplexity import document_completion_perplexity, unigram_perplexity
    from private_topics.evaluation.recovery import match_topics, topic_error_l1, topic_error_l2
    from private_topics.evaluation.released_words import hints, possible_names
    from private_topics.evaluation.relevance import find_topics, lift, relevance
    from private_topics.fits.fit import BudgetSplit
    from private_topics.knowledge.public import PublicKnowledge
    from private_topics.planning.plan import Plan, plan
    from private_topics.planning.split import split_for
    from private_topics.privacy.budget import PrivacyBudget
    from private_topics.privacy.ledger.durable import DurableLedger
    from private_topics.privacy.ledger.in_memory import BudgetLedger
    from private_topics.privacy.ledger.request import Request
    from private_topics.privacy.statement import PrivacyStatement, ReleaseLine
    from private_topics.progress import Progress
    from private_topics.reports.audit import write_audit
    from private_topics.reports.card import write_model_card
    from private_topics.reports.class_shares import write_shares
    from private_topics.reports.comparison import write_comparison
    from private_topics.reports.report import write_report

_HOMES = {
    "audit.auditing": ("audit_privacy",),
    "audit.made_up": ("corpus_like",),
    "audit.model_seal": ("verify_model",),
    "audit.models": ("audit_model",),
    "audit.reliability": ("Reliability", "reliability"),
    "audit.seal": ("sealed", "verify"),
    "corpus.made_up.synthetic": ("make_lda_corpus",),
    "corpus.texts.files": ("read_unit_labels",),
    "corpus.texts.readers": ("open_texts",),
    "corpus.words.tokens": ("Tokeniser",),
    "corpus.words.vocabulary": ("WordList", "named_word_list", "read_word_list"),
    "engines.gpu.corpus": ("GpuCounts",),
    "engines.sites.coordinator": ("SiteCoordinator",),
    "engines.sites.identities": ("SiteDirectory", "SiteIdentity"),
    "engines.sites.site": ("Site",),
    "engines.spark.counts": ("SparkCounts",),
    "errors": (
        "EngineError",
        "InputError",
        "LedgerError",
        "ModelFileError",
        "NoWordsError",
        "PrivacyError",
        "PrivacyWarning",
    ),
    "estimators.edited": ("Edits",),
    "estimators.edits": ("block_words", "drop_topics", "merge_topics", "name_topics", "rename_topics"),
    "estimators.class_shares": ("class_shares",),
    "estimators.evidence": ("TopicEvidence", "evidence_of"),
    "estimators.export": ("export_topics", "pyldavis_arguments"),
    "estimators.private": ("PrivateSpectralLDA",),
    "estimators.private_topics": ("PrivateTopics",),
    "estimators.saving": ("load",),
    "estimators.shares_table": ("ClassShares",),
    "estimators.spectral": ("SpectralLDA",),
    "estimators.texts": (
        "WITH_VOCABULARY",
        "CandidateVocabulary",
        "CorpusVocabulary",
        "PrivateVocabulary",
        "fit_texts",
        "make_vocabulary",
    ),
    "estimators.topic_list": ("Topic", "TopicWord", "topics_of"),
    "estimators.variational": ("PrivateVariationalLDA", "VariationalLDA"),
    "evaluation.coherence": ("npmi_coherence", "topic_diversity", "umass_coherence"),
    "evaluation.labels": ("labels", "labels_of"),
    "evaluation.perplexity": ("document_completion_perplexity", "unigram_perplexity"),
    "estimators.likelihood": ("PrivateLikelihood", "private_log_likelihood"),
    "evaluation.recovery": ("match_topics", "topic_error_l1", "topic_error_l2"),
    "evaluation.released_words": ("hints", "possible_names"),
    "evaluation.relevance": ("find_topics", "lift", "relevance"),
    "fits.fit": ("BudgetSplit",),
    "knowledge.public": ("PublicKnowledge",),
    "planning.plan": ("Plan", "plan"),
    "planning.split": ("split_for",),
    "privacy.budget": ("PrivacyBudget",),
    "privacy.ledger.durable": ("DurableLedger",),
    "privacy.ledger.in_memory": ("BudgetLedger",),
    "privacy.ledger.request": ("Request",),
    "privacy.statement": ("PrivacyStatement", "ReleaseLine"),
    "progress": ("Progress",),
    "reports.audit": ("write_audit",),
    "reports.card": ("write_model_card",),
    "reports.class_shares": ("write_shares",),
    "reports.comparison": ("write_comparison",),
    "reports.report": ("write_report",),
}
"""Where the public names live. They are imported at first use: `private-topics --help` needs none of them."""

__all__ = [
    "WITH_VOCABULARY",
    "BudgetLedger",
    "BudgetSplit",
    "CandidateVocabulary",
    "ClassShares",
    "CorpusVocabulary",
    "DurableLedger",
    "Edits",
    "EngineError",
    "GpuCounts",
    "InputError",
    "LedgerError",
    "ModelFileError",
    "NoWordsError",
    "Plan",
    "PrivacyBudget",
    "PrivacyError",
    "PrivacyStatement",
    "PrivacyWarning",
    "PrivateLikelihood",
    "PrivateSpectralLDA",
    "PrivateTopics",
    "PrivateVariationalLDA",
    "PrivateVocabulary",
    "Progress",
    "PublicKnowledge",
    "ReleaseLine",
    "Reliability",
    "Request",
    "Site",
    "SiteCoordinator",
    "SiteDirectory",
    "SiteIdentity",
    "SparkCounts",
    "SpectralLDA",
    "Tokeniser",
    "Topic",
    "TopicEvidence",
    "TopicWord",
    "VariationalLDA",
    "WordList",
    "__version__",
    "audit_model",
    "audit_privacy",
    "block_words",
    "class_shares",
    "corpus_like",
    "document_completion_perplexity",
    "drop_topics",
    "evidence_of",
    "export_topics",
    "find_topics",
    "fit_texts",
    "hints",
    "labels",
    "labels_of",
    "lift",
    "load",
    "make_lda_corpus",
    "make_vocabulary",
    "match_topics",
    "merge_topics",
    "name_topics",
    "named_word_list",
    "npmi_coherence",
    "open_texts",
    "plan",
    "possible_names",
    "private_log_likelihood",
    "pyldavis_arguments",
    "read_unit_labels",
    "read_word_list",
    "relevance",
    "reliability",
    "rename_topics",
    "sealed",
    "split_for",
    "topic_diversity",
    "topic_error_l1",
    "topic_error_l2",
    "topics_of",
    "umass_coherence",
    "unigram_perplexity",
    "verify",
    "verify_model",
    "write_audit",
    "write_comparison",
    "write_model_card",
    "write_report",
    "write_shares",
]


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            globals()[name] = value = getattr(import_module(f"private_topics.{home}"), name)
            return value
    try:
        return import_module(f"private_topics.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module 'private_topics' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
