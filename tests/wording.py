"""Patterns for the sentences that users read."""

import re


def says(*parts):
    """A pattern for a message that holds all the parts, in any order."""
    return "(?s)" + "".join(f"(?=.*{re.escape(part)})" for part in parts)
