"""A login by a form: the page is fetched, its form is filled in and sent as a browser does it.

`forms_of` has the forms of a page with the entries that a browser would send (HTML, "form
submission"); `encoded` encodes them (HTML, "constructing the form data set").
"""

import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import quote_from_bytes

from turbohtml import Document, Element

from larbinpy.login.exchange import Grant, LoginFailed, Steps, follow
from larbinpy.login.judge import has_html, refresh_target
from larbinpy.login.spec import Login
from larbinpy.page import Page
from larbinpy.parse.charset import document, encoder, named
from larbinpy.parse.html import base_url
from larbinpy.url import Ask, hash64, resolve, site_of

Entries = Sequence[tuple[str, str]]

_LINE_END = re.compile("\r\n|\r|\n")
#: Escapes of names in multipart/form-data.
_ESCAPES = {'"': "%22", "\r": "%0D", "\n": "%0A"}


def encoded(entries: Entries, enctype: str, codec: str) -> tuple[str, bytes]:
    """The Content-Type and the body of a POST with these entries."""
    if enctype == "multipart/form-data":
        return _multipart(entries, codec)
    lines = [(_crlf(name), _crlf(value)) for name, value in entries]
    if enctype == "text/plain":
        text = "".join(f"{name}={value}\r\n" for name, value in lines)
        return enctype, _bytes(text, codec)
    return "application/x-www-form-urlencoded", urlencoded(entries, codec).encode()


def urlencoded(entries: Entries, codec: str = "utf-8") -> str:
    """The entries as application/x-www-form-urlencoded (URL standard, section 5)."""
    return "&".join(f"{_escaped(name, codec)}={_escaped(value, codec)}" for name, value in entries)


def _escaped(text: str, codec: str) -> str:
    # quote never escapes "~", which this format does.
    quoted = quote_from_bytes(_bytes(_crlf(text), codec), safe=" *-._").replace("~", "%7E")
    return quoted.replace(" ", "+")


def _multipart(entries: Entries, codec: str) -> tuple[str, bytes]:
    """RFC 7578; a boundary that the values do not have."""
    parts = []
    for name, value in entries:
        escaped = "".join(_ESCAPES.get(char, char) for char in _crlf(name))
        head = f'Content-Disposition: form-data; name="{escaped}"\r\n\r\n'
        parts.append(_bytes(f"{head}{_crlf(value)}\r\n", codec))
    whole = b"".join(parts)
    boundary = f"----larbinpy{hash64(whole):016x}"
    line = f"--{boundary}\r\n".encode()
    body = b"".join(line + part for part in parts) + f"--{boundary}--\r\n".encode()
    return f"multipart/form-data; boundary={boundary}", body


def _crlf(text: str) -> str:
    return _LINE_END.sub("\r\n", text)


def _bytes(text: str, codec: str) -> bytes:
    return text.encode(codec, "xmlcharrefreplace")


_SUBMITS = frozenset({"submit", "image"})
#: Types of inputs that a browser never sends, unless they are pressed.
_BUTTONS = frozenset({"button", "reset", *_SUBMITS})
#: Types into which people type a line; those that HTML does not know are texts.
_NO_TEXT = frozenset(
    {"hidden", "password", "checkbox", "radio", "file", "color", "range", "number", "date"}
    | {"datetime-local", "month", "week", "time", *_BUTTONS}
)
#: Attributes of a button that people read, and characters that are read of them.
_ON_BUTTONS = ("value", "alt", "title", "aria-label")
_LONGEST_LABEL = 300
#: Elements of a page that are read; no login page has as many.
_MOST_ELEMENTS = 5000


@dataclass(frozen=True)
class Control:
    """A control of a form; `kind` is the type of an input or a button, else the tag."""

    name: str
    kind: str
    values: tuple[str, ...] = field(repr=False)
    autocomplete: frozenset[str] = frozenset()
    readonly: bool = False
    #: Formaction, formmethod and formenctype of a submit button.
    action: str | None = None
    method: str | None = None
    enctype: str | None = None
    #: Text that identifies it for people: name and id; of a button, also what stands on it.
    label: str = ""
    #: Whether it is not displayed, by an attribute of its own.
    hidden: bool = False

    @property
    def is_text(self) -> bool:
        """Whether people type a line into it that others may see."""
        return self.kind not in _NO_TEXT and self.kind not in ("select", "textarea")


@dataclass(frozen=True)
class Form:
    """A form that can be sent."""

    #: Canonical URL to which it is sent, as the button says; None if that cannot be fetched.
    action: str | None
    #: "get" or "post"; "script" for one that names none, on a page with scripts, which may send it.
    method: str
    enctype: str
    #: The encoding of its entries, by its WHATWG name.
    encoding: str
    controls: tuple[Control, ...]
    #: The button that is pressed; None for none.
    button: Control | None

    @property
    def codec(self) -> str:
        """Python's name of the encoding."""
        return encoder(self.encoding)

    @property
    def passwords(self) -> list[Control]:
        return [each for each in self.controls if each.kind == "password"]

    def entries(self) -> list[tuple[str, str]]:
        """Names and values in the order of the page, with the button that is pressed."""
        found = []
        for control in self.controls:
            if control.kind in _BUTTONS:
                if control is self.button:
                    found += _pressed(control)
            elif control.name == "_charset_" and control.kind == "hidden":
                found.append((control.name, self.encoding))
            elif control.name:
                found += [(control.name, value) for value in control.values]
        return found


#: Chooses the button to press of those of a form, which are not empty.
Choice = Callable[[Sequence[Control]], Control]


def _first(buttons: Sequence[Control]) -> Control:
    """The button that a browser presses at the Enter key."""
    return buttons[0]


def forms_of(page: Page, choose: Choice = _first) -> list[Form]:
    """The forms of `page`, in its order, each with the button that `choose` returns."""
    tree = document(page.body, page.http_charset)
    base = base_url(tree.select("base"), page.url.href)
    found = tree.select("form,input,select,textarea,button")[:_MOST_ELEMENTS]
    forms = [element for element in found if element.tag == "form"]
    owned = _owned(found, forms)
    if not any(_passwords(controls) == 1 for controls in owned):
        owned = _owned(found, forms, strays=True)
    read = (
        _form(tree, form, controls, base, page.url.href, choose)
        for form, controls in zip(forms, owned, strict=True)
    )
    return [form for form in read if form is not None]


def _owned(
    found: list[Element], forms: list[Element], *, strays: bool = False
) -> list[list[Element]]:
    """The controls of each form.

    With `strays`, controls outside all forms belong to the form before them: a form that begins in
    a table, or ends within another element, has its controls beside it in the tree, although the
    parser of a browser remembers the form.
    """
    owned: list[list[Element]] = [[] for _ in forms]
    places = {form: number for number, form in enumerate(forms)}
    by_id: dict[str, int] = {}
    legends: dict[Element, Element | None] = {}
    for number, form in enumerate(forms):
        by_id.setdefault(form.attr("id") or "", number)
    last = -1
    for element in found:
        if element.tag == "form":
            last = places[element]
            continue
        reference = element.attr("form")
        if reference is not None:
            owner = by_id.get(reference, -1) if reference else -1
        else:
            around = element.closest("form")
            owner = -1 if around is None else places.get(around, -1)
            if around is None and strays:
                owner = last
        if owner >= 0 and _is_enabled(element, legends):
            owned[owner].append(element)
    return owned


def _passwords(controls: Iterable[Element]) -> int:
    return sum(_kind(element) == "password" for element in controls)


def _is_enabled(element: Element, legends: dict[Element, Element | None]) -> bool:
    """Whether a control is neither disabled nor in an element that is never sent.

    `legends` keeps the first legend of each disabled fieldset, which is searched for once.
    """
    if element.attr("disabled") is not None:
        return False
    if element.closest("template") is not None or element.closest("datalist") is not None:
        return False
    fieldset = element.closest("fieldset[disabled]")
    if fieldset is None:
        return True
    # The controls in its first legend are not disabled.
    if fieldset not in legends:
        children = (each for each in fieldset.children if isinstance(each, Element))
        legends[fieldset] = next((each for each in children if each.tag == "legend"), None)
    legend = legends[fieldset]
    return legend is not None and element.closest("legend") == legend


def _form(
    tree: Document,
    element: Element,
    controls: list[Element],
    base: str,
    page: str,
    choose: Choice,
) -> Form | None:
    """None for a form that is not sent to the server."""
    read = tuple(control for each in controls for control in _controls(each))
    buttons = [each for each in read if each.kind in _SUBMITS]
    button = choose(buttons) if buttons else None
    pressed = button or Control("", "submit", ())
    method = _chosen(pressed.method, element.attr("method"), "").lower()
    if method == "dialog":
        return None
    if method not in ("get", "post"):
        method = "script" if tree.select_one("script") is not None else "get"
    action = _chosen(pressed.action, element.attr("action"), "").strip()
    enctype = _chosen(pressed.enctype, element.attr("enctype"), "").lower()
    # An address without text is that of the page, whatever its base.
    return Form(
        resolve(action, base) if action else page,
        method,
        enctype,
        _encoding(element.attr("accept-charset"), tree.encoding),
        read,
        button,
    )


def _chosen(of_button: str | None, of_form: str | None, default: str) -> str:
    if of_button is not None:
        return of_button
    return default if of_form is None else of_form


def _encoding(accept_charset: str | None, encoding: str | None) -> str:
    labels = (accept_charset or "").replace(",", " ").split()
    found = next(filter(None, map(named, labels)), encoding)
    return "UTF-8" if found is None or encoder(found) == "utf-8" else found


def _kind(element: Element) -> str:
    kind = (element.attr("type") or "").strip().lower()
    if element.tag == "button":
        return kind if kind in ("reset", "button") else "submit"
    return (kind or "text") if element.tag == "input" else element.tag


def _controls(element: Element) -> Iterator[Control]:
    """The control of `element`, and a further one for its dirname."""
    kind, name = _kind(element), element.attr("name") or ""
    value = element.field_value
    values = tuple(value) if isinstance(value, list) else () if value is None else (value,)
    if kind in ("checkbox", "radio"):
        values = values if element.checked else ()
    elif kind == "file":
        values = ("",)
    elif element.tag in ("input", "button"):
        values = (element.attr("value") or "",)
    autocomplete = frozenset((element.attr("autocomplete") or "").lower().split())
    yield Control(
        name,
        kind,
        values,
        autocomplete,
        element.attr("readonly") is not None,
        element.attr("formaction"),
        element.attr("formmethod"),
        element.attr("formenctype"),
        f"{name} {element.attr('id') or ''} {_shown(element, kind)}".lower(),
        _is_hidden(element),
    )
    direction = element.attr("dirname")
    if direction and values and kind not in _BUTTONS:
        yield Control(direction, "hidden", ("ltr",))


def _shown(element: Element, kind: str) -> str:
    """What stands on a button."""
    if kind not in _SUBMITS:
        return ""
    words = [element.text or "", *(element.attr(name) or "" for name in _ON_BUTTONS)]
    return " ".join(words)[:_LONGEST_LABEL]


def _is_hidden(element: Element) -> bool:
    style = (element.attr("style") or "").replace(" ", "").lower()
    return element.attr("hidden") is not None or "display:none" in style


def _pressed(button: Control) -> list[tuple[str, str]]:
    if button.kind == "image":
        prefix = f"{button.name}." if button.name else ""
        return [(f"{prefix}x", "0"), (f"{prefix}y", "0")]
    return [(button.name, button.values[0])] if button.name else []


#: Refreshes in a row that are followed, as sites show "You are logged in now" before a page.
_MOST_REFRESHES = 3
_USER = frozenset({"username", "email"})
_USER_WORDS = re.compile("user|login|logon|sign|ident|account|mail|name")
_OTHER_WORDS = re.compile("search|query|newsletter|subscri|captcha|coupon")
#: What stands on buttons that log in, in the languages of the most sites.
_LOGIN_WORDS = re.compile(
    r"log.?[io]n|sign.?[io]n\b|signin|anmeld|einlogg|connexion|connecter|identifier|iniciar|acced|"
    "entrar|ingres|inlogg|logga|logg? ind|zaloguj|přihlás|войти|вход|увійти|giriş|"
    "登录|登入|登錄|ログイン|로그인|دخول|כניסה"
)
#: And on those beside them: a new account or password, no login at all.
_BESIDE_WORDS = re.compile(
    r"regist|sign.?up|creat|join|new (?:account|user|password)|forg[eo]t|lost|reset|recover|remind|"
    "resend|send me|mail|cancel|back|clear|guest|valid|verif|neues|vergessen|zurück|abbrech|"
    "konto|oublié|créer|annuler|olvid|recuper|crear|cancelar|注册|註冊|忘记|找回|取消|show|hide|"
    # Those of other sites and devices, which ask for no password here.
    r"\b(?:with|via|using|mit|über|avec|con|com|met|med|through) |google|github|facebook|passkey"
)
#: But this is by the form itself.
_OWN_WORDS = re.compile(
    r"\b(?:with|via|using|mit|avec|con|com) (?:your |an? )?(?:e-?mail|password)"
)


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
    if form.method == "script":
        raise LoginFailed(
            "the form names no method, so a script sends it; without that, the password would be "
            "in an address. A hook can log in"
        )
    yield from _send(page, form, login)
    return Grant()


def password_form(page: Page, login: Login) -> Form | None:
    """The form of a login: of those with one password field, the one that `login` fits best."""
    found = [form for form in _forms(page, login) if len(form.passwords) == 1]
    old = [form for form in found if "new-password" not in form.passwords[0].autocomplete]
    return min(old, key=lambda form: (*_misfit(form, login), *_length(form)), default=None)


def user_form(page: Page, login: Login) -> Form | None:
    """The form that asks for the user alone, as the first of two steps."""
    found = [
        (form, field)
        for form in _forms(page, login)
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

    Whether it may not be sent, or not as a body; the number of fields of loginFile that it lacks;
    and whether it lacks one for the user.
    """
    is_doubtful = form.method != "post" or not _may_have(form, login)
    lacking = login.fields.keys() - {each.name for each in form.controls}
    return is_doubtful, len(lacking), bool(login.user) and user_field(form) is None


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
    # Addresses are logged by servers: fields of another form are left to that.
    own = login.fields if form.method == "post" else {each.name for each in form.controls}
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
    if form.method != "post":
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


def _forms(page: Page, login: Login) -> list[Form]:
    return forms_of(page, partial(_button, login)) if has_html(page) else []


def _button(login: Login, buttons: Sequence[Control]) -> Control:
    """The button that a field of `login` names; else the one that logs in, by what stands on it."""
    named = [each for each in buttons if each.name in login.fields]
    meant = [each for each in named if each.values[:1] == (login.fields[each.name],)]
    return max(meant or named or buttons, key=_logs_in)


def _logs_in(button: Control) -> int:
    """How much a button looks like the one that logs in; the first of equal ones is pressed."""
    if button.hidden:
        return -2
    label = _OWN_WORDS.sub(" ", button.label)
    says, says_other = (words.search(label) for words in (_LOGIN_WORDS, _BESIDE_WORDS))
    return bool(says) - bool(says_other)
