"""Tables as Markdown and CSV."""

import csv
import os
import platform
from datetime import date
from pathlib import Path

from experiments.runs import shown


class Table:
    """A title, columns, and rows of numbers and text."""

    def __init__(self, title: str, *columns: str) -> None:
        self.title = title
        self._columns = columns
        self._rows: list[tuple[object, ...]] = []

    def add(self, *row: object) -> None:
        assert len(row) == len(self._columns)
        self._rows.append(row)

    def markdown(self) -> str:
        """The table as Markdown with aligned columns."""
        rows = [self._columns, *(tuple(map(_text, row)) for row in self._rows)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "| " + " | ".join(map(str.ljust, row, widths)) + " |"
            for row in [*rows[:1], tuple("-" * width for width in widths), *rows[1:]]
        ]
        return "\n".join([f"## {self.title}", "", *lines])

    def write_csv(self, path: Path) -> None:
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(self._columns)
            writer.writerows(self._rows)


class Report:
    """Files of one experiment in `folder`: NAME.md with all tables, and a CSV file for each."""

    def __init__(self, folder: Path, name: str, about: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._name = name
        self._texts = [f"# {name}", about, machine()]
        self._tables = 0

    def table(self, table: Table) -> None:
        self._tables += 1
        table.write_csv(self.path(f"-{self._tables}.csv"))
        self._texts.append(table.markdown())

    def note(self, text: str) -> None:
        self._texts.append(text)

    def path(self, suffix: str) -> Path:
        """The path of a file of this experiment."""
        return self._folder / f"{self._name}{suffix}"

    def close(self) -> str:
        """Write NAME.md; returns its text."""
        text = "\n\n".join(self._texts) + "\n"
        self.path(".md").write_text(text)
        return text


def verdict(met: bool, text: str) -> str:
    """A line of a list: whether a bound was met."""
    return f"- {'met' if met else 'MISSED'}: {text}"


def machine() -> str:
    """Date, processor, cores and Python version of a measurement."""
    cores = len(os.sched_getaffinity(0))
    return f"{date.today()}, {_processor()}, {cores} cores, Python {platform.python_version()}"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _text(value: object) -> str:
    return shown(value) if isinstance(value, int | float) else str(value)
