"""A login by the user's own program: a generator function of its plug, `user_login`."""

import json
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import PurePath
from typing import Any, TypeAlias

from larbinpy.login.exchange import Grant, LoginFailed, Steps, check_well
from larbinpy.login.methods.form import urlencoded
from larbinpy.login.spec import Login
from larbinpy.page import Page
from larbinpy.url import Ask, has_control, resolve

#: The result of a hook: nothing, header lines of each request, or a Grant.
Result: TypeAlias = Grant | Iterable[str] | None
UserLogin: TypeAlias = Callable[["HookLogin"], Generator[Ask, Page, Result]]


class HookLogin:
    """A login as a hook gets it: the values of its table, and requests to its site."""

    def __init__(self, login: Login, kept: Mapping[str, str]) -> None:
        self.site = login.site
        self.page = login.page
        self.user = login.user
        self.password = login.password
        self.token = login.token
        self.fields = dict(login.fields)
        #: Values that the last `Grant` of the hook kept.
        self.kept = dict(kept)

    def get(self, path: str, headers: Iterable[str] = ()) -> Ask:
        """A GET of a path of the site, or of a URL."""
        return Ask(self._href(path), None, tuple(headers))

    def post(
        self,
        path: str,
        data: Mapping[str, str] | bytes = b"",
        *,
        json: object = None,
        headers: Iterable[str] = (),
    ) -> Ask:
        """A POST to a path of the site, or to a URL, of the values of a form, bytes or JSON."""
        body, kind = _body(data, json)
        lines = tuple(headers)
        if kind and not any(line.lower().startswith("content-type:") for line in lines):
            lines = (f"Content-Type: {kind}", *lines)
        return Ask(self._href(path), body, lines)

    def _href(self, path: str) -> str:
        href = resolve(path, f"{self.site}/")
        if href is None:
            raise ValueError(f"{path!r} is no URL of http or https")
        return href


def _body(data: Mapping[str, str] | bytes, value: object) -> tuple[bytes, str]:
    if value is not None:
        return json.dumps(value).encode(), "application/json"
    if isinstance(data, bytes):
        return data, ""
    return urlencoded(list(data.items())).encode(), "application/x-www-form-urlencoded"


def steps(login: Login, kept: Mapping[str, str], user_login: UserLogin | None) -> Steps:
    """The requests of `user_login`; all its exceptions become LoginFailed."""
    if user_login is None:
        raise LoginFailed("no user_login: a login by a hook needs a program with such a plug")
    hook = _guarded(lambda: user_login(HookLogin(login, kept)))
    if not isinstance(hook, Generator):
        return _grant(hook)
    try:
        ask = _guarded(lambda: next(hook))
        while isinstance(ask, Ask):
            page = yield _checked(ask)
            check_well(page)
            ask = _guarded(lambda page=page: hook.send(page))  # type: ignore[misc]
    except _Returned as result:
        return _grant(result.value)
    finally:
        # The login has its result, or has failed already.
        with suppress(Exception):
            hook.close()
    raise LoginFailed(f"user_login yielded {type(ask).__name__}, not login.get() or login.post()")


class _Returned(Exception):
    """The hook has returned `value`."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _guarded(step: Callable[[], Any]) -> Any:
    try:
        return step()
    except LoginFailed as error:
        raise LoginFailed(_line(str(error))) from None
    except StopIteration as end:
        raise _Returned(end.value) from None
    except Exception as error:
        # The text of the error is not shown: it may have a secret.
        where = f" ({_place(error)})"
        raise LoginFailed(f"user_login raised {type(error).__name__}{where}") from None


def _place(error: Exception) -> str:
    """File and line of the innermost frame outside this module."""
    traceback, place = error.__traceback__, "?"
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename != __file__:
            place = f"{PurePath(code.co_filename).name}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place


def _line(text: str) -> str:
    return " ".join(text.split())[:200] or "user_login gave no reason"


def _checked(ask: Ask) -> Ask:
    """`ask` with its URL in canonical spelling, unless no request can be made of it."""
    if not all(_is_header(line) for line in ask.headers):
        raise LoginFailed("user_login made a header that no request can carry")
    href = resolve(ask.href) if isinstance(ask.href, str) else None
    if href is None:
        raise LoginFailed("user_login made a URL that is none of http or https")
    if not (ask.body is None or isinstance(ask.body, bytes)):
        raise LoginFailed("user_login made a body that is not bytes")
    return replace(ask, href=href)


def _is_header(line: object) -> bool:
    return isinstance(line, str) and line.isascii() and ":" in line and not has_control(line)


def _grant(result: Any) -> Grant:
    if result is None:
        return Grant()
    is_lines = isinstance(result, Iterable) and not isinstance(result, str | bytes)
    grant = Grant(tuple(result)) if is_lines else result
    if not isinstance(grant, Grant) or not all(map(_is_header, grant.headers)):
        raise LoginFailed('user_login returned neither None nor lines "Name: value" nor a Grant')
    return grant
