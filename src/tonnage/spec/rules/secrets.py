"""Does a value look like a secret? Known token shapes, passwords in texts, and names that promise one.

A guess, so it only ever makes a remark. It never returns the value.
"""

from __future__ import annotations

import re

_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("looks like an AWS access key", re.compile(r"\b(AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("looks like a GitHub token", re.compile(r"\b(gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{20,})")),
    ("looks like a Hugging Face token", re.compile(r"\bhf_[A-Za-z0-9]{20,}")),
    ("looks like an API key", re.compile(r"\b(sk|pk|rk)-[A-Za-z0-9_-]{20,}")),
    ("looks like a Slack token", re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}")),
    ("looks like a Google key", re.compile(r"\bAIza[0-9A-Za-z_-]{30,}")),
    ("is a private key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")),
    ("looks like a signed token", re.compile(r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.")),
    (
        "holds a password",
        re.compile(r"(password|passwd|pwd|secret|token)\s*[=:]\s*[^\s$<{]{4,}", re.IGNORECASE),
    ),
    ("holds a password", re.compile(r"\b[a-z][a-z0-9+]*://[^/\s:@]+:[^/\s@$]{3,}@", re.IGNORECASE)),
)
_NAME = re.compile(
    r"(^|_)(PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIALS?)(_ID)?$",
    re.IGNORECASE,
)
_HARMLESS = re.compile(r"(|true|false|none|null|\d{1,6}|/\S*|\$\(?\w+\)?|\.{0,2}/\S*)", re.IGNORECASE)


def looks_secret(name: str, value: str) -> str | None:
    """Why a value looks like a secret, as the end of a sentence; None where it does not.

    >>> looks_secret("WANDB_API_KEY", "0123456789abcdef"), looks_secret("TOKENIZERS_PARALLELISM", "false")
    ('is called like a secret', None)
    """
    text = value[:10_000]
    for reason, shape in _SHAPES:
        if shape.search(text):
            return reason
    if _NAME.search(name) and not _HARMLESS.fullmatch(text.strip()) and len(text) >= 6:
        return "is called like a secret"
    return None
