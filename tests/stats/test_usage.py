"""The memory that is left: of the machine, and of control groups in both versions."""

from math import inf
from pathlib import Path

import pytest

from larbinpy.stats import available_bytes

MB = 1 << 20
MACHINE = {"proc/meminfo": f"MemTotal: 9999 kB\nMemAvailable: {4000 * 1024} kB\n"}


def group(path: str, version: int, limit: object, used: int, cache: int) -> dict[str, str]:
    """The files of a control group."""
    if version == 2:
        top, names = f"sys/fs/cgroup/{path}", ("memory.max", "memory.current", "inactive_file")
    else:
        top = f"sys/fs/cgroup/memory/{path}"
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
    stat = f"anon 5\n{names[2]} {cache}\n"
    texts = {names[0]: f"{limit}\n", names[1]: f"{used}\n", "memory.stat": stat}
    return {f"{top}/{name}": text for name, text in texts.items()}


def own(*lines: str) -> dict[str, str]:
    return {"proc/self/cgroup": "\n".join(lines) + "\n"}


@pytest.mark.parametrize(
    ("files", "left"),
    [
        ({}, inf),
        (MACHINE, 4000 * MB),
        (MACHINE | own("0::/a/b") | group("a/b", 2, 900 * MB, 500 * MB, 100 * MB), 500 * MB),
        (MACHINE | own("0::/a/b") | group("a/b", 2, "max", 500 * MB, 0), 4000 * MB),
        # The group around it has less.
        (
            own("0::/a/b") | group("a/b", 2, 900 * MB, 0, 0) | group("a", 2, 800 * MB, 0, 0),
            800 * MB,
        ),
        # Within a container the path is another one.
        (own("0::/docker/1") | group("", 2, 700 * MB, 0, 0), 700 * MB),
        (own("4:cpu,memory:/docker/1", "0::/") | group("", 1, 600 * MB, MB, MB), 600 * MB),
        (MACHINE | own("4:memory:/x") | group("x", 1, 1 << 63, 5, 0), 4000 * MB),
        (MACHINE | own("4:cpu:/x", "0::/x") | {"sys/fs/cgroup/x/memory.max": "7"}, 4000 * MB),
    ],
)
def test_memory_that_is_left(tmp_path: Path, files: dict[str, str], left: float) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert available_bytes(tmp_path) == left


def test_this_machine_says_how_much_is_left() -> None:
    assert 0 < available_bytes() < inf
