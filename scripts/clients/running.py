"""Runs an interface of nipype. The result is `ran`, `refused` (the command line is not supported) or `wrong`."""

from __future__ import annotations

import subprocess

from nipype.interfaces.base import CommandLine


def run(interface: CommandLine) -> tuple[str, str]:
    """Run an interface of nipype. Returns `ran`, `refused` or `wrong`, and the reason."""
    interface.resource_monitor = False
    try:
        interface.run()
    except Exception as error:
        # The exception does not always contain the command's messages. The command is run again to read its messages.
        done = subprocess.run(interface.cmdline, shell=True, capture_output=True, text=True, check=False)
        refused = done.returncode == 2 and "error: antsRegistration" in done.stderr
        return ("refused", done.stderr.strip()) if refused else ("wrong", f"{error} {done.stderr.strip()}")
    return "ran", ""
