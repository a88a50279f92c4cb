"""A login by a form: the page is fetched, its form is filled in and sent as a browser does it."""

import json
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
    page = yield from _follow(Ask(login.page), login)
    form = password_form(page, login)
    if form is None and login.user:
        first = user_form(page, login)
        if first is not None:
            page = yield from _send(page, first, login)
            form = password_form(page, login)
            if form is None:
                raise LoginFailed("the page after the user's name does not ask for a password")
    if form is None:
        status = f" (status {page.status})" if page.status != 200 else ""
        raise LoginFailed(f"the login page has no form with one password field{status}")
    if form.method != "post":
        # Addresses are shown and logged.
        raise LoginFailed("the form would send the password in an address (method GET)")
    yield from _send(page, form, login)
    return Grant()


def password_form(page: Page, login: Login) -> Form | None:
    """The form of a login: of those with one password field, the one that `login` fits best."""
    found = [form for form in _forms(page) if len(form.passwords) == 1]
    old = [form for form in found if "new-password" not in form.passwords[0].autocomplete]
    return min(old, key=lambda form: (*_misfit(form, login), *_length(form)), default=None)


def user_form(page: Page, login: Login) -> Form | None:
    """The form that asks for the user alone, as the first of two steps."""
    found = [
        (form, field)
        for form in _forms(page)
        if not form.passwords and (field := user_field(form)) is not None
    ]
    rated = [(_likeness(form, field), form) for form, field in found]
    likely = [(_may_have(form, login), rate, form) for rate, form in rated if rate > 0]
    return max(likely, key=lambda each: each[:2], default=(False, 0, None))[2]


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


def _misfit(form: Form, login: Login) -> tuple[bool, int, bool]:
    """What speaks against a form; visitors of a site may have written it.

    Whether it may not be sent, the number of fields of loginFile that it lacks, and whether it
    lacks one for the user.
    """
    is_refused = form.method != "post" or not _may_have(form, login)
    lacking = login.fields.keys() - {each.name for each in form.controls}
    return is_refused, len(lacking), bool(login.user) and user_field(form) is None


def _may_have(form: Form, login: Login) -> bool:
    """Whether `login` names the origin to which `form` is sent."""
    named = (login.site, site_of(login.page), *login.also)
    return form.action is not None and site_of(form.action) in named


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
    # Addresses are shown and logged: fields of another form are left to that.
    own = login.fields if form.method != "get" else {each.name for each in form.controls}
    values |= {name: value for name, value in login.fields.items() if name in own}
    entries = []
    for name, value in form.entries():
        if name not in login.fields:
            entries.append((name, values.get(name, value)))
        elif name in values:
            entries.append((name, values.pop(name)))
    sent = {name for name, _ in entries}
    return entries + [(name, value) for name, value in values.items() if name not in sent]


def _send(page: Page, form: Form, login: Login) -> Generator[Ask, Page, Page]:
    """Fill in a form of `page` and send it; returns the page to which that leads."""
    action, here = form.action, page.url.href
    if action is None:
        raise LoginFailed("the address of the form is none of http or https")
    is_safe = here.startswith("https:") or login.page.startswith("https:")
    if is_safe and not action.startswith("https:"):
        raise LoginFailed("the form would send the login by http, from a page with https")
    if not _may_have(form, login):
        named = json.dumps([*login.also, site_of(action)])
        raise LoginFailed(
            f"the form goes to {site_of(action)}, another origin; if that is right, write "
            f"also = {named} in loginFile"
        )
    entries = _filled(form, login)
    if form.method == "get":
        href = resolve(f"?{urlencoded(entries, form.codec)}", action)
        if href is None:
            raise LoginFailed("the form makes an address that is too long")
        return (yield from _follow(Ask(href), login))
    kind, body = encoded(entries, form.enctype, form.codec)
    # Sites compare them with their own address against forged requests.
    origin = site_of(here)
    referrer = here if site_of(action) == origin else f"{origin}/"
    headers = (f"Content-Type: {kind}", f"Origin: {origin}", f"Referer: {referrer}")
    return (yield from _follow(Ask(action, body, headers), login))


def _follow(ask: Ask, login: Login) -> Generator[Ask, Page, Page]:
    page = yield from follow(ask)
    for _ in range(_MOST_REFRESHES):
        target = refresh_target(page)
        if not target or target == page.url.href or password_form(page, login) is not None:
            break
        page = yield from follow(Ask(target))
    return page


def _forms(page: Page) -> list[Form]:
    return forms_of(page) if has_html(page) else []
