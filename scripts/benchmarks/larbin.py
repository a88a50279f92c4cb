"""Larbin 2.6, of which no package exists: its binary is given with ``--larbin FILE``.

    python -m benchmarks.larbin BINARY SEEDS FOLDER CONNECTIONS

Larbin does not wait between requests here, and writes no pages. As it never ends by itself, it is
stopped when it has had no work for a while, which is not counted; some versions of it do end.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

#: Seconds without work after which it is stopped, and between two looks.
_IDLE, _LOOK = 3.0, 0.05
#: The longest crawl (s).
_LONGEST = 600.0
#: A smaller share of a core is no work: it looks at its clocks.
_NO_WORK = 0.05
_TICKS = os.sysconf("SC_CLK_TCK")
_CONF = """From bench@example.com
UserAgent larbin
outputMode 0
httpPort 0
inputPort 0
pagesConnexions {connections}
dnsConnexions 5
depthInSite 250
waitDuration 0
{seeds}
"""


def used(pid: int) -> float:
    """Seconds of CPU time of a process, which may have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def watch(pid: int, idle: float = _IDLE) -> dict[str, Any]:
    """Wait until a process has done its work, and end it: its time, CPU time and memory."""
    began = last = time.monotonic()
    before = 0.0
    while last > (now := time.monotonic()) - idle and now < began + _LONGEST:
        time.sleep(_LOOK)
        total = used(pid)
        if total - before > _NO_WORK * (now - last):
            before, last = total, now
    os.kill(pid, signal.SIGKILL)
    _, _, spent = os.wait4(pid, 0)
    times = {"user": spent.ru_utime, "system": spent.ru_stime}
    return {"pages": None, "seconds": last - began, **times, "max_rss": spent.ru_maxrss * 1024}


def main(binary: Path, seeds: Path, folder: Path, connections: str) -> None:
    urls = "\n".join(f"startUrl {url}" for url in seeds.read_text().split())
    conf = folder / "larbin.conf"
    conf.write_text(_CONF.format(connections=connections, seeds=urls))
    process = subprocess.Popen(
        [binary.resolve(), "-c", conf], cwd=folder, stdout=subprocess.DEVNULL
    )
    print(json.dumps(watch(process.pid)), flush=True)
    # The process was waited for above.
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
