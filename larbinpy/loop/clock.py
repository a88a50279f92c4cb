"""The two clocks of the program. Deciders do not read them: times are arguments."""

import time
from collections.abc import Callable

Clock = Callable[[], float]

#: Seconds that never go back; used for all times but those shown to people.
clock: Clock = time.monotonic
#: Unix time, for people and for dates in headers.
wall: Clock = time.time
