"""Simulated image series with known motion, and errors of motion corrections on them."""
