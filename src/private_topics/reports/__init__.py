"""Reports for people who have to decide: a self-contained page on a model, one that compares two, a model card."""

from private_topics.reports.card import write_model_card
from private_topics.reports.comparison import write_comparison
from private_topics.reports.report import write_report

__all__ = ["write_comparison", "write_model_card", "write_report"]
