"""The command ``antsreg-gpu``, which the package installs."""

import signal
import sys


def main() -> None:
    """Runs the command of this process and ends it with the command's exit code."""
    from . import _native

    # The command handles signals itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_native.command(sys.argv))
