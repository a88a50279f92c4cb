"""Runs larbinpy with a sampling profiler, one sample each four milliseconds of CPU time.

    python -m benchmarks.sampled RESULT ARGUMENT...      (the arguments are those of larbinpy)

A sample counts for the innermost function of larbinpy, including its library calls. Samples cost
almost nothing, so small functions do not look more expensive than they are, as under cProfile.
Python handles a signal when a call into C returns or calls back, so C calls count for their
caller. Sampling begins after all modules are loaded.
"""

import gc
import json
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from types import FrameType

import larbinpy
from larbinpy.cli import crawl
from larbinpy.cli import main as larbinpy_main

#: Linux counts CPU time in this unit on most machines (s).
_INTERVAL = 0.004
_ROOT = f"{Path(larbinpy.__file__).parent}/"
# Imported above because a command loads its modules only when it is called.
assert crawl
#: Modules with their own stage; all others count for their package.
_STAGES = {
    "observe/snapshot": "stats",
    "loop/poller": "poll",
    "url": "url",
    "crawl/engine": "engine",
}
#: Functions that only call libcurl, or turbohtml.
_LIBCURL = {"_on_ready", "_run_timer"}
_TURBOHTML = {"_parse"}


def stage(module: str, function: str) -> str:
    """The stage of a crawl that a function belongs to; `module` is like "fetch/fetcher"."""
    package, slash, name = module.partition("/")
    if module == "fetch/fetcher" and function in _LIBCURL:
        return "fetch: libcurl"
    if module == "parse/charset" and function in _TURBOHTML:
        return "parse: turbohtml"
    if package == "output" and name == "log":
        return "crawl log"
    return _STAGES.get(module) or (package if slash else "crawl")


def at_work(frame: FrameType) -> bool:
    """Whether a function has executed more than its entry.

    A signal that arrives while libcurl works is handled when libcurl calls back, at the entry
    of a function that has taken no time yet.
    """
    return frame.f_lineno != frame.f_code.co_firstlineno


class Sampler:
    """Counts samples by stage and by function."""

    def __init__(self) -> None:
        self.stages: Counter[str] = Counter()
        self.functions: Counter[str] = Counter()
        self.collecting = 0.0
        self._began = 0.0

    def start(self) -> None:
        signal.signal(signal.SIGPROF, self._sample)
        gc.callbacks.append(self._collect)
        signal.setitimer(signal.ITIMER_PROF, _INTERVAL, _INTERVAL)

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _sample(self, _number: int, frame: FrameType | None) -> None:
        while frame is not None:
            code = frame.f_code
            if code.co_filename.startswith(_ROOT) and at_work(frame):
                module = code.co_filename[len(_ROOT) :].removesuffix(".py")
                self.stages[stage(module, code.co_name)] += 1
                self.functions[f"{module}:{code.co_qualname}"] += 1
                return
            frame = frame.f_back
        self.stages["other"] += 1

    def _collect(self, phase: str, _info: dict[str, int]) -> None:
        now = time.process_time()
        self.collecting += -now if phase == "start" else now


def main(result: Path, arguments: list[str]) -> None:
    sampler = Sampler()
    loaded = time.process_time()
    sampler.start()
    try:
        larbinpy_main(arguments, standalone_mode=True)
    finally:
        sampler.stop()
        spent = time.process_time() - loaded
        values = {
            "samples": sum(sampler.stages.values()),
            "cpu": spent,
            "loading": loaded,
            "collecting": sampler.collecting,
            "stages": dict(sampler.stages.most_common()),
            "functions": dict(sampler.functions.most_common(40)),
        }
        result.write_text(json.dumps(values))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
