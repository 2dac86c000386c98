"""The parts of scripts/clients.py: real clients of ANTs' and FSL's commands, and real ANTs."""
