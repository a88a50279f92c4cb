"""Sites that want a header with each request: Basic, Digest, a bearer token, OAuth 1."""

import base64
import hashlib
import hmac
import re
import time
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from tests.support.doors.door import USER, Door, Refusal, unauthorized
from tests.support.doors.server import Heard


@dataclass
class HeaderDoor(Door):
    """The base: a session that does not end, for those who send the right header."""

    refusal: Refusal = unauthorized

    def __post_init__(self) -> None:
        super().__post_init__()
        self.sessions["all"] = self.begin("all")

    def key_of(self, heard: Heard) -> str | None:
        scheme, _, rest = heard.headers.get("authorization", "").partition(" ")
        return "all" if self.allows(heard, scheme.lower(), rest.strip()) else None

    def allows(self, heard: Heard, scheme: str, rest: str) -> bool:
        """Whether an Authorization header is right."""
        raise NotImplementedError


@dataclass
class BasicDoor(HeaderDoor):
    """RFC 7617; the user and the password are in UTF-8."""

    user: str = USER

    def __post_init__(self) -> None:
        super().__post_init__()
        self._value = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        self.secrets.add(self._value)

    def challenges(self) -> tuple[str, ...]:
        return ('WWW-Authenticate: Basic realm="The archive", charset="UTF-8"',)

    def keys(self) -> dict[str, str]:
        return {"method": "basic", "user": self.user, "password": self.password}

    def allows(self, heard: Heard, scheme: str, rest: str) -> bool:
        return scheme == "basic" and rest == self._value


@dataclass
class BearerDoor(HeaderDoor):
    """RFC 6750."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.bearer = self.token("bearer-")

    def challenges(self) -> tuple[str, ...]:
        return ('WWW-Authenticate: Bearer realm="The archive"',)

    def keys(self) -> dict[str, str]:
        return {"method": "bearer", "token": self.bearer}

    def allows(self, heard: Heard, scheme: str, rest: str) -> bool:
        return scheme == "bearer" and rest == self.bearer


_PARAMETER = re.compile(r'(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')


def parameters(rest: str) -> dict[str, str]:
    """The parameters of an Authorization header."""
    return {
        match[1]: re.sub(r"\\(.)", r"\1", match[2]) if match[3] is None else match[3]
        for match in _PARAMETER.finditer(rest)
    }


@dataclass
class DigestDoor(HeaderDoor):
    """RFC 7616; a nonce is good for `uses` requests, then the reply says that it is stale."""

    qop: str = "auth"
    algorithm: str = "MD5"
    uses: int = 25
    user: str = "reader"
    #: Nonces, with the last count of each.
    nonces: dict[str, int] = field(default_factory=dict)
    stale: int = 0
    #: Reasons of refusals other than a stale nonce.
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._stale = False

    @property
    def expiries(self) -> int:
        return self.stale

    def challenges(self) -> tuple[str, ...]:
        nonce = f"{self._random.getrandbits(96):024x}"
        self.nonces[nonce] = 0
        stale = ", stale=true" if self._stale else ""
        self._stale = False
        return (
            f'WWW-Authenticate: Digest realm="The \\"archive\\"", qop="{self.qop}", '
            f'algorithm={self.algorithm}, nonce="{nonce}", opaque="op{nonce[:5]}"{stale}',
        )

    def keys(self) -> dict[str, str]:
        return {"method": "digest", "user": self.user, "password": self.password}

    def allows(self, heard: Heard, scheme: str, rest: str) -> bool:
        if scheme != "digest":
            return False
        given = parameters(rest)
        reason = self._fault(heard, given)
        if reason:
            self.wrong.append(reason)
            return False
        count = int(given["nc"], 16)
        if count > self.uses:
            self.stale += 1
            self._stale = True
            return False
        self.nonces[given["nonce"]] = count
        return True

    def _fault(self, heard: Heard, given: dict[str, str]) -> str:
        """The reason why an answer to a challenge is wrong; empty if it is right."""
        missing = {"username", "realm", "nonce", "uri", "response", "qop", "nc", "cnonce"}
        missing -= set(given)
        if missing:
            return f"lacks {missing}"
        last = self.nonces.get(given["nonce"])
        if last is None or int(given["nc"], 16) <= last:
            return f"nonce or count {given['nc']} after {last}"
        if (given["username"], given["uri"]) != (self.user, heard.target):
            return f"user or URI {given['uri']}"
        if given["qop"] != self.qop or given.get("opaque") != f"op{given['nonce'][:5]}":
            return "qop or opaque"
        if len(given["nc"]) != 8 or given.get("algorithm", "MD5") != self.algorithm:
            return "form of nc, or algorithm"
        return "" if self._response(heard, given) == given["response"] else "response"

    def _response(self, heard: Heard, given: dict[str, str]) -> str:
        function = {"MD5": hashlib.md5, "SHA-256": hashlib.sha256}[self.algorithm]

        def digest(text: str | bytes) -> str:
            return function(text.encode() if isinstance(text, str) else text).hexdigest()

        request = f"{heard.method}:{given['uri']}"
        if self.qop == "auth-int":
            request += f":{digest(heard.body)}"
        names = ("nonce", "nc", "cnonce", "qop")
        middle = ":".join(given[name] for name in names)
        first = digest(f'{self.user}:The "archive":{self.password}')
        return digest(f"{first}:{middle}:{digest(request)}")


def _escape(text: str) -> str:
    return quote(text, safe="-._~")


@dataclass
class OAuth1Door(HeaderDoor):
    """RFC 5849 with HMAC-SHA1; a nonce is good once, a time for five minutes."""

    consumer: str = "consumer-1"
    used: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.consumer_secret = self.token("cs&")
        self.user_token = self.token("ut")
        self.user_secret = self.token("us%")

    @property
    def paths(self) -> list[str]:
        # A query with a space, an escape and a name that occurs twice: it is signed, too.
        return [*super().paths, "/p/3?b5=%3D%253D&a3=a&c%40=&a2=r%20b&a3=2+q"]

    def _page(self, path: str) -> str:
        plain, _, query = path.partition("?")
        page = super()._page(plain)
        asked = self.paths[-1].replace("&", "&amp;")
        return page + (f"<li>{query}" if query else f'<li><a href="{asked}">query</a>')

    def challenges(self) -> tuple[str, ...]:
        return ('WWW-Authenticate: OAuth realm="The archive"',)

    def keys(self) -> dict[str, str]:
        keys = {"method": "oauth1", "clientId": self.consumer, "token": self.user_token}
        return keys | {"clientSecret": self.consumer_secret, "tokenSecret": self.user_secret}

    def allows(self, heard: Heard, scheme: str, rest: str) -> bool:
        if scheme != "oauth":
            return False
        given = {name: unquote(value) for name, value in parameters(rest).items()}
        reason = self._fault(heard, given)
        if reason:
            self.wrong.append(reason)
        else:
            self.used.add(given["oauth_nonce"])
        return not reason

    def _fault(self, heard: Heard, given: dict[str, str]) -> str:
        if given.get("oauth_consumer_key") != self.consumer:
            return "consumer"
        if given.get("oauth_token") != self.user_token:
            return "token"
        if given.get("oauth_signature_method") != "HMAC-SHA1":
            return "method"
        if abs(int(given.get("oauth_timestamp", "0")) - time.time()) > 300:
            return "timestamp"
        nonce = given.get("oauth_nonce", "")
        if not nonce or nonce in self.used:
            return "nonce"
        signature = given.pop("oauth_signature", "")
        given.pop("realm", None)
        return "" if self._signature(heard, given) == signature else "signature"

    def _signature(self, heard: Heard, given: dict[str, str]) -> str:
        """Section 3.4 of RFC 5849."""
        parts = urlsplit(heard.target)
        pairs = [*given.items(), *parse_qsl(parts.query, keep_blank_values=True)]
        encoded = sorted((_escape(name), _escape(value)) for name, value in pairs)
        normal = "&".join(f"{name}={value}" for name, value in encoded)
        base = "&".join([heard.method, _escape(self.server.url(parts.path)), _escape(normal)])
        key = f"{_escape(self.consumer_secret)}&{_escape(self.user_secret)}"
        return base64.b64encode(hmac.digest(key.encode(), base.encode(), "sha1")).decode()
