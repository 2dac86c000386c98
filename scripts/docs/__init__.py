"""The parts of scripts/docs_check.py: site, commands, figures."""
