"""The modules of the benchmark scripts/benchmark.py."""
