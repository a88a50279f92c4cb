"""Forms of logins: which form, which fields, and the bytes that a browser would send."""

import json
import time
from dataclasses import replace
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.login.exchange import LoginFailed
from larbinpy.login.methods.form import (
    encoded,
    forms_of,
    password_form,
    steps,
    urlencoded,
    user_form,
)
from larbinpy.login.session import Session, SessionState
from larbinpy.login.spec import Login, Method
from larbinpy.page import Page
from larbinpy.url import Ask
from tests.support.loginpages import HTML, exchange, redirect, reply, silence

SITE = "http://a.test"
PAGE = f"{SITE}/in/login"
PASSWORD = 'p&=+ä"%'
LOGIN = Login(SITE, Method.FORM, page=PAGE, user="me", password=PASSWORD)
SIMPLE = "<form method=post><input name=u><input type=password name=p></form>"
DONE = reply(f"{SITE}/", "Welcome")


def sent(html: str | bytes, login: Login = LOGIN, type: str = HTML) -> tuple[Ask, list[str]]:
    """The request that a form leads to, and its entries."""
    asks, _ = exchange(steps(login), reply(PAGE, html, type=type), DONE)
    assert asks[0] == Ask(PAGE)
    (ask,) = asks[1:]
    pairs = parse_qsl((ask.body or b"").decode(), keep_blank_values=True, strict_parsing=True)
    return ask, [f"{name}={value}" for name, value in pairs]


def entries(html: str, login: Login = LOGIN) -> list[str]:
    return sent(html, login)[1]


def test_a_simple_form() -> None:
    ask, _ = sent(SIMPLE)
    assert ask == Ask(
        PAGE,
        b"u=me&p=p%26%3D%2B%C3%A4%22%25",
        ("Content-Type: application/x-www-form-urlencoded", f"Origin: {SITE}", f"Referer: {PAGE}"),
    )


def test_hidden_fields_and_boxes_are_sent_as_a_browser_does() -> None:
    html = """<!DOCTYPE html><form method=POST action="../session?x=1#top"><p>
    <input type=hidden name=csrf value="a&amp;b&quot;=="><input type=hidden name=_charset_ value=x>
    <input name=user value=old><input type=password name=pass value=old>
    <input type=checkbox name=on checked><input type=checkbox name=off>
    <input type=radio name=r value=1><input type=radio name=r value=2 checked>
    <input name=gone disabled value=1><input value=nameless><input type=reset name=re>
    <fieldset disabled><legend><input name=legend value=1></legend><input name=no></fieldset>
    <select name=s><option>a<option selected>b</select>
    <select name=m multiple><option selected>1<option>2<option selected>3</select>
    <select name=first><option disabled>x<option value=v>y</select>
    <textarea name=t>\n l1\nl2</textarea><input type=file name=file>
    <input type=button name=b1 value=1><button type=button name=b2 value=1>b</button>
    <button name=go value=in>Log in</button><input type=submit name=second value=2>
    <datalist><input name=d></datalist><template><input name=tmpl></template></form>"""
    ask, found = sent(html)
    assert ask.href == f"{SITE}/session?x=1"
    assert found == [
        'csrf=a&b"==', "_charset_=UTF-8", "user=me", f"pass={PASSWORD}", "on=on", "r=2",
        "legend=1", "s=b", "m=1", "m=3", "first=v", "t= l1\r\nl2", "file=", "go=in",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("html", "field"),
    [
        ("<input name=a><input name=b type=email><input type=password name=p>", "b"),
        ("<input name=a><input name=b><input type=password name=p>", "b"),
        ("<input name=login><input name=company><input type=password name=p>", "login"),
        ("<input name=a autocomplete=username><input name=user><input type=password name=p>", "a"),
        ("<input name=a autocomplete='section-x email'><input type=password name=p>", "a"),
        ("<input type=password name=p><input name=after>", "after"),
        (
            "<input name=login><input name=c title='your account' alt=user>"
            "<input type=password name=p>",
            "login",
        ),
        ("<input type=tel name=phone><input type=password name=p><input name=otp>", "phone"),
        ("<input type=TEXT name=a><input type=hidden name=user><input type=password name=p>", "a"),
        ("<input type=unknown name=a><input type=password name=p>", "a"),
    ],
)
def test_the_field_for_the_user(html: str, field: str) -> None:
    assert f"{field}=me" in entries(f"<form method=post>{html}</form>")


def test_further_fields_override_or_add() -> None:
    html = """<form method=post><input type=hidden name=h value=1><input name=h value=2>
    <input name=user><input type=password name=p><input type=checkbox name=stay value=1></form>"""
    login = replace(LOGIN, fields={"h": "3", "stay": "yes", "new": ""})
    assert entries(html, login) == ["h=3", "user=me", f"p={PASSWORD}", "stay=yes", "new="]


@pytest.mark.parametrize(
    ("buttons", "pressed"),
    [
        ("<button name=a>Go</button><button name=b>Go</button>", "a="),
        ('<input type=submit name=a value="Mail me a link"><button name=b>Log in</button>', "b="),
        ("<button name=a>Forgot password?</button><input type=submit name=b value=OK>", "b=OK"),
        ("<button name=a>Register</button><button name=b value=1>Anmelden</button>", "b=1"),
        ("<button name=a>Sign up</button><button name=b>Sign in</button>", "b="),
        ('<input type=image name=a alt="Créer un compte"><input type=image name=b>', "b.x=0 b.y=0"),
        ("<button type=button name=a>Log in</button><button name=b>Weiter</button>", "b="),
        ("<button name=a>登录</button><button name=b>注册</button>", "a="),
        ("<button name=a>Sign in with GitHub</button><button name=b>Sign in</button>", "b="),
        ("<button name=a>Continue with Google</button><button name=b>Continue</button>", "b="),
        ("<button name=a>Google</button><button name=b>Continue with e-mail</button>", "b="),
        ("<button name=a>Mit Apple anmelden</button><button name=b>Anmelden</button>", "b="),
        ('<button name=a aria-label="Show password"></button><button name=b>OK</button>', "b="),
        ("<button name=a hidden>Log in as admin</button><button name=b>OK</button>", "b="),
        ('<button name=a style="Display: NONE">Log in</button><button name=b>OK</button>', "b="),
    ],
)
def test_of_several_buttons_the_one_that_logs_in(buttons: str, pressed: str) -> None:
    html = f"<form method=post><input name=u><input type=password name=p>{buttons}</form>"
    assert entries(html)[2:] == pressed.split()


def test_of_several_buttons_the_one_that_a_field_names() -> None:
    html = """<form method=post action=/wrong><input name=u><input type=password name=p>
    <button name=do value=reset>Log in</button>
    <button name=do value=go formaction=/do>x</button><button name=other>y</button></form>"""
    ask, found = sent(html, replace(LOGIN, fields={"do": "go"}))
    assert (ask.href, found) == (f"{SITE}/do", ["u=me", f"p={PASSWORD}", "do=go"])
    assert sent(html, replace(LOGIN, fields={"other": "1"}))[1][2:] == ["other=1"]


def test_a_password_alone() -> None:
    html = "<form method=post><input name=x value=y><input type=password name=pin></form>"
    assert entries(html, replace(LOGIN, user="")) == ["x=y", f"pin={PASSWORD}"]


_SEARCH = "<form action=/search><input name=q><button>Search</button></form>"
_REGISTER = (
    "<form method=post action=/new><input name=mail><input name=full>"
    "<input type=password name=x>{}</form>"
)
_TWO = "<input type=password name=y>"


@pytest.mark.parametrize(
    "before", ["", _SEARCH, _REGISTER.format(_TWO), _REGISTER.format("<input name=address>")]
)
def test_the_form_of_the_login_among_others(before: str) -> None:
    html = before + "<form method=post action=/go><input name=u><input type=password name=p></form>"
    ask, found = sent(html)
    assert (ask.href, found) == (f"{SITE}/go", ["u=me", f"p={PASSWORD}"])


def test_a_form_for_a_new_password_is_not_the_one() -> None:
    new = "<form method=post><input type=password name=n autocomplete=new-password></form>"
    assert entries(new + SIMPLE) == ["u=me", f"p={PASSWORD}"]
    marked = "<input name=m><input name=k><input name=user><input type=password name=old "
    whole = f"<form method=post>{marked} autocomplete=current-password></form>"
    assert f"old={PASSWORD}" in entries(SIMPLE + whole)


_SHORT = "<form method=post action=/short><input name=a><input type=password name=b></form>"
_LONG = """<form method=post action=/long><input name=a><input name=c><input type=checkbox name=d>
<input type=password name=b></form>"""
_PIN = "<form method=post action=/pin><input type=password name=pin></form>"


@pytest.mark.parametrize(
    ("login", "forms", "chosen"),
    [
        (LOGIN, [_SHORT, _LONG], "/short"),
        (replace(LOGIN, fields={"c": "1"}), [_SHORT, _LONG], "/long"),
        (replace(LOGIN, fields={"a": "1", "c": "1", "d": "1"}), [_SHORT, _LONG], "/long"),
        (replace(LOGIN, fields={"nowhere": "1"}), [_SHORT, _LONG], "/short"),
        (LOGIN, [_PIN, _LONG], "/long"),
        (replace(LOGIN, user=""), [_PIN, _LONG], "/pin"),
        # Those that may not be sent are not chosen.
        (LOGIN, [_SHORT.replace("/short", "http://b.test/"), _LONG], "/long"),
        (LOGIN, [_SHORT.replace("/short", "https://a.test/"), _LONG], "/long"),
        (LOGIN, [_SHORT.replace("/short", "javascript:x"), _LONG], "/long"),
        (LOGIN, [_SHORT.replace("method=post", ""), _LONG], "/long"),
    ],
)
def test_the_form_that_fits_the_login(login: Login, forms: list[str], chosen: str) -> None:
    for html in ("".join(forms), "".join(reversed(forms))):
        ask, _ = sent(html, login)
        assert ask.href == SITE + chosen


def test_the_first_of_two_steps_goes_to_a_named_origin() -> None:
    first = "<form method=post action={}><input autocomplete=username name=user></form>"
    pages = [first.format("http://b.test/") + first.format("/who"), SIMPLE]
    asks, _ = exchange(steps(LOGIN), *(reply(PAGE, html) for html in pages), DONE)
    assert [ask.href for ask in asks] == [PAGE, f"{SITE}/who", PAGE]


#: Odd forms, and what is sent; all as Firefox and Chromium do it.
ODD = {
    "controls beside the form in a table": (
        "<table><form method=post action=/t><tr><td><input name=u><tr><td>"
        "<input type=password name=p><input type=submit name=s value=go></form></table>",
        "/t",
        ["u=me", "p=P", "s=go"],
    ),
    "a form that ends within another element": (
        "<div><form method=post action=/d><input name=u></div><input type=password name=p></form>",
        "/d",
        ["u=me", "p=P"],
    ),
    "controls that name their form": (
        "<input name=u form=f><form id=f method=post action=/f><input type=password name=p></form>"
        "<input type=hidden name=h value=1 form=f><form><input name=z form=f></form>"
        "<input name=none form=missing>",
        "/f",
        ["u=me", "p=P", "h=1", "z="],
    ),
    "a nested form, which the parser drops": (
        "<form method=post action=/1><form action=/2><input name=u><input type=password name=p>",
        "/1",
        ["u=me", "p=P"],
    ),
    "two forms with one id": (
        "<form id=f method=post action=/1><input name=u></form><form id=f method=post action=/2>"
        "</form><input type=password name=p form=f>",
        "/1",
        ["u=me", "p=P"],
    ),
    "a button that decides": (
        "<form action=/no><input name=u><input type=password name=p>"
        "<button formaction=/b formmethod=post name=x>go</button></form>",
        "/b",
        ["u=me", "p=P", "x="],
    ),
    "a button that is an image": (
        "<form method=post action=/i><input name=u><input type=password name=p>"
        "<input type=image name=im src=x></form>",
        "/i",
        ["u=me", "p=P", "im.x=0", "im.y=0"],
    ),
    "a base": (
        "<base href=/base/><form method=post action=go><input name=u><input type=password name=p>",
        "/base/go",
        ["u=me", "p=P"],
    ),
    "a base, and no action": (
        "<base href=/base/><form method=post action=' '><input name=u><input type=password name=p>",
        "/in/login",
        ["u=me", "p=P"],
    ),
    "spaces and line ends in the action": (
        "<form method=post action='\n /a \n'><input name=u><input type=password name=p>",
        "/a",
        ["u=me", "p=P"],
    ),
    "a control before the form": (
        "<input name=x value=1><table><form method=post action=/t><tr><td><input name=u><tr><td>"
        "<input type=password name=p></form></table>",
        "/t",
        ["u=me", "p=P"],
    ),
    "a button with a direction": (
        "<form method=post action=/q><input name=u><input type=password name=p>"
        "<button name=a dirname=a.dir value=1>x</button></form>",
        "/q",
        ["u=me", "p=P", "a=1"],
    ),
    "an unclosed page": (
        "<form method=post action=/u><input name=u><input type=password name=p",
        "",
        [],
    ),
    "upper case": (
        "<FORM METHOD=POST ACTION=/C><INPUT NAME=U><INPUT TYPE=PASSWORD NAME=P></FORM>",
        "/C",
        ["U=me", "P=P"],
    ),
    "a form in a template": (
        "<template><form method=post action=/t><input type=password name=p></form></template>"
        + SIMPLE,
        "/in/login",
        ["u=me", "p=P"],
    ),
    "a form in a comment and in a script": (
        f"<!-- {SIMPLE.replace('post', 'get')} --><script>var x='{SIMPLE}'</script>{SIMPLE}",
        "/in/login",
        ["u=me", "p=P"],
    ),
    "a disabled password beside the real one": (
        "<form method=post action=/q><input name=u><input type=password name=x disabled>"
        "<input type=password name=p></form>",
        "/q",
        ["u=me", "p=P"],
    ),
    "a direction": (
        "<form method=post action=/q><input name=u dirname=u.dir><input type=password name=p>",
        "/q",
        ["u=me", "u.dir=ltr", "p=P"],
    ),
    "names with odd characters": (
        "<form method=post action=/q><input name='user[na me]'>"
        "<input type=password name='p&quot;'>",
        "/q",
        ["user[na me]=me", 'p"=P'],
    ),
    "a field after the form": (
        SIMPLE + "<input name=x value=1><input type=password name=other>",
        "/in/login",
        ["u=me", "p=P"],
    ),
    "a field after the second of two forms": (
        _SEARCH + SIMPLE + "<input name=x value=1>",
        "/in/login",
        ["u=me", "p=P"],
    ),
    "a field that is shown and called as the encoding": (
        "<form method=post action=/q><input name=_charset_ value=x><input name=u>"
        "<input type=password name=p></form>",
        "/q",
        ["_charset_=x", "u=me", "p=P"],
    ),
    "a field of a form that is not there": (
        "<input form=gone name=x value=1>" + SIMPLE + "<input form='' name=y value=1>",
        "/in/login",
        ["u=me", "p=P"],
    ),
    "a user that is known": (
        "<form method=post action=/q><input name=u value=other readonly>"
        "<input type=password name=p></form>",
        "/q",
        ["u=other", "p=P"],
    ),
    "a form that is a dialog": (
        "<form method=dialog><input type=password name=p></form>" + SIMPLE,
        "/in/login",
        ["u=me", "p=P"],
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_forms(name: str) -> None:
    html, path, wanted = ODD[name]
    if not path:
        with pytest.raises(LoginFailed):
            sent(html, replace(LOGIN, password="P"))
        return
    ask, found = sent(html, replace(LOGIN, password="P"))
    assert (ask.href, found) == (f"{SITE}{path}", wanted)


def test_encodings() -> None:
    html = f"<meta charset=windows-1251>{SIMPLE}".encode()
    login = replace(LOGIN, user="Мир", password="€ ☃")
    ask, _ = sent(html, login, type="text/html")
    # A character that the encoding lacks becomes a reference, as browsers send it.
    assert ask.body == b"u=%CC%E8%F0&p=%88+%26%239731%3B"
    chosen = SIMPLE.replace("<form", "<form accept-charset='nonsense utf-8'")
    ask, _ = sent(f"<meta charset=windows-1251>{chosen}", login, type="text/html")
    assert (ask.body or b"").startswith(b"u=%D0%9C")
    wide = "\ufeff<!DOCTYPE html>" + SIMPLE
    ask, _ = sent(wide.encode("utf-16-le"), login, type="text/html")
    assert (ask.body or b"").startswith(b"u=%D0%9C")
    named = SIMPLE.replace("<input", "<input type=hidden name=_charset_><input", 1)
    ask, _ = sent(f"<meta charset=iso-8859-1>{named}", LOGIN, type="text/html")
    assert (ask.body or b"").startswith(b"_charset_=windows-1252&")


def test_multipart() -> None:
    kind, body = encoded([("a", "1\n2"), ('q"\n', "ä")], "multipart/form-data", "utf-8")
    boundary = kind.removeprefix("multipart/form-data; boundary=")
    assert body.decode() == (
        f'--{boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n2\r\n'
        f'--{boundary}\r\nContent-Disposition: form-data; name="q%22%0D%0A"\r\n\r\nä\r\n'
        f"--{boundary}--\r\n"
    )
    html = SIMPLE.replace("<form", "<form enctype=multipart/form-data")
    ask = exchange(steps(LOGIN), reply(PAGE, html), DONE)[0][1]
    assert ask.headers[0].startswith("Content-Type: multipart/form-data; boundary=")
    assert b'name="u"\r\n\r\nme\r\n' in (ask.body or b"")


def test_plain_text() -> None:
    assert encoded([("a", "1&2"), ("b", "x\ny")], "text/plain", "utf-8") == (
        "text/plain",
        b"a=1&2\r\nb=x\r\ny\r\n",
    )


@given(st.lists(st.tuples(st.text(min_size=1), st.text())))
def test_what_is_encoded_can_be_decoded(pairs: list[tuple[str, str]]) -> None:
    pairs = [
        (name.encode("utf-8", "ignore").decode(), value.encode("utf-8", "ignore").decode())
        for name, value in pairs
    ]
    text = urlencoded(pairs)
    lines = [
        tuple(part.replace("\r\n", "\n").replace("\r", "\n") for part in each) for each in pairs
    ]
    found = parse_qsl(text, keep_blank_values=True)
    assert [(n.replace("\r\n", "\n"), v.replace("\r\n", "\n")) for n, v in found] == lines


# The way to the form and from it.


def test_two_steps() -> None:
    first = (
        f"{_SEARCH}<form method=post action=/user><input type=hidden name=t value=1>"
        "<input name=login></form>"
        "<form method=post action=/letter><input type=email name=news></form>"
    )
    second = (
        "<form method=post action=/pass><input type=hidden name=t value=2>"
        "<input name=login value=me readonly><input type=password name=p></form>"
    )
    asks, _ = exchange(
        steps(LOGIN),
        reply(PAGE, first),
        redirect(f"{SITE}/user", "/pass?a", 303),
        reply(f"{SITE}/pass?a", second),
        DONE,
    )
    assert [ask.href for ask in asks] == [
        PAGE,
        *(f"{SITE}/{x}" for x in ("user", "pass?a", "pass")),
    ]
    assert asks[1].body == b"t=1&login=me"
    assert asks[2] == Ask(f"{SITE}/pass?a")
    assert asks[3].body == b"t=2&login=me&p=" + urlencoded([("", PASSWORD)])[1:].encode()


def test_of_two_forms_for_a_user_the_one_that_is_marked_as_such() -> None:
    forms = (
        "<form method=post action=/a><input name=user></form>",
        "<form action=/b><input name=user autocomplete=username></form>",
    )
    for html in ("".join(forms), "".join(reversed(forms))):
        found = user_form(reply(PAGE, html), LOGIN)
        assert found is not None and found.action == f"{SITE}/b"


def test_of_two_forms_for_a_user_the_one_whose_address_says_so() -> None:
    forms = [
        f"<form method=post action=/{action}><input name=user></form>"
        for action in ("news", "session")
    ]
    for html in ("".join(forms), "".join(reversed(forms))):
        found = user_form(reply(PAGE, html), LOGIN)
        assert found is not None and found.action == f"{SITE}/session"


def test_a_form_that_searches_is_no_first_step() -> None:
    page = reply(PAGE, "<form action=/find><input name=user type=search></form>")
    assert user_form(page, LOGIN) is None


def test_the_first_of_two_steps_may_be_a_get() -> None:
    first = "<form action=/who?x><input name=user></form>"
    asks, _ = exchange(steps(LOGIN), reply(PAGE, first), reply(f"{SITE}/who?user=me", SIMPLE), DONE)
    assert asks[1] == Ask(f"{SITE}/who?user=me")
    assert asks[2].href == f"{SITE}/who?user=me"


def test_fields_of_the_second_step_are_not_in_the_address_of_the_first() -> None:
    first = "<form action=/who><input name=user><input name=realm value=x></form>"
    login = replace(LOGIN, fields={"pin": "1234", "realm": "north"})
    asks, _ = exchange(
        steps(login), reply(PAGE, first), reply(f"{SITE}/who?user=me&realm=north", SIMPLE), DONE
    )
    assert asks[1] == Ask(f"{SITE}/who?user=me&realm=north")
    assert b"pin=1234" in (asks[2].body or b"")


def test_redirects_and_refreshes_are_followed() -> None:
    other = "http://id.test"
    meta = "<meta http-equiv=refresh content='0; url=/home'>Logged in!"
    asks, _ = exchange(
        steps(replace(LOGIN, also=(other,))),
        redirect(PAGE, f"{other}/sso?x=1"),
        reply(f"{other}/sso?x=1", "<META content='1;URL=&#x2f;form' http-equiv='Refresh'>"),
        reply(f"{other}/form", SIMPLE),
        redirect(f"{other}/form", f"{SITE}/callback?ticket=1"),
        reply(f"{SITE}/callback?ticket=1", meta),
        reply(f"{SITE}/home", "<meta http-equiv=refresh content=5>"),
    )
    assert [ask.href for ask in asks] == [
        PAGE, f"{other}/sso?x=1", f"{other}/form", f"{other}/form",
        f"{SITE}/callback?ticket=1", f"{SITE}/home",
    ]  # fmt: skip
    # The other host gets the password, as the login names it; nothing goes back with the redirect.
    assert [ask.body is not None for ask in asks] == [False, False, False, True, False, False]
    assert asks[3].headers[1:] == (f"Origin: {other}", f"Referer: {other}/form")
    assert asks[4].headers == ()


def test_a_form_for_another_origin_gets_no_path_as_referrer() -> None:
    html = SIMPLE.replace("<form", "<form action=http://id.test/go")
    named = replace(LOGIN, also=("http://id.test",))
    assert exchange(steps(named), reply(PAGE, html), DONE)[0][1].headers[1:] == (
        f"Origin: {SITE}",
        f"Referer: {SITE}/",
    )


def test_307_sends_the_body_again_on_the_same_origin() -> None:
    asks, _ = exchange(steps(LOGIN), reply(PAGE, SIMPLE), redirect(PAGE, "/v2", 307), DONE)
    assert asks[2] == replace(asks[1], href=f"{SITE}/v2")


@pytest.mark.parametrize("how", ["method=get", "method=GET", ""])
def test_a_form_that_is_sent_in_an_address(how: str) -> None:
    """As browsers send it; fields that the form lacks are not added."""
    form = SIMPLE.replace("method=post", how) + ("<script></script>" if how else "")
    login = replace(LOGIN, fields={"else": "secret"})
    asks, _ = exchange(steps(login), reply(PAGE, form), DONE)
    assert asks[1:] == [Ask(f"{PAGE}?u=me&p=p%26%3D%2B%C3%A4%22%25")]


FAILURES: dict[str, tuple[list[Page], str]] = {
    "no form": ([reply(PAGE, "<p>Hello")], "the login page has no form with one password field"),
    "404": ([reply(PAGE, "", 404)], "no form with one password field (status 404)"),
    "no HTML": ([reply(PAGE, "{}", type="application/json")], "no form with one password field"),
    "503": ([reply(PAGE, "", 503)], "a reply to the login has status 503"),
    "nothing": (
        [silence(PAGE)],
        "no reply to a request of the login at http://a.test: connection refused",
    ),
    "nothing after the form": ([reply(PAGE, SIMPLE), silence(PAGE)], "no reply to a request"),
    "a form that a script sends": (
        [reply(PAGE, SIMPLE.replace("method=post", "") + "<script src=x></script>")],
        "the form names no method, so a script sends it; without that, the password would be in an "
        "address. A hook can log in",
    ),
    "no name": (
        [reply(PAGE, "<form method=post><input name=u><input type=password></form>")],
        "the password field of the form has no name; a script sends it",
    ),
    "script": (
        [reply(PAGE, SIMPLE.replace("<form", "<form action='javascript:go()'"))],
        "the address of the form is none of http or https",
    ),
    "307 to another origin": (
        [reply(PAGE, SIMPLE), redirect(PAGE, "http://b.test/", 307)],
        "the login was redirected to another origin with its password",
    ),
    "308 to the same host by https": (
        [reply(PAGE, SIMPLE), redirect(PAGE, "https://a.test/", 308)],
        "the login was redirected to another origin with its password",
    ),
    "an action on another host": (
        [reply(PAGE, SIMPLE.replace("<form", "<form action=http://b.test/x?p="))],
        "the form goes to http://b.test, another origin; if that is right, write "
        'also = ["http://b.test"] in loginFile',
    ),
    "an action on another port": (
        [reply(PAGE, SIMPLE.replace("<form", "<form action=http://a.test:81/"))],
        'write also = ["http://a.test:81"] in loginFile',
    ),
    "a redirect to a form on another host": (
        [redirect(PAGE, "http://b.test/"), reply("http://b.test/", SIMPLE)],
        'write also = ["http://b.test"] in loginFile',
    ),
    "the user's name to another host": (
        [reply(PAGE, "<form method=post action=//b.test/><input name=user></form>")],
        'write also = ["http://b.test"] in loginFile',
    ),
    "two steps, one page": (
        [reply(PAGE, "<form method=post><input name=user></form>"), reply(PAGE, "unknown")],
        "the page after the user's name does not ask for a password",
    ),
    "redirects": (
        [redirect(PAGE if not n else f"{SITE}/{n}", f"/{n + 1}") for n in range(10)],
        "the login was redirected 10 times",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_failures(name: str) -> None:
    pages, reason = FAILURES[name]
    with pytest.raises(LoginFailed) as failed:
        exchange(steps(LOGIN), *pages)
    assert reason in str(failed.value)
    assert PASSWORD not in str(failed.value)


@pytest.mark.parametrize("site", ["http://a.test", "https://a.test"])
@pytest.mark.parametrize("at", ["http://a.test/in", "https://a.test/login"])
def test_no_password_leaves_a_page_with_https(site: str, at: str) -> None:
    """Nor a page with http to which one with https has led."""
    login = replace(LOGIN, site=site, page="https://a.test/login", also=("http://a.test",))
    html = SIMPLE.replace("<form", "<form action=http://a.test/go")
    pages = [reply(at, html)]
    if at != login.page:
        pages.insert(0, redirect(login.page, at))
    with pytest.raises(LoginFailed, match="by http, from a page with https"):
        exchange(steps(login), *pages)


def test_a_page_on_another_origin_names_that() -> None:
    login = replace(LOGIN, page="http://id.test/login", also=("http://c.test",))
    asks, _ = exchange(steps(login), reply(login.page, SIMPLE), DONE)
    assert asks[1].href == login.page
    html = SIMPLE.replace("<form", "<form action=http://b.test/")
    with pytest.raises(LoginFailed) as failed:
        exchange(steps(login), reply(login.page, html))
    assert 'also = ["http://c.test", "http://b.test"]' in str(failed.value)


@given(st.binary(max_size=400))
def test_any_bytes_are_a_page(body: bytes) -> None:
    page = reply(PAGE, b"<form method=post><input type=password name=p>" + body)
    for form in forms_of(page):
        assert form.entries() is not None
    password_form(page, LOGIN)
    user_form(page, LOGIN)


# In a session: how a login ends.


def login(login: Login, *pages: Page) -> Session:
    session = Session(login, {})
    ask = session.begin(0.0)
    for page in pages:
        assert ask is not None
        ask = session.replied(page, 0.0)
    assert ask is None
    return session


HELLO = replace(LOGIN, logged_in="Hello me")
FORM = reply(PAGE, SIMPLE)


@pytest.mark.parametrize(
    ("spec", "last", "reason"),
    [
        (LOGIN, DONE, ""),
        (LOGIN, reply(f"{SITE}/", SIMPLE), "the site asks for the password again"),
        (LOGIN, reply(PAGE, "Wrong", 400), "the login ended with status 400"),
        (HELLO, reply(f"{SITE}/", "Hello me"), ""),
        (HELLO, reply(f"{SITE}/", f"Hello me{SIMPLE}"), ""),
        (HELLO, reply(f"{SITE}/", "x"), "the page after the login has no sign of being logged in"),
        (HELLO, reply(f"{SITE}/", "{}", type="application/json"), ""),
    ],
)
def test_the_end_of_a_login(spec: Login, last: Page, reason: str) -> None:
    session = login(spec, FORM, last)
    assert session.reason == reason
    assert session.state is (SessionState.NEEDED if reason else SessionState.IN)


def test_a_session_that_still_lives_needs_no_password() -> None:
    session = login(HELLO, redirect(PAGE, "/home"), reply(f"{SITE}/home", "Hello me"))
    assert session.state is SessionState.IN


def test_only_the_first_legend_of_a_disabled_fieldset_is_enabled() -> None:
    html = """<form method=post><input name=u><input type=password name=p><fieldset disabled>a
    <fieldset><legend><input name=inner></legend></fieldset><p><legend><input name=deep></legend>
    </p><legend>b<input name=first></legend><legend><input name=second></legend></fieldset>"""
    assert [each.partition("=")[0] for each in entries(html)] == ["u", "p", "first"]


def test_a_large_fieldset_takes_no_time() -> None:
    controls = "<input type=password name=p>" * 3000
    html = f"<form method=post><fieldset disabled>{'<p>' * 200_000}{controls}"
    began = time.process_time()
    assert password_form(reply(PAGE, html), LOGIN) is None
    assert time.process_time() - began < 2


@pytest.mark.parametrize("spec", [LOGIN, HELLO], ids=["no marker", "a marker"])
def test_redirects_to_the_form_are_known_as_losses(spec: Login) -> None:
    target = f"{SITE}/sso/start?client=1&state=abc"
    done = reply(f"{SITE}/", "Hello me")
    session = login(spec, redirect(PAGE, target), reply(target, SIMPLE), done)

    def said(to: str) -> str:
        return session.standing(redirect(f"{SITE}/x", to)).name

    assert said("/in/login?next=/x") == "OUT"
    assert said("/sso/start?client=1&state=xyz&more=1") == "OUT"
    assert said("/sso/start") == "UNKNOWN"
    assert said("/") == "UNKNOWN"
    # Nor are they forgotten over a stop.
    session = Session(spec, json.loads(json.dumps(session.kept())))
    assert said("/sso/start?client=2&state=x") == "OUT"
    assert said("/sso/start") == "UNKNOWN"


def test_the_page_to_check_is_asked_for_though_the_page_after_the_form_has_the_marker() -> None:
    check = f"{SITE}/account"
    done = reply(f"{SITE}/", "Hello me")
    session = login(replace(HELLO, check=check), FORM, done, reply(check, status=404))
    assert session.reason == "the page to check has status 404"


def test_no_redirect_of_a_living_session_is_taken_for_a_login_page() -> None:
    session = login(HELLO, redirect(PAGE, "/home"), reply(f"{SITE}/home", "Hello me"))
    assert session.standing(redirect(f"{SITE}/x", "/home")).name == "UNKNOWN"
