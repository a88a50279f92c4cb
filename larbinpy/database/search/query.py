"""The query language: what a user typed, as values that each database compiles to its own.

`host_of` and the like read the values of its operators: site:, lang:, type: and since:.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from urllib.parse import quote, unquote

from larbinpy.database.search.segment import (
    QUESTION_BIGRAMS,
    Form,
    RunKind,
    alike,
    compounds,
    forms,
    has_stems,
    kind_of,
    parts,
    simplify,
    stop_words,
    without_umlaut,
)
from larbinpy.page import timestamp

#: Languages by their English and their own names.
_LANGUAGES = {
    "arabic": "ar",
    "bulgarian": "bg",
    "chinese": "zh",
    "mandarin": "zh",
    "中文": "zh",
    "汉语": "zh",
    "漢語": "zh",
    "czech": "cs",
    "čeština": "cs",
    "danish": "da",
    "dansk": "da",
    "dutch": "nl",
    "nederlands": "nl",
    "english": "en",
    "finnish": "fi",
    "suomi": "fi",
    "french": "fr",
    "français": "fr",
    "francais": "fr",
    "german": "de",
    "deutsch": "de",
    "greek": "el",
    "ελληνικά": "el",
    "hebrew": "he",
    "hindi": "hi",
    "hungarian": "hu",
    "magyar": "hu",
    "indonesian": "id",
    "italian": "it",
    "italiano": "it",
    "japanese": "ja",
    "日本語": "ja",
    "korean": "ko",
    "한국어": "ko",
    "norwegian": "no",
    "norsk": "no",
    "persian": "fa",
    "farsi": "fa",
    "polish": "pl",
    "polski": "pl",
    "portuguese": "pt",
    "português": "pt",
    "portugues": "pt",
    "romanian": "ro",
    "russian": "ru",
    "русский": "ru",
    "spanish": "es",
    "español": "es",
    "espanol": "es",
    "swedish": "sv",
    "svenska": "sv",
    "thai": "th",
    "turkish": "tr",
    "türkçe": "tr",
    "ukrainian": "uk",
    "українська": "uk",
    "vietnamese": "vi",
}
#: Languages with their codes of three letters (ISO 639-2 and 639-3), and others that are in use.
_LONG_CODES = (
    "ar:ara bg:bul bn:ben ca:cat cs:ces cs:cze da:dan de:deu de:ger el:ell el:gre en:eng eo:epo "
    "es:spa et:est eu:eus eu:baq fa:fas fa:per fi:fin fr:fra fr:fre ga:gle he:heb he:iw hi:hin "
    "hr:hrv hu:hun hy:hye hy:arm id:ind is:isl is:ice it:ita ja:jpn ka:kat ka:geo km:khm ko:kor "
    "lo:lao la:lat lv:lav lt:lit mk:mkd mk:mac ms:msa ms:may my:mya my:bur ne:nep nl:nld nl:dut "
    "nn:nno no:nob no:nor no:nb pl:pol pt:por ro:ron ro:rum ru:rus sk:slk sk:slo sl:slv sq:sqi "
    "sq:alb sr:srp sv:swe ta:tam te:tel th:tha tr:tur uk:ukr ur:urd vi:vie yi:yid zh:zho zh:chi "
    "zh:cmn"
)
#: Codes of countries that people take for those of languages.
_COUNTRIES = " zh:cn ja:jp ko:kr cs:cz da:dk el:gr uk:ua vi:vn"
_PAIRS = (each.split(":") for each in (_LONG_CODES + _COUNTRIES).split())
_CODES = {code: short for short, code in _PAIRS}
_TYPES = {
    "text": "text/plain",
    "txt": "text/plain",
    "htm": "html",
    "xhtml": "application/xhtml+xml",
    "rss": "application/rss+xml",
    "atom": "application/atom+xml",
    "js": "javascript",
    "md": "markdown",
    "word": "application/msword",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "ppt": "application/vnd.ms-powerpoint",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "odt": "application/vnd.oasis.opendocument.text",
    "epub": "application/epub+zip",
    "jpg": "image/jpeg",
    "svg": "image/svg+xml",
}
#: Characters of a path that canonical URLs have as they are.
_IN_PATHS = "/%:@!$&'()*+,;=~"
#: Days.
_UNITS = {"min": 1 / 1440, "h": 1 / 24, "d": 1, "w": 7, "m": 30, "y": 365}
_UNIT = "(?:(min)(?:ute)?s?|([hdwmy])(?:o|rs?|ours?|ays?|eeks?|onths?|ears?)?)"
_AGO = re.compile(
    rf"-?(?:an?|(?:the )?(?:last|past))?\s*(\d{{1,5}})?\s*{_UNIT}(?: ago)?", re.IGNORECASE
)
_DATE = re.compile(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?")
_DAY_FIRST = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")


def host_of(text: str) -> str | None:
    """The host of a URL or what was typed for it, in lower case: "example.com", "a.b:8080"."""
    host = re.sub(r"^[a-z]+://", "", text.lower())
    host = re.split(r"[/?#]", host, maxsplit=1)[0].rpartition("@")[2].strip(".*")
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            return None
    return host if re.fullmatch(r"[a-z0-9._:\[\]-]{1,255}", host) else None


def language_of(text: str) -> str | None:
    """ISO 639-1 of a language: "de" of "de", "DE-at", "German" and "Deutsch"."""
    text = text.lower()
    if text in _LANGUAGES:
        return _LANGUAGES[text]
    code = re.fullmatch(r"([a-z]{2,3})(?:[-_][a-z0-9_-]+)?", text)
    return _CODES.get(code[1], code[1]) if code else None


def site_of(text: str) -> str | None:
    """A host, as `host_of`, with the path behind it that was typed: "example.com/docs/"."""
    host = host_of(text)
    path = re.sub(r"^[a-z]+://", "", text, flags=re.IGNORECASE).partition("/")[2]
    path = re.split(r"[?#]", path, maxsplit=1)[0].rstrip("*")
    return f"{host}/{quote(path, _IN_PATHS)}" if host and path else host


def type_of(text: str) -> str | None:
    """A media type, its first or its last part, in lower case."""
    text = text.lower().lstrip(".").removesuffix("/*")
    text = _TYPES.get(text, text)
    return text if re.fullmatch(r"[a-z0-9][a-z0-9.+/-]{0,80}", text) else None


def since_of(text: str, now: float) -> str | None:
    """The time that "7d", "2 weeks", "2026", "2026-01-31", "31.1.2026", "yesterday" mean, ISO 8601
    in UTC."""
    today = datetime.fromtimestamp(now, UTC)
    midnight = today.replace(hour=0, minute=0, second=0, microsecond=0)
    text = _DAY_FIRST.sub(r"\3-\2-\1", text.lower())
    try:
        if text in ("today", "yesterday"):
            when = midnight - timedelta(days=text == "yesterday")
        elif ago := _AGO.fullmatch(text):
            when = today - timedelta(days=int(ago[1] or 1) * _UNITS[ago[2] or ago[3]])
        elif date := _DATE.fullmatch(text):
            year, month, day = (int(number or 1) for number in date.groups())
            when = datetime(year, month, day, tzinfo=UTC)
        else:
            when = datetime.fromisoformat(text.upper())
            when = (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return timestamp(when.timestamp())


_Reader = Callable[[str, float], str | None]
#: Between values of which a page has one.
_OR = re.compile(r"\s*[,;|]\s*")


def _any(read: Callable[[str], str | None]) -> _Reader:
    """The reader of several values, which are separated by blanks in what it makes of them."""

    def values(text: str, now: float) -> str | None:
        texts = [text] if read(text) else filter(None, _OR.split(text))
        found = dict.fromkeys(map(read, texts))
        return None if None in found else " ".join(map(str, found)) or None

    return values


#: Operators that filter pages, and the functions that read their values: of the text and the time
#: now, Unix time, they make the value of the field of `Query`, or None if the text makes no sense.
FILTERS: dict[str, _Reader] = {
    "site": _any(site_of),
    "lang": _any(language_of),
    "type": _any(type_of),
    "since": since_of,
}
#: The value that each of them takes, in words.
EXPECTED = {
    "site": "a host, such as www.example.org",
    "lang": "a language, such as zh",
    "type": "a media type or its end, such as pdf",
    "since": "a time such as 7d or 12h, or a date such as 2026-11-23",
}


__all__ = ["Form", "Item", "Query", "forms", "parse"]

#: Characters and items of a query that are read.
LONGEST = 1000
MOST = 32
MOST_PARTS = 100


@dataclass(frozen=True, slots=True)
class Item:
    """A word, a phrase or the beginning of a word. A page has it if it has any of its forms."""

    #: As typed, without operators.
    text: str
    #: Alternatives: the stems that the word has in the languages of the database.
    forms: tuple[Form, ...]
    #: "title" for intitle:, "url" for inurl:, else None: anywhere.
    field: str | None = None
    #: So frequent that it is left out if others remain (stop words).
    common: bool = False
    #: Single tokens to rank pages by if none has all items: the bigrams of Chinese text, the
    #: words of os.path.join. Empty: the forms themselves.
    parts: tuple[Form, ...] = ()
    #: Words of which it may be a part.
    compounds: tuple[Form, ...] = ()
    #: Meant as it was typed, in quotes or with a plus: the forms find pages with other forms of its
    #: words, too.
    literal: bool = False
    #: The items that the forms are of, if they are of several: those of "one OR other", and a word
    #: that may be written in one with the next.
    either: tuple["Item", ...] = ()

    @property
    def each(self) -> tuple["Item", ...]:
        """The items that it stands for: `either`, or itself."""
        return self.either or (self,)

    def or_else(self, *others: "Item") -> "Item":
        """An item that a page has if it has this one or one of `others`; called as this one."""
        either = tuple(each for item in (self, *others) for each in item.each)
        found = dict.fromkeys(form for item in either for form in item.forms)
        parts = dict.fromkeys(form for item in either for form in item.parts)
        literal = all(item.literal for item in either)
        return replace(self, forms=tuple(found), parts=tuple(parts), literal=literal, either=either)


@dataclass(frozen=True, slots=True)
class Query:
    """A query: a page is found if it has all `wanted`, no `unwanted`, and passes the filters."""

    wanted: tuple[Item, ...] = ()
    unwanted: tuple[Item, ...] = ()
    #: Words and phrases in quotes that the texts of pages must not have as they are typed.
    unsaid: tuple[Item, ...] = ()
    #: Host, or domain with all its hosts, in lower case; then the beginning of the path, if any.
    #: This and the next two may be several, separated by blanks, of which a page has one.
    site: str | None = None
    lang: str | None = None
    #: Media type, or its first or last part: "application/pdf", "image", "pdf".
    type: str | None = None
    #: Fetched at or after this time, ISO 8601.
    since: str | None = None
    #: Filters that a page must not pass: "site", "lang", "type" or "since", and its value.
    excluded: tuple[tuple[str, str], ...] = ()
    #: Hints for the user: operators that were taken as words, text that was cut.
    notes: tuple[str, ...] = ()
    #: As it was typed.
    text: str = field(default="", compare=False)

    @property
    def is_empty(self) -> bool:
        """Whether it asks for nothing."""
        filters = self.site, self.lang, self.type, self.since
        return not (self.wanted or self.excluded or any(filters))


#: An optional sign, an optional operator, and a phrase in quotes (the last may lack its end) or
#: what stands until the next blank. Two dashes begin the option of a command.
_TERM = re.compile(
    r"""\(*(?P<sign>(?:[-+](?![-+]))?)(?:(?P<name>[a-z]+)[:：])?(?:["“”„«»＂](?P<phrase>[^"“”„«»＂]*)["“”„«»＂]?"""
    r"""(?:[~^]\d*)?|(?P<word>[^\s"“”„«»＂]+))""",
    re.IGNORECASE,
)
#: Between words that are looked for separately; other punctuation within a word, as in
#: os.path.join and C/C++, makes a phrase of it.
_BETWEEN = re.compile(
    r"[,;!?()\[\]{}<>|=、。，．；：？！（）［］｛｝「」『』《》〈〉【】〔〕…\x00-\x1f]+"
)
#: Not to be taken apart: a number with separators, and a URL.
_NUMBER = re.compile(r"\d{1,3}(?:,\d{2,3})*,\d{3}")
_URL = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://|(?:mailto|tel):|(?=www\.))(?P<rest>[^\s#]+)\S*", re.IGNORECASE
)
_FIELDS = {"intitle": "title", "inurl": "url"}
#: Names that operators have in other engines.
_ALIASES = {
    "language": "lang",
    "filetype": "type",
    "ext": "type",
    "mime": "type",
    "after": "since",
    "until": "before",
    "title": "intitle",
    "url": "inurl",
    "intext": "",
}
_OPERATORS = FILTERS.keys() | _FIELDS.keys() | {"before"}
#: An operator whose value stands behind a blank, or has one.
_APART = re.compile(
    r"(?<![^\s(+-])(?P<name>[a-z]{4,8})[:：](?P<gap>\s*)"
    rf"(?P<value>(?:the |last |past )*\d{{1,5}}\s+{_UNIT}(?: ago)?(?!\S)|[\w./:@-]+)",
    re.IGNORECASE,
)
#: Between terms, unless all of the query is in capital letters.
_BOOLEAN = frozenset(("AND", "OR", "NOT", "&&", "||", "|"))
#: A star that stands for more than the end of a word.
_STAR_WITHIN = re.compile(r"(?<![*\W])\*\w|^\*+\w")
#: Values of operators that are hardly words.
_TELLING = {*_LANGUAGES, *_CODES, *_CODES.values(), *_TYPES, "html", "pdf", "xml", "json"}
#: A word that may be written as two, and its characters.
_ONE = re.compile(r"[^\W_]+(?:\.\d+)*")
_MOST_JOINED = 24


@dataclass(slots=True)
class _Draft:
    languages: Sequence[str]
    now: float
    wanted: list[Item] = field(default_factory=list)
    unwanted: list[Item] = field(default_factory=list)
    filters: dict[str, str] = field(default_factory=dict)
    excluded: dict[tuple[str, str], None] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    #: Terms that were read already: sign, operator and text.
    seen: set[tuple[str, str, str]] = field(default_factory=set)

    #: Words that are no phrases, beginnings or words of a field.
    words: set[str] = field(default_factory=set)
    #: The operator of `_BOOLEAN` before the next term.
    operator: str = ""

    def note(self, text: str) -> None:
        self.notes[text] = None

    def add(self, item: Item, *, minus: bool) -> None:
        items = self.unwanted if minus else self.wanted
        is_other = self.operator in ("OR", "|", "||") and items
        self.operator = ""
        if not item.forms or item in items or len(items) >= MOST:
            return
        if is_other:
            before = items.pop()
            item = replace(before.or_else(item), text=f"{before.text} OR {item.text}")
        items.append(item)

    def filter(self, name: str, value: str) -> None:
        """Add the value of a filter, of which the last time counts."""
        before = self.filters.get(name, value)
        if before != value and name == "since":
            self.note("only the last since: counts")
        elif before != value:
            value = f"{before} {value}"
        self.filters[name] = value

    def query(self) -> Query:
        if self.unwanted and not (self.wanted or self.filters or self.excluded):
            self.note("nothing to leave the words with a minus out of: they are searched for")
            self.wanted, self.unwanted = self.unwanted, []
        get = self.filters.get
        filters = get("site"), get("lang"), get("type"), get("since")
        wanted = tuple(self._marked(self.wanted))
        excluded, notes = tuple(self.excluded), tuple(self.notes)
        unwanted = tuple(item for item in self.unwanted if not item.literal)
        unsaid = tuple(item for item in self.unwanted if item.literal)
        return Query(wanted, unwanted, unsaid, *filters, excluded=excluded, notes=notes)

    def _marked(self, items: list[Item]) -> Iterator[Item]:
        """The items, with those marked that are common; pages may write two of the others in one:
        web site, website."""
        normal = {word: simplify(word.lower()) for word in self.words}
        common = stop_words(normal.values(), self.languages)
        marked = [
            replace(item, common=not item.field and normal.get(item.text) in common)
            for item in items
        ]
        for at, (item, after) in enumerate(pairwise(items)):
            is_common = marked[at].common or marked[at + 1].common
            are_words = {item.text, after.text} <= self.words and not is_common
            if are_words and _may_be_one(item.text, after.text):
                both = item.text + after.text
                joined = Item(both, forms(both, self.languages, as_typed=True))
                marked[at : at + 2] = [each.or_else(joined) for each in marked[at : at + 2]]
        yield from marked


def parse(text: str, languages: Sequence[str], now: float) -> Query:
    """Read what a user typed. Any text is a query; oddities are said in its `notes`.

    `languages` of the database's pages, ISO 639-1, the most frequent first; `now` in seconds since
    1970, from which since:7d counts.
    """
    draft = _Draft(languages, now)
    if len(text) > LONGEST:
        text = text[:LONGEST]
        draft.note(f"only the first {LONGEST} characters were read")
    # The quote in a Hebrew acronym begins no phrase.
    terms = [*_TERM.finditer(_APART.sub(lambda found: _closed(found, now), alike(text)))]
    for at, term in enumerate(terms):
        if len(draft.seen) >= MOST:
            draft.note(f"only the first {MOST} words were read")
            break
        if term[0] in _BOOLEAN and 0 < at < len(terms) - 1 and not text.isupper():
            draft.operator = term[0]
        else:
            _read(term, draft)
    return replace(draft.query(), text=text)


def _closed(found: re.Match[str], now: float) -> str:
    """An operator with its value in quotes, if the blank before or within it is not between words:
    since: 2 weeks, site: example.com."""
    name, value = _name(found["name"]), found["value"]
    name = "since" if name == "before" else name
    is_telling = name == "since" or "." in value or value.lower() in _TELLING
    has_blank = found["gap"] or " " in value
    is_one = has_blank and is_telling and name in FILTERS and FILTERS[name](value, now)
    return f'{found["name"]}:"{value}"' if is_one else found[0]


def _name(typed: str | None) -> str:
    """The operator that a name means."""
    name = (typed or "").lower()
    return _ALIASES.get(name, name)


def with_filter(q: str, name: str, value: str) -> str:
    """The typed query with the filter `name:value`, in place of others of that name."""
    shown = f'"{value}"' if " " in value else value
    return f"{without_filter(q, name)} {name}:{shown}".strip()


def without_filter(q: str, name: str) -> str:
    """The typed query without the filters of a name, and the words that joined them."""
    kept: list[str] = []
    for term in _TERM.finditer(_APART.sub(lambda found: _closed(found, 0.0), q)):
        is_it = _name(term["name"] or term[0].rstrip(":：")) == name and term["sign"] != "-"
        while is_it and kept and kept[-1] in _BOOLEAN:
            kept.pop()
        if not is_it and (kept or term[0] not in _BOOLEAN):
            kept.append(term[0])
    return " ".join(kept)


def _may_be_one(first: str, second: str) -> bool:
    """Whether people may write two words as one: website, iso9001; not Chinese ones."""
    both = first + second
    is_pair = first.isalpha() and len(first) > 1 and first.lower() != second.lower()
    is_one = _ONE.fullmatch(both) is not None and len(both) <= _MOST_JOINED
    return is_pair and is_one and kind_of(both) is RunKind.WORD


#: Letters that may be missing in a word, or be there for others.
_ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyz",
    "абвгдежзийклмнопрстуфхцчшщъыьэюя",
    "αβγδεζηθικλμνξοπρστυφχψως",
)
#: Letters of a word for which others are tried.
_TRIED = range(4, 25)


def neighbours(word: str) -> Iterator[str]:
    """The words that differ from a typed one in a letter, or by two that are swapped."""
    word = word.lower()
    letters = next((each for each in _ALPHABETS if word[:1] in each), "")
    if len(word) not in _TRIED or not word.isalpha():
        return
    for at in range(len(word)):
        before, letter, after = word[:at], word[at], word[at + 1 :]
        yield before + after
        if after:
            yield before + after[0] + letter + after[1:]
    for at in range(len(word) + 1):
        for letter in letters:
            yield word[:at] + letter + word[at + 1 :]
            yield word[:at] + letter + word[at:]


#: Letters of a word that may be two, and of each of these.
_IN_TWO, _SHORTEST = range(6, 25), 3


def otherwise(word: str) -> list[str]:
    """Other ways to write a word: without its umlaut, as zurich for zuerich, and as two words, as
    red bull for redbull."""
    if len(word) not in _IN_TWO or not word.isalpha() or not has_stems(word):
        return []
    places = range(_SHORTEST, len(word) - _SHORTEST + 1)
    return [without_umlaut(word), *(f"{word[:at]} {word[at:]}" for at in places)]


def _read(term: re.Match[str], draft: _Draft) -> None:
    minus = term["sign"] == "-" or draft.operator == "NOT"
    name = _name(term["name"])
    value = term["word"] or (term["phrase"] or "").strip()
    if (term["sign"], name, value) in draft.seen:
        return
    draft.seen.add((term["sign"], name, value))
    if name in FILTERS:
        _filter(name, value, minus, draft)
        return
    if name == "before":
        _filter("since", value, not minus, draft)
        return
    if value[:-1].lower() in _OPERATORS and value[-1] in ":：":
        draft.note(f"{value} is a word here: nothing follows it")
    column = _FIELDS.get(name)
    if name and column is None:
        value = f"{name}:{value}"
    # A minus belongs to all of a word.
    if address := _URL.fullmatch(value):
        found = forms(unquote(address["rest"]), draft.languages, as_typed=True)
        parts_of_it = _parts(address["rest"], draft.languages)
        draft.add(Item(value, found, column, parts=parts_of_it), minus=minus)
        return
    if term["phrase"] is not None or (term["sign"] == "+" and not value.endswith("*")):
        found = forms(value, draft.languages, as_typed=True)
        literal = column != "url" and has_stems(value)
        draft.add(Item(value, found, column, literal=literal), minus=minus)
        return
    for word in [value] if minus or _NUMBER.fullmatch(value) else _BETWEEN.split(value):
        text, prefix = word.strip("*"), word.endswith("*")
        if _STAR_WITHIN.search(word):
            draft.note(f"{word[:40]}: a star stands for the end of a word, and for no other part")
        if prefix and len(text) == 1 and kind_of(text) is RunKind.WORD:
            prefix = False
            draft.note(
                f"{word} is the word {text}: the beginning of a word has two letters or more"
            )
        found = forms(text, draft.languages, prefix)
        item = Item(word, found, column, parts=_parts(text, draft.languages))
        if not (prefix or minus or column):
            item = replace(item, compounds=compounds(text, draft.languages))
        draft.add(item, minus=minus)
        if not prefix and column is None:
            draft.words.add(word)


def _parts(text: str, languages: Sequence[str]) -> tuple[Form, ...]:
    found = parts(text, languages)[:MOST_PARTS]
    telling = (form for form in found if QUESTION_BIGRAMS.isdisjoint(form.tokens))
    return tuple(telling) or found


def _filter(name: str, value: str, minus: bool, draft: _Draft) -> None:
    shown = f"{'-' * minus}{name}:{value[:40]}"
    draft.operator = ""
    read = FILTERS[name](value if "(" in value else value.rstrip(")"), draft.now)
    if read is None:
        draft.note(f"{shown} is not known: it was left out; expected {EXPECTED[name]}")
    elif minus:
        draft.excluded[name, read] = None
    else:
        draft.filter(name, read)
