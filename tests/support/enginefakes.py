"""Fakes of all that an engine drives: they do no I/O, and the test decides when they proceed."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from larbinpy.config import Config
from larbinpy.crawl.requests import Types
from larbinpy.dns.lookup import Answer
from larbinpy.dns.resolver import OnFound
from larbinpy.fetch.options import Request
from larbinpy.page import Outcome, Page

HTML = Types(Config())


class Clock:
    """Seconds that a test counts; each reading takes `cost`."""

    def __init__(self) -> None:
        self.now = 100.0
        self.cost = 0.0

    def __call__(self) -> float:
        self.now += self.cost
        return self.now


class FakePoller:
    """Records how long the loop would wait."""

    def __init__(self, calls: list[str]) -> None:
        self.calls = calls
        self.waits: list[float] = []
        #: Called while the loop waits.
        self.meanwhile: Callable[[], None] = lambda: None

    def wait(self, timeout: float) -> int:
        self.calls.append("poll")
        self.waits.append(timeout)
        self.meanwhile()
        return 0


class FakeNames:
    """A resolver that has an address for each name at once, or with the next step."""

    def __init__(self, calls: list[str]) -> None:
        self.calls = calls
        self.room = 100
        self.deadline: float | None = None
        self.answers: list[Answer] = []
        self.asked: list[str] = []
        self.at_once = True

    def ask(self, name: str, now: float, *, refresh: bool = False) -> Answer | None:
        self.asked.append(name)
        answer = Answer(name, ("198.51.100.1",), None)
        if not self.at_once:
            self.answers.append(answer)
        return answer if self.at_once else None

    def expect(self, names: Iterable[str], now: float) -> None:
        pass

    def step(self, now: float, on_found: OnFound) -> Sequence[Answer]:
        self.calls.append("dns")
        answers, self.answers = self.answers, []
        return answers


class FakeFetcher:
    """Completes requests when the test says so."""

    def __init__(self, calls: list[str], size: int) -> None:
        self.calls = calls
        self.size = size
        self.flying: deque[Request] = deque()
        self.started: list[str] = []
        self.ready = 0
        self.stood = 0.0
        self.deadline: float | None = None

    def stood_still(self, seconds: float) -> None:
        self.stood += seconds

    @property
    def busy(self) -> int:
        return len(self.flying)

    @property
    def free(self) -> int:
        return self.size - self.busy

    def start(self, request: Request, now: float) -> None:
        self.flying.append(request)
        self.started.append(request.url.href)

    def abort(self) -> None:
        self.flying.clear()

    def step(self, now: float) -> list[Page]:
        self.calls.append("fetch")
        landed = []
        while self.ready and self.flying:
            self.ready -= 1
            landed.append(Page(self.flying.popleft().url, Outcome.SUCCESS, status=200))
        return landed


class Listener:
    def __init__(self, calls: list[str]) -> None:
        self.calls = calls
        self.deadline: float | None = None

    def step(self, now: float) -> None:
        self.calls.append("input")
