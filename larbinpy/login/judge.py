"""Judges whether a page is one of a session, and which links end one.

`marker` reads a text, or a regular expression between slashes, that tells pages of a session apart.
`LoginPages` are the addresses of a site's login pages: the one in loginFile, and those that it
redirects to.

`ends_session` tells links that end a session by their words, in the languages of most web pages. A
part of the address (a folder, a file, a value of the query) or the text of the link must consist of
such words and of fillers: ``/user/logout.php`` and "Log me out" end a session,
``/logout-bug-report`` and "How to log out" do not.
"""

import re
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from enum import Enum, auto
from functools import lru_cache
from html import unescape
from http import HTTPStatus
from itertools import islice, pairwise
from urllib.parse import parse_qsl, unquote_plus

from larbinpy.login.exchange import next_of
from larbinpy.login.spec import Login
from larbinpy.page import Page
from larbinpy.parse import meta_refresh, sniff
from larbinpy.parse.body import is_html
from larbinpy.parse.charset import BodyText, document, named, undeclared
from larbinpy.parse.html import base_url
from larbinpy.url import resolve, split

# ruff: noqa: RUF001 - letters of other alphabets

#: Phrases for addresses and texts; those of a line are of one or a few languages.
PHRASES = """
logout, logoff, signout, signoff, log out, log off, sign out, sign off, end session, endsession
abmelden, abmeldung, ausloggen, jetzt abmelden, sitzung beenden
déconnexion, se déconnecter, déconnecter, me déconnecter, déconnectez vous, fermer la session
cerrar sesión, cerrar la sesión, cierre de sesión, finalizar sesión, desconectarse, desconectar
terminar sessão, encerrar sessão, finalizar sessão, fechar sessão, fazer logout, pechar sesión
disconnetti, disconnettiti, disconnessione, scollegati, chiudi sessione
tanca la sessió, tancar sessió, tanca sessió, saioa itxi
uitloggen, afmelden, log uit
logga ut, utloggning, logg ut, logg av, log ud, logud, log af, útskrá
kirjaudu ulos, uloskirjautuminen, logi välja
wyloguj, wyloguj się, wylogowanie, wylogować
odhlásit, odhlásit se, odhlášení, odhlásiť, odhlásiť sa, odhlásenie
kijelentkezés, kijelentkezik
deconectare, deconectează te, delogare
odjava, odjavi se, odjavite se, одјава, одјави се
αποσύνδεση
oturumu kapat, çıkış yap, cikis yap, çıkış yapın, güvenli çıkış, guvenli cikis
выйти из системы, выйти из аккаунта, вийти з системи, завершить сеанс
atsijungti, izrakstīties
تسجيل الخروج, تسجيل خروج, الخروج من الحساب, خروج از حساب, خروج از سیستم, لاگ آؤٹ
התנתק, התנתקות, להתנתק
लॉग आउट, लॉगआउट, साइन आउट, লগ আউট, লগআউট
ออกจากระบบ, ลงชื่อออก
đăng xuất, dang xuat, log keluar
退出登录, 退出登錄, 退出登陆, 安全退出, 退出系统, 退出账号, 注销登录, 登出, 登出系统
ログアウト, ログアウトする, サインアウト, ログオフ
로그아웃, 로그 아웃, 사인아웃
"""

#: Words that mean other things as well: they count if they are a whole text, or a whole part of an
#: address in ASCII. Articles have addresses such as /wiki/Выход.
AMBIGUOUS = """
sair, salir, esci, surt, keluar, ieșire, iesire, çıkış, cikis, kilépés, iziet, thoát
выход, выйти, вихід, вийти, изход, излез, излаз, έξοδος
خروج, الخروج, יציאה, 退出, 注销, 註銷
"""

#: Words beside the phrases, and extensions of files.
FILLERS = """
user users member members customer client admin account accounts profile session sessions auth
sso cas saml oidc openid oauth secure security spring acegi j special spezial page index action
do now here click please me my your the this of from to and all everywhere devices site sites
php php5 html htm xhtml asp aspx ashx jsp jspx jsf cgi pl cfm json xml
"""

#: Names in a query whose values are what people look for, or addresses to go to later.
NOT_ASKED = """
q query search s keyword keywords term text words tag next return returnto return_to returnurl
return_url redirect redirect_to redirect_uri redirecturl continue back backurl dest destination
ref referer referrer goto url target service came_from rurl from to
"""


#: Words written together, without capitals that would part them.
_TOGETHER = re.compile(
    "(?:user|member|admin|customer|client|account|auth|sso|cas|saml|oidc|ajax|do|force|my)?"
    "(?:logout|logoff|signout|signoff)"
    "(?:user|action|page|now|me|all|url|servlet|handler|confirm)?"
)
#: Neighbouring parts of an address.
_FOLDERS = frozenset(
    (first, second)
    for first in ("session", "sessions", "sitzung")
    for second in ("destroy", "end", "delete", "close", "logout", "beenden")
) | {("sign", "out"), ("sign", "off"), ("log", "out"), ("log", "off")}
#: Parts that end a session if another one has "saml".
_SINGLE = frozenset({"slo", "sls"})

_BESIDE = frozenset(FILLERS.split())
_QUIET = frozenset(NOT_ASKED.split())
_FALSE = frozenset({"0", "false", "no", "off", "never"})

#: Longer parts and texts (characters) are no names of an action.
_LONGEST = 80
_CAPITAL = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+")
_ASIDE = re.compile(r"[(\[{\uff08\u3010].*?[)\]}\uff09\u3011]")
_PARTS = re.compile("[/;:!]")

Words = tuple[str, ...]


def ends_session(href: str) -> bool:
    """Whether a link to the canonical URL `href` ends a session, by the words of the URL."""
    path, _, query = href.partition("?")
    # Without scheme, host and port.
    parts = path.split("/")[3:]
    folders = [words for each in parts for part in _PARTS.split(each) if (words := _words(part))]
    if any(map(_is_phrase, folders)):
        return True
    singles = [words[0] if len(words) == 1 else "" for words in folders]
    if any(pair in _FOLDERS for pair in pairwise(singles)):
        return True
    if _SINGLE & set(singles) and any("saml" in word for words in folders for word in words):
        return True
    return any(_is_parameter(each) for each in query.split("&")) if query else False


def _is_parameter(pair: str) -> bool:
    name, has_value, value = pair.partition("=")
    if name.lower() in _QUIET:
        return False
    if value.lower() not in _FALSE and _is_phrase(_words(name)):
        return True
    if not has_value:
        return False
    return any(_is_phrase(_words(part)) for part in _PARTS.split(unquote_plus(value)[:400]))


@lru_cache(1 << 12)
def says_logout(text: str) -> bool:
    """Whether the text of a link or a button says that it ends a session."""
    if not text or len(text) > 4 * _LONGEST:
        return False
    # "Log out (mary)"; not "(Log out)".
    text = " ".join(text.split())
    return _says(_ASIDE.sub(" ", text)) or _says(text)


def _says(text: str) -> bool:
    words = _words(text)
    return words in _WHOLE or _is_phrase(words)


@lru_cache(1 << 12)
def _words(part: str) -> Words:
    """The words of a part of an address, or of a text; none if it is too long."""
    text = unquote_plus(part) if "%" in part or "+" in part else part
    if len(text) > _LONGEST:
        return ()
    return tuple(_WORD.findall(_plain(_CAPITAL.sub(" ", text))))


def _plain(text: str) -> str:
    """`text` in lower case and without marks above and below letters, which people leave out."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in apart if not unicodedata.category(char).startswith("M"))


def _listed(lines: str) -> frozenset[Words]:
    phrases = lines.strip().replace("\n", ",").split(",")
    return frozenset(tuple(_WORD.findall(_plain(each))) for each in phrases)


_KNOWN = _listed(PHRASES)
_WHOLE = _listed(AMBIGUOUS)
_WHOLE_ADDRESS = frozenset(words for words in _WHOLE if "".join(words).isascii())


@lru_cache(1 << 12)
def _is_phrase(words: Words) -> bool:
    """Whether `words` are a phrase and fillers."""
    bare = tuple(word for word in words if word not in _BESIDE)
    found = bare or words
    if found in _KNOWN or words in _KNOWN:
        return True
    if len(found) == 1:
        return found[0] in _ASCII_WORDS or _TOGETHER.fullmatch(found[0]) is not None
    return False


_ASCII_WORDS = frozenset(words[0] for words in _WHOLE_ADDRESS if len(words) == 1)


_SELECTOR = "a[href],area[href],button,input[type=submit i],input[type=image i]"
#: Attributes that stand for the text of a link or a button without one.
_LABELS = ("aria-label", "title", "alt", "value")
#: Elements of a page that are read.
_MOST_ELEMENTS = 5000


def logout_links(page: Page) -> Iterator[str]:
    """The canonical URLs of the links and forms of an HTML page that say that they log out."""
    tree = document(page.body, page.http_charset)
    base = ""
    for element in tree.select(_SELECTOR)[:_MOST_ELEMENTS]:
        image = element.select_one("img[alt]")
        texts = [element.text, *(element.attr(name) or "" for name in _LABELS)]
        texts.append("" if image is None else image.attr("alt") or "")
        if not any(map(says_logout, texts)):
            continue
        reference = element.attr("href") or element.attr("formaction")
        if reference is None:
            form = element.closest("form")
            reference = None if form is None else form.attr("action")
        base = base or base_url(tree.select("base"), page.url.href)
        href = resolve(reference, base) if reference else None
        if href is not None:
            yield href


class RecentCounts:
    """Counts of at most `most` texts."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._counts: OrderedDict[str, int] = OrderedDict()

    def __contains__(self, text: str) -> bool:
        return text in self._counts

    def __len__(self) -> int:
        return len(self._counts)

    def of(self, text: str) -> int:
        return self._counts.get(text, 0)

    def add(self, text: str, number: int = 1) -> int:
        """Count `text`; returns its new count."""
        count = self._counts[text] = self._counts.get(text, 0) + number
        self._counts.move_to_end(text)
        if len(self._counts) > self._most:
            self._counts.popitem(last=False)
        return count


#: Memory of a compiled expression (bytes). RE2 refuses a larger one.
_MEMORY = 1 << 20

Marker = Callable[[str], bool]


@lru_cache(256)
def marker(text: str) -> Marker:
    """Whether a page has the marker `text`; raises ValueError if it is no expression of RE2.

    RE2 takes a time linear in the length of the page, whatever the expression.
    """
    if len(text) < 3 or not (text[0] == text[-1] == "/"):
        return lambda page: text in page
    # Here, since a configuration without logins needs no RE2.
    import re2

    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    try:
        search = re2.compile(text[1:-1], options).search
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        shown = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
        raise ValueError(f"{text[:60]!r} is not a regular expression of RE2: {shown}") from None
    return lambda page: search(page) is not None


#: Addresses of a login are few, unless a site redirects without end.
_MOST = 50


class LoginPages:
    """Addresses that only those get to who are logged out.

    A page is told by its path, as its query often has the address to return to. If the query of
    the address in loginFile chooses the page (``/index.php?do=login``), all its values must be
    there. The query of a redirect has values that change; their names must be there.
    """

    def __init__(self, page: str) -> None:
        self._page = page
        self._place = _place(page) if page else ""
        self._values = _query(page)
        # (place, names of the query)
        self._learned: set[tuple[str, frozenset[str]]] = set()

    @property
    def _is_home(self) -> bool:
        """Whether the page in loginFile is the home page, which others see as well."""
        return not self._values and self._place.endswith("/") and self._place.count("/") == 1

    def learn(self, href: str) -> None:
        """The site redirected a login to `href`, which has its form."""
        place, names = _place(href), frozenset(name for name, _ in _query(href))
        if len(self._learned) < _MOST and (names or not place.endswith("/")):
            self._learned.add((place, names))

    @property
    def learned(self) -> list[tuple[str, list[str]]]:
        """The places that were learned, with the names in their queries."""
        return sorted((place, sorted(names)) for place, names in self._learned)

    def remember(self, learned: Iterable[tuple[str, Iterable[str]]]) -> None:
        """Learn what another run has learned."""
        pairs = ((str(place), frozenset(map(str, names))) for place, names in learned)
        self._learned.update(islice(pairs, _MOST))

    def has(self, href: str) -> bool:
        """Whether `href` is the address of a login page."""
        place = _place(href)
        if place == self._place and self._values <= _query(href):
            return True
        if not any(place == learned for learned, _ in self._learned):
            return False
        names = {name for name, _ in _query(href)}
        return any(place == learned and wanted <= names for learned, wanted in self._learned)

    def only(self, href: str) -> bool:
        """Whether `href` is the address of a login page, and of nothing else."""
        return self.has(href) and not (self._is_home and _place(href) == self._place)


def _place(href: str) -> str:
    """Host, port and path; sites redirect from http to https to log in."""
    parts = split(href)
    port = "" if parts.port in (80, 443) else f":{parts.port}"
    return f"{parts.host}{port}{parts.path.partition('?')[0]}"


def _query(href: str) -> set[tuple[str, str]]:
    return set(parse_qsl(href.partition("?")[2], keep_blank_values=True))


#: Statuses of those who are not logged in: that of RFC 9110, and those of Laravel, IIS and ArcGIS
#: for sessions and tokens that have expired.
_ENDED = frozenset({HTTPStatus.UNAUTHORIZED.value, 419, 440, 498})
#: Statuses of pages that a site hides from visitors, and of those that are not there.
_HIDING = frozenset({HTTPStatus.NOT_FOUND.value, HTTPStatus.GONE.value})
#: Addresses that are remembered as refused with 403, or hidden.
_MOST_REFUSED = 10_000
#: Addresses that have not come again after a 403, so that two of them in a row are needed.
_PATIENCE = 3
#: One more is needed for each so many of them.
_FEW = 10
#: The most replies 403 in a row that are needed.
_LONGEST_ROW = 20
#: Bytes at the beginning of a page that are searched for its encoding and for a refresh.
_HEAD = 4096
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_REFRESH = re.compile(rb"""<meta\s[^>]*http-equiv\s*=\s*["']?refresh[^>]*>""", re.IGNORECASE)
_CONTENT = re.compile(rb"""\scontent\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
#: The search ends at the next input, so a page of tags without end is searched once.
_PASSWORD = re.compile(
    rb"""<input\s(?:(?!<input)[^>])*?type\s*=\s*["']?password\b""", re.IGNORECASE
)


class Standing(Enum):
    """Whether a page is one of a session, or that is not known."""

    IN = auto()
    OUT = auto()
    UNKNOWN = auto()


class Judge:
    """Judges the pages of a site with a login, in the order in which they came."""

    def __init__(self, login: Login) -> None:
        self.login_pages = LoginPages(login.page)
        self._logged_in = marker(login.logged_in) if login.logged_in else None
        self._logged_out = marker(login.logged_out) if login.logged_out else None
        #: Pages that were not refused, and replies 403 in a row.
        self._good = 0
        self._refusals = 0
        # Whether a login has been proven, and no reply came since.
        self._is_fresh = False
        # Addresses that were refused, and the number of those that no session shows.
        self._refused = RecentCounts(_MOST_REFUSED)
        self._forbidden = 0
        # Addresses that were taken for lost because of a 403, and have not come again.
        self._awaited: set[str] = set()

    def standing(self, page: Page, *, last: bool = False) -> Standing:
        """The standing of a page of the crawl; `last` if no other one will come.

        Without markers, a page is one of the session if its status is 2xx and nothing speaks
        against it.
        """
        standing = self._standing(page, last)
        self._is_fresh = False
        if standing is Standing.IN or (standing is not Standing.OUT and 200 <= page.status < 300):
            self._good += 1
            # The session lived before them and lives now.
            self._forbidden += self._refusals
            self._refusals = 0
            self._awaited.discard(page.url.href)
        return standing

    def logged_in(self, proven: bool) -> None:
        """A login has ended; `proven` if a page has shown that it worked."""
        self._refusals = 0
        self._is_fresh = proven

    def _standing(self, page: Page, last: bool) -> Standing:
        target = next_of(page) or refresh_target(page)
        if target and self.login_pages.has(target) and not self.login_pages.has(page.url.href):
            return Standing.OUT
        marked = self.by_marker(page)
        if marked is not Standing.UNKNOWN:
            return marked
        if page.status in _ENDED or self._is_login_page(page):
            return Standing.OUT
        if page.status == HTTPStatus.FORBIDDEN or (self._good and self._may_hide(page, target)):
            return self._of_forbidden(page.url.href, last)
        judged_by_marker = self._logged_in or self._logged_out
        is_good = 200 <= page.status < 300 and not judged_by_marker
        return Standing.IN if is_good else Standing.UNKNOWN

    def by_marker(self, page: Page) -> Standing:
        """The standing by the markers alone; they judge HTML."""
        if not (self._logged_in or self._logged_out) or page.not_modified or not has_html(page):
            return Standing.UNKNOWN
        text = _text(page)
        if self._logged_out and self._logged_out(text):
            return Standing.OUT
        if self._logged_in and self._logged_in(text):
            return Standing.IN
        if page.status != HTTPStatus.OK or page.truncated:
            return Standing.UNKNOWN
        return Standing.OUT if self._logged_in else Standing.IN

    def has_logged_out(self, page: Page) -> bool:
        """Whether the marker of visitors is on an HTML page."""
        return self._logged_out is not None and has_html(page) and self._logged_out(_text(page))

    def _is_login_page(self, page: Page) -> bool:
        if page.status != HTTPStatus.OK or not self.login_pages.has(page.url.href):
            return False
        return self.login_pages.only(page.url.href) or has_password_field(page)

    def _may_hide(self, page: Page, target: str) -> bool:
        """Whether sites answer visitors so where there is a page for others.

        The target of a redirect is then the home page.
        """
        home = f"{page.url.site}/"
        return page.status in _HIDING or (target == home and page.url.href != home)

    def _of_forbidden(self, href: str, last: bool) -> Standing:
        """A 403 or the like means a lost session, unless that is known to live.

        The more pages there are that this user may not see, the more of them in a row are needed;
        and while some that may be such pages have not come again. If the session has really
        ended, they come in a row, and the first of them are fetched again: they are not confirmed.
        No more will come after the last one, which does for a row.
        """
        was_refused = href in self._refused
        is_row = last and self._refusals > 0
        if self._good and not is_row and (was_refused or self._is_fresh):
            self._awaited.discard(href)
            self._forbidden += 1
            return Standing.UNKNOWN
        awaited = len(self._awaited)
        doubts = (awaited >= _PATIENCE) + awaited // _FEW
        row = min(max(self._forbidden, doubts), _LONGEST_ROW)
        if self._good and not is_row and self._refusals < row:
            self._refusals += 1
            if row == _LONGEST_ROW:
                self._refused.add(href)
            return Standing.UNKNOWN
        self._refusals = 0
        self._refused.add(href)
        self._awaited.add(href)
        return Standing.OUT


def has_html(page: Page) -> bool:
    """Whether `page` has a text that is HTML."""
    return bool(page.body.strip()) and (page.type in _HTML or is_html(page))


def has_password_field(page: Page) -> bool:
    """Whether `page` looks as if it asked for a password."""
    return has_html(page) and _PASSWORD.search(page.body) is not None


def refresh_target(page: Page) -> str:
    """The canonical URL that a refresh in the header or the head of `page` leads to, or nothing."""
    content = page.header("refresh") or ""
    if not content and has_html(page):
        found = _REFRESH.search(page.body[:_HEAD])
        value = _CONTENT.search(found[0]) if found else None
        content = (value[1] or value[2] or b"").decode("utf-8", "replace") if value else ""
    reference = meta_refresh(unescape(content)) if content else None
    return (resolve(reference, page.url.href) or "") if reference else ""


def _text(page: Page) -> str:
    body = page.body
    label = page.http_charset
    name = page.charset or (label and named(label)) or undeclared(body) or sniff(body[:_HEAD])
    return BodyText.of(body, name).text
