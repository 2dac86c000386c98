"""The benchmark behind scripts/benchmark.py."""
