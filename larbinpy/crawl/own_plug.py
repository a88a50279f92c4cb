"""The plug of the calling program, or one that the configuration names.

Its methods are guarded: an error of theirs says where it comes from.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from inspect import isclass
from types import SimpleNamespace
from typing import Any, Protocol, cast, runtime_checkable

from larbinpy.config import ConfigError
from larbinpy.errors import UserError, what_raised
from larbinpy.fetch.options import RequestOptions
from larbinpy.output.items import Item, Items
from larbinpy.output.plug import Output
from larbinpy.page import Outcome, Page
from larbinpy.url import Url, resolve

#: The methods that each plug has.
_NEEDED = ("loaded", "failed", "stats", "close")

#: The methods that a plug may have.
_METHODS = (
    *_NEEDED,
    *("cut", "sync", "load"),
    *("replied", "resolved", "missed"),
    *("conditions", "unchanged", "moved"),
    *("wants", "request"),
)


class PlugError(UserError):
    """An exception in a plug, which is its `__cause__`; the state of the crawl was saved."""


@runtime_checkable
class LinkFilter(Protocol):
    """An output that refuses links: one with this method as well."""

    def wants(self, url: Url) -> bool:
        """Whether to take a link that nothing else refuses.

        Called once for each URL that a link or a redirect leads to, not for seeds.
        """


@runtime_checkable
class RequestChanger(Protocol):
    """An output that changes requests: one with this method as well."""

    def request(self, url: Url, options: RequestOptions) -> RequestOptions:
        """The options of the request for `url`, which is about to be sent.

        `options` themselves, or a copy by `dataclasses.replace`. Equal options should be one
        object, because a connection's handle is reset for each other one. Also called for
        requests for robots.txt, of which `url.robots_for` is not None, and for those of logins.
        """


class Plug:
    """A plug to inherit from: it has all methods that are needed, and two short ones.

        class Products(Plug):
            def loaded(self, page):
                for link in page.select("a.product"):
                    self.add(link.attr("href"), page, label="product")

            def product(self, page):
                self.emit({"url": page.url.href, "name": page.select("h1")[0].text})

    `crawl` is set when the crawl is made. A page with a label goes to the method of that name if
    there is one, and to `loaded` otherwise.
    """

    #: The `larbinpy.Crawl` that it is a part of.
    crawl: Any = None

    def loaded(self, page: Page) -> None:
        """Take a page. See `larbinpy.output.Output`."""

    def failed(self, url: Url, outcome: Outcome) -> None:
        """Note that `url` ended without a page."""

    def stats(self) -> dict[str, object]:
        """Return counts for the status page."""
        return {}

    def close(self) -> None:
        """Release files at the end of the crawl."""

    def add(self, reference: str, page: Page, *, label: str = "", **more: Any) -> str | None:
        """Add the URL that a reference on `page` leads to; the reason if it is refused.

        Its links are not followed by themselves: `depth` is 0, unless `more` has another one. See
        `Crawl.add`.
        """
        href = resolve(reference, page.url.href)
        if href is None:
            return "not a URL that can be crawled"
        refused: str | None = self.crawl.add(href, label=label, **{"depth": 0, **more})
        return refused

    def emit(self, item: Item) -> None:
        """See `Crawl.emit`."""
        self.crawl.emit(item)


def _read(page: Page) -> Any:
    # Here, since its libraries are many, and most plugs read no text.
    from larbinpy.database.content.reading import Said

    return Said(page)


class _Plug(SimpleNamespace):
    """The guarded methods of a plug."""


def named_plug(text: str) -> Output:
    """An object of the class MODULE:CLASS; modules are found in the working directory, too.

    Raises ConfigError.
    """
    module, _, name = text.partition(":")
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found = getattr(import_module(module), name)
        plug = cast(Output, found() if isclass(found) else found)
    except Exception as error:
        raise ConfigError(f"plug {text}: {what_raised(error)}") from error
    return plug


def guarded(plug: Output, crawl: object, items: Items | None = None) -> Output:
    """`plug`, whose exceptions become `PlugError`; an OSError remains one.

    It has the methods that `plug` has now, and gets `crawl`, unless it has one. What it emits goes
    to `items` with the page. Raises ConfigError if it lacks a method.
    """
    name = type(plug).__name__
    lacking = [each for each in _NEEDED if not callable(getattr(plug, each, None))]
    if lacking:
        raise ConfigError(
            f"the plug {name} has no method {', '.join(lacking)}; larbinpy.Plug has all to inherit"
        )
    if getattr(plug, "crawl", None) is None and hasattr(plug, "__dict__"):
        plug.crawl = crawl  # type: ignore[attr-defined]
    methods = {each: _guard(plug, each) for each in _METHODS if hasattr(plug, each)}
    if hasattr(plug, "user_login"):
        # Its exceptions are failures of the login.
        methods["user_login"] = getattr(plug, "user_login")  # noqa: B009 - a plug need not have it
    if hasattr(plug, "request"):
        methods["request"] = _guard_request(plug)
    if hasattr(plug, "finish"):
        methods["finish"] = _guard_steps(plug)
    methods["loaded"] = _guard_loaded(plug, items)
    if items is not None:
        methods |= _with_items(dict(methods), items)
    return cast(Output, _Plug(_name=name, **methods))


def _with_items(methods: Mapping[str, Callable[..., Any]], items: Items) -> dict[str, Any]:
    """The methods by which a plug and its items are one part of the saved state."""

    def stats() -> dict[str, object]:
        return {**methods["stats"](), **items.describe()}

    def close() -> None:
        methods["close"]()
        items.commit()
        items.close()

    def cut() -> dict[str, object]:
        own = methods["cut"]() if "cut" in methods else None
        return {"plug": own, "items": items.cut()}

    def sync() -> None:
        if "sync" in methods:
            methods["sync"]()
        items.sync()

    def load(mark: Mapping[str, Any]) -> None:
        if "load" in methods:
            methods["load"](mark["plug"])
        items.load(mark["items"])

    return {"stats": stats, "close": close, "cut": cut, "sync": sync, "load": load}


def _guard_loaded(plug: Output, items: Items | None) -> Callable[[Page], None]:
    """Passes a page to the method of its label, and then its items to their file."""
    usual = _guard(plug, "loaded")
    by_label: dict[str, Callable[..., Any]] = {}

    def loaded(page: Page) -> None:
        page.read = _read
        label = page.url.label
        if label and label not in by_label:
            by_label[label] = _guard(plug, label) if hasattr(plug, label) else usual
        if items is not None:
            items.drop()
        by_label.get(label, usual)(page)
        if items is not None:
            items.commit()

    return loaded


def _guard(plug: Output, name: str) -> Callable[..., Any]:
    method = getattr(plug, name)

    def call(*arguments: Any) -> Any:
        try:
            return method(*arguments)
        except (OSError, UserError):
            raise
        except Exception as error:
            raise _error(plug, name, error) from error

    return call


def _guard_request(plug: Output) -> Callable[..., RequestOptions]:
    method = _guard(plug, "request")

    def request(url: Url, options: RequestOptions) -> RequestOptions:
        chosen = method(url, options)
        if not isinstance(chosen, RequestOptions):
            raise PlugError(
                f"{type(plug).__name__}.request returned {type(chosen).__name__} instead of "
                "RequestOptions; correct it and resume the crawl"
            )
        return chosen

    return request


def _guard_steps(plug: Output) -> Callable[[], Iterator[None]]:
    steps = getattr(plug, "finish")  # noqa: B009 - a plug need not have it

    def finish() -> Iterator[None]:
        try:
            yield from steps()
        except (OSError, UserError):
            raise
        except Exception as error:
            raise _error(plug, "finish", error) from error

    return finish


def _error(plug: Output, method: str, error: Exception) -> PlugError:
    return PlugError(
        f"{type(plug).__name__}.{method} raised {what_raised(error)}; correct it and resume the"
        " crawl"
    )
