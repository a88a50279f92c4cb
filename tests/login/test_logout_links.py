"""The links of a page that say that they log out."""

import pytest

from larbinpy.login.judge import logout_links
from larbinpy.page import Outcome, Page
from larbinpy.url import Url

SITE = "http://a.test"


def found(body: str) -> list[str]:
    headers = [("content-type", "text/html; charset=utf-8")]
    url = Url(f"{SITE}/x/y", 0)
    page = Page(url, Outcome.SUCCESS, status=200, headers=headers, body=body.encode())
    return list(logout_links(page))


@pytest.mark.parametrize(
    ("body", "href"),
    [
        ("<a href=/quit>Log <b>out</b></a>", "/quit"),
        ("<a href=bye?token=1>Se déconnecter</a>", "/x/bye?token=1"),
        ("<a href=/q title='Sign out'><i class=icon></i></a>", "/q"),
        ("<a href=/q><img src=x.png alt='Abmelden'></a>", "/q"),
        ("<map><area href=/q alt='Log out'></map>", "/q"),
        ("<form action=/q><input type=submit value='Log out'></form>", "/q"),
        ("<form action=/q><button>退出登录</button></form>", "/q"),
        ("<form action=/p><button formaction=/q>Logout</button></form>", "/q"),
        ("<base href=/deep/><a href=q>Log out</a>", "/deep/q"),
    ],
)
def test_they_are_found(body: str, href: str) -> None:
    assert found(f"<p>Hello</p>{body}<a href=/stay>How to log out</a>") == [SITE + href]


def test_all_of_a_page_are_found_whatever_stands_between_them() -> None:
    body = (
        "<a href=/a>News</a><a href=/q1>Log out</a><button>Log out</button><a href=/b>Help</a>"
        "<a href='mailto:a@b.test'>Log out</a><form action=/q2><button>Log out</button></form>"
    )
    assert found(body) == [f"{SITE}/q1", f"{SITE}/q2"]


@pytest.mark.parametrize(
    "body",
    [
        "<a href=/a>What to do if you cannot log out</a>",
        "<a>Log out</a><a href=''>Log out</a>",
        "<a href='mailto:a@b.test'>Log out</a>",
        "<button>Log out</button>",
        "<form><button>Log out</button></form>",
    ],
)
def test_others_are_not(body: str) -> None:
    assert [href for href in found(body) if href != f"{SITE}/x/y"] == []
