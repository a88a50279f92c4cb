"""The forms of a page, with the entries that a browser would send (HTML, "form submission")."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from turbohtml import Document, Element

from larbinpy.page import Page
from larbinpy.parse.charset import document, encoder, named
from larbinpy.parse.html import base_url
from larbinpy.url import resolve

_SUBMITS = frozenset({"submit", "image"})
#: Types of inputs that a browser never sends, unless they are pressed.
_BUTTONS = frozenset({"button", "reset", *_SUBMITS})
#: Types into which people type a line; those that HTML does not know are texts.
_NO_TEXT = frozenset(
    {"hidden", "password", "checkbox", "radio", "file", "color", "range", "number", "date"}
    | {"datetime-local", "month", "week", "time", *_BUTTONS}
)
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
    #: Text that identifies it for people: name and id.
    label: str = ""

    @property
    def is_text(self) -> bool:
        """Whether people type a line into it that others may see."""
        return self.kind not in _NO_TEXT and self.kind not in ("select", "textarea")


@dataclass(frozen=True)
class Form:
    """A form that can be sent."""

    #: Canonical URL to which it is sent, as the button says; None if that cannot be fetched.
    action: str | None
    #: "get" or "post".
    method: str
    enctype: str
    #: The encoding of its entries, by its WHATWG name.
    encoding: str
    controls: tuple[Control, ...]
    #: The button that a browser presses at the Enter key; None for none.
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


def forms_of(page: Page) -> list[Form]:
    """The forms of `page`, in its order."""
    tree = document(page.body, page.http_charset)
    base = base_url(tree.select("base"), page.url.href)
    found = tree.select("form,input,select,textarea,button")[:_MOST_ELEMENTS]
    forms = [element for element in found if element.tag == "form"]
    owned = _owned(found, forms)
    if not any(_passwords(controls) == 1 for controls in owned):
        owned = _owned(found, forms, strays=True)
    read = (
        _form(tree, form, controls, base, page.url.href)
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
    within = element.closest("legend")
    return legend is not None and within is not None and within == legend


def _form(
    tree: Document, element: Element, controls: list[Element], base: str, page: str
) -> Form | None:
    """None for a form that is not sent to the server."""
    read = tuple(control for each in controls for control in _controls(each))
    button = next((each for each in read if each.kind in _SUBMITS), None)
    pressed = button or Control("", "submit", ())
    method = _chosen(pressed.method, element.attr("method"), "get").lower()
    if method == "dialog":
        return None
    action = _chosen(pressed.action, element.attr("action"), "").strip()
    enctype = _chosen(pressed.enctype, element.attr("enctype"), "").lower().strip()
    # An address without text is that of the page, whatever its base.
    return Form(
        resolve(action, base) if action else page,
        "post" if method == "post" else "get",
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
        f"{name} {element.attr('id') or ''}".lower(),
    )
    direction = element.attr("dirname")
    if direction and values and kind not in _BUTTONS:
        yield Control(direction, "hidden", ("ltr",))


def _pressed(button: Control) -> list[tuple[str, str]]:
    if button.kind == "image":
        prefix = f"{button.name}." if button.name else ""
        return [(f"{prefix}x", "0"), (f"{prefix}y", "0")]
    return [(button.name, button.values[0])] if button.name else []
