"""Filters from the manuals of wget and HTTrack, as settings of larbinpy.

Each has the URLs that its manual takes and those that it leaves out; docs/filtering.md has them in
a table.
"""

from typing import NamedTuple


class Example(NamedTuple):
    """A filter: a page at `seed` links to the places of `taken` and `left`."""

    #: As in the manual.
    filter: str
    #: Lines of larbin.conf.
    lines: tuple[str, ...]
    taken: str
    left: str
    seed: str = "www.example.com/"


WGET = [
    Example(
        "wget -r",
        ("stay host",),
        "www.example.com/a www.example.com/b/c.html",
        "other.test/ images.example.com/x",
    ),
    Example("wget -r -H", ("stay any",), "www.example.com/a other.test/ images.example.com/x", ""),
    Example(
        "wget -rH -Dexample.com",
        ("accept host:example.com", "reject **"),
        "www.example.com/a images.example.com/x example.com/",
        "other.test/ notexample.com/",
    ),
    Example(
        "wget -rH -Dfoo.edu --exclude-domains sunsite.foo.edu",
        ("reject host:sunsite.foo.edu", "accept host:foo.edu", "reject **"),
        "www.foo.edu/a ftp.foo.edu/b",
        "sunsite.foo.edu/ www.example.com/",
        "www.foo.edu/",
    ),
    Example(
        "wget -r -A gif,jpg",
        (r"accept /\.(gif|jpg)$/", r"accept /(\/|\.html?)$/", "reject **"),
        "www.example.com/a.gif www.example.com/b/c.jpg www.example.com/page.html",
        "www.example.com/a.png www.example.com/a.ps",
    ),
    Example(
        'wget -r -A "zelazny*196[0-9]*"',
        (r"accept /\/zelazny[^\/]*196[0-9][^\/]*$/", r"accept /(\/|\.html?)$/", "reject **"),
        "www.example.com/zelazny-1965.txt www.example.com/x/zelazny.1969",
        "www.example.com/zelazny-1975.txt www.example.com/a-zelazny-1965",
    ),
    Example(
        "wget -r -R mpg,mpeg,au",
        (r"reject /\.(mpg|mpeg|au)$/",),
        "www.example.com/a.html www.example.com/b.gif www.example.com/mpg",
        "www.example.com/a.mpg www.example.com/x/b.mpeg www.example.com/c.au",
    ),
    Example(
        'wget -r -R "bjork*"',
        ("reject **/bjork*",),
        "www.example.com/a.mp3 www.example.com/not-bjork www.example.com/bjork/a.mp3",
        "www.example.com/bjork.mp3 www.example.com/x/bjork-live",
    ),
    Example(
        'wget -r -A "*zelazny*" -R .ps',
        ("reject **.ps", "accept **/*zelazny*", r"accept /(\/|\.html?)$/", "reject **"),
        "www.example.com/roger-zelazny.txt www.example.com/x/zelazny",
        "www.example.com/zelazny.ps www.example.com/asimov.txt",
    ),
    Example(
        'wget -r --ignore-case -A "*.txt"',
        (r"accept /(?i)\.txt$/", r"accept /(?i)(\/|\.html?)$/", "reject **"),
        "www.example.com/file1.txt www.example.com/file2.TXT www.example.com/file3.TxT",
        "www.example.com/file1.txt2",
    ),
    Example(
        "wget -r -I /people,/cgi-bin",
        (
            "stay host",
            "accept *://host.test/people/**",
            "accept *://host.test/cgi-bin/**",
            "reject **",
        ),
        "host.test/people/alice/ host.test/cgi-bin/x",
        "host.test/dev/ host.test/peoples/ other.test/people/x",
        "host.test/people/bozo/",
    ),
    Example(
        "wget -r -X /cgi-bin",
        ("stay host", "reject *://*/cgi-bin/**"),
        "www.example.com/a www.example.com/x/cgi-bin/y",
        "www.example.com/cgi-bin/x www.example.com/cgi-bin/",
    ),
    Example(
        "wget -r -I/pub -X/pub/worthless",
        ("reject *://*/pub/worthless/**", "accept *://www.example.com/pub/**", "reject **"),
        "www.example.com/pub/a www.example.com/pub/b/c",
        "www.example.com/pub/worthless/a www.example.com/etc/",
    ),
    Example(
        "wget -r --no-parent",
        ("stay prefix",),
        "somehost.test/~luzer/my-archive/a somehost.test/~luzer/my-archive/b/c",
        "somehost.test/~his-girls-homepage/ somehost.test/~luzer/all-my-mpegs/ somehost.test/",
        "somehost.test/~luzer/my-archive/",
    ),
    Example(
        "wget -r -l1 --no-parent -A.gif",
        ("depthInSite 1", "accept *://www.example.com/dir/**.gif", "reject **"),
        "www.example.com/dir/a.gif www.example.com/dir/b/c.gif",
        "www.example.com/dir/a.png www.example.com/b.gif www.example.com/other/",
        "www.example.com/dir/",
    ),
    Example(
        "wget -p",
        ("stay page", "requisites everywhere"),
        "",
        "www.example.com/a www.example.com/dir/b other.test/",
        "www.example.com/dir/",
    ),
    Example(
        "wget -r --reject-regex '[?&]sort='",
        ("reject /[?&]sort=/",),
        "www.example.com/a?page=2 www.example.com/sort=",
        "www.example.com/a?sort=up www.example.com/a?b=c&sort=up",
    ),
    Example(
        "wget -r --accept-regex '/20[0-9][0-9]/'",
        (r"accept /\/20[0-9][0-9]\//", "reject **"),
        "www.example.com/2024/a www.example.com/x/2011/b",
        "www.example.com/1999/a www.example.com/2024",
    ),
]

#: HTTrack's last rule that matches decides, so the order is turned round.
HTTRACK = [
    Example(
        "httrack URL",
        ("stay prefix",),
        "www.example.com/test/a www.example.com/test/b/c.html",
        "www.example.com/ www.example.com/other/ other.test/test/x",
        "www.example.com/test/",
    ),
    Example(
        "+*.gif",
        ("stay prefix", "accept **.gif"),
        "www.example.com/test/a other.test/x.gif www.example.com/y.gif",
        "www.example.com/z.png other.test/",
        "www.example.com/test/",
    ),
    Example(
        "-*.gif",
        ("stay prefix", "reject **.gif"),
        "www.example.com/test/a.png",
        "www.example.com/test/a.gif",
        "www.example.com/test/",
    ),
    Example(
        "+*.gif -*image*.gif",
        ("stay prefix", "reject **image**.gif", "accept **.gif"),
        "other.test/x.gif www.example.com/test/y.gif",
        "other.test/image1.gif www.example.com/test/imageblue.gif www.example.com/imagery.gif",
        "www.example.com/test/",
    ),
    Example(
        "-*image*.gif +*.gif",
        ("stay prefix", "accept **.gif", "reject **image**.gif"),
        "other.test/image1.gif www.example.com/test/imageblue.gif",
        "other.test/image1.png",
        "www.example.com/test/",
    ),
    Example(
        "+www.thisweb.com*",
        ("stay prefix", "accept *://www.thisweb.com**"),
        "www.thisweb.com/a www.thisweb.com.example.org/",
        "thisweb.com/ other.test/",
    ),
    Example(
        "+www.thisweb.com/*",
        ("stay prefix", "accept *://www.thisweb.com/**"),
        "www.thisweb.com/a",
        "www.thisweb.com.example.org/ thisweb.com/",
    ),
    Example(
        "-*cgi-bin*",
        ("stay host", "reject **cgi-bin**"),
        "www.example.com/a",
        "www.example.com/cgi-bin/x www.example.com/a?cgi-bin www.example.com/my-cgi-bins",
    ),
    Example(
        "-www.*[path].com/*[path].zip",
        (r"reject /^https?:\/\/www\.[^?]*\.com(:\d+)?\/[^?]*\.zip/",),
        "ftp.example.com/a.zip www.example.org/a.zip www.example.com/a",
        "www.example.com/a.zip www.example.com/b/c.zip",
    ),
    Example(
        "-*example*/*.tar*",
        ("reject **example**/**.tar**",),
        "other.test/a.tar www.example.com/a.gz",
        "www.example.com/a.tar www.example.com/b/c.tar.gz other.test/example/a.tar",
    ),
    Example(
        "-*/*somepage*",
        ("reject *://*/**somepage**",),
        "somepage.test/a www.example.com/page",
        "www.example.com/somepage www.example.com/a/my-somepage.html",
    ),
    Example(
        "+*.html",
        ("stay prefix", r"accept /\.html(\?|$)/"),
        "other.test/a.html other.test/index.html?page=10",
        "other.test/a.htm",
    ),
    Example(
        "+*.html*[]",
        ("stay prefix", "accept **.html"),
        "other.test/a.html",
        "other.test/index.html?page=10 other.test/a.htm",
    ),
    Example(
        "-*/image*[0-9].gif",
        (r"reject /\/image[0-9]*\.gif$/",),
        "www.example.com/imagex.gif",
        "www.example.com/image7.gif www.example.com/a/image12.gif www.example.com/image.gif",
    ),
    Example(
        "-*[<10]",
        ("reject size:<10K",),
        "www.example.com/20k www.example.com/60k",
        "www.example.com/5k",
    ),
    Example(
        "-*[>50]",
        ("reject size:>50K",),
        "www.example.com/5k www.example.com/20k",
        "www.example.com/60k",
    ),
    Example(
        "-*[<10] -*[>50]",
        ("reject size:<10K", "reject size:>50K"),
        "www.example.com/20k",
        "www.example.com/5k www.example.com/60k",
    ),
    Example(
        "-* +*[<80>1]",
        ('accept "size:<80K size:>1K"', "reject **"),
        "www.example.com/20k www.example.com/60k",
        "www.example.com/100k www.example.com/small",
    ),
    Example(
        "+www.example.com/* +*.gif -*.gif*[<5] -*.gif*[>100]",
        (
            "stay prefix",
            'reject "**.gif size:>100K"',
            'reject "**.gif size:<5K"',
            "accept **.gif",
            "accept *://www.example.com/**",
        ),
        "www.example.com/a other.test/20k.gif www.example.com/20k.gif",
        "other.test/120k.gif www.example.com/1k.gif other.test/",
        "www.example.com/test/",
    ),
    Example(
        "-mime:image/gif",
        ("stay host", "reject type:image/gif"),
        "www.example.com/a.html www.example.com/dynamic.php",
        "www.example.com/dynamic.php?gif www.example.com/a.gif",
    ),
    Example(
        "-mime:application/octet-stream",
        ("reject type:application/octet-stream",),
        "www.example.com/a.html www.example.com/a.zip",
        "www.example.com/a.bin",
    ),
    Example(
        "-mime:application/*",
        ("reject type:application/*",),
        "www.example.com/a.html www.example.com/a.gif",
        "www.example.com/a.bin www.example.com/a.zip www.example.com/a.pdf",
    ),
    Example(
        "-mime:application/* +mime:application/pdf",
        (
            "stay host",
            'accept "type:application/pdf host:www.example.com"',
            "reject type:application/*",
        ),
        "www.example.com/a.html www.example.com/a.pdf",
        "www.example.com/a.bin www.example.com/a.zip other.test/a.pdf",
    ),
    Example(
        "-mime:video/* -mime:audio/*",
        ("reject type:video/*", "reject type:audio/*"),
        "www.example.com/a.html www.example.com/a.pdf",
        "www.example.com/a.mp4 www.example.com/a.mp3",
    ),
    Example(
        "-* +www.example.com/* -mime:*/* +mime:text/html +mime:image/*",
        (
            'accept "type:text/html *://www.example.com/**"',
            'accept "type:image/* *://www.example.com/**"',
            "reject **",
        ),
        "www.example.com/a.html www.example.com/a.gif www.example.com/dynamic.php?gif",
        "www.example.com/a.zip other.test/a.gif other.test/a.html",
    ),
    Example(
        "-* +www.example.com/*.html +www.example.com/*.zip -mime:* +mime:text/html "
        "+mime:application/zip",
        (
            'accept "*://www.example.com/**.html type:text/html"',
            'accept "*://www.example.com/**.zip type:application/zip"',
            "reject **",
        ),
        "www.example.com/a.html www.example.com/a.zip",
        "www.example.com/a.gif www.example.com/fake.zip other.test/a.zip",
    ),
    Example(
        "-* +www.example.com/*.html +www.example.com/*.gif*[<100]",
        (
            "accept *://www.example.com/**.html",
            'accept "*://www.example.com/**.gif size:<100K"',
            "reject **",
        ),
        "www.example.com/a.html www.example.com/20k.gif",
        "www.example.com/120k.gif www.example.com/a.png other.test/20k.gif",
    ),
]
