"""Attacks on the guarantee of a private fit, by the user, with the user's settings: `private-topics audit`."""

from private_topics.audit.auditing import audit
from private_topics.audit.made_up import corpus_like
from private_topics.audit.result import AuditResult, ReleaseAudit, WholeAudit
from private_topics.audit.seal import sealed, verify
from private_topics.reports.audit import seal

__all__ = ["AuditResult", "ReleaseAudit", "WholeAudit", "audit", "corpus_like", "seal", "sealed", "verify"]
