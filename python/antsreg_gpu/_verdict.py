"""The verdict on a result."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Verdict:
    """Whether a result is right.

    Attributes
    ----------
    judgement : str
        ``"sound"``: nothing speaks against the result; ``"look"``: look at it before it is used; ``"wrong"``: it is
        very probably wrong.
    probability : float
        Probability that the result is right, 0 to 1, among results like the made cases of the model.
    reasons : tuple of str
        What speaks against the result, the strongest reason first.
    measures : dict
        The numbers that the verdict is computed from, by name.
    """

    judgement: str
    probability: float
    reasons: tuple[str, ...]
    measures: dict[str, float]

    @classmethod
    def _of(cls, text: Optional[str]) -> Optional[Verdict]:
        """The verdict in a text in JSON; ``None`` without a text."""
        if text is None:
            return None
        found = json.loads(text)
        return cls(found["judgement"], found["probability"], tuple(found["reasons"]), found.get("measures") or {})
