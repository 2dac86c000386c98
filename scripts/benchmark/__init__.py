"""The Python modules of scripts/benchmark.py, which measures registrations by antsreg-gpu and by other programs."""
