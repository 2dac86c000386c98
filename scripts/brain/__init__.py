"""What `brain_bars.py` and `head_pairs.py` measure: brains of heads against masks, changed heads, heads beside brains."""
