"""Names in a mirror: each URL its own, natural ones natural, none that leads outside."""

import hashlib
import json
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from larbinpy.output.mirror.paths import (
    MAX_DEPTH,
    MAX_NAME,
    MAX_PATH,
    Place,
    Spelling,
    browsable,
    locate,
    opens,
    original_beside,
    reference,
)
from larbinpy.url import canonical, resolve
from tests.support.suites import suite

NATURAL = {
    "http://h/": "h/index.html",
    "http://h/a": "h/a",
    "http://h/a/": "h/a/index.html",
    "http://h/a/b.html": "h/a/b.html",
    "https://h/a": "h/a",
    "http://h:8080/a": "h:8080/a",
    "http://[::1]:8080/a": "[::1]:8080/a",
    "http://h/a?x=1&y=2": "h/a?x=1&y=2",
    "http://h/a/?x=1": "h/a/index.html?x=1",
    "http://h/a%20b/%C3%A9": "h/a%20b/%C3%A9",
    "http://h/~user/": "h/~user/index.html",
    "http://h/.well-known/x": "h/.well-known/x",
    "http://h/CON": "h/CON",
    "http://h/a%2Fb": "h/a%2Fb",
    "http://h/%00": "h/%00",
}

HARMLESS = {
    "http://h//": "h/#empty/index.html",
    "http://h/a//b": "h/a/#empty/b",
    "http://h/a?x=/etc/passwd": "h/a?x=#2Fetc#2Fpasswd",
    "http://h/a?x=/../../..": "h/a?x=#2F..#2F..#2F..",
    "http://h/a?\\..\\x": "h/a?#5C..#5Cx",
    "http://../x": "#2E./x",
    "http://./x": "#2E/x",
    "http://~/x": "#7E/x",
    "http://-rf/x": "#2Drf/x",
    "http://.larbinpy-names/x": "#2Elarbinpy-names/x",
    "http://d00000/index": "#6400000/index",
}


@pytest.mark.parametrize(("url", "path"), [*NATURAL.items(), *HARMLESS.items()])
def test_a_path_is_the_url_as_it_is_spelled(url: str, path: str) -> None:
    assert canonical(url) == url
    assert locate(url).plain == path


@pytest.mark.parametrize(
    "text",
    [
        "http://h/../../etc/passwd",
        "http://h/%2e%2e/%2E%2e/etc/passwd",
        "http://h/..%2f..%2fetc/passwd",
        "http://h/..\\..\\etc\\passwd",
        "http://h/a/%00/../x%00.html",
        "http://h//etc/passwd",
        "http://h/~/.ssh/id",
        "http://%2e%2e/etc/passwd",
        "http://h/\x1b[2J\u202e/x",
        "http://h/x?" + "../" * 1000,
        # Not canonical, and still harmless.
        "http://h/a/../../b/./c",
        "http://h/\x00\n\udc80",
        "http://",
        "http:///x",
    ],
)
def test_no_name_leads_out_of_the_mirror(text: str) -> None:
    check_safe(text)
    check_safe(canonical(text))


@pytest.mark.parametrize("length", [254, 255, 256, 257])
@pytest.mark.parametrize(
    ("before", "name", "after"),
    [
        ("http://h/", "x", ""),
        ("http://h/", "x", "/"),
        ("http://h/", "x", "/y"),
        ("http://h/", "a?x", ""),
        ("http://", "x", "/"),
        ("http://", "x:81", "/"),
    ],
)
def test_names_as_long_as_a_file_system_takes(
    before: str, name: str, after: str, length: int
) -> None:
    check_safe(before + name.replace("x", "x" * (length - len(name) + 1)) + after)


def own_path(place: Place) -> str:
    """The path of own names; no other URL has it, as plain or own path."""
    return "/".join((place.own_site, *place.folders, place.own_name))


def check_safe(url: str) -> None:
    place = locate(url)
    for path in (place.plain, own_path(place)):
        assert path.isascii()
        assert path.isprintable()
        assert "\\" not in path
        assert len(path) <= MAX_PATH + len("#folder") + len("#https")
        for part in path.split("/"):
            assert 0 < len(part) <= MAX_NAME
            assert part not in {".", ".."}
        assert path[0] not in "~.-/"
    for page in place.pages:
        assert 0 < len(page) <= MAX_NAME


def family(url: str) -> tuple[str, str, str]:
    """URLs that may share a plain name: the two schemes, and a folder with its index."""
    _, _, rest = url.partition("://")
    path, mark, query = rest.partition("?")
    folder = path.removesuffix("index.html") if path.endswith("/index.html") else path
    return folder, mark, query


def check_injective(urls: list[str], spelling: Spelling = Spelling.ASCII) -> None:
    """Only a family shares a plain name, only the two schemes a page's own name, and so on."""
    owners: dict[str, object] = {}
    for url in set(urls):
        place = locate(url, spelling)
        inside = "/".join(("", *place.folders, ""))
        _, _, bare = url.partition("://")
        for path, owner in (
            (place.plain, ("plain", family(url))),
            (place.site + inside + place.own_name, ("own name", bare)),
            (place.own_site + inside + place.name, ("own site", place.scheme, family(url))),
            (own_path(place), ("own", url)),
        ):
            assert owners.setdefault(path, owner) == owner


# Few letters, so that what could be confused is often side by side.
_PLAIN = ["", "a", "A", "b", "index.html", "~", "x" * 255, "x" * 256, "x" * 300, "x" * 300 + "y"]
_ESCAPED = ["%2F", "%5C", "%23file", "%23", "%00", "%2E%2E", "a%", "%%32e", "e%CC%81", "%C3%A9"]
segments = st.sampled_from(_PLAIN + _ESCAPED)
queries = st.one_of(st.none(), st.text("a/\\#%2F5C?.fileh", max_size=6))
hosts = st.sampled_from(["h", "h:81", "a.b", "..", "h.", "d00001", "[::1]:81", "h%23http"])


@st.composite
def near_urls(draw: st.DrawFn) -> str:
    path = "/".join(draw(st.lists(segments, max_size=4)))
    query = draw(queries)
    url = f"{draw(st.sampled_from(['http', 'https']))}://{draw(hosts)}/{path}"
    return canonical(url if query is None else f"{url}?{query}")


@given(st.lists(near_urls(), min_size=2, max_size=12))
@example(["http://h/a?/", "http://h/a?%2F", "http://h/a%3F/", "http://h/a?%232F"])
@example(["http://h/" + "x" * 300, "http://h/" + "x" * 301, "http://h/" + "x" * 300 + "/"])
@example(["http://h/e%CC%81", "http://h/%C3%A9", "http://h/a", "http://h/A"])
def test_two_urls_never_share_an_own_name_nor_a_plain_one_by_accident(urls: list[str]) -> None:
    check_injective(urls)


@given(st.text(max_size=60), st.text(max_size=30), st.sampled_from(["h", "h:1", "~"]))
def test_any_canonical_url_stays_inside(path: str, query: str, host: str) -> None:
    url = canonical(f"http://{host}/{path}?{query}")
    check_safe(url)
    check_injective([url, url + "a", url + "/", canonical(url + "/../a"), canonical(url + "%2F")])


@given(st.lists(st.sampled_from(["a", "bb", "c" * 200, "d" * 300]), max_size=2000))
def test_deep_and_long_paths_are_bounded(parts: list[str]) -> None:
    url = "http://h/" + "/".join(parts)
    check_safe(url)
    assert len(locate(url).folders) <= MAX_DEPTH
    check_injective([url, url + "/", url + "/a", url + "x", canonical(url[:-1])])


def test_urls_that_differ_only_where_the_path_is_cut_are_kept_apart() -> None:
    start = "http://h/" + "a/" * MAX_DEPTH
    check_injective([f"{start}{middle}/end" for middle in ("b", "c", "b/c", "b/c/d")])
    start = "http://h/" + ("x" * 200 + "/") * 14
    urls = [f"{start}{'y' * 200}/{middle}/end" for middle in ("b", "c", "b/c", "")]
    check_injective(urls)
    for url in urls:
        check_safe(url)
        assert 2500 < len(locate(url).plain) <= MAX_PATH


def test_a_fragment_that_is_no_canonical_url_is_no_mark() -> None:
    check_injective(["http://h/a#file", "http://h/a", "http://h/#empty", "http://h//"])


#: Media types, and how the name of a file ends that has none in its URL.
ENDINGS = {
    "text/html": ".html",
    "application/xhtml+xml": ".xhtml",
    "application/xml": ".xml",
    "text/xml": ".xml",
    "text/css": ".css",
    "image/svg+xml": ".svg",
    "text/javascript": ".js",
    "application/javascript": ".js",
    "application/x-javascript": ".js",
    "application/pdf": ".pdf",
    "application/json": ".json",
    "application/ld+json": ".json",
    "application/manifest+json": ".webmanifest",
    "application/rss+xml": ".xml",
    "application/atom+xml": ".xml",
    "application/rdf+xml": ".rdf",
    "application/xslt+xml": ".xsl",
    "text/xsl": ".xsl",
    "text/csv": ".csv",
    "text/calendar": ".ics",
    "text/markdown": ".md",
    "application/zip": ".zip",
    "application/gzip": ".gz",
    "application/x-gzip": ".gz",
    "application/x-tar": ".tar",
    "application/x-bzip2": ".bz2",
    "application/x-xz": ".xz",
    "application/x-7z-compressed": ".7z",
    "application/vnd.rar": ".rar",
    "application/epub+zip": ".epub",
    "application/rtf": ".rtf",
    "application/postscript": ".ps",
    "application/wasm": ".wasm",
    "application/msword": ".doc",
    "application/vnd.ms-excel": ".xls",
    "application/vnd.ms-powerpoint": ".ppt",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/vnd.oasis.opendocument.presentation": ".odp",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "image/avif": ".avif",
    "image/bmp": ".bmp",
    "image/tiff": ".tif",
    "image/x-icon": ".ico",
    "image/vnd.microsoft.icon": ".ico",
    "audio/mpeg": ".mp3",
    "audio/wav": ".wav",
    "audio/ogg": ".ogg",
    "application/ogg": ".ogg",
    "video/mp4": ".mp4",
    "video/webm": ".webm",
    "font/woff": ".woff",
    "font/woff2": ".woff2",
    "font/ttf": ".ttf",
    "font/otf": ".otf",
}


@pytest.mark.parametrize(("media_type", "ending"), ENDINGS.items())
def test_a_name_without_an_ending_gets_that_of_its_type(media_type: str, ending: str) -> None:
    assert browsable("http://h/a", media_type)[0] == f"h/a{ending}"
    # A page that a program makes is not what its name says.
    assert browsable("http://h/a.php", media_type)[0] == f"h/a.php{ending}"
    assert opens(f"h/A{ending.upper()}", media_type)


@pytest.mark.parametrize(
    ("url", "media_type", "path"),
    [
        ("a.png", "text/html", "a.png.html"),
        ("a.htm", "text/html", "a.htm"),
        ("a.rss", "application/xml", "a.rss"),
        ("a.tgz", "application/gzip", "a.tgz"),
        # The ending of a file says more than the type that a server gives to all.
        ("a.xyz", "application/zip", "a.xyz"),
        ("a.php", "application/octet-stream", "a.php.bin"),
        ("a.xyz", "application/octet-stream", "a.xyz"),
        ("a", "application/octet-stream", "a"),
        ("LICENSE", "text/plain", "LICENSE"),
        ("a.php", "text/plain", "a.php.txt"),
        ("", "text/plain", "index.txt"),
        ("", "application/pdf", "index.pdf"),
    ],
)
def test_an_ending_is_added_where_the_name_has_none_of_its_type(
    url: str, media_type: str, path: str
) -> None:
    assert browsable(f"http://h/{url}", media_type)[0] == f"h/{path}"


@pytest.mark.parametrize(
    ("download", "path"),
    [
        ("report.pdf", "h/a/report.pdf"),
        ("report", "h/a/report.pdf"),
        # A page of the site may need such a name.
        ("index.html", "h/a/get?id=1.pdf"),
        ("", "h/a/get?id=1.pdf"),
    ],
)
def test_a_download_has_the_name_that_it_is_to_have(download: str, path: str) -> None:
    found = browsable("http://h/a/get?id=1", "application/pdf", download=download)
    assert found[0] == path
    assert len(set(found)) == len(found) > 1


@pytest.mark.parametrize(
    ("path", "media_type", "does"),
    [
        ("a.HTML", "text/html", True),
        ("a.png", "text/html", False),
        ("a", "text/html", False),
        ("a.jpeg", "image/jpeg", True),
        ("a.png", "image/jpeg", False),
        ("a.php", "image/jpeg", False),
        ("a.xyz", "image/jpeg", True),
        ("a", "image/jpeg", True),
        ("a.xyz", "application/octet-stream", True),
        ("a.html", "application/octet-stream", False),
        ("a.b.jpg", "image/png", False),
        ("a.jpg.b", "image/png", True),
    ],
)
def test_which_names_open(path: str, media_type: str, does: bool) -> None:
    assert opens(path, media_type) is does


def test_a_folder_has_one_name_for_all_that_is_in_it() -> None:
    deep = "http://h/" + "/".join("abcdefgh" * 40)
    cut, other = locate(deep + "/x"), locate(deep + "/yy")
    assert cut.folders == other.folders
    assert len(cut.folders) == MAX_DEPTH
    long = "http://h/" + "s" * 300
    assert locate(long + "/a").folders == (locate(long).name,)
    assert locate(long + "/a").pages == (locate(long).own_name,)


def test_the_own_name_of_a_page_is_known_to_those_below_it() -> None:
    for segment in ("a", "a%2F", "x" * 252, "x" * 400, "~", "index.html"):
        page, below = locate(f"http://h/p/{segment}"), locate(f"http://h/p/{segment}/q/r")
        assert below.folders[1] == page.name
        assert below.pages[1] == page.own_name


def test_query_of_four_kilobytes() -> None:
    query = "k=v&" * 1000
    first, second = locate(f"http://h/a?{query}"), locate(f"http://h/a?{query}x")
    assert first.name.startswith("a?k=v&k=v")
    assert len(first.name) == MAX_NAME
    assert first.name != second.name


def test_own_names_belong_to_no_url() -> None:
    urls = [
        f"{scheme}://h{mark}/{path}"
        for scheme, mark, path in product(
            ("http", "https"),
            ("", "%23http", "%23https"),
            ("a", "a/", "a%23file", "a%23folder", "index.html%23file", "a/%23empty", "a//"),
        )
    ]
    check_injective([canonical(url) for url in urls])


def test_urls_of_the_parsing_suite() -> None:
    cases = json.loads((suite("wpt-url") / "urltestdata.json").read_text())
    texts = [case for case in cases if isinstance(case, dict) and "href" in case]
    urls = [url for case in texts if (url := resolve(case["href"])) is not None]
    assert len(urls) > 200
    for url in urls:
        check_safe(url)
    check_injective(urls)


@pytest.mark.parametrize(
    ("url", "media_type", "names"),
    [
        ("http://h/a", "text/html", ["a.html", "a#file.html", "a#h{}.html"]),
        ("http://h/a.html", "text/html", ["a.html", "a.html#file.html", "a#h{}.html"]),
        ("http://h/a.docx", "", ["a.docx", "a.docx#file", "a#h{}.docx"]),
        ("http://h/a", "", ["a", "a#file", "a#h{}"]),
        (
            "http://h/?x=1",
            "text/html",
            ["index.html?x=1.html", "index.html?x=1#folder.html", "index.html?x=1#h{}.html"],
        ),
    ],
)
def test_the_last_name_that_a_page_may_have_is_its_own(
    url: str, media_type: str, names: list[str]
) -> None:
    digest = hashlib.blake2b(url.encode(), digest_size=16).hexdigest()
    assert browsable(url, media_type) == [f"h/{name.format(digest)}" for name in names]


@pytest.mark.parametrize(("download", "name"), [("..", "#2E."), (".", "#2E"), ("...", "...")])
def test_a_download_has_no_name_that_leads_up(download: str, name: str) -> None:
    assert browsable("http://h/a", "x/y", download=download)[0] == f"h/{name}"


@pytest.mark.parametrize(
    ("path", "is_index"),
    [("", True), ("index.html", True), ("index.html?x", True), ("a", False), ("a/", True)],
)
def test_indexes_are_those_that_two_urls_may_want(path: str, is_index: bool) -> None:
    assert locate(f"http://h/{path}").index is is_index


def test_a_companion_lies_in_the_folder_of_its_file() -> None:
    assert original_beside("a/b/c") == "a/b/c#.orig"
    folders, _, name = original_beside(f"a/b/{'x' * MAX_NAME}").rpartition("/")
    assert (folders, len(name)) == ("a/b", MAX_NAME)


def test_as_many_folders_are_kept_as_leave_room_for_a_name() -> None:
    room = MAX_PATH - len("h/") - MAX_NAME
    assert room == 13 * 211
    for length, kept in ((210, 13), (209, 13), (211, 12)):
        folders = "/".join(["f" * length] * 16)
        assert len(locate(f"http://h/{folders}/{'n' * MAX_NAME}").folders) == kept
    # All of a path that is not too long.
    folders = "/".join(["f" * 209] * 14)
    assert len(locate(f"http://h/{folders}/n").folders) == 14


@pytest.mark.parametrize(
    ("folder", "target", "way"),
    [
        ("h", "h/a", "a"),
        ("h/a", "h/b", "../b"),
        ("h/a", "h/a", "../a"),
        ("h/a/b", "h/a/c/d", "../c/d"),
        ("h", "i/a?b", "../i/a%3Fb"),
        ("", "h/a:b", "h/a%3Ab"),
    ],
)
def test_the_way_from_a_folder_to_a_file(folder: str, target: str, way: str) -> None:
    assert reference(tuple(filter(None, folder.split("/"))), target) == way
