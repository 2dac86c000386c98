"""Measurements for `brain_bars.py` (brain extraction) and `head_pairs.py` (registration of heads with brains)."""
