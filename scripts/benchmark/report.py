"""Tables of measured figures, as Markdown and as data for docs/figures.json."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Table:
    """A Markdown table."""

    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)
    #: Whether the table is kept only as data in docs/figures.json, because no document shows it.
    hidden: bool = False

    def markdown(self) -> str:
        """The table in Markdown."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


class Bars(Table):
    """A table of acceptance limits: quantity, limit, measured figure, and whether the limit is met."""

    def __init__(self) -> None:
        super().__init__(["figure", "bar", "measured", ""])
        self.missed = 0

    def add(self, what: str, bar: str, measured: str, met: bool) -> None:
        """Add a row."""
        self.missed += not met
        self.rows.append([what, bar, measured, "met" if met else "**missed**"])

    def at_least(self, what: str, bar: float, measured: float, digits: int = 4) -> None:
        """Add a row for a measured quantity whose acceptance limit is a minimum."""
        self.add(what, f"≥ {bar:.{digits}f}", f"{measured:.{digits}f}", measured >= bar)

    def at_most(self, what: str, bar: float, measured: float, unit: str = "", digits: int = 2) -> None:
        """Add a row for a measured quantity whose acceptance limit is a maximum."""
        self.add(what, f"≤ {bar:g}{unit}", f"{measured:.{digits}f}{unit}", measured <= bar)


@dataclass
class Report:
    """The result tables of one section of the benchmark, such as affine registration."""

    tables: list[Table] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    #: Description of the machine that ran the registrations, if it was not this machine.
    elsewhere: str = ""

    def bars(self) -> Bars:
        """Add an empty table of acceptance limits to the benchmark section. Returns the table."""
        self.tables.append(Bars())
        return self.tables[-1]

    def table(self, *columns: str, hidden: bool = False) -> Table:
        """Add an empty table with these columns to the benchmark section. Returns the table."""
        self.tables.append(Table(list(columns), hidden=hidden))
        return self.tables[-1]

    @property
    def missed(self) -> int:
        """Number of acceptance limits that were missed."""
        return sum(table.missed for table in self.tables if isinstance(table, Bars))

    def markdown(self) -> str:
        """All tables of a benchmark section that have rows, in Markdown."""
        return "\n\n".join(table.markdown() for table in self.tables if table.rows)

    def section(self, run: dict[str, str]) -> dict[str, Any]:
        """The results of a benchmark section for docs/figures.json: tables and conditions of the measurement."""
        tables = [
            {"columns": table.columns, "rows": table.rows} | ({"hidden": True} if table.hidden else {})
            for table in self.tables
            if table.rows
        ]
        return {"tables": tables, "run": {**run, "calls": self.commands}}
