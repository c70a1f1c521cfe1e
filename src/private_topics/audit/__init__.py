"""Attacks on the guarantee of a private fit, by the user, with the user's settings: `private-topics audit`."""

from private_topics.audit.auditing import audit_privacy
from private_topics.audit.made_up import corpus_like
from private_topics.audit.models import audit_model
from private_topics.audit.result import AuditResult, ReleaseAudit, WholeAudit
from private_topics.audit.seal import seal, sealed, verify
from private_topics.audit.words import NamedColumns

__all__ = [
    "AuditResult",
    "NamedColumns",
    "ReleaseAudit",
    "WholeAudit",
    "audit_model",
    "audit_privacy",
    "corpus_like",
    "seal",
    "sealed",
    "verify",
]
