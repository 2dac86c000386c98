"""Run one command and write its time and memory to a file: `python child.py RESULT.json COMMAND…`.

ru_maxrss of a process includes the memory of its parent at the fork. This small program is the parent, so that the
memory of the benchmark is not counted.
"""

import json
import os
import subprocess
import sys
import time


def main() -> None:
    """Run the command, wait for its end, and write its time and peak memory to the file."""
    result, *command = sys.argv[1:]
    start = time.perf_counter()
    child = subprocess.Popen(command, stderr=subprocess.STDOUT)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    # The unit of ru_maxrss is KiB on Linux and bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    found = {"status": os.waitstatus_to_exitcode(status), "seconds": seconds, "peak_gb": usage.ru_maxrss * unit / 1e9}
    with open(result, "w") as file:  # noqa: PTH123  (pathlib would cost memory)
        json.dump(found, file)


main()
