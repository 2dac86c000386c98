"""Tables of figures, and how they are put into a Markdown file."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Table:
    """A Markdown table."""

    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)

    def markdown(self) -> str:
        """The table as text."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


class Bars(Table):
    """What is measured, the bar it has to reach, the figure, and whether it does."""

    def __init__(self) -> None:
        super().__init__(["figure", "bar", "measured", ""])
        self.missed = 0

    def add(self, what: str, bar: str, measured: str, met: bool) -> None:
        """Add a row."""
        self.missed += not met
        self.rows.append([what, bar, measured, "met" if met else "**missed**"])

    def at_least(self, what: str, bar: float, measured: float, digits: int = 4) -> None:
        """Add a row whose figure must not be smaller."""
        self.add(what, f"≥ {bar:.{digits}f}", f"{measured:.{digits}f}", measured >= bar)

    def at_most(self, what: str, bar: float, measured: float, unit: str = "", digits: int = 2) -> None:
        """Add a row whose figure must not be larger."""
        self.add(what, f"≤ {bar:g}{unit}", f"{measured:.{digits}f}{unit}", measured <= bar)


@dataclass
class Report:
    """What one section found."""

    tables: list[Table] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    #: What registrations ran on, where that was a GPU or another machine.
    elsewhere: str = ""

    def bars(self) -> Bars:
        """A new table of bars."""
        self.tables.append(Bars())
        return self.tables[-1]

    def table(self, *columns: str) -> Table:
        """A new table."""
        self.tables.append(Table(list(columns)))
        return self.tables[-1]

    @property
    def missed(self) -> int:
        """Bars that were missed."""
        return sum(table.missed for table in self.tables if isinstance(table, Bars))

    def markdown(self, where: str, command: str) -> str:
        """Tables, then how they were made."""
        tables = [table.markdown() for table in self.tables if table.rows]
        listing = "\n".join(["```sh", command, *(f"#   {line}" for line in self.commands), "```"])
        return "\n\n".join([*tables, f"{where}:", listing])


def update(path: Path, section: str, markdown: str) -> None:
    """Replace what stands between the section's two comments in the file."""
    begin, end = f"<!-- begin {section} -->", f"<!-- end {section} -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    text, count = pattern.subn(lambda _: f"{begin}\n{markdown}\n{end}", path.read_text())
    if count != 1:
        raise ValueError(f"{path}: expected one '{begin} … {end}', found {count}")
    path.write_text(text)
