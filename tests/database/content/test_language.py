"""`larbinpy.database.content.language`: the declared language, unless the text contradicts."""

import pytest

from larbinpy.database.content.language import language

ENGLISH = "The crawler reads the pages of a site and follows their links to other pages. " * 4
GERMAN = "Der Crawler liest die Seiten einer Website und folgt ihren Links zu anderen Seiten. " * 4
GALICIAN = "O rastreador le as p\u00e1xinas dun sitio e segue as s\u00faas ligaz\u00f3ns. " * 5
#: An index of Python's documentation: certainly Danish for the detector.
NAMES = (
    "get_stderr() (wsgiref.handlers.BaseHandler method) (wsgiref.simple_server.WSGIRequestHandler "
    "method) get_stdin() (wsgiref.handlers.BaseHandler method) get_string() (mailbox.Mailbox "
    "method) get_subdir() (mailbox.MaildirMessage method) get_suffixes() (in module imp) "
    "get_symbols() (symtable.SymbolTable method) get_tabsize() (in module curses) get_tag() (in "
    "module imp) get_task_factory() (asyncio.loop method) get_terminal_size() (in module os) (in "
    "module shutil) get_terminator() (asynchat.async_chat method) get_threshold() (in module gc)"
)
CHINESE = "\u7f51\u7edc\u722c\u866b\u7684\u8bbe\u8ba1\u4e0e\u5b9e\u73b0" * 3


@pytest.mark.parametrize(
    ("text", "declared", "expected"),
    [
        (ENGLISH, [], "en"),
        (ENGLISH, ["en-GB"], "en"),
        (GERMAN, ["en"], "de"),
        (GERMAN, ["de-AT"], "de"),
        (ENGLISH, ["de"], "en"),
        (CHINESE, ["en"], "zh"),
        (CHINESE, [], "zh"),
        # Galician is similar to others, and not known to the detector.
        (
            "O rastreador le as p\u00e1xinas dun sitio e segue as s\u00faas ligaz\u00f3ns. " * 5,
            ["gl"],
            "gl",
        ),
        # A text in another script with many names, programs and paths.
        (CHINESE + " /usr/share/doc/larbinpy/html/index.html", [], "zh"),
        (ENGLISH + CHINESE, ["zh-CN"], "zh"),
        (ENGLISH + CHINESE, ["en"], "en"),
        (ENGLISH + CHINESE, [], "en"),
        (ENGLISH, ["zh-CN"], "en"),
        # Lists of names do not contradict.
        (NAMES, ["en"], "en"),
        ("Hello world", [], None),
        ("Hello world", ["pt_BR"], "pt"),
        ("Hello world", ["", None, "x-default", "sv"], "sv"),
        ("\u6771\u4eac\u90fd", ["ja"], "ja"),
        ("Nynorsk", ["nn-NO"], "no"),
        ("1, 2, 3", [], None),
        ("", ["fr"], "fr"),
    ],
)
def test_the_language_is_found(text: str, declared: list[str | None], expected: str) -> None:
    assert language(text, declared) == expected


@pytest.mark.parametrize(
    ("long", "short"),
    [
        *(("afr", "af"), ("bul", "bg"), ("eng", "en"), ("hin", "hi"), ("jpn", "ja"), ("lit", "lt")),
        *(("nob", "no"), ("rus", "ru"), ("swe", "sv"), ("ukr", "uk"), ("zul", "zu")),
    ],
)
def test_a_language_is_known_by_its_long_name_too(long: str, short: str) -> None:
    assert language("", [long]) == short
