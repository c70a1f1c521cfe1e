"""Reports for people who have to decide: one self-contained page on a model, one that compares two."""

from private_topics.reports.comparison import write_comparison
from private_topics.reports.report import write_report

__all__ = ["write_comparison", "write_report"]
