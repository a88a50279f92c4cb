"""The plug between the crawl and whoever wants its pages."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Protocol

from larbinpy.outcome import Outcome
from larbinpy.page import Page
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
    to another process. An `OSError` says that the disk refuses; the crawl saves its state
    and stops with exit status 3, and the page is fetched again when it is resumed. Any
    other exception is a bug and ends the crawl with its traceback.
    """

    def loaded(self, page: Page) -> None:
        """A page came, complete, decoded and parsed. It may be kept; nobody changes it later."""

    def failed(self, url: Url, outcome: Outcome) -> None:
        """The fate of `url` is decided, and there is no page. Retries are not reported."""

    def stats(self) -> dict[str, object]:
        """Counts for the status page, as JSON-able values. Called about once a second."""

    def close(self) -> None:
        """The crawl is over: release files. Called once; nothing is called after it."""


class NullOutput:
    """Keeps nothing."""

    def loaded(self, page: Page) -> None:
        pass

    def failed(self, url: Url, outcome: Outcome) -> None:
        pass

    def stats(self) -> dict[str, object]:
        return {}

    def close(self) -> None:
        pass


class SeveralOutputs:
    """Several plugs as one, each called in the order given.

    An exception of one keeps the page from those after it, except in `close`, which
    reaches all of them.
    """

    def __init__(self, plugs: Mapping[str, Output]) -> None:
        self._plugs = dict(plugs)

    def loaded(self, page: Page) -> None:
        for plug in self._plugs.values():
            plug.loaded(page)

    def failed(self, url: Url, outcome: Outcome) -> None:
        for plug in self._plugs.values():
            plug.failed(url, outcome)

    def stats(self) -> dict[str, object]:
        return {name: plug.stats() for name, plug in self._plugs.items()}

    def close(self) -> None:
        with ExitStack() as stack:
            for plug in reversed(self._plugs.values()):
                stack.callback(plug.close)

    def __repr__(self) -> str:
        return f"SeveralOutputs({', '.join(map(repr, self._plugs.values()))})"
