"""The plug of the calling program: its methods, with errors that say where they come from."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, Protocol, cast, runtime_checkable

from larbinpy.errors import UserError, what_raised
from larbinpy.fetch.options import RequestOptions
from larbinpy.output.plug import Output
from larbinpy.url import Url

#: The methods that a plug may have.
_METHODS = (
    *("loaded", "failed", "stats", "close"),
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


class _Plug(SimpleNamespace):
    """The guarded methods of a plug."""


def guarded(plug: Output) -> Output:
    """`plug`, whose exceptions become `PlugError`; an OSError remains one.

    It has the methods that `plug` has now.
    """
    name = type(plug).__name__
    methods = {each: _guard(plug, each) for each in _METHODS if hasattr(plug, each)}
    if hasattr(plug, "user_login"):
        # Its exceptions are failures of the login.
        methods["user_login"] = getattr(plug, "user_login")  # noqa: B009 - a plug need not have it
    if hasattr(plug, "request"):
        methods["request"] = _guard_request(plug)
    if hasattr(plug, "finish"):
        methods["finish"] = _guard_steps(plug)
    return cast(Output, _Plug(_name=name, **methods))


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
