"""Entry point of the command ``antsreg-gpu``, which the package installs."""

import signal
import sys


def main() -> None:
    """Runs the command ``antsreg-gpu`` with this process's arguments and exits with its exit code."""
    from . import _native

    # The native command installs its own handler for Ctrl-C, so Python's handler is removed.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_native.command(sys.argv))
