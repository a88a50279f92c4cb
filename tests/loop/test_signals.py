"""Signals: counted as they arrive, and the end of a wait."""

import signal
from contextlib import ExitStack

from larbinpy.loop.poller import Poller
from larbinpy.loop.signals import Signals

CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP, signal.SIGPIPE)


def test_signals_are_counted_until_taken() -> None:
    signals, poller = Signals(), Poller()
    with ExitStack() as until:
        signals.catch(until)
        signals.wake(poller, until)
        assert (signals.stops, signals.take_status(), signals.reopen) == (0, False, False)
        for number in (signal.SIGUSR1, signal.SIGUSR1, signal.SIGHUP, signal.SIGPIPE):
            signal.raise_signal(number)
        assert (signals.take_status(), signals.take_status()) == (True, False)
        assert (signals.reopen, signals.reopen) == (True, True)
        signals.reopened()
        assert not signals.reopen
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        assert signals.stops == 2
    poller.close()


def test_a_signal_ends_the_wait_once() -> None:
    signals, poller = Signals(), Poller()
    with ExitStack() as until:
        signals.catch(until)
        signals.wake(poller, until)
        assert poller.wait(0) == 0
        for _ in range(3):
            signal.raise_signal(signal.SIGUSR1)
        assert poller.wait(10) == 1
        assert poller.wait(0) == 0
    poller.close()


def test_handlers_are_restored_at_the_end() -> None:
    before = [signal.getsignal(number) for number in CAUGHT]
    poller = Poller()
    with ExitStack() as until:
        signals = Signals()
        signals.catch(until)
        signals.wake(poller, until)
        assert [signal.getsignal(number) for number in CAUGHT] != before
    assert [signal.getsignal(number) for number in CAUGHT] == before
    assert signal.set_wakeup_fd(-1) == -1
    assert repr(poller) == "<Poller 0 descriptors>"
    poller.close()
