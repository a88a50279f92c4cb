"""`crawl --check-links`: every way in which a link can be broken, and servers that refuse HEAD."""

import csv
import io
import json
from typing import Any
from xml.etree import ElementTree

import pytest

from larbinpy.url import MAX_LENGTH
from tests.support.browser import chromium
from tests.support.crawling import Asked, Crawler, Web, World, html, missing, moved, ok, one_line
from tests.support.webserver import Until, reply

pytest_plugins = ["tests.support.crawlworld"]


def methods(web: Web, path: str, host: str) -> list[str]:
    """The methods of the requests for a URL, in their order."""
    return [
        head.split(b" ", 1)[0].decode()
        for head, asked in zip(web.requests, web.asked, strict=True)
        if (asked.host, asked.path) == (host, path)
    ]


def printed(crawler: Crawler) -> list[str]:
    """The lines of a check, without those about single URLs."""
    return [line for line in crawler.out.splitlines() if not line.startswith("[")]


def bare(status: str, *headers: str) -> bytes:
    """The reply to HEAD: no body, whatever Content-Length says."""
    lines = [f"HTTP/1.1 {status}", "Content-Length: 1000", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


@pytest.fixture
def site(world: World) -> Web:
    pages = {
        "/": html(
            *("/one", "/styled", "/gone", "/old", "/file.pdf", "//far.test/", "//far.test/gone"),
            *("//far.test/secret", "//far.test/moved", "//odd.test/405", "//odd.test/403"),
            *("//odd.test/404", "//odd.test/empty", "//odd.test/gone", "//none.test/"),
        ),
        "/one": html("/", "/gone", "/plain", "//far.test/"),
        "/styled": ok(b'<link rel=stylesheet href="/s.css"><img src="/i.png"><img src="/i2.png">'),
        "/s.css": ok(b"a { background: url(/missing.png) }", "text/css"),
        "/robots.txt": ok(b"User-agent: *\nDisallow: /secret/", "text/plain"),
        "/file.pdf": ok(b"%PDF" + bytes(100), "application/pdf"),
        "/plain": ok(b"text" * 10_000, "text/plain"),
        "/old": moved("/gone"),
    }
    # Sitemaps of another host are no concern.
    site_map = "Sitemap: http://far.test:{}/sitemap.xml"
    refusals = {"/405": "405 X", "/403": "403 X", "/404": "404 X", "/empty": "501 X"}

    def answer(asked: Asked) -> Any:
        method = web.requests[-1].split(b" ", 1)[0]
        if asked.host == "site.test":
            found = pages.get(asked.path, missing())
            if method == b"HEAD":
                there = asked.path in ("/i.png", "/file.pdf")
                yield bare("200 OK" if there else "404 Not Found")
            else:
                yield _ported(found, web.port)
        elif asked.host == "far.test":
            yield from far(asked, method)
        elif method == b"HEAD":
            yield bare(refusals.get(asked.path, "404 Not Found"))
        elif asked.path == "/empty":
            has_range = "range" in asked.headers
            yield reply(b"", status="416 Range Not Satisfiable" if has_range else "200 OK")
        elif asked.path in refusals:
            yield ok(b"x" * 100_000)
        else:
            yield missing()

    def far(asked: Asked, method: bytes) -> Any:
        if asked.path == "/robots.txt":
            sitemap = site_map.format(web.port).encode()
            yield ok(b"User-agent: *\nDisallow: /secret\n" + sitemap, "text/plain")
        elif asked.path == "/moved":
            yield bare("301 Moved", "Location: /lost") if method == b"HEAD" else moved("/lost")
        elif method != b"HEAD":
            yield missing()
        elif asked.path == "/":
            yield bare("200 OK", "Content-Type: text/html")
        else:
            yield bare("404 Not Found")

    web = world.web(answer, "site.test", "far.test", "odd.test")
    return web


def _ported(page: bytes, port: int) -> bytes:
    for host in (b"far.test", b"odd.test", b"none.test"):
        page = page.replace(b'"//' + host, b'"http://' + host + b":%d" % port)
    head, _, body = page.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"content-length")]
    return b"\r\n".join([*lines, b"Content-Length: %d" % len(body), b"", body])


def test_what_is_broken_is_found_and_nothing_else(site: Web, world: World) -> None:
    world.conf("retries 0")
    crawler = world.run("--check-links", site.url())
    assert crawler.err == ""
    assert crawler.process.returncode == 1
    found = world.larbinpy("report", "--json")
    broken = {link["url"]: link for link in json.loads(found.out)["broken"]}
    assert {url.replace(f":{site.port}", "") for url in broken} == {
        "http://site.test/gone",
        "http://site.test/old",
        "http://site.test/i2.png",
        "http://site.test/missing.png",
        "http://far.test/gone",
        "http://far.test/moved",
        "http://odd.test/gone",
        "http://none.test/",
    }
    assert broken[site.url("/moved", "far.test")]["hops"] == [site.url("/lost", "far.test")]
    assert broken[site.url("/missing.png")]["pages"] == [site.url("/s.css")]
    lines = crawler.out.splitlines()
    assert f"  404 Not Found: {site.url('/gone')}" in lines
    assert f'      on {site.url("/")}  (line 5, "x")' in lines
    at = lines.index("Not checked:")
    urls = json.loads(found.out)["urls"]
    assert lines[at - 1] == f"{urls - 1} of {urls} URLs checked"
    assert lines[at + 1].split(maxsplit=1) == ["1", "by robots.txt"]
    assert not world.out.exists()


def test_only_pages_of_the_seeds_hosts_are_read(site: Web, world: World) -> None:
    world.conf("retries 0")
    world.run("--check-links", site.url())
    assert methods(site, "/", "site.test") == ["GET"]
    assert methods(site, "/", "far.test") == ["HEAD"]
    assert methods(site, "/sitemap.xml", "far.test") == []
    assert methods(site, "/file.pdf", "site.test") == ["HEAD"]
    assert methods(site, "/plain", "site.test") == ["GET"]
    assert methods(site, "/i.png", "site.test") == ["HEAD"]
    assert methods(site, "/s.css", "site.test") == ["GET"]
    outcomes = {url.replace(f":{site.port}", ""): each for url, each in world.outcomes().items()}
    assert outcomes["http://far.test/"] == "checked"
    assert outcomes["http://site.test/file.pdf"] == "checked"
    assert outcomes["http://site.test/plain"] == "checked"
    assert outcomes["http://far.test/secret"] == "forbiddenRobots"


@pytest.mark.parametrize("path", ["/405", "/403", "/404"])
def test_a_server_that_refuses_head_is_asked_for_the_first_byte(
    site: Web, world: World, path: str
) -> None:
    world.conf("retries 0", "retryWait 1h")
    world.run("--check-links", site.url())
    assert methods(site, path, "odd.test") == ["HEAD", "GET"]
    [last] = [a for a in site.asked if (a.host, a.path) == ("odd.test", path)][1:]
    assert last.headers["range"] == "bytes=0-0"
    [fate] = [fate for fate in world.fates if fate["url"] == site.url(path, "odd.test")]
    assert (fate["outcome"], fate["attempt"]) == ("checked", 2)


@pytest.mark.parametrize("head", ["302 Found", "404 Not Found"])
def test_a_page_that_only_a_plain_get_shows_is_not_broken(world: World, head: str) -> None:
    def answer(asked: Asked) -> Any:
        if asked.host == "site.test":
            yield html(web.url("/x", "odd.test")) if asked.path == "/" else missing()
        elif asked.path != "/x":
            yield missing()
        elif web.requests[-1].startswith(b"HEAD"):
            yield bare(head, "Location: /lost")
        else:
            yield reply(b"", status="500 X") if "range" in asked.headers else ok(b"x" * 100_000)

    web = world.web(answer, "site.test", "odd.test")
    world.conf("retries 0", "retryWait 1h")
    crawler = world.run("--check-links", web.url())
    assert crawler.process.returncode == 0
    assert methods(web, "/x", "odd.test") == ["HEAD", "GET", "GET"]
    assert methods(web, "/lost", "odd.test") == []


def test_what_a_server_refuses_is_told_apart(world: World) -> None:
    ends = {"/401": "401 Unauthorized", "/403": "403 Forbidden", "/404": "404 Not Found"}

    def answer(asked: Asked) -> Any:
        if asked.path == "/":
            yield html(*ends)
        else:
            yield reply(b"", status=ends.get(asked.path, "404 Not Found"))

    web = world.web(answer, "site.test")
    world.conf("acceptStatus 401 end", "brokenStatus 999 end")
    crawler = world.run("--check-links", web.url())
    lines = printed(crawler)
    assert lines[:2] == ["Broken links: 1, on 1 page", f"  404 Not Found: {web.url('/404')}"]
    assert lines[3:5] == [
        "Refused to us, so perhaps not broken: 1, on 1 page",
        f"  403 Forbidden: {web.url('/403')}",
    ]
    assert web.url("/401") not in "".join(lines)
    assert crawler.process.returncode == 1
    assert world.run("--check-links", "--scratch", web.url("/403")).process.returncode == 4


def test_a_site_that_answers_nothing_but_429_is_given_up(world: World) -> None:
    def answer(asked: Asked) -> Any:
        if asked.host == "site.test":
            paths = [web.url(f"/{number}", "far.test") for number in range(9)]
            yield html(*paths) if asked.path == "/" else missing()
        else:
            yield missing() if asked.path == "/robots.txt" else reply(b"", status="429 Too Many")

    web = world.web(answer, "site.test", "far.test")
    world.conf("maxWait 0.1", "retryWait 30")
    crawler = world.run("--check-links", web.url())
    refused = [line for line in printed(crawler) if line.startswith("  429 Too Many Requests: ")]
    assert (crawler.process.returncode, len(refused)) == (0, 9)
    assert sum(asked.host == "far.test" for asked in web.asked) < 12


def test_a_site_that_refuses_head_by_429_is_asked_by_get(world: World) -> None:
    def answer(asked: Asked) -> Any:
        if asked.host == "site.test":
            paths = [web.url(f"/{number}", "far.test") for number in range(9)]
            yield html(*paths) if asked.path == "/" else missing()
        elif asked.path != "/robots.txt" and web.requests[-1].startswith(b"HEAD"):
            yield bare("429 Too Many")
        else:
            yield missing() if asked.path == "/robots.txt" else ok(b"x")

    web = world.web(answer, "site.test", "far.test")
    world.conf("maxWait 0.1", "retryWait 0.1")
    crawler = world.run("--check-links", web.url())
    assert printed(crawler)[0] == "No broken links."
    assert sum(head.startswith(b"HEAD") for head in web.requests) == 1
    assert not any(line.startswith("  429 ") for line in printed(crawler))


def test_a_site_whose_links_are_all_refused_exits_0(world: World) -> None:
    def answer(asked: Asked) -> Any:
        yield html("/x") if asked.path == "/" else reply(b"", status="403 Forbidden")

    web = world.web(answer, "site.test")
    world.conf("ignoreRobots")
    crawler = world.run("--check-links", web.url())
    assert printed(crawler)[0] == "No broken links."
    assert f"  403 Forbidden: {web.url('/x')}" in printed(crawler)
    assert crawler.process.returncode == 0


@pytest.mark.parametrize("tag", ['<meta name="robots" content="noindex, nofollow">', ""])
def test_nofollow_does_not_silence_a_check(world: World, tag: str) -> None:
    def answer(asked: Asked) -> Any:
        lines = ["Content-Type: text/html", *([] if tag else ["X-Robots-Tag: nofollow"])]
        page = f'<title>t</title>{tag}<a href="/gone" rel=nofollow>x</a>'.encode()
        yield reply(page, *lines) if asked.path == "/" else missing()

    web = world.web(answer, "site.test")
    world.conf()
    crawler = world.run("--check-links", web.url())
    assert f"  404 Not Found: {web.url('/gone')}" in crawler.out.splitlines()
    assert crawler.process.returncode == 1


def test_parts_of_pages_are_looked_for(world: World) -> None:
    pages = {"/": html("/doc#there", "/doc#not-there"), "/doc": ok(b"<h2 id=there>x</h2>")}
    web = world.web(lambda asked: iter([pages.get(asked.path, missing())]), "site.test")
    world.conf()
    crawler = world.run("--check-links", web.url())
    lines = printed(crawler)
    assert lines[:3] == [
        "Broken links: 1, on 1 page",
        f"  --- {web.url('/doc')}#not-there",
        "      the page has no part of this name",
    ]
    assert crawler.process.returncode == 1
    rows = list(csv.DictReader(io.StringIO(world.larbinpy("report", "--csv").out)))
    assert [(row["url"], row["outcome"], row["group"]) for row in rows] == [
        (f"{web.url('/doc')}#not-there", "noPart", "broken")
    ]


def test_parts_that_scripts_make_are_known_with_a_browser(world: World) -> None:
    chromium()
    script = b"<script>app.innerHTML = '<h2 id=made>x</h2><a href=/gone>x</a>'</script>"
    pages = {"/": html("/doc#made", "/doc#none"), "/doc": ok(b"<div id=app></div>" + script)}
    web = world.web(lambda asked: iter([pages.get(asked.path, missing())]), "site.test")
    world.conf()
    crawler = world.run("--check-links", "--render", web.url())
    found = [line for line in printed(crawler) if line.startswith(("  --- ", "  404 "))]
    assert found == [f"  404 Not Found: {web.url('/gone')}", f"  --- {web.url('/doc')}#none"]
    assert crawler.process.returncode == 1


def test_a_redirect_to_a_part_leads_there(world: World) -> None:
    pages = {
        "/": html("/a#x", "/b#y"),
        "/a": moved("/doc#there"),
        "/b": moved("/doc"),
        "/doc": ok(b"<h2 id=there>x</h2>"),
    }
    web = world.web(lambda asked: iter([pages.get(asked.path, missing())]), "site.test")
    world.conf()
    crawler = world.run("--check-links", web.url())
    found = [line for line in printed(crawler) if line.startswith("  --- ")]
    assert found == [f"  --- {web.url('/b')}#y"]


FAR = {
    "/doc": ok(b'<h1>t</h1><h2 id=there>x</h2><script>id = "made"</script>'),
    "/old": moved("/doc"),
    "/part": moved("/doc#there"),
    "/filled": ok(b"<div id=root></div><script src=/x.js></script>"),
    "/late": ok(b"<h1 id=there>t</h1>"),
    "/members": moved("/login"),
    "/login": ok(b"<h1>Log in</h1><form><input name=p type='password'></form>"),
}


def test_parts_of_pages_elsewhere_are_looked_for(world: World) -> None:
    named = ["/doc#there", "/doc#made", "/doc#no", "/doc#L20", "/old#there", "/old#none"]
    named += ["/part#any", "/filled#any", "/gone#any", "/late", "/members#any"]

    def answer(asked: Asked) -> Any:
        if asked.host == "far.test":
            yield FAR.get(asked.path, missing())
            return
        if asked.path == "/2":
            # The reply to /late was read, since its site has one connection.
            yield Until(lambda: bool(methods(web, "/members", "far.test")))
        links = {"/": ["/2", *named], "/2": ["/late#there", "/late#nowhere"]}.get(asked.path)
        if links is None:
            yield missing()
            return
        yield html(*(each if each == "/2" else web.url(each, "far.test") for each in links))

    web = world.web(answer, "site.test", "far.test")
    world.conf()
    crawler = world.run("--check-links", web.url())
    found = [line.partition("far.test")[2][6:] for line in printed(crawler) if line[:2] == "  "]
    parts = [line for line in found if "#" in line and not line.endswith(")")]
    assert sorted(parts) == ["/doc#no", "/late#nowhere", "/old#none"]
    unknown = [line.split()[0] for line in printed(crawler) if "parts of pages: " in line]
    assert unknown == ["1", "1"]
    assert methods(web, "/doc", "far.test") == ["GET"]
    assert methods(web, "/late", "far.test") == ["HEAD", "GET"]


def test_known_faults_do_not_count_and_junit_names_all(world: World) -> None:
    ends = {"/gone": "404 Not Found", "/old": "410 Gone", "/shut": "403 Forbidden"}

    def answer(asked: Asked) -> Any:
        if asked.path == "/":
            yield html(*ends, "/b&c")
        elif asked.path == "/robots.txt":
            yield ok(b"User-agent: *\nDisallow: /b", "text/plain")
        else:
            yield reply(b"", status=ends[asked.path])

    web = world.web(answer, "site.test")
    world.conf()
    known = world.folder / "known.txt"
    known.write_text(f"# accepted in May\n{web.url('/old')}\t# x\n{web.url('/mended')}\n")
    options = ("--known", "known.txt", "--junit", "junit.xml")
    crawler = world.run("--check-links", *options, web.url())
    assert crawler.process.returncode == 1
    lines = printed(crawler)
    assert lines[0] == "Broken links: 1, on 1 page"
    at = lines.index("Known faults: 1, which do not count (knownFaults)")
    assert lines[at + 2] == f"  {web.url('/mended')}"
    suite = ElementTree.parse(world.folder / "junit.xml").getroot()[0]
    numbers = {name: suite.attrib[name] for name in ("tests", "failures", "errors", "skipped")}
    assert numbers == {"tests": "5", "failures": "1", "errors": "0", "skipped": "3"}
    results = {case.attrib["name"]: [each.tag for each in case] for case in suite}
    assert results == {
        web.url("/"): [],
        web.url("/gone"): ["failure"],
        web.url("/old"): ["skipped"],
        web.url("/shut"): ["skipped"],
        web.url("/b&c"): ["skipped"],
    }
    known.write_text(f"{web.url('/old')}\n{web.url('/gone')}\n")
    again = world.run("--check-links", "--scratch", *options, web.url())
    assert again.process.returncode == 0


def test_options_of_a_check_need_one(world: World) -> None:
    world.conf()
    said = one_line(world.larbinpy("crawl", "--junit", "x.xml", "http://site.test/"))
    assert said == "larbinpy: --junit and --known need --check-links\n"


def test_a_site_without_broken_links_exits_0(world: World) -> None:
    def answer(asked: Asked) -> Any:
        yield missing() if asked.path == "/robots.txt" else html("/", "/b")

    web = world.web(answer, "site.test")
    world.conf()
    crawler = world.run("--check-links", web.url())
    assert crawler.process.returncode == 0
    assert crawler.out.endswith("No broken links.\n2 URLs checked\n")
    assert world.reported()["exit_code"] == 0


def test_a_seed_that_is_gone_exits_4_and_is_reported(world: World) -> None:
    web = world.web(lambda asked: [missing()], "site.test")
    world.conf()
    crawler = world.run("--check-links", web.url())
    assert crawler.process.returncode == 4
    assert "it was given as a seed" in crawler.out


def test_pages_are_not_kept(world: World) -> None:
    world.conf()
    said = one_line(world.larbinpy("crawl", "--check-links", "-o", "x", "http://site.test/"))
    assert "-o and --check-links cannot be used together" in said


def test_stay_says_which_pages_are_read(site: Web, world: World) -> None:
    world.conf("retries 0", "stay page")
    world.run("--check-links", site.url())
    assert methods(site, "/", "site.test") == ["GET"]
    assert methods(site, "/one", "site.test") == ["HEAD", "GET"]
    [asked] = [a for a in site.asked if a.path == "/one" and "range" in a.headers]
    assert asked.headers["range"] == "bytes=0-0"
    assert methods(site, "/i.png", "site.test") == []


def test_a_check_that_was_killed_goes_on(world: World) -> None:
    held = True

    def answer(asked: Asked) -> Any:
        if asked.path == "/robots.txt":
            yield missing()
        elif asked.host == "far.test":
            while held and asked.path == "/9":
                yield 0.05
            found = asked.path not in ("/3", "/9")
            yield bare("200 OK" if found else "410 Gone")
        else:
            yield html(*(web.url(f"/{n}", "far.test") for n in range(20)))

    web = world.web(answer, "site.test", "far.test")
    world.conf("canReload")
    crawler = world.crawl("--check-links", web.url())
    world.until(lambda: len(world.fates) > 5)
    crawler.process.kill()
    world.finish(crawler)
    held = False
    again = world.run("--check-links", "--resume")
    assert again.process.returncode == 1
    lines = again.out.splitlines()
    assert "Broken links: 2, on 1 page" in lines
    for path in ("/3", "/9"):
        at = lines.index(f"  410 Gone: {web.url(path, 'far.test')}")
        assert lines[at + 1].startswith(f"      on {web.url()}  (line ")
    assert lines[-1] == "21 URLs checked"


def test_links_that_are_no_urls_are_broken(world: World) -> None:
    bad = ("http://[bad", "htp://typo.example/", "http://me:secret@[x/ y")
    fine = ("mailto:me@a.test", "tel:+1", "javascript:go()", "ftp://a.test/", "vscode://file/x")
    pages = {
        "/": html("/two", *bad, *fine, "data:,x"),
        "/two": ok(b'<img src="http://[bad"><a href="/">home</a><a href="#top">up</a>'),
    }
    site = world.web(lambda asked: iter([pages.get(asked.path, missing())]), "site.test")
    world.conf()
    crawler = world.run("--check-links", site.url())
    assert crawler.process.returncode == 1
    assert "Broken links: 3, on 2 pages" in crawler.out
    assert "2 URLs checked" in crawler.out
    found = world.larbinpy("report", "--json")
    assert "secret" not in found.out
    broken = {link["url"]: link for link in json.loads(found.out)["broken"]}
    home, two = site.url("/"), site.url("/two")
    assert {url: sorted(link["pages"]) for url, link in broken.items()} == {
        "http://[bad": [home, two],
        "htp://typo.example/": [home],
        "http://***@[x/%20y": [home],
    }
    assert {(link["outcome"], link["reason"]) for link in broken.values()} == {
        ("badURL", "not a URL")
    }
    rows = list(csv.DictReader(io.StringIO(world.larbinpy("report", "--csv").out)))
    assert {row["page"] for row in rows if row["url"] == "http://[bad"} == {home, two}


def test_links_that_the_crawl_refuses_are_left_out(world: World) -> None:
    bad_ports = ("http://127.0.0.1:9/a", "http://a.test:22/", "http://a.test:22/#x")
    long = f"/{'x' * MAX_LENGTH}"

    def answer(asked: Asked) -> Any:
        yield html("/two", *bad_ports, long) if asked.path == "/" else html(*bad_ports[:1])

    web = world.web(answer, "site.test")
    world.conf()
    crawler = world.run("--check-links", web.url())
    assert crawler.process.returncode == 0
    assert crawler.out.splitlines()[-5:] == [
        "No broken links.",
        "2 URLs checked",
        "Not checked:",
        f"{3:>12}  links: their ports are those of other services, such as 22 and 25",
        f"{1:>12}  links: they are longer than 8,000 characters",
    ]


@pytest.mark.parametrize("silent", [False, True])
def test_a_server_that_does_not_answer_head_is_asked_by_get(world: World, silent: bool) -> None:
    def answer(asked: Asked) -> Any:
        if asked.host == "site.test":
            yield html(web.url("/", "odd.test")) if asked.path == "/" else missing()
        elif web.requests[-1].startswith(b"HEAD"):
            if silent:
                yield 5.0
        else:
            yield ok(b"fine")

    web = world.web(answer, "site.test", "odd.test")
    world.conf("retries 0", "timeoutPage 1s")
    crawler = world.run("--check-links", web.url())
    assert crawler.out.endswith("No broken links.\n2 URLs checked\n")
    assert crawler.process.returncode == 0
    assert methods(web, "/", "odd.test") == ["HEAD", "GET"]


def test_urls_that_a_site_limit_ended_are_not_checked(world: World) -> None:
    def answer(asked: Asked) -> Any:
        yield missing() if asked.path == "/robots.txt" else html("/1", "/2", "/3", "/4")

    web = world.web(answer, "site.test")
    world.conf("limitPageBySite 2")
    crawler = world.run("--check-links", web.url())
    lines = [line for line in crawler.out.splitlines() if not line.startswith("[")]
    assert lines[:3] == ["No broken links so far.", "2 of 5 URLs checked", "Not checked:"]
    assert lines[3].split(maxsplit=1) == [
        "3",
        "by limits by site (limitPageBySite, limitBytesBySite)",
    ]
    assert lines[-1] == "incomplete: 3 URLs left out by limits by site"
    assert crawler.process.returncode == 0


def test_a_check_that_a_limit_ended_says_so(world: World) -> None:
    def answer(asked: Asked) -> Any:
        yield missing() if asked.path == "/robots.txt" else html("/1", "/2", "/3", "/4")

    web = world.web(answer, "site.test")
    world.conf("limitPage 1")
    crawler = world.run("--check-links", web.url())
    assert "No broken links so far.\n1 URL checked\n" in crawler.out
    last = crawler.out.splitlines()[-1]
    assert last.startswith("incomplete: ended by limitPage; ")
    assert last.endswith("queued, --resume continues")


def test_pages_that_a_rule_rejects_by_type_are_not_checked(world: World) -> None:
    pages = {"/": html("/plain"), "/plain": ok(b"text", "text/plain")}
    web = world.web(lambda asked: iter([pages.get(asked.path, missing())]), "site.test")
    world.conf("reject type:text/plain")
    crawler = world.run("--check-links", web.url())
    lines = crawler.out.splitlines()
    at = lines.index("1 of 2 URLs checked")
    assert lines[at + 1 :] == ["Not checked:", f"{1:>12}  by reject type:text/plain"]
    assert crawler.process.returncode == 0
