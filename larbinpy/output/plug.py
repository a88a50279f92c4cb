"""The plug between the crawl and whoever wants its pages."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Protocol, runtime_checkable

from larbinpy.dns.lookup import Answer
from larbinpy.outcome import Outcome
from larbinpy.page import Page
from larbinpy.storage.state import SavedPart
from larbinpy.url import Url


class Output(Protocol):
    """Where pages go: the place to add code of your own to a crawl.

    Write a class with these four methods (it need not inherit from this one) and hand an
    object of it to the crawl::

        class Titles:
            def __init__(self) -> None:
                self.seen = 0

            def loaded(self, page):
                self.seen += 1
                print(page.url.href, len(page.body), page.links)

            def failed(self, url, outcome):
                print(url.href, outcome.value)

            def stats(self):
                return {"seen": self.seen}

            def close(self):
                pass

    All four are called from the one loop that also fetches, never at the same time, so no
    lock is needed, and time spent here is time in which nothing is fetched: hand slow work
    to another process. An `OSError` says that the disk refuses. Where it is full the crawl
    waits for room and calls again with the same page; else it saves its state and stops
    with exit status 3, and the page is fetched again when it is resumed. Any other
    exception is a bug and ends the crawl with its traceback.

    After a kill or a power cut pages come again that came since the last checkpoint, some
    seconds before. A plug that must not keep them twice is a `Durable` one.
    """

    def loaded(self, page: Page) -> None:
        """A page came, complete, decoded and parsed. It may be kept; nobody changes it later.

        Where a mirror is refreshed, a large file that stayed as it was may have no body here:
        see `Page.body`.
        """

    def failed(self, url: Url, outcome: Outcome) -> None:
        """The fate of `url` is decided, and there is no page. Retries are not reported."""

    def stats(self) -> dict[str, object]:
        """Counts for the status page, as JSON-able values. Called about once a second."""

    def close(self) -> None:
        """The crawl is over: release files. Called once; nothing is called after it."""


@runtime_checkable
class Durable(Output, Protocol):
    """A plug that is a part of the saved state: one with these three methods as well."""

    def cut(self) -> Any:
        """The mark of what was written by now: JSON-able, and another one once there is more.

        Called at each checkpoint, of which the first is before the first page.
        """

    def sync(self) -> None:
        """Bring to the disk what tells which pages there are. Raises `OSError`."""

    def load(self, mark: Any) -> None:
        """Go on from `mark`, before anything else: what came after it comes again.

        Raises `OSError` or `ValueError` where what was there by then is not whole, `UserError`
        where people can mend that.
        """


@runtime_checkable
class ReplyListener(Output, Protocol):
    """A plug that is told of all that servers said: one with these two methods as well."""

    def replied(self, page: Page) -> None:
        """A reply came that is no page to keep: an error, a redirect, a robots.txt, a copy.

        Those of tries that failed are among them. An `OSError` is as one of `loaded`.
        """

    def resolved(self, answer: Answer) -> None:
        """A name server told just now the addresses of a name. No `OSError` is expected.

        The name is in lower case and without a final dot; it may be one of a link, asked for
        in advance. What is known already is not told again.
        """


@runtime_checkable
class Refresher(Protocol):
    """A plug that knows from earlier crawls what it has, and can do with what did not change."""

    def conditions(self, url: str) -> Sequence[str]:
        """Header lines for the request for `url`, as it is wanted only where it changed."""

    def unchanged(self, page: Page) -> None:
        """Make `page`, the answer that nothing changed (304), the page that is here.

        With outcome and body, so that it is a success; or with an outcome that makes it
        come again, and without conditions then.
        """

    def moved(self, url: str, target: str) -> None:
        """`url` redirects to `target`."""

    def finish(self) -> Iterator[None]:
        """What is left to do when the crawl has ended, in steps.

        It may be left after any of them, or by an OSError, and is begun anew then.
        """


class NoRefresh:
    """Knows nothing."""

    def conditions(self, url: str) -> Sequence[str]:
        return ()

    def unchanged(self, page: Page) -> None:
        pass

    def moved(self, url: str, target: str) -> None:
        pass

    def finish(self) -> Iterator[None]:
        return iter(())


NO_REFRESH: Refresher = NoRefresh()


class Outputs(Durable, ReplyListener, SavedPart, Protocol):
    """What a crawl has: all of its plugs as one."""

    @property
    def refresher(self) -> Refresher:
        """The one that knows what it has; one of that kind is enough."""


class NullOutput(SavedPart):
    """Keeps nothing."""

    refresher: Refresher = NO_REFRESH

    def loaded(self, page: Page) -> None:
        pass

    def failed(self, url: Url, outcome: Outcome) -> None:
        pass

    def replied(self, page: Page) -> None:
        pass

    def resolved(self, answer: Answer) -> None:
        pass

    def stats(self) -> dict[str, object]:
        return {}

    def cut(self) -> dict[str, object]:
        return {}

    def sync(self) -> None:
        pass

    def load(self, mark: dict[str, Any]) -> None:
        pass

    def close(self) -> None:
        pass


class SeveralOutputs(SavedPart):
    """Several plugs as one, each called in the order given.

    An exception of one keeps the page from those after it; when that page comes again,
    those before it are not called again. `close` reaches all of them. Those that are
    durable are a part of the state, by their names.
    """

    def __init__(self, plugs: Mapping[str, Output]) -> None:
        self._plugs = dict(plugs)
        self._durable = {name: plug for name, plug in plugs.items() if isinstance(plug, Durable)}
        self._listeners = [plug for plug in plugs.values() if isinstance(plug, ReplyListener)]
        #: The one that knows what it has; one of that kind is enough.
        self.refresher = next((p for p in plugs.values() if isinstance(p, Refresher)), NO_REFRESH)
        #: The page that one of them refused, and what is still to be called with it.
        self._refused: tuple[Page, list[Callable[[Page], None]]] | None = None

    def loaded(self, page: Page) -> None:
        self._call_all(page, [plug.loaded for plug in self._plugs.values()])

    def replied(self, page: Page) -> None:
        self._call_all(page, [plug.replied for plug in self._listeners])

    def _call_all(self, page: Page, left: list[Callable[[Page], None]]) -> None:
        if self._refused is not None and self._refused[0] is page:
            left = self._refused[1]
        try:
            while left:
                left[0](page)
                del left[0]
        finally:
            self._refused = (page, left) if left else None

    def resolved(self, answer: Answer) -> None:
        for plug in self._listeners:
            plug.resolved(answer)

    def failed(self, url: Url, outcome: Outcome) -> None:
        for plug in self._plugs.values():
            plug.failed(url, outcome)

    def stats(self) -> dict[str, object]:
        return {name: plug.stats() for name, plug in self._plugs.items()}

    def cut(self) -> dict[str, object]:
        return {name: plug.cut() for name, plug in self._durable.items()}

    def sync(self) -> None:
        for plug in self._durable.values():
            plug.sync()

    def load(self, mark: dict[str, Any]) -> None:
        """Each goes on from its part of `mark`, where it had one."""
        for name, plug in self._durable.items():
            if name in mark:
                plug.load(mark[name])

    def close(self) -> None:
        with ExitStack() as stack:
            for plug in reversed(self._plugs.values()):
                stack.callback(plug.close)

    def __repr__(self) -> str:
        return f"SeveralOutputs({', '.join(map(repr, self._plugs.values()))})"
