"""The kinds of values that requests are made of: headers, proxies, certificates, logins.

Credentials are masked where values are written, so these texts are not parsed as the same value.
"""

import os
import re
from codecs import BOM_UTF8
from typing import NamedTuple
from urllib.parse import quote as escaped
from urllib.parse import unquote

from larbinpy.config.host_pattern import HostPattern, host_name
from larbinpy.config.kinds import (
    ValueKind,
    header_text,
    ip,
    plain,
    port_number,
    quote,
    readable_file,
)
from larbinpy.url import (
    MASK,
    SECRET_HEADER,
    fault,
    has_control,
    login_of,
    masked,
    masked_typed,
    typed,
)

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
#: Headers that frame a message, belong to one connection, or that the crawler decides.
_OWN_HEADERS = {
    **dict.fromkeys(
        ("host", "content-length", "transfer-encoding", "te", "trailer", "connection"),
        "it frames the request",
    ),
    **dict.fromkeys(
        ("keep-alive", "proxy-connection", "upgrade", "expect", "http2-settings"),
        "it belongs to the connection",
    ),
    **dict.fromkeys(
        ("if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range"),
        "the crawler decides it for each page",
    ),
    "range": "the crawler reads whole pages",
    "accept-encoding": "the crawler offers what it can decode",
    "proxy-authorization": "write proxy http://USER:PASSWORD@HOST PORT instead",
    "user-agent": "write UserAgent instead",
    "from": "write From instead",
    "accept-language": "write acceptLanguage instead",
}
_SCHEMES = ("http", "https", "socks5", "socks5h")
_CERTIFICATE = b"-----BEGIN CERTIFICATE-----"
_KEY = re.compile(rb"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----")
_ENCRYPTED_KEY = re.compile(rb"-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type:.*ENCRYPTED", re.M)
#: Bytes read of a file of cookies.
_MOST_COOKIES = 10 << 20
#: Bytes read of a PEM file; chains of certificates have some kilobytes.
_MOST_PEM = 1 << 20


class Proxy(NamedTuple):
    """A proxy: its name or address, and ``USER:PASSWORD`` or nothing."""

    host: str
    port: int
    #: http, https, socks5 or socks5h; the last two mean the same.
    scheme: str = "http"
    login: str = ""

    def __repr__(self) -> str:
        return f"<Proxy {show_proxy(self)}>"


def _header_line(text: str) -> str:
    """``Name: value``, in that spelling."""
    name, colon, value = text.partition(":")
    name = name.strip()
    if not colon or not _TOKEN.fullmatch(name):
        # It may hold a secret.
        raise ValueError(f'{MASK!r} is not of the form "Name: value"')
    try:
        value = header_text(value).strip()
    except ValueError as error:
        # The error quotes it.
        reason = str(error).replace(repr(value[:40]), "the value")
        raise ValueError(f"{name}: {reason}") from None
    if not value:
        raise ValueError(f"{name} has no value")
    why = _OWN_HEADERS.get(name.lower())
    if why is not None:
        raise ValueError(f"{name} cannot be set: {why}")
    return f"{name}: {value}"


def _show_header(line: str) -> str:
    name = line.partition(":")[0]
    return f"{name}: {MASK}" if SECRET_HEADER.search(name) else line


def _proxy(name: str, port: str) -> Proxy:
    scheme, separator, rest = name.partition("://")
    scheme, rest = (scheme.lower(), rest) if separator else ("http", name)
    if scheme not in _SCHEMES:
        shown = scheme[:20] if scheme.isalnum() else MASK
        raise ValueError(f"{shown!r} is not one of {', '.join(_SCHEMES)}")
    login, _, host = rest.rpartition("@")
    known = host_name(host.removesuffix("/"))
    if known is None:
        raise ValueError(f"{masked_typed(name)[:80]!r} is not a host name")
    login = unquote(login)
    if has_control(login):
        raise ValueError("the user name or password has a control character")
    return Proxy(known, port_number(port, 1), scheme, login)


def show_proxy(proxy: Proxy | None) -> str:
    """HOST PORT; the scheme unless it is http, and credentials masked."""
    if proxy is None:
        return ""
    host, port, scheme, login = proxy
    shown = f"{MASK}@" if login else ""
    return f"{scheme}://{shown}{host} {port}" if login or scheme != "http" else f"{host} {port}"


def _spell_proxy(given: Proxy | None) -> str:
    """The text that is parsed as a proxy, or as a tuple of its first values."""
    host, port, scheme, login = Proxy(*given) if given else Proxy("", 0)
    return (
        f"{scheme}://{escaped(login, safe=':')}@{host} {port}"
        if login
        else f"{scheme}://{host} {port}"
    )


def _seed(text: str) -> str:
    """A URL to start from; its user name and password are kept."""
    url = typed(text)
    if url is None:
        raise ValueError(f"{masked_typed(text)[:80]!r} is {fault(text)}")
    login = login_of(text)
    return url.replace("://", f"://{login}@", 1) if login else url


def _pem(path: str) -> bytes:
    with open(path, "rb") as file:
        data = file.read(_MOST_PEM)
    if _ENCRYPTED_KEY.search(data):
        raise ValueError(
            f"the key in {path!r} is protected by a passphrase; write a copy without one: "
            f"openssl pkey -in {path} -out NEW"
        )
    return data


def _client_cert(text: str) -> str:
    path = readable_file(text)
    if _CERTIFICATE not in _pem(path):
        raise ValueError(f"{path!r} has no certificate in PEM format")
    return path


def _client_key(text: str) -> str:
    path = readable_file(text)
    if not _KEY.search(_pem(path)):
        raise ValueError(f"{path!r} has no private key in PEM format")
    return path


def check_certificate(cert: str | None, key: str | None) -> None:
    """Raise ValueError unless there are both a certificate and its key, or neither."""
    if key and not cert:
        raise ValueError("clientKey without clientCert; set both")
    if cert and not key and not _KEY.search(_pem(cert)):
        raise ValueError(f"clientCert {cert}: the file has no private key; set clientKey")
    if cert:
        import ssl  # here, since modules that decide load the settings, and no socket code

        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(cert, key)
        except (OSError, ssl.SSLError):
            raise ValueError(f"clientKey {key or cert}: not the key of clientCert {cert}") from None


def _cookie_file(text: str) -> str:
    path = readable_file(text)
    with open(path, "rb") as file:
        data = file.read(_MOST_COOKIES).removeprefix(BOM_UTF8)
    for number, line in enumerate(data.split(b"\n"), 1):
        cookie = line.strip(b"\r").removeprefix(b"#HttpOnly_")
        if cookie.strip() and cookie[:1] != b"#" and cookie.count(b"\t") < 5:
            raise ValueError(
                f"{path}:{number}: not a line of a cookies.txt: seven fields, separated by tabs; "
                "export the cookies in Netscape's format"
            )
    return path


SEED: ValueKind[str] = ValueKind("URL", _seed, masked)
HEADER_LINE: ValueKind[str] = ValueKind(
    '"NAME: VALUE"', _header_line, lambda line: quote(_show_header(line)), spaced=True
)
PROXY: ValueKind[Proxy | None] = ValueKind(
    "HOST PORT", _proxy, show_proxy, words=2, spell=_spell_proxy
)
HOSTS: ValueKind[HostPattern] = ValueKind(
    "PATTERN... end", HostPattern.parse, HostPattern.show, closed=True
)


def _new_file(text: str) -> str:
    """The path of a file that can be written; it is replaced."""
    path = os.path.expanduser(plain(text))
    folder = os.path.dirname(path) or "."
    if not os.path.basename(path) or os.path.isdir(path) or not os.access(folder, os.W_OK):
        raise ValueError(f"{path!r} cannot be written")
    return path


NEW_FILE: ValueKind[str | None] = ValueKind("PATH", _new_file, lambda path: quote(path or ""))
COOKIES: ValueKind[str | None] = ValueKind("PATH", _cookie_file, lambda path: quote(path or ""))
CLIENT_CERT: ValueKind[str | None] = ValueKind("PATH", _client_cert, lambda path: quote(path or ""))
CLIENT_KEY: ValueKind[str | None] = ValueKind("PATH", _client_key, lambda path: quote(path or ""))
SOURCE: ValueKind[str] = ValueKind("IP", ip, str)
