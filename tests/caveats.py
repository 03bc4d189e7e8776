"""The codes of a result's caveats."""

from typing import Any


def codes(result: Any) -> list[str]:
    """In the order of the caveats."""
    return [caveat.code for caveat in result.caveats]
