"""The one epoll of the program: it calls the owner of each ready descriptor."""

import select
from collections.abc import Callable

READ = select.EPOLLIN
WRITE = select.EPOLLOUT

Callback = Callable[[int, int], None]

# One batch of events a turn is enough: the rest is ready again in the next turn, and the
# other stages get their share meanwhile.
_MAX_EVENTS = 512


class Poller:
    """Calls back the owner of each ready descriptor.

    A callback gets the descriptor and a mask of READ and WRITE. An error or a hang-up sets
    both: the owner's next read or write reports it. Owners register and unregister their
    descriptors themselves, also from within callbacks.
    """

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._callbacks: dict[int, Callback] = {}
        #: Called after each wait, before the owners: the process may have been stopped meanwhile.
        self.woken: Callable[[], None] = lambda: None

    def __repr__(self) -> str:
        return f"<Poller {len(self._callbacks)} descriptors>"

    def register(self, fd: int, events: int, callback: Callback) -> None:
        """Watch `fd` for `events`; if it is watched already, change the events.

        libcurl closes a socket and opens another of the same number without a callback in
        between, so the kernel may have forgotten a descriptor that is registered here, or the
        reverse.
        """
        self._callbacks[fd] = callback
        try:
            self._epoll.register(fd, events)
        except FileExistsError:
            self._epoll.modify(fd, events)

    def modify(self, fd: int, events: int) -> None:
        """Change the events that `fd` is watched for."""
        try:
            self._epoll.modify(fd, events)
        except FileNotFoundError:
            self._epoll.register(fd, events)

    def unregister(self, fd: int) -> None:
        """Stop watching `fd`; harmless when it is closed or unknown."""
        self._callbacks.pop(fd, None)
        try:
            self._epoll.unregister(fd)
        except (OSError, ValueError):
            return  # closed descriptors leave the epoll by themselves

    def wait(self, timeout: float) -> int:
        """Wait at most `timeout` seconds and call the owners; returns the number ready."""
        ready = self._epoll.poll(max(timeout, 0), _MAX_EVENTS)
        self.woken()
        for fd, events in ready:
            callback = self._callbacks.get(fd)
            if callback is not None:
                if events & ~(READ | WRITE):
                    events = READ | WRITE
                callback(fd, events)
        return len(ready)

    def close(self) -> None:
        self._epoll.close()
