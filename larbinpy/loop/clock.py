"""The two clocks of the program. Code that decides does not read them: times are arguments."""

import time
from collections.abc import Callable

Clock = Callable[[], float]

#: Seconds of a clock that never goes back, for everything that is measured or scheduled.
clock: Clock = time.monotonic
#: Unix time, for display, logs and dates in headers.
wall: Clock = time.time
#: For commands that wait for a file; the crawl itself waits for sockets.
sleep: Callable[[float], None] = time.sleep
