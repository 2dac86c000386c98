"""Options of the command as arguments of Python functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._images import is_path, path_of


def words(options: Mapping[str, Any]) -> list[str]:
    """Options by the names of the command as words of its command line: ``cc_radius=4`` becomes ``--cc-radius=4``."""
    found = []
    for name, value in options.items():
        option = f"--{name.rstrip('_').replace('_', '-')}"
        if value is True:
            found.append(option)
        elif isinstance(value, (list, tuple)):
            between = "," if name in _WITH_COMMAS else "x"
            found.append(f"{option}={between.join(str(part) for part in value)}")
        elif is_path(value):
            found.append(f"{option}={path_of(value)}")
        elif value is not False and value is not None:
            found.append(f"{option}={value}")
    return found


#: Options whose values are joined by commas; those of other options, one for each level, by ``x``.
_WITH_COMMAS = ("also", "channels", "search_degrees", "weights")
