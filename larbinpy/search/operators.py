"""Values of the query's operators: site:, lang:, type: and since:."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

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
}
_UNITS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30, "y": 365}
_AGO = re.compile(r"(\d{1,5})\s*([hdwmy])(?:ours?|ays?|eeks?|onths?|ears?)?", re.IGNORECASE)
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")


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
    return code[1] if code else None


def type_of(text: str) -> str | None:
    """A media type or its last part, in lower case."""
    text = text.lower().lstrip(".")
    text = _TYPES.get(text, text)
    return text if re.fullmatch(r"[a-z0-9][a-z0-9.+/-]{0,80}", text) else None


def since_of(text: str, now: float) -> str | None:
    """The time that "7d", "2w", "2026", "2026-01-31", "yesterday" mean, ISO 8601 in UTC."""
    today = datetime.fromtimestamp(now, UTC)
    midnight = today.replace(hour=0, minute=0, second=0, microsecond=0)
    text = text.lower()
    try:
        if text in ("today", "yesterday"):
            when = midnight - timedelta(days=text == "yesterday")
        elif ago := _AGO.fullmatch(text):
            when = today - timedelta(days=int(ago[1]) * _UNITS[ago[2]])
        elif date := _DATE.fullmatch(text):
            year, month, day = (int(number or 1) for number in date.groups())
            when = datetime(year, month, day, tzinfo=UTC)
        else:
            when = datetime.fromisoformat(text.upper())
            when = (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return timestamp(when.timestamp())


#: Operators that filter pages, and the functions that read their values: of the text and the time
#: now, Unix time, they make the value of the field of `Query`, or None if the text makes no sense.
FILTERS: dict[str, Callable[[str, float], str | None]] = {
    "site": lambda text, now: host_of(text),
    "lang": lambda text, now: language_of(text),
    "type": lambda text, now: type_of(text),
    "since": since_of,
}
