"""Tells links that end a session by their words, in the languages of most web pages.

A part of the address (a folder, a file, a value of the query) or the text of the link must consist
of such words and of fillers: ``/user/logout.php`` and "Log me out" end a session,
``/logout-bug-report`` and "How to log out" do not.

The words of links that end a session, in the languages of most web pages.

The links and buttons of a page whose text says that they end the session.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from urllib.parse import unquote_plus

from larbinpy.page import Page
from larbinpy.parse.charset import document
from larbinpy.parse.html import base_url
from larbinpy.url import resolve

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
_MOST_WORDS = max(map(len, _KNOWN))


@lru_cache(1 << 12)
def _is_phrase(words: Words) -> bool:
    """Whether `words` are a phrase and fillers."""
    if not words or len(words) > _MOST_WORDS + 6:
        return False
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
