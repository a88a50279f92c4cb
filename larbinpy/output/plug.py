"""The interface between the crawl and its outputs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Protocol, TypeAlias, runtime_checkable

from larbinpy.dns.lookup import Answer
from larbinpy.page import Outcome, Page
from larbinpy.storage.state import Resumable, SavedPart
from larbinpy.url import Url


class Output(Protocol):
    """An output of a crawl: the place to add code of your own.

    Write a class with these four methods (it need not inherit from this one) and pass an
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

    All four are called from the loop that also fetches, never at the same time, so they need
    no lock. The crawl fetches nothing while they run: leave slow work to another process.

    An `OSError` means that the disk refused a write. If it is full, the crawl waits for room and
    calls again with the same page; otherwise it saves its state and stops with exit status 3,
    and fetches the page again when it is resumed. Any other exception is a bug and ends the
    crawl with its traceback.

    After a kill or a power cut, the resumed crawl passes the pages since the last checkpoint
    (some seconds) once more. An output that must not store them twice should be `Durable`.
    """

    def loaded(self, page: Page) -> None:
        """Take a page: complete, decoded and parsed. You may keep the object; it does not change.

        When pages are visited again, or a mirror is refreshed, an unchanged one may have no body:
        see `Page.body`.
        """

    def failed(self, url: Url, outcome: Outcome) -> None:
        """Note that `url` ended with `outcome`, without a page. Retries are not reported."""

    def stats(self) -> dict[str, object]:
        """Return counts for the status page, fit for JSON. Called about once a second."""

    def close(self) -> None:
        """Release files at the end of the crawl. Called once, after all other methods."""


@runtime_checkable
class Durable(Output, Resumable, Protocol):
    """An output that is a part of the saved state: one with `cut`, `sync` and `load` as well.

    After `load`, pages that came after the mark are passed again.
    """


@runtime_checkable
class ReplyListener(Output, Protocol):
    """An output that gets all replies of servers: one with these two methods as well."""

    def replied(self, page: Page) -> None:
        """Take a reply that is not a page to keep: an error, a redirect, a robots.txt, a copy.

        Replies of failed tries are included. An `OSError` means the same as in `loaded`.
        """

    def resolved(self, answer: Answer) -> None:
        """Take an answer that has just come from a name server. Must not raise `OSError`.

        The name is in lower case and without a final dot. It may be that of a link, resolved
        in advance. Names found in the cache are not reported again.
        """


@runtime_checkable
class FailureListener(Output, Protocol):
    """An output that gets all that is known of a failure: one with this method as well."""

    def missed(self, page: Page) -> None:
        """Take a URL that ended without a page, as its last try left it; replaces `failed`.

        `page` has its outcome, the status (0 if no reply came) and the detail.
        """


#: What a crawl has left out: numbers of links, pages or URLs, each with the reason.
LeftOut: TypeAlias = Sequence[tuple[int, str]]


@runtime_checkable
class Refresher(Protocol):
    """An output that has pages of an earlier crawl and fetches only those that changed."""

    def begin(self) -> None:
        """Begin a refresh: a crawl that does not continue a stopped one. Comes before any page."""

    def conditions(self, url: str) -> Sequence[str]:
        """Return header lines for a request for `url`, so that it is sent only if it changed."""

    def unchanged(self, page: Page) -> None:
        """Fill in `page`, a reply with status 304, from the stored page.

        Sets outcome and body, so that it becomes a success. If the stored page is damaged, sets
        an outcome that makes the crawl fetch the URL again, without conditions.
        """

    def moved(self, url: str, target: str) -> None:
        """Note that `url` redirects to `target`, a canonical URL, perhaps with a fragment."""

    def finish(self, *, complete: bool, left_out: LeftOut = ()) -> Iterator[None]:
        """Do the work that remains after all pages are fetched, in steps.

        `complete`: the crawl came to its end, without a limit or a stop. The steps may be stopped
        after any of them, or by an `OSError`; the work then begins anew.
        """


@runtime_checkable
class HasRefresher(Protocol):
    """An output with a refresher beside it."""

    @property
    def refresher(self) -> Refresher | None:
        """None if pages are fetched whole."""


class NoRefresh:
    """A refresher without pages of an earlier crawl."""

    def begin(self) -> None:
        pass

    def conditions(self, url: str) -> Sequence[str]:
        return ()

    def unchanged(self, page: Page) -> None:
        pass

    def moved(self, url: str, target: str) -> None:
        pass

    def finish(self, *, complete: bool, left_out: LeftOut = ()) -> Iterator[None]:
        return iter(())


NO_REFRESH: Refresher = NoRefresh()


#: The reason why a crawl of one process waits that has nothing left to fetch.
SEEDS = "it waits for seeds"


@runtime_checkable
class Feeder(Protocol):
    """An output that passes pages on to another process, which may be slower than the crawl."""

    @property
    def holds(self) -> str:
        """Why no page may be requested now, in words; empty if one may."""

    @property
    def idle(self) -> str:
        """The reason, in words, why a crawl waits that has nothing left to fetch."""
        return SEEDS

    @property
    def awaits(self) -> str:
        """The reason why the end of the crawl waits, in words."""

    def withheld(self, page: Page) -> None:
        """Take a page that asks not to be indexed. An `OSError` means the same as in `loaded`."""

    def second(self, now: float) -> Iterable[str]:
        """Look after the process, about once a second; return lines to print."""

    def finish(self) -> bool:
        """Nothing more comes: return whether all is done. Called until it is.

        An `OSError` ends the crawl: the process does not work.
        """


class NoFeeder:
    """No output passes pages on."""

    holds = ""
    idle = SEEDS
    awaits = ""

    def withheld(self, page: Page) -> None:
        pass

    def second(self, now: float) -> Iterable[str]:
        return ()

    def finish(self) -> bool:
        return True


NO_FEEDER: Feeder = NoFeeder()


class Outputs(Durable, ReplyListener, FailureListener, SavedPart, Protocol):
    """All outputs of a crawl as one."""

    @property
    def refresher(self) -> Refresher:
        """The output that has pages of an earlier crawl; at most one is used."""

    @property
    def feeder(self) -> Feeder:
        """The output that passes pages on to another process; at most one is used."""


class NullOutput(SavedPart):
    """No output mode: keeps nothing but the marks of outputs that an earlier run had."""

    refresher: Refresher = NO_REFRESH
    feeder: Feeder = NO_FEEDER
    _absent: Mapping[str, Any] = {}

    def loaded(self, page: Page) -> None:
        pass

    def failed(self, url: Url, outcome: Outcome) -> None:
        pass

    def missed(self, page: Page) -> None:
        self.failed(page.url, page.outcome)

    def replied(self, page: Page) -> None:
        pass

    def resolved(self, answer: Answer) -> None:
        pass

    def stats(self) -> dict[str, object]:
        return {}

    def cut(self) -> dict[str, object]:
        return dict(self._absent)

    def sync(self) -> None:
        pass

    def load(self, mark: dict[str, Any]) -> None:
        self._absent = mark

    def close(self) -> None:
        pass


class _Delivery:
    """The calls for one page or URL; those left after an exception are made the next time."""

    def __init__(self) -> None:
        self._subject: object = None
        self._left: list[Callable[..., None]] = []

    def run(self, calls: list[Callable[..., None]], subject: object, *rest: object) -> None:
        """Make `calls`; if `subject` is that of the last exception, only those that are left."""
        left = self._left if subject is self._subject else calls
        try:
            while left:
                left[0](subject, *rest)
                del left[0]
        finally:
            self._subject, self._left = (subject, left) if left else (None, [])


def _refresher_of(output: Output) -> Refresher | None:
    """The output itself, or the one that it has beside itself."""
    if isinstance(output, HasRefresher):
        return output.refresher
    return output if isinstance(output, Refresher) else None


def _failure_call(output: Output) -> Callable[[Url, Page], None]:
    if isinstance(output, FailureListener):
        return lambda _, page: output.missed(page)
    return lambda url, page: output.failed(url, page.outcome)


class SeveralOutputs(SavedPart):
    """Several outputs as one, called in the order given.

    If one raises an exception, those after it do not get the page or the failure; when it is
    passed again, those before it are not called a second time. `close` closes all of them. The
    marks of the durable ones are saved in the state under their names.
    """

    def __init__(self, outputs: Mapping[str, Output]) -> None:
        self._outputs = dict(outputs)
        self._durable = {
            name: output for name, output in outputs.items() if isinstance(output, Durable)
        }
        self._listeners = [
            output for output in outputs.values() if isinstance(output, ReplyListener)
        ]
        self._failure_calls = [_failure_call(output) for output in outputs.values()]
        #: That of the output that has pages of an earlier crawl; at most one is used.
        self.refresher = next(filter(None, map(_refresher_of, outputs.values())), NO_REFRESH)
        #: The output that passes pages on to another process; at most one is used.
        self.feeder = next((p for p in outputs.values() if isinstance(p, Feeder)), NO_FEEDER)
        self._pages = _Delivery()
        # Kept apart, because pages may be passed before a refused failure is repeated.
        self._failures = _Delivery()
        # Marks of durable outputs that an earlier run of the crawl had and this one has not.
        self._absent: dict[str, Any] = {}

    def loaded(self, page: Page) -> None:
        self._pages.run([output.loaded for output in self._outputs.values()], page)

    def replied(self, page: Page) -> None:
        self._pages.run([output.replied for output in self._listeners], page)

    def resolved(self, answer: Answer) -> None:
        for output in self._listeners:
            output.resolved(answer)

    def failed(self, url: Url, outcome: Outcome) -> None:
        self.missed(Page(url, outcome))

    def missed(self, page: Page) -> None:
        self._failures.run(list(self._failure_calls), page.url, page)

    def stats(self) -> dict[str, object]:
        return {name: output.stats() for name, output in self._outputs.items()}

    def cut(self) -> dict[str, object]:
        return {**self._absent, **{name: output.cut() for name, output in self._durable.items()}}

    def sync(self) -> None:
        for output in self._durable.values():
            output.sync()

    def load(self, mark: dict[str, Any]) -> None:
        """Each output continues from its part of `mark`, if it has one.

        The other parts stay in the state: the database may still lack pages of its spool.
        """
        self._absent = {name: of for name, of in mark.items() if name not in self._durable}
        for name, output in self._durable.items():
            if name in mark:
                output.load(mark[name])

    def tidy(self, mark: dict[str, Any]) -> None:
        for name, output in self._durable.items():
            if isinstance(output, SavedPart):
                output.tidy(mark[name])

    def clear(self) -> None:
        for output in self._durable.values():
            if isinstance(output, SavedPart):
                output.clear()

    def close(self) -> None:
        with ExitStack() as stack:
            for output in reversed(self._outputs.values()):
                stack.callback(output.close)
