"""Runs commands of real ANTs (from the package ANTsPy) in a separate process.

The process is started again if a command ends it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SERVER = """
import json, os, sys
from ants import lib
for line in sys.stdin:
    folder, name, *words = json.loads(line)
    os.chdir(folder)
    try:
        code = getattr(lib, name)(words) or 0
    except Exception:
        code = 1
    os.write(int(sys.argv[1]), b"%d\\n" % code)
"""


class Oracle:
    """Runs commands of real ANTs one after another in one process, because importing ANTs takes seconds."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None

    def run(self, command: list[str], folder: Path) -> bool:
        """Run a command of real ANTs in a folder. Returns whether the command succeeds."""
        if self.process is None:
            reading, writing = os.pipe()
            self.answers = os.fdopen(reading)
            words = [sys.executable, "-c", SERVER, str(writing)]
            self.process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                text=True,
                pass_fds=[writing],
            )
            os.close(writing)
        self.process.stdin.write(json.dumps([str(folder), *command]) + "\n")
        self.process.stdin.flush()
        answer = self.answers.readline()
        if not answer:
            # The answer of the process that runs ANTs is empty, because the ANTs command has ended this process.
            self.process.wait()
            self.process = None
        return answer.strip() == "0"
