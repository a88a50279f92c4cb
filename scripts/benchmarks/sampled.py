"""larbinpy with a look at where it is, each four milliseconds of processor time.

    python -m benchmarks.sampled RESULT ARGUMENT...      (the arguments are those of larbinpy)

A sample counts for the innermost function of larbinpy; what it called of libraries counts for
it. Samples cost next to nothing, so nothing looks dearer than it is, as small functions do under
cProfile. Python notes a signal when a call into C returns or calls back, so such calls are not cut
short but counted where they were made. Sampling begins when all is loaded.
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

#: What Linux counts processor time in, on most machines.
_INTERVAL = 0.004
_ROOT = f"{Path(larbinpy.__file__).parent}/"
# The commands load what they need when they are called; here that is done before.
assert crawl
#: Modules that count by themselves; all others count by their package.
_ROOMS = {
    "observe/snapshot": "stats",
    "loop/poller": "poll",
    "url": "url",
    "crawl/engine": "engine",
}
#: Functions that do nothing but call libcurl, or turbohtml.
_LIBCURL = {"_on_ready", "_run_timer"}
_TURBOHTML = {"_parse"}


def stage(module: str, function: str) -> str:
    """Which stage of a crawl a function is a part of; `module` without its ending, "a/b"."""
    room, slash, rest = module.partition("/")
    if module == "fetch/fetcher" and function in _LIBCURL:
        return "fetch: libcurl"
    if module == "parse/charset" and function in _TURBOHTML:
        return "parse: turbohtml"
    if room == "output" and rest == "log":
        return "crawl log"
    return _ROOMS.get(module) or (room if slash else "crawl")


def at_work(frame: FrameType) -> bool:
    """Has a function begun with what it does?

    A signal that comes while libcurl works is noted when it calls back: as the function that
    it calls is entered, which took no time.
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
