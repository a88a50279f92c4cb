"""A login by a form: the page is fetched, its form is filled in and sent as a browser does it."""

import re
from collections.abc import Generator

from larbinpy.login.exchange import Ask, Grant, LoginFailed, Steps, follow
from larbinpy.login.judge import has_html, refresh_target
from larbinpy.login.methods.form_data import encoded, urlencoded
from larbinpy.login.methods.html_form import Control, Form, forms_of
from larbinpy.login.spec import Login
from larbinpy.page import Page
from larbinpy.url import resolve, site_of

#: Refreshes in a row that are followed, as sites show "You are logged in now" before a page.
_MOST_REFRESHES = 3
_USER = frozenset({"username", "email"})
_USER_WORDS = re.compile("user|login|logon|sign|ident|account|mail|name")
_OTHER_WORDS = re.compile("search|query|newsletter|subscri|captcha|coupon")


def steps(login: Login) -> Steps:
    page = yield from _follow(Ask(login.page))
    form = password_form(page)
    if form is None and login.user:
        first = user_form(page)
        if first is not None:
            page = yield from _send(page, first, _filled(first, login))
            form = password_form(page)
            if form is None:
                raise LoginFailed("the page after the user's name does not ask for a password")
    if form is None:
        status = f" (status {page.status})" if page.status != 200 else ""
        raise LoginFailed(f"the login page has no form with one password field{status}")
    if form.method != "post":
        # Addresses are shown and logged.
        raise LoginFailed("the form would send the password in an address (method GET)")
    yield from _send(page, form, _filled(form, login))
    return Grant()


def password_form(page: Page) -> Form | None:
    """The form of a login: that with one password field, the shortest if there are several."""
    found = [form for form in _forms(page) if len(form.passwords) == 1]
    old = [form for form in found if "new-password" not in form.passwords[0].autocomplete]
    return min(old, key=_length, default=None)


def user_form(page: Page) -> Form | None:
    """The form that asks for the user alone, as the first of two steps."""
    found = [
        (form, field)
        for form in _forms(page)
        if not form.passwords and (field := user_field(form)) is not None
    ]
    rated = [(_likeness(form, field), form) for form, field in found]
    best = max((rate for rate, _ in rated), default=0)
    return next((form for rate, form in rated if rate == best and rate > 0), None)


def user_field(form: Form) -> Control | None:
    """The field for the user: marked as such, else the last text before the password."""
    texts = [each for each in form.controls if each.is_text and each.name]
    marked = [each for each in texts if each.autocomplete & _USER]
    if marked:
        return marked[0]
    passwords = form.passwords
    if not passwords:
        return next((each for each in texts if _USER_WORDS.search(_words(each))), None)
    place = form.controls.index(passwords[0])
    before = [each for each in form.controls[:place] if each in texts]
    named = [each for each in before if _USER_WORDS.search(_words(each))]
    found = named or before or texts
    return found[-1] if found else None


def _words(control: Control) -> str:
    return f"{control.label} {control.kind}"


def _likeness(form: Form, field: Control) -> int:
    """How much a form looks like the first step of a login; 0 if it does not."""
    words = f"{_words(field)} {form.action or ''}"
    if field.kind == "search" or _OTHER_WORDS.search(words):
        return 0
    marked = 4 if field.autocomplete & _USER else 0
    says = 2 if re.search("log|sign|auth|ident|session|account", words) else 0
    return 1 + marked + says + (form.method == "post")


def _length(form: Form) -> tuple[bool, int]:
    """Forms for a new account are longer, and so are those whose password is not marked."""
    is_marked = "current-password" in form.passwords[0].autocomplete
    shown = [each for each in form.controls if each.kind not in ("hidden", "submit", "button")]
    return not is_marked, len(shown)


def _filled(form: Form, login: Login) -> list[tuple[str, str]]:
    """The entries of `form` with user, password and the fields of loginFile."""
    values: dict[str, str] = {}
    if login.user:
        field = user_field(form)
        if field is not None and not field.readonly:
            values[field.name] = login.user
    for password in form.passwords:
        if not password.name:
            raise LoginFailed("the password field of the form has no name; a script sends it")
        values[password.name] = login.password
    values |= login.fields
    entries = []
    for name, value in form.entries():
        if name not in login.fields:
            entries.append((name, values.get(name, value)))
        elif name in values:
            entries.append((name, values.pop(name)))
    sent = {name for name, _ in entries}
    return entries + [(name, value) for name, value in values.items() if name not in sent]


def _send(page: Page, form: Form, entries: list[tuple[str, str]]) -> Generator[Ask, Page, Page]:
    """Send a form of `page`; returns the page to which that leads."""
    action, here = form.action, page.url.href
    if action is None:
        raise LoginFailed("the address of the form is none of http or https")
    if here.startswith("https:") and not action.startswith("https:"):
        raise LoginFailed("the form would send the login by http, from a page with https")
    if form.method == "get":
        href = resolve(f"?{urlencoded(entries, form.codec)}", action)
        if href is None:
            raise LoginFailed("the form makes an address that is too long")
        return (yield from _follow(Ask(href)))
    kind, body = encoded(entries, form.enctype, form.codec)
    # Sites compare them with their own address against forged requests.
    origin = site_of(here)
    referrer = here if site_of(action) == origin else f"{origin}/"
    headers = (f"Content-Type: {kind}", f"Origin: {origin}", f"Referer: {referrer}")
    return (yield from _follow(Ask(action, body, headers)))


def _follow(ask: Ask) -> Generator[Ask, Page, Page]:
    page = yield from follow(ask)
    for _ in range(_MOST_REFRESHES):
        target = refresh_target(page)
        if not target or target == page.url.href or password_form(page) is not None:
            break
        page = yield from follow(Ask(target))
    return page


def _forms(page: Page) -> list[Form]:
    return forms_of(page) if has_html(page) else []
