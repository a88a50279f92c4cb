"""The two clocks of the program. Who decides does not read them: times are arguments."""

import time
from collections.abc import Callable

Clock = Callable[[], float]

#: Seconds that never go back; all times in the program but those shown to people.
clock: Clock = time.monotonic
#: Unix time, for people and for dates in headers.
wall: Clock = time.time
