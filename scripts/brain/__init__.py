"""What `brain_bars.py` measures: brains of heads against masks, and heads that are changed."""
