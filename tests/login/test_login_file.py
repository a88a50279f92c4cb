"""login_file: logins in TOML, and one line for each thing that is wrong with them."""

import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from larbinpy.config import ConfigError
from larbinpy.login import file
from larbinpy.login.file import examine, explained, login_pages
from larbinpy.login.spec import Login, Method, check_private

SECRET = "s3cr3t-Word"
SITE = 'site = "https://shop.example"\n'
FORM = 'method = "form"\npage = "/login"\nuser = "me"\n'
Write = Callable[..., str]


def no_terminal(prompt: str) -> str:
    raise AssertionError(f"asked for {prompt}")


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a file below the working directory, "logins.toml" unless it is named."""
    monkeypatch.chdir(tmp_path)

    def write(text: str | bytes, name: str = "logins.toml", mode: int = 0o600) -> str:
        Path(name).write_bytes(text.encode() if isinstance(text, str) else text)
        Path(name).chmod(mode)
        return name

    return write


def read(
    path: str,
    environ: Mapping[str, str] | None = None,
    ask: Callable[[str], str] = no_terminal,
) -> tuple[Login, ...]:
    return file.read(path, environ or {}, ask)


def wrong(path: str, environ: Mapping[str, str] | None = None) -> list[str]:
    return [str(error) for error in examine(path, environ or {})[1]]


def table(*lines: str, site: str = "https://shop.example") -> str:
    return "\n".join(["[[login]]", f'site = "{site}"', *lines, ""])


def test_a_form(write: Write) -> None:
    path = write(
        f"""
        [[login]]
        site = "HTTPS://Shop.Example:443/"
        method = "form"
        page = "/login?next=/"
        user = "me"
        password = "{SECRET}"
        fields = {{ remember = "on", pin = "env:PIN" }}
        loggedIn = "Log out"
        loggedOut = "/(?i)please sign\\\\s+in/"
        check = "/account"
        also = ["https://ID.example:443/", "https://b.example:8443"]
        """
    )
    [login] = read(path, {"PIN": "1234"})
    assert login == Login(
        "https://shop.example",
        Method.FORM,
        "https://shop.example/login?next=/",
        "me",
        {"remember": "on", "pin": "1234"},
        "Log out",
        r"/(?i)please sign\s+in/",
        "https://shop.example/account",
        SECRET,
        also=("https://id.example", "https://b.example:8443"),
    )


@pytest.mark.parametrize(
    ("lines", "values"),
    [
        (['method = "basic"', 'user = "a"', 'password = ""'], {"user": "a", "password": ""}),
        (['method = "digest"', 'user = "a"', 'password = "b"'], {"user": "a", "password": "b"}),
        (['method = "negotiate"'], {}),
        (['method = "bearer"', 'token = "abc.def-_~+/="'], {"token": "abc.def-_~+/="}),
        (
            [
                'method = "oauth2"',
                'grant = "client_credentials"',
                'clientId = "env:CLIENT"',
                'clientSecret = "b"',
                'tokenUrl = "https://id.example/token"',
                'scope = "read write"',
            ],
            {
                "grant": "client_credentials",
                "client_id": "mine",
                "client_secret": "b",
                "token_url": "https://id.example/token",
                "scope": "read write",
            },
        ),
        (
            [
                'method = "oauth2"',
                'grant = "device_code"',
                'clientId = "a"',
                'tokenUrl = "/token"',
                'deviceUrl = "/device"',
            ],
            {
                "grant": "device_code",
                "client_id": "a",
                "token_url": "https://shop.example/token",
                "device_url": "https://shop.example/device",
            },
        ),
        (
            [
                'method = "oauth1"',
                'clientId = "a"',
                'clientSecret = "b"',
                'token = "c"',
                'tokenSecret = "d"',
            ],
            {"client_id": "a", "client_secret": "b", "token": "c", "token_secret": "d"},
        ),
        (['method = "hook"', 'user = "a"'], {"user": "a"}),
    ],
)
def test_the_keys_of_each_method(write: Write, lines: list[str], values: dict[str, str]) -> None:
    [login] = read(write(table(*lines)), {"CLIENT": "mine"})
    assert login == Login("https://shop.example", Method(lines[0].split('"')[1]), **values)  # type: ignore[arg-type]


def test_secrets_are_elsewhere(write: Write) -> None:
    """Then others may read the file itself."""
    Path("inner").mkdir()
    write(f"{SECRET}\r\n", "inner/password")
    path = write(
        table('method = "basic"', 'user = "env:ME"', 'password = "file:password"')
        + table('method = "bearer"', 'token = "env:TOKEN"', site="http://b.example"),
        "inner/logins.toml",
        mode=0o644,
    )
    first, second = read(path, {"TOKEN": "abc", "ME": "you"})
    assert (first.user, first.password, second.token) == ("you", SECRET, "abc")


@pytest.mark.parametrize(
    ("spelled", "user"),
    [
        *((r"CORP\me", r"CORP\me"), (r"a\\b", r"a\b"), (r'"a\"b\c"', r'a"b\c')),
        *(("p#q", "p#q"), ('p"q', 'p"q'), (r"a\\\b", r"a\\b")),
    ],
)
def test_a_backslash_in_a_netrc_counts_unless_it_escapes(
    write: Write, spelled: str, user: str
) -> None:
    write(f"machine shop.example password {SECRET} login {spelled}", "netrc")
    [login] = read(write(table('method = "netrc"', 'file = "netrc"')))
    assert (login.user, login.password) == (user, SECRET)


def test_a_netrc(write: Write, tmp_path: Path) -> None:
    write(
        f"machine shop.example login me password {SECRET}\ndefault login any password x", ".netrc"
    )
    by_method = table('method = "netrc"')
    by_password = table('method = "digest"', 'user = "me"', 'password = "netrc"')
    for environ in ({"NETRC": str(tmp_path / ".netrc")}, {}):
        for text in (by_method, by_password):
            file = "" if environ else 'file = ".netrc"\n'
            if file and text is by_password:
                continue
            [login] = read(write(text + file), environ)
            assert (login.user, login.password) == ("me", SECRET)
    for text in (
        f"\ufeffmachine shop.example login me password {SECRET}",
        "machine b.example login x password y\nmacdef init\nls\n\n"
        f'machine shop.example\r\n\tlogin me\r\n\tpassword "{SECRET}"\r\n',
        f"machine shop.example password {SECRET} login me\nmacdef last\nls",
    ):
        write(text, "other")
        [login] = read(write(by_method + 'file = "other"'))
        assert (login.user, login.password) == ("me", SECRET)
    [other] = read(write(by_method.replace("shop", "b") + 'file = ".netrc"'))
    assert (other.user, other.password) == ("any", "x")
    assert wrong(
        write(by_password.replace('"me"', '"you"')), {"NETRC": str(tmp_path / ".netrc")}
    ) == [
        "logins.toml: login 1 (https://shop.example): password: "
        "the netrc has another user for shop.example"
    ]


def test_cookies_of_a_file(write: Write) -> None:
    write("#HttpOnly_shop.example\tFALSE\t/\tTRUE\t0\tsession\tabc\n", "cookies.txt")
    path = write(table('method = "cookies"', 'file = "cookies.txt"', 'page = "/login"'), mode=0o644)
    [login] = read(path)
    assert login.file == "cookies.txt"
    Path("cookies.txt").chmod(0o640)
    assert wrong(path) == [
        "logins.toml: login 1 (https://shop.example): file: cookies.txt has secrets, and others "
        "may open it (mode 0640); chmod 600 cookies.txt"
    ]
    write("no cookies", "cookies.txt")
    assert "cookies.txt:1: not a line of a cookies.txt" in wrong(path)[0]


def test_the_user_is_asked_for_what_is_missing(write: Write) -> None:
    lines = ('method = "form"', 'page = "/"', 'password = "ask"', 'fields = { pin = "ask" }')
    path = write(table(*lines), mode=0o644)
    prompts = []

    def ask(prompt: str) -> str:
        prompts.append(prompt)
        return f"answer {len(prompts)}"

    [login] = read(path, ask=ask)
    answers = dict(zip(prompts, ("answer 1", "answer 2"), strict=True))
    assert answers == {
        "https://shop.example: password: ": login.password,
        "https://shop.example: fields.pin: ": login.fields["pin"],
    }
    with pytest.raises(ConfigError, match=r"login 1 \(https://shop\.example\): .*: nothing was ty"):
        read(path, ask=lambda prompt: "")
    # Nobody is asked before the file is right.
    write(table(*lines) + table('method = "bearer"', site="http://b.example"), mode=0o644)
    with pytest.raises(ConfigError, match="method bearer needs it"):
        read(path)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (['pasword = "x"'], "pasword: unknown key; the nearest known one is password"),
        (['logged_in = "x"'], "logged_in: unknown key; the nearest known one is loggedIn"),
        (['zzz = "x"'], "zzz: unknown key"),
        ([f'{"z" * 61} = "x"'], f"{'z' * 60}: unknown key"),
        (['token = "x"'], "token: method form does not use it"),
        (["user = 5"], "user: not a text; write it in quotes"),
        (['user = ""'], "user: it is empty"),
        (['check = "https://b.example/"'], "check: it is not on the site"),
        (['check = "http://shop.example/"'], "check: it is not on the site"),
        (
            ['page = "http://id.example/"'],
            "page: the site has https, so secrets are not sent by http",
        ),
        (
            ['page = "https://"'],
            "page: 'https://' is not a URL that can be crawled (http or https)",
        ),
        (
            ['page = "ftp://a.example/"'],
            "page: 'ftp://a.example/' is not a URL that can be crawled",
        ),
        (
            ['page = "https://me:pw@id.example/"'],
            "page: it has a user or a password; write them as keys of their own",
        ),
        (['loggedIn = "/(/"'], "loggedIn: '/(/' is not a regular expression of RE2"),
        (['loggedOut = "/(?=a)/"'], "loggedOut: '/(?=a)/' is not a regular expression of RE2"),
        (["password = 'env:NONE'"], "password: the environment variable 'NONE' is not set"),
        (["password = 'file:none'"], "password: none cannot be read: No such file or directory"),
        (["password = 'file:'"], "password: it must be a path"),
        (['password = "a\\nb"'], "password: it has a control character or a line end"),
        (['fields = { a = "b\\u0000" }'], "fields.a: it has a control character or a line end"),
        (["fields = { a = 1 }"], "fields.a: not a text; write it in quotes"),
        (['fields = "a"'], 'fields: not a table; write fields = { NAME = "VALUE" }'),
        (['also = "https://b.example"'], "also: not a list of origins; write also = ["),
        (["also = [5]"], "also: not a list of origins; write also = ["),
        (['also = ["https://b.example/x"]'], "also: it has a path; write https://b.example"),
        (['also = ["b.example"]'], "also: 'b.example' is not a URL; is http"),
        (
            ['also = ["http://shop.example"]'],
            "also: the site has https, so secrets are not sent by http",
        ),
        (["fields = { a = 'netrc' }"], "fields.a: a netrc has passwords only"),
    ],
)
def test_errors_of_a_form(write: Write, lines: list[str], reason: str) -> None:
    given = {
        "method": 'method = "form"',
        "page": 'page = "/login"',
        "password": f'password = "{SECRET}"',
    }
    given |= {line.partition(" ")[0]: line for line in lines}
    [error] = wrong(write(table(*given.values())))
    assert error.startswith(f"logins.toml: login 1 (https://shop.example): {reason}")
    assert "\n" not in error


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("", ["no login in it; each is a table [[login]]"]),
        ("[[logins]]", ["logins: unknown key; each login is a table [[login]]"]),
        ("[login]", ["login is one table; write [[login]]"]),
        ("login = [1]", ["login 1: not a table; write [[login]]"]),
        ("[[login]]", ["login 1: site: missing", "login 1: method: missing"]),
        (
            table('method = "from"').replace("https://", ""),
            [
                "login 1: site: 'shop.example' is not a URL; is http:// or https:// missing?",
                "login 1: method: 'from' is not one of form, basic, digest, negotiate, bearer, "
                "oauth2, oauth1, cookies, netrc, hook",
            ],
        ),
        (
            table('method = "form"', 'page = "/in"', 'password = ""', site="shop.example"),
            ["login 1: site: 'shop.example' is not a URL; is http:// or https:// missing?"],
        ),
        (
            table(f'method = "{"x" * 50}"', site="http://a.test"),
            [
                f"login 1 (http://a.test): method: '{'x' * 40}' is not one of form, basic, digest, "
                "negotiate, bearer, oauth2, oauth1, cookies, netrc, hook",
            ],
        ),
        (
            table('method = "negotiate"', site="https://shop.example/shop"),
            ["login 1: site: it has a path; write https://shop.example"],
        ),
        (
            table('method = "negotiate"', site="https://me:pw@shop.example"),
            ["login 1: site: it has a user or a password; write them as keys of their own"],
        ),
        (
            table('method = "negotiate"') * 2,
            ["login 2 (https://shop.example): site: login 1 is for the same site"],
        ),
        (
            table('method = "form"'),
            [
                "login 1 (https://shop.example): page: missing; method form needs it",
                "login 1 (https://shop.example): password: missing; method form needs it",
            ],
        ),
        (
            table('method = "oauth2"', 'grant = "password"', 'clientId = "a"', 'tokenUrl = "/t"'),
            [
                "login 1 (https://shop.example): grant: 'password' is not one of "
                "client_credentials, refresh_token, device_code"
            ],
        ),
        (
            table(
                'method = "oauth2"',
                'grant = "refresh_token"',
                'clientId = "a"',
                'tokenUrl = "/t"',
                'deviceUrl = "/d"',
            ),
            [
                "login 1 (https://shop.example): deviceUrl: grant refresh_token does not use it",
                "login 1 (https://shop.example): refreshToken: missing; grant refresh_token "
                "needs it",
            ],
        ),
        (
            table('method = "oauth1"', 'clientId = "a"', "clientSecret = 'b'", "token = 'c'"),
            ["login 1 (https://shop.example): tokenSecret: missing; method oauth1 needs it"],
        ),
        (
            table('method = "basic"', 'user = "a:b"', 'password = "c"'),
            ["login 1 (https://shop.example): user: a colon would end it (RFC 7617, section 2)"],
        ),
        (
            table('method = "bearer"', 'token = "a b"'),
            [
                "login 1 (https://shop.example): token: it has characters that no bearer token "
                "has (RFC 6750)"
            ],
        ),
    ],
)
def test_errors_of_a_file(write: Write, text: str, reasons: list[str]) -> None:
    assert wrong(write(text)) == [f"logins.toml: {reason}" for reason in reasons]


def test_errors_of_toml_have_the_line_and_not_the_text(write: Write) -> None:
    for text, line in [
        (f"{table()}password = {SECRET}", "logins.toml:3: not valid TOML: Invalid value"),
        (f'{table()}password = "{SECRET}', "logins.toml: not valid TOML: Unterminated string"),
        (f'{table()}user = "{SECRET}\n"', "logins.toml:3: not valid TOML: Illegal character"),
        ("a = " + "[" * 5000, "logins.toml: too deeply nested"),
        (f"{table()}user = '{SECRET}\udcff'", "logins.toml:3: not text in UTF-8"),
        ("#" * (1 << 20) + "#", "logins.toml: larger than 1 MB, so not a file of logins"),
    ]:
        [error] = wrong(write(text.encode(errors="surrogateescape")))
        assert error.startswith(line)
        assert SECRET not in error
    assert wrong("none.toml") == ["none.toml: cannot be read: No such file or directory"]


def test_a_long_file_is_read_up_to_its_bound(write: Write) -> None:
    text = table('method = "bearer"', 'token = "ask"')
    for length, errors in ((1 << 20, 0), ((1 << 20) + 1, 1)):
        assert len(wrong(write(text + "#" * (length - len(text)), mode=0o644))) == errors


def test_the_usual_netrc_is_that_of_the_home(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(f"machine shop.example login me password {SECRET}", ".netrc")
    [login] = read(write(table('method = "netrc"'), mode=0o644))
    assert (login.user, login.password) == ("me", SECRET)


def test_windows_writes_other_lines(write: Write) -> None:
    text = table('method = "basic"', 'user = "é"', f'password = "{SECRET}"')
    [login] = read(write(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()))
    assert (login.user, login.password) == ("é", SECRET)


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o620, 0o644, 0o666])
def test_others_may_not_read_a_secret(write: Write, mode: int) -> None:
    refused = (
        f"logins.toml has secrets, and others may open it (mode {mode:04o}); chmod 600 logins.toml"
    )
    for password, errors in ((SECRET, [refused]), ("", [])):
        text = table('method = "basic"', 'user = "me"', f'password = "{password}"')
        assert wrong(write(text, mode=mode)) == errors
    fields = table('method = "form"', 'page = "/"', 'password = "ask"', 'fields = { pin = "1" }')
    assert "chmod 600" in wrong(write(fields, mode=mode))[0]
    write(SECRET, "password", mode=mode)
    path = write(table('method = "basic"', 'user = "me"', 'password = "file:password"'), mode=mode)
    [error] = wrong(path)
    assert f"password has secrets, and others may open it (mode {mode:04o})" in error


def test_the_errors_of_secrets_in_files(write: Write) -> None:
    path = write(table('method = "bearer"', 'token = "file:token"'))
    for text, reason in [
        (b"\n", "token is empty"),
        (b"a\nb\n", "it has a control character or a line end"),
        (b"a\n\xff", "token:2: not text in UTF-8"),
        (b"a" * (1 << 17), "token is larger than 65536 bytes"),
    ]:
        write(text, "token")
        assert wrong(path) == [f"logins.toml: login 1 (https://shop.example): token: {reason}"]
    path = write(table('method = "netrc"', 'file = "netrc"'))
    for rest, reason in [
        (f"password {SECRET} {SECRET}", "netrc:1: not in the format of a netrc"),
        ("", "netrc has no password for the machine shop.example"),
    ]:
        write(f"machine shop.example login me {rest}", "netrc")
        assert wrong(path) == [f"logins.toml: login 1 (https://shop.example): file: {reason}"]


def test_a_login_is_explained_without_its_secrets(write: Write, tmp_path: Path) -> None:
    write(SECRET, "secret")
    write(f"default login you password {SECRET}", "netrc")
    path = write(
        table(
            *('method = "form"', 'page = "/login"', 'user = "me"', f'password = "{SECRET}"'),
            *(f'fields = {{ pin = "{SECRET}" }}', 'loggedIn = "Log out"', 'check = "/a"'),
            'also = ["https://id.example", "https://x.example"]',
        )
        + table(
            *('method = "oauth2"', 'grant = "refresh_token"', 'clientId = "env:ID"'),
            *('tokenUrl = "/t"', 'refreshToken = "file:secret"', 'clientSecret = "ask"'),
            site="https://b.example",
        )
        + table('method = "netrc"', 'file = "netrc"', 'loggedOut = "/x/"', site="http://c.example")
    )
    entries, errors = examine(path, {"ID": SECRET})
    assert errors == []
    assert [explained(entry) for entry in entries] == [
        "https://shop.example: form at https://shop.example/login, form also sent to "
        "https://id.example and https://x.example, user me, password in the file, fields.pin in "
        "the file, logged in with 'Log out', checked at https://shop.example/a",
        "https://b.example: oauth2 (refresh_token) at https://b.example/t, clientId from env:ID, "
        "refreshToken from file:secret, clientSecret asked at the start, no marker",
        "http://c.example: netrc, user you, password from netrc, file netrc, logged out with '/x/'",
    ]


def test_no_text_about_a_login_has_its_secrets(write: Write) -> None:
    form = ('method = "form"', 'page = "/login"', f'password = "{SECRET}"')
    text = table(*form, f'fields = {{ pin = "{SECRET}" }}')
    [login] = read(write(text))
    entries, _ = examine("logins.toml", {})
    assert SECRET in login.password
    assert SECRET not in repr((login, entries, explained(entries[0])))
    wrongs = [
        text + 'zzz = "x"\nuser = 1\ncheck = "http://b.example/"',
        text + f'token = "{SECRET}"',
        text.replace(f'"{SECRET}"', f'"{SECRET}\\n"'),
        text + f"{SECRET}",
        text + f'a = "{SECRET}\n',
        text * 2,
    ]
    for each in wrongs:
        with pytest.raises(ConfigError) as raised:
            read(write(each))
        assert SECRET not in "".join(traceback.format_exception(raised.value))
        error: BaseException | None = raised.value
        while error is not None:
            assert SECRET not in repr((error, vars(error), error.args))
            error = error.__context__


def test_an_exception_while_reading_shows_no_secret(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(table('method = "basic"', 'user = "me"', f'password = "{SECRET}"'))
    for place in ("file.Login", "file.Table", "spec.checked"):

        def broken(*arguments: object, **named: object) -> None:
            raise RuntimeError("broken")

        with monkeypatch.context() as patching:
            patching.setattr(f"larbinpy.login.{place}", broken)
            with pytest.raises(RuntimeError) as raised:
                read(path)
        assert SECRET not in "".join(traceback.format_exception(raised.value))


def test_a_process_with_secrets_leaves_no_core(write: Write) -> None:
    path = write(table('method = "bearer"', 'token = "abc"'))
    program = (
        "import resource\n"
        "from larbinpy.login.file import read\n"
        "_, hard = resource.getrlimit(resource.RLIMIT_CORE)\n"
        "resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))\n"
        f"read({path!r})\n"
        "print(resource.getrlimit(resource.RLIMIT_CORE)[0])"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert found.stdout == "0\n"


def test_no_terminal_is_an_error(write: Write) -> None:
    path = write(table('method = "bearer"', 'token = "ask"'))
    program = f"from larbinpy.login.file import read\nprint(read({path!r})[0].token)"
    command = [sys.executable, "-c", program]
    found = subprocess.run(
        command, capture_output=True, text=True, timeout=60, start_new_session=True, check=False
    )
    assert found.stderr.endswith(
        "ConfigError: logins.toml: login 1 (https://shop.example): token: there is no terminal to "
        "ask on; write env:NAME or file:PATH instead\n"
    )


def test_what_is_typed_on_the_terminal_is_not_shown(write: Write) -> None:
    path = write(table('method = "bearer"', 'token = "ask"'))
    main, own = os.openpty()
    program = (
        f"import os\nos.close(os.open({os.ttyname(own)!r}, os.O_RDWR))\n"
        "from larbinpy.login.file import read\n"
        f"print(read({path!r}), read({path!r})[0].token)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    ) as process:
        shown = b""
        while not shown.endswith(b"token: "):
            shown += os.read(main, 100)
        os.write(main, f"{SECRET}\n".encode())
        said, _ = process.communicate(timeout=60)
        shown += os.read(main, 100)
    os.close(main)
    os.close(own)
    assert said.endswith(f"{SECRET}\n")
    assert said.count(SECRET) == 1
    assert shown == b"https://shop.example: token: \r\n"


def test_the_login_pages_need_no_secret(write: Write) -> None:
    """As far as the file shows them: something else may be wrong with a table."""
    basic = 'site = "http://b.test"\nmethod = "basic"\nuser = 1\npassword = "ask"\n'
    tables = (f'{SITE}{FORM}password = "env:UNSET"\n', basic, 'site = "x y"\n', "")
    path = write("".join(f"[[login]]\n{table}" for table in tables), mode=0o644)
    assert login_pages(path) == {
        "https://shop.example": "https://shop.example/login",
        "http://b.test": "",
    }
    assert login_pages(write("login = [1]")) == {}
    with pytest.raises(ConfigError, match="not valid TOML"):
        login_pages(write("[[login]"))
    with pytest.raises(ConfigError, match=r"none.toml: cannot be read"):
        login_pages("none.toml")


def test_secrets_of_a_container_need_no_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that this user does not own, or cannot change: nobody can make them 0600."""
    path = tmp_path / "secret"
    path.write_text("pw")
    path.chmod(0o444)
    own = path.stat()
    with pytest.raises(ValueError, match="chmod 600"):
        check_private(path, own)
    roots = os.stat_result([value + (place == 4) for place, value in enumerate(own[:10])])
    check_private(path, roots)
    monkeypatch.setattr(os, "statvfs", lambda _path: SimpleNamespace(f_flag=os.ST_RDONLY))
    check_private(path, own)
