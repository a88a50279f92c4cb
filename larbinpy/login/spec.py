"""A login as loginFile has it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Method(Enum):
    """A way to log in; the values are those of `method` in loginFile."""

    FORM = "form"
    BASIC = "basic"
    DIGEST = "digest"
    NEGOTIATE = "negotiate"
    BEARER = "bearer"
    OAUTH2 = "oauth2"
    OAUTH1 = "oauth1"
    COOKIES = "cookies"
    NETRC = "netrc"
    HOOK = "hook"


@dataclass(frozen=True)
class Login:
    """A table of loginFile, whose secrets are resolved. The repr has none."""

    #: The site key: scheme, host and port, as `larbinpy.url.site_of` writes it.
    site: str
    method: Method
    #: Absolute URL of the page with the form (form, hook); empty for none.
    page: str = ""
    user: str = ""
    #: Further fields of the form, by name.
    fields: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: Texts, or regular expressions between slashes, that only logged-in pages, or only logged-out
    #: ones, have; empty for none.
    logged_in: str = ""
    logged_out: str = ""
    #: Absolute URL of a page that only those who are logged in get; empty for none.
    check: str = ""
    password: str = field(default="", repr=False)
    #: Bearer token (bearer), or that of OAuth 1 with its secret.
    token: str = field(default="", repr=False)
    token_secret: str = field(default="", repr=False)
    #: OAuth: the client, in OAuth 1 called consumer.
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    #: OAuth 2: "client_credentials", "refresh_token" or "device_code".
    grant: str = ""
    token_url: str = ""
    device_url: str = ""
    scope: str = ""
    refresh_token: str = field(default="", repr=False)
    #: A cookies.txt (cookies).
    file: str = ""
    #: Further origins, as site keys, to which a form may be sent (form).
    also: tuple[str, ...] = ()
