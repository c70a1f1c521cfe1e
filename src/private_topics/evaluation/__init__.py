"""How good a topic model is: held-out perplexity, coherence, diversity, recovery of known topics."""

from private_topics.evaluation.coherence import npmi_coherence, topic_diversity, umass_coherence
from private_topics.evaluation.perplexity import (
    document_completion_perplexity,
    split_document,
    unigram_perplexity,
)
from private_topics.evaluation.recovery import match_topics, topic_error_l1, topic_error_l2

__all__ = [
    "document_completion_perplexity",
    "match_topics",
    "npmi_coherence",
    "split_document",
    "topic_diversity",
    "topic_error_l1",
    "topic_error_l2",
    "umass_coherence",
    "unigram_perplexity",
]
