"""The parts of scripts/clients.py: tests with unmodified clients of ANTs' and FSL's commands, and with real ANTs."""
