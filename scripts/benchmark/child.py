"""Run one command and write what it took: `python child.py RESULT.json COMMAND…`.

A process is charged, in ru_maxrss, with the memory of the one that started it. This one stays small, so that what the
benchmark itself holds is not taken for the program's.
"""

import json
import os
import subprocess
import sys
import time


def main() -> None:
    """Run the command, wait for its end, and write time and memory to the file."""
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
