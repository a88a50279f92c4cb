"""Reads loginFile: TOML, with a table ``[[login]]`` for each site; notes all that is wrong with it.

An error names the file, the number of the table, its site and the key, and shows no secret.
"""

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from larbinpy.config import ConfigError
from larbinpy.config.kinds import COOKIES
from larbinpy.login import spec
from larbinpy.login.judge import marker
from larbinpy.login.spec import Login, Method, MethodTrait
from larbinpy.url import fault, has_control, host_of, login_of, masked_typed, resolve, site_of

#: Key -> field of `Login`.
KEYS = {
    "site": "site",
    "method": "method",
    "page": "page",
    "also": "also",
    "user": "user",
    "password": "password",
    "fields": "fields",
    "loggedIn": "logged_in",
    "loggedOut": "logged_out",
    "check": "check",
    "token": "token",
    "tokenSecret": "token_secret",
    "clientId": "client_id",
    "clientSecret": "client_secret",
    "grant": "grant",
    "tokenUrl": "token_url",
    "deviceUrl": "device_url",
    "scope": "scope",
    "refreshToken": "refresh_token",
    "file": "file",
}
_URLS = frozenset({"page", "check", "tokenUrl", "deviceUrl"})
_SECRETS = frozenset({"password", "token", "tokenSecret", "clientSecret", "refreshToken"})
_ALWAYS = frozenset({"site", "method", "loggedIn", "loggedOut", "check"})
#: Grant of OAuth 2 -> the key that it needs.
_GRANTS = {
    "client_credentials": "clientSecret",
    "refresh_token": "refreshToken",
    "device_code": "deviceUrl",
}


@dataclass(frozen=True)
class Entry:
    """A login, and where its secrets are."""

    login: Login
    #: Key -> place of its secret, for messages. Those that are asked for are still empty.
    places: Mapping[str, str]


@dataclass
class Table:
    """A table that is being read; `entry` or `door` is called once."""

    #: Key -> value, of any type.
    values: Any = field(repr=False)
    #: Paths are relative to it.
    folder: Path
    environ: Mapping[str, str] = field(repr=False)
    #: Empty until it is known.
    site: str = ""
    method: Method | None = None
    #: All that is wrong with it: a key, or nothing, and the reason.
    wrong: list[tuple[str, str]] = field(default_factory=list)
    #: Whether a secret itself stands in it.
    has_secret: bool = False
    _places: dict[str, str] = field(default_factory=dict)

    def entry(self) -> Entry | None:
        """The login; None if something is wrong."""
        if not isinstance(self.values, dict):
            self._complain("", "not a table; write [[login]]")
            return None
        texts = self._texts()
        for key in ("site", "method"):
            if key not in self.values:
                self._complain(key, "missing")
        self.site = self._parsed("site", texts, self._site)
        name = self._parsed("method", texts, _method)
        method = self.method = Method(name) if name else None
        if method is not None:
            self._check_keys(method, texts.get("grant", ""))
        found: dict[str, Any] = {
            KEYS[key]: self._parsed(key, texts, self._parser(key))
            for key in texts
            if key not in ("site", "method")
        }
        found["also"] = self._also()
        found["fields"] = self._fields()
        if self._is_a(MethodTrait.NETRC) or texts.get("password") == spec.NETRC:
            found |= self._netrc(texts)
        if self.wrong or method is None:
            return None
        login = Login(self.site, method, **found)
        self._check_header(login)
        return None if self.wrong else Entry(login, self._places)

    def door(self) -> tuple[str, str]:
        """The site and the address of its login page, empty if they are not known.

        Nothing else of the table is read, and no secret.
        """
        texts = self._texts() if isinstance(self.values, dict) else {}
        self.site = self._parsed("site", texts, self._site)
        return self.site, self._parsed("page", texts, self._parser("page"))

    def _is_a(self, trait: MethodTrait) -> bool:
        return self.method is not None and self.method.is_a(trait)

    def _complain(self, key: str, reason: str) -> None:
        self.wrong.append((key, reason))

    def _texts(self) -> dict[str, str]:
        """The values of the known keys whose value is a text."""
        texts = {}
        for key, value in self.values.items():
            if key not in KEYS:
                near = get_close_matches(_camel(key), KEYS, 1)
                hint = f"; the nearest known one is {near[0]}" if near else ""
                self._complain(key[:60], f"unknown key{hint}")
            elif key in ("also", "fields"):
                continue
            elif not isinstance(value, str):
                self._complain(key, "not a text; write it in quotes")
            elif not value and key != "password":
                self._complain(key, "it is empty")
            else:
                texts[key] = value
        return texts

    def _parsed(self, key: str, texts: Mapping[str, str], parse: Callable[[str], str]) -> str:
        """The value of a key; empty if it is missing, or wrong, which is noted."""
        try:
            return parse(texts[key]) if key in texts else ""
        except ValueError as error:
            self._complain(key, str(error))
            return ""

    def _check_keys(self, method: Method, grant: str) -> None:
        """Note the keys that the method lacks, and those that it does not use."""
        name, needed = f"method {method.value}", set(method.needed)
        allowed = _ALWAYS | {*method.needed, *method.allowed}
        if "grant" in needed and grant in _GRANTS:
            name = f"grant {grant}"
            needed.add(_GRANTS[grant])
            # A client may have a secret, whatever the grant.
            allowed -= {*_GRANTS.values()} - {_GRANTS[grant], "clientSecret"}
        if "tokenSecret" in allowed and {"token", "tokenSecret"} & self.values.keys():
            needed |= {"token", "tokenSecret"}
        for key in KEYS:
            if key in self.values and key not in allowed:
                self._complain(key, f"{name} does not use it")
            elif key in needed and key not in self.values:
                self._complain(key, f"missing; {name} needs it")

    def _parser(self, key: str) -> Callable[[str], str]:
        if key in _SECRETS:
            return lambda text: self._secret(key, text)
        if key in _URLS:
            return lambda text: self._url(key, text)
        if key in ("user", "clientId"):
            return lambda text: self._name(key, text)
        parsers = {"loggedIn": _marker, "loggedOut": _marker, "grant": _grant, "file": self._file}
        return parsers.get(key, spec.checked)

    def _site(self, text: str) -> str:
        href = _href(text)
        site = site_of(href)
        if href != f"{site}/":
            raise ValueError(f"it has a path; write {site}")
        return site

    def _also(self) -> tuple[str, ...]:
        """Further origins to which a form may be sent."""
        given = self.values.get("also", [])
        if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
            self._complain("also", 'not a list of origins; write also = ["https://id.example"]')
            return ()
        try:
            return tuple(self._as_safe(self._site(text)) for text in given)
        except ValueError as error:
            self._complain("also", str(error))
            return ()

    def _url(self, key: str, text: str) -> str:
        """An absolute URL; `text` may be relative to the site."""
        if not self.site:
            return ""
        href = _href(text, f"{self.site}/")
        if key == "check" and site_of(href) != self.site:
            raise ValueError("it is not on the site")
        return self._as_safe(href)

    def _as_safe(self, href: str) -> str:
        if self.site.startswith("https:") and not href.startswith("https:"):
            raise ValueError("the site has https, so secrets are not sent by http")
        return href

    def _name(self, key: str, text: str) -> str:
        """A name that a variable or a file may have, too; it is no secret."""
        if not spec.is_named(text):
            return spec.checked(text)
        self._places[key] = spec.described(text)
        return spec.named(text, self.folder, self.environ)

    def _secret(self, key: str, text: str) -> str:
        self._places[key] = spec.described(text)
        if text == spec.ASK:
            return ""
        if text == spec.NETRC:
            if key != "password":
                raise ValueError("a netrc has passwords only; write env:NAME or file:PATH")
            return ""
        self.has_secret |= spec.is_plain(text) and text != ""
        return spec.named(text, self.folder, self.environ)

    def _fields(self) -> dict[str, str]:
        """Further fields of a form. Any of them may be a secret, such as a PIN."""
        found: dict[str, str] = {}
        given = self.values.get("fields", {})
        if not isinstance(given, dict):
            self._complain("fields", 'not a table; write fields = { NAME = "VALUE" }')
            return found
        for name, text in given.items():
            key = f"fields.{name}"
            try:
                if not isinstance(text, str):
                    raise ValueError("not a text; write it in quotes")
                found[spec.checked(name)] = self._secret(key, text)
            except ValueError as error:
                self._complain(key[:60], str(error))
        return found

    def _file(self, text: str) -> str:
        path = str(spec.located(text, self.folder))
        if self._is_a(MethodTrait.COOKIES):
            COOKIES.parse(path)
            spec.check_private(path, Path(path).stat())
        return path

    def _netrc(self, texts: Mapping[str, str]) -> dict[str, str]:
        """The user and the password in a netrc; a user in the table must be the same."""
        if not self.site:
            return {}
        key = next(key for key in ("file", "password", "method") if key in texts)
        user = texts.get("user", "")
        try:
            host = host_of(f"{self.site}/")
            found = spec.netrc_login(host, texts.get("file", ""), self.folder, self.environ)
            if user and spec.named(user, self.folder, self.environ) != found[0]:
                raise ValueError(f"the netrc has another user for {host}")
        except ValueError as error:
            self._complain(key, str(error))
            return {}
        self._places["password"] = spec.described(spec.NETRC)
        return {"user": found[0], "password": found[1]}

    def _check_header(self, login: Login) -> None:
        """Note values that the header Authorization cannot carry."""
        if login.method.auth is not None and ":" in login.user:
            self._complain("user", "a colon would end it (RFC 7617, section 2)")
        token = login.token if "token" in login.method.needed else ""
        if not token.isascii() or " " in token:
            self._complain("token", "it has characters that no bearer token has (RFC 6750)")


def _href(text: str, base: str | None = None) -> str:
    if login_of(text):
        raise ValueError("it has a user or a password; write them as keys of their own")
    href = None if has_control(text) else resolve(text, base)
    if href is None:
        why = fault(text) or "not a URL; is http:// or https:// missing?"
        raise ValueError(f"{masked_typed(text)[:80]!r} is {why}")
    return href


def _method(text: str) -> str:
    return _one_of(text, [each.value for each in Method])


def _grant(text: str) -> str:
    return _one_of(text, list(_GRANTS))


def _one_of(text: str, names: list[str]) -> str:
    if text not in names:
        raise ValueError(f"{text[:40]!r} is not one of {', '.join(names)}")
    return text


def _marker(text: str) -> str:
    marker(text)
    return text


def _camel(key: str) -> str:
    """`key`, if it has underscores or hyphens, as keys are written here."""
    first, *rest = re.split("[_-]", key[:60])
    return first + "".join(word.capitalize() for word in rest)


#: Room for some thousand logins (bytes).
_MOST = 1 << 20
#: The end of an error of tomllib.
_PLACE = re.compile(r" \(at line (\d+), column \d+\)$")


def read(
    path: str,
    environ: Mapping[str, str] = os.environ,
    ask: spec.Prompt = spec.terminal,
    *,
    only: str = "",
) -> tuple[Login, ...]:
    """The logins of a file. Raises ConfigError with the first thing that is wrong.

    `only` is the key of a site: nothing is asked for the logins of others, which are left out. The
    process leaves no core file from here on.
    """
    spec.leave_no_core()
    entries, wrong = examine(path, environ)
    if wrong:
        raise wrong[0]
    return tuple(
        _asked(entry, f"{path}: login {number} ({entry.login.site})", ask)
        for number, entry in enumerate(entries, 1)
        if only in ("", entry.login.site)
    )


def examine(
    path: str, environ: Mapping[str, str] = os.environ
) -> tuple[list[Entry], list[ConfigError]]:
    """The logins of a file, and all that is wrong with it. Nothing is asked for."""
    try:
        data, status = _data(path)
        tables, wrong = _tables(path, spec.text_of(data, path))
    except ValueError as error:
        return [], [ConfigError(str(error))]
    entries, sites = [], dict[str, int]()
    has_secret = False
    for number, values in enumerate(tables, 1):
        table = Table(values, Path(path).parent, environ)
        entry = table.entry()
        entries += [entry] if entry else []
        has_secret |= table.has_secret
        if table.site and sites.setdefault(table.site, number) != number:
            table.wrong.append(("site", f"login {sites[table.site]} is for the same site"))
        where = f"{path}: login {number}" + (f" ({table.site})" if table.site else "")
        wrong += [
            f"{where}: {key}: {reason}" if key else f"{where}: {reason}"
            for key, reason in table.wrong
        ]
    if has_secret:
        try:
            spec.check_private(path, status)
        except ValueError as error:
            wrong.insert(0, str(error))
    return entries, [ConfigError(line) for line in wrong]


def login_pages(path: str) -> dict[str, str]:
    """The address of the login page of each site in a file, empty for none, by site.

    No secret is needed. Raises ConfigError if the file cannot be read; an error in a table does
    not matter.
    """
    spec.leave_no_core()
    try:
        data, _ = _data(path)
        tables, _ = _tables(path, spec.text_of(data, path))
    except ValueError as error:
        raise ConfigError(str(error)) from None
    doors = (Table(values, Path(path).parent, {}).door() for values in tables)
    return {site: page for site, page in doors if site}


def explained(entry: Entry) -> str:
    """A login in one line, without its secrets."""
    login, places = entry.login, entry.places
    method = login.method.value + (f" ({login.grant})" if login.grant else "")
    at = login.page or login.token_url
    parts = [f"{login.site}: {method} at {at}" if at else f"{login.site}: {method}"]
    parts += [f"form also sent to {' and '.join(login.also)}"] if login.also else []
    shown = {"user": login.user, "clientId": login.client_id}
    parts += [
        f"{key} {places.get(key, value)}" for key, value in shown.items() if value or key in places
    ]
    parts += [f"{key} {place}" for key, place in places.items() if key not in shown]
    parts += [f"file {login.file}"] if login.file else []
    parts += [f"logged in with {login.logged_in!r}"] if login.logged_in else []
    parts += [f"logged out with {login.logged_out!r}"] if login.logged_out else []
    parts += [] if login.logged_in or login.logged_out else ["no marker"]
    parts += [f"checked at {login.check}"] if login.check else []
    return ", ".join(parts)


def _data(path: str) -> tuple[bytes, os.stat_result]:
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST + 1)
            status = os.fstat(file.fileno())
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > _MOST:
        raise ValueError(f"{path}: larger than 1 MB, so not a file of logins")
    return data, status


def _tables(path: str, text: str) -> tuple[list[Any], list[str]]:
    """The values of the tables, and the errors beside them; ValueError if there are none."""
    document: dict[str, Any] = {}
    reason = ""
    try:
        document = tomllib.loads(text)
    except RecursionError:
        reason = f"{path}: too deeply nested"
    except ValueError as error:
        place = _PLACE.search(str(error))
        line = f":{place[1]}" if place else ""
        reason = f"{path}{line}: not valid TOML: {_PLACE.sub('', str(error))}"
    # Raised here, so that it does not have the error of tomllib, which may have the text.
    if reason:
        raise ValueError(reason)
    tables = document.pop("login", [])
    if not isinstance(tables, list):
        raise ValueError(f"{path}: login is one table; write [[login]]")
    wrong = [
        f"{path}: {key[:60]}: unknown key; each login is a table [[login]]" for key in document
    ]
    if not tables and not wrong:
        raise ValueError(f"{path}: no login in it; each is a table [[login]]")
    return tables, wrong


def _asked(entry: Entry, where: str, ask: spec.Prompt) -> Login:
    """The login with the secrets for which the user is asked."""
    login = entry.login
    for key, place in entry.places.items():
        if place != spec.described(spec.ASK):
            continue
        try:
            value = spec.checked(ask(f"{login.site}: {key}: "))
            if not value:
                raise ValueError("nothing was typed")
        except ValueError as error:
            raise ConfigError(f"{where}: {key}: {error}") from None
        name = key.partition(".")[2]
        fields = {"fields": {**login.fields, name: value}} if name else {KEYS[key]: value}
        login = replace(login, **fields)
    return login
