"""Threads as Discourse, phpBB, Hacker News, old Reddit and Stack Exchange write them."""

from collections.abc import Callable

import pytest
import turbohtml

from larbinpy.database.content.main_text import split

MENU = "".join(f"<li><a href=/c{n}>Category {n}</a></li>" for n in range(12))
THINGS = ("valve", "gasket", "pump", "hose", "clamp", "filter", "fan", "belt", "seal", "lamp")


def posts(count: int, first: int) -> list[list[str]]:
    """Paragraphs of posts, of which the first has `first` more."""
    more = [
        f"Then neighbour {n} said that all of it broke when the winter came." for n in range(first)
    ]
    made = [
        [f"Post {n}: I tried {THINGS[n % 10]} number {n}, and it broke, so I went back."]
        for n in range(count)
    ]
    made[0] += more
    return made


def paragraphs(post: list[str]) -> str:
    return "".join(f"<p>{each}</p>" for each in post)


def discourse(thread: list[list[str]]) -> str:
    made = "".join(
        f"<div id=post_{n} class='topic-body crawler-post'><div class=crawler-post-meta><span"
        f" class=creator>user{n}</span></div><div class=post>{paragraphs(post)}</div></div>"
        for n, post in enumerate(thread)
    )
    return (
        "<body class=crawler><header>Forum</header><div id=main-outlet role=main><div>"
        f"<h1>Which fails first</h1></div>{made}<div id=related-topics role=complementary>"
        f"<ul>{MENU}</ul></div></div><footer><nav><ul>{MENU}</ul></nav></footer>"
    )


def phpbb(thread: list[list[str]]) -> str:
    made = "".join(
        f"<div id=p{n} class='post bg{n % 2 + 1}'><div class=inner><dl class=postprofile><dt>u{n}"
        f"</dl><div class=postbody><p class=author>by user{n}</p><div class=content>"
        f"{'<br>'.join(post)}</div><div class=signature>Old signature</div></div></div></div><hr>"
        for n, post in enumerate(thread)
    )
    return (
        f"<body id=phpbb class='nojs section-viewtopic'><div role=banner><h1>Board</h1></div>"
        f"<div role=navigation><ul>{MENU}</ul></div><div id=page-body class=page-body role=main>"
        f"<h2 class=topic-title>Which fails first</h2>{made}</div>"
    )


def hacker_news(thread: list[list[str]]) -> str:
    made = "".join(
        f"<tr class='athing comtr' id={n}><td><table><tr><td class=ind><td class=votelinks><td"
        f" class=default><span class=comhead>user{n}</span><div class=comment><div class=commtext>"
        f"{post[0]}{paragraphs(post[1:])}</div><div class=reply>reply</div></div></table></tr>"
        for n, post in enumerate(thread)
    )
    return (
        "<body><center><table id=hnmain><tr><td><span class=pagetop><a>new</a></span><tr><td><table"
        " class=fatitem><tr><td class=title><a>Which fails first</a></table><table"
        f" class=comment-tree>{made}</table><tr><td><form>Search: <input></form></table></center>"
    )


def reddit(thread: list[list[str]]) -> str:
    def text(post: list[str]) -> str:
        return (
            "<form class=usertext><div class='usertext-body md-container'><div class=md>"
            f"{paragraphs(post)}</div></div></form>"
        )

    made = "".join(
        f"<div class='thing id-t1_{n} comment'><div class=entry><p class=tagline><a>user{n}</a></p>"
        f"{text(post)}<ul class='flat-list buttons'><li>permalink</ul></div></div>"
        for n, post in enumerate(thread)
        if n
    )
    return (
        f"<body class='listing-page comments-page'><div id=header role=banner><ul>{MENU}</ul></div>"
        "<div class=side><h1 class=redditname>cars</h1></div><div class=content role=main>"
        "<div id=siteTable><div class='thing link'><div class=entry><p class=title>Which fails"
        f" first</p><div class=expando>{text(thread[0])}</div></div></div></div>"
        f"<div class=commentarea><div class='sitetable nestedlisting'>{made}</div></div></div>"
    )


def stack_exchange(thread: list[list[str]]) -> str:
    def body(post: list[str]) -> str:
        return f"<div class='s-prose js-post-body'>{paragraphs(post)}</div>"

    answers = "".join(
        f"<div id=answer-{n} class='answer js-answer'><div class=post-layout><div class=answercell>"
        f"{body(post)}<div class=user-info>user{n}</div></div></div></div>"
        for n, post in enumerate(thread)
        if n
    )
    return (
        f"<body class=question-page><header><ul>{MENU}</ul></header><div id=content><h1>Which fails"
        f" first</h1><div id=mainbar role=main><div class=question id=question>{body(thread[0])}"
        f"</div><div id=answers><h2>Answers</h2>{answers}</div></div></div>"
    )


@pytest.mark.parametrize("first", [0, 1, 6, 20])
@pytest.mark.parametrize("count", [2, 3, 8, 20])
@pytest.mark.parametrize("engine", [discourse, phpbb, hacker_news, reddit, stack_exchange])
def test_every_post_of_a_thread_is_main_text(
    engine: Callable[[list[list[str]]], str], count: int, first: int
) -> None:
    thread = posts(count, 0 if engine is hacker_news else first)
    found = split(turbohtml.parse(engine(thread))).main
    assert [each for post in thread for each in post if each not in found] == []
    assert "Category" not in found
    assert "permalink" not in found
