"""A hook of mkdocs that converts LaTeX formulas to MathML, which browsers show without a script.

Formulas have GitHub's syntax: ``$`x`$`` in a line, and blocks fenced as ``math``.
"""

from __future__ import annotations

import re
from typing import Any

from latex2mathml.converter import convert

BLOCK = re.compile(r"^```math\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"\$`([^`]+)`\$")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the LaTeX formulas of a page by MathML."""
    markdown = BLOCK.sub(lambda found: f"<div>{convert(found[1], display='block')}</div>", markdown)
    return INLINE.sub(lambda found: convert(found[1]), markdown)
