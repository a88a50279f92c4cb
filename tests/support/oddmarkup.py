"""Odd markup, by its kind, and the values that odd pages are made of."""

from typing import NamedTuple


class Grammar(NamedTuple):
    """Elements and pieces of markup of one kind.

    In a piece, U stands between percent signs for a reference, A for attributes, L for an element
    with a link, C for the label of an encoding, N and R for a name and the content of a robots
    directive, D for many elements in each other; a pilcrow is a line break.
    """

    tags: tuple[str, ...]
    pieces: tuple[str, ...]


def _grammar(tags: str, pieces: str) -> Grammar:
    lines = pieces.strip("\n").split("\n")
    return Grammar(tuple(tags.split()), tuple(line.replace("¶", "\n") for line in lines))


# -- the grammars, one line a piece

GRAMMARS = {
    "tables": _grammar(
        "table tbody thead tfoot tr td th caption colgroup col p a div form b",
        """
<table><a href=%U%>x</a><tr><td>%L%
<table background=%U%>
<td background=%U%>
<table><tr>%L%<td>%L%</table>%L%
<table><form action=%U%><tr><td><input type=image src=%U%></form>
<table><style>x{background:url(%U%)}</style>
<table><input type=hidden src=%U% srcset=%U%>
<table><input type=image src=%U%>
<table><script src=%U%></script>%L%
<table><template><tr><td background=%U%></template>
<colgroup><col style='background:url(%U%)'><a href=%U%>
<table><svg><a xlink:href=%U%>
<table><select><option>%L%
<caption><table>%L%</caption>
<table><tr><td></tbody>%L%
<table>text<b><tr>%L%</b>
<p><table>%L%</table>%L%
<table><table>%L%
<table><frameset><frame src=%U%>
<a href=%U%><table><tr><td><a href=%U%></table>
</table>
</td></tr>
""",
    ),
    "templates": _grammar(
        "template table tr td select option body html head form div a",
        """
<template>%L%</template>
<template shadowrootmode=open>%L%</template>%L%
<template><body background=%U%></template>
<template><html style='background:url(%U%)'>
<template><head></head><body style=background:url(%U%)>%L%
<template><tr><td background=%U%></template>
<template><td>%L%<tr>%L%</template>
<template><base href=%U%></template>%L%
<template><meta charset=%C%></template>
<template><meta name=robots content=noindex></template>
<template><frameset><frame src=%U%></template>
<template><template>%L%</template>%L%</template>
<template><form action=%U%></form></template><form action=%U%>
<form><template><form action=%U%></template>%L%
<table><template><form action=%U%><tr><td></template>
<template><table><form action=%U%></table></template>
<template><select><option>%L%</select>%L%</template>
<template><svg><a xlink:href=%U%></svg>%L%</template>
<template><col background=%U%>%L%</template>
<template><style>x{background:url(%U%)}</style></template>
<head><template>%L%</template>%L%
</template></template>
</head><template>%L%</template><body>
""",
    ),
    "svg": _grammar(
        "svg g a use image script style title desc foreignObject path text tspan pattern feImage"
        " textPath filter mpath linearGradient radialGradient metadata p b font div br",
        """
<svg %A%><use xlink:href=%U%/><use href=%U%/></svg>
<svg><a xlink:href=%U%>x</a><a href=%U%/><a href=%U%></svg>
<svg><title><a href=%U%></title><a href=%U%></svg>
<svg><desc>%L%</desc>%L%</svg>%L%
<svg><foreignObject>%L%<svg>%L%</svg></foreignObject>%L%</svg>%L%
<svg><FOREIGNOBJECT>%L%</FOREIGNOBJECT></svg>
<svg><style>x{background:url(%U%)}</style><style/>%L%</svg>
<svg><style><a href=%U%></style>%L%</svg>
<svg><style><!-- x{background:url(%U%)} --><![CDATA[x{background:url(%U%)}]]></style></svg>
<svg><script xlink:href=%U%/><script href=%U% /><script src=%U%></script>%L%</svg>
<svg><script>if (a<b) "<a href=%U%>"</script></svg>
<svg><![CDATA[<a href=%U%>]]><a href=%U%></svg>
<svg><![CDATA[>]]]>%L%
<![CDATA[<a href=%U%>]]>
<svg><![cdata[<a href=%U%>]]></svg>
<svg><p>%L%</svg>%L%
<svg><g></p>%L%</g></svg>
<svg><g></br>%L%
<svg><font>%L%</font></svg>
<svg><font color=red>%L%</font></svg>%L%
<svg><b/><a href=%U%/><i>%L%</svg>
<svg><feimage href=%U%/><feImage xlink:href=%U%/><lineargradient xlink:href=%U%></svg>
<svg><image href=%U%/><image xlink:href=%U% href=%U%/><image src=%U%></svg><image src=%U%>
<svg><img src=%U%>%L%</svg>
<svg><textpath href=%U%>%L%</textpath><textarea>%L%</textarea></svg>
<svg><g><svg><g></svg>%L%</g></svg>%L%
<svg/>%L%
<svg><path fill=url(%U%) stroke="none"/><g mask='url(#m)' MARKER-END="url('%U%')">%L%</g></svg>
<svg><use xlink:href=%U% filter="url(%U%)"/><a href=%U% clip-path=url(%U%)></a></svg>
<p cursor="url(%U%)" fill=x(%U%)>%L%<a href=%U% marker="url(%U%), auto">
<a href=%U%><img src=%U%></a><iframe src=%U%></iframe><link rel=stylesheet href=%U%>
<script type=module>import a from './%U%';import '../x.js'</script>%L%
<script TYPE="Module">export * from "%U%"; export {b} from "/y"</script>
<script type=importmap>{"imports": {"a": "%U%"}, "scopes": {"/": {"c": "/c.js"}}}</script>%L%
<script type=importmap>{"imports"</script><script type=" module ">import "/z"</script>%L%
<svg><template>%L%</template></svg>
<svg><table><tr><td>%L%</svg>
<svg xlink:href=%U% style="fill:url(%U%)"/>
<svg><a XLINK:HREF=%U%></a><use xlink:HREF=%U% xlink:href=%U%></svg>
<a xlink:href=%U%>
<div xlink:href=%U%>
<svg xmlns:xlink="http://www.w3.org/1999/xlink" xmlns=%U% xml:base=%U%>%L%
<svg><title></svg>%L%
<svg><g></title>%L%
<svg><desc><svg></desc>%L%
<svg><select><option>%L%</svg>
<svg><noscript>%L%</noscript><iframe>%L%</iframe><xmp>%L%</xmp><plaintext>%L%</svg>
<p><svg></p>%L%
<svg><frameset>%L%
<svg><body background=%U%>%L%
<svg><metadata>%L%</metadata><switch>%L%</switch></svg>
</svg>
""",
    ),
    "math": _grammar(
        "math mi mo mtext annotation-xml mglyph malignmark svg p style mrow",
        """
<math><mi><a href=%U%></mi><a href=%U%></math>
<math href=%U% xlink:href=%U%><mrow href=%U% style=background:url(%U%)>%L%</math>
<math><annotation-xml encoding=text/html>%L%</annotation-xml>%L%</math>
<math><annotation-xml encoding="application/xhtml+xml"><svg>%L%</svg></annotation-xml></math>
<math><annotation-xml><svg><foreignObject>%L%</math>%L%
<math><style>x{background:url(%U%)}</style></math>
<math><mtext><table><mi>%L%</math>
<math><mi><mglyph>%L%<p>%L%</math>
<math><![CDATA[%L%]]></math>%L%
<math><p>%L%</math>
<math/>%L%
""",
    ),
    "head": _grammar(
        "html head body title meta link base style script noscript template p",
        """
<html><head><link rel=stylesheet href=%U%></head><body background=%U%>
</head><link rel=stylesheet href=%U%><body>
</head><style>x{background:url(%U%)}</style><meta name=robots content=noindex>
</head><script src=%U%></script><noscript><a href=%U%></noscript>
<head><noscript><link rel=icon href=%U%><noscript>%L%</noscript></noscript>
<head><noscript><a href=%U%></noscript>%L%
<head><noscript><style>x{background:url(%U%)}</style><meta http-equiv=refresh content="1;%U%">
<head><noscript><!-- %L% --></noscript><basefont style=background:url(%U%)>
<noscript>%L%</noscript>
<head><p>%L%<meta name=robots content="nofollow"><title><a href=%U%></title>
<body><head style='background:url(%U%)'><link href=%U%>
<p><head style='background:url(%U%)'>
<head style='background:url(%U%)'>
<title>a</title><head style='background:url(%U%)'>
<html style='background:url(%U%)'>
<body style='background:url(%U%)' background=%U%>
<body xlink:href=%U%>
</body>%L%
</html>%L%
</body></html><body background=%U%>%L%
</html><!-- --><html background=%U%>
<body><link rel=prefetch href=%U%><base href=%U%>%L%
<title>
</title>
<head><title>x</head><a href=%U%></title>%L%
<meta name=%N% content=%R%>
<bgsound src=%U%><basefont href=%U%>
</p>
</br>
""",
    ),
    "raw": _grammar(
        "script style textarea title xmp iframe noembed noframes noscript plaintext pre listing",
        """
<script><!-- <a href=%U%> --></script>%L%
<script><!-- <script> <a href=%U%> </script> %L% --></script>%L%
<script><!--<script></script></script>%L%-->%L%</script>
<script><!--><script>%L%</script>%L%
<script><!---><script>%L%</script>%L%
<script><!-- <script/>%L%</script>%L%
<script><!-- <scripty>%L%</script>%L%
<script><!-- <script </script>%L%</script>%L%
<script><!-- --><script>%L%</script>%L%
<script><!--<sCRIPT\t></ScRiPt¶>%L%</script>
<script src=%U%/>%L%</script>
<script>"<a href=%U%>"</script >%L%
<script></script x=">%L%">%L%
<script></SCRIPT/>%L%
<script></scriptx></script%L%
<script></ script></script>%L%
<script><</script>%L%
<style><!-- </style>%L% -->
<style></style x=y>%L%
<style></STYLE¶>%L%
<textarea>%L%</textarea x=">">%L%
<textarea>&lt;%L%</textare></textarea>%L%
<title>%L%</title a='>'>%L%
<xmp>%L%</XMP>%L%
<iframe src=%U%>%L%</iframe y=z/>%L%
<noembed>%L%</noembed>%L%
<noframes>%L%</noframes>%L%
<noscript>%L%</noscript>%L%
<plaintext>%L%</plaintext>%L%
<xmp/>%L%</xmp>
<iframe/>%L%
<title/>%L%
<textarea/>%L%
<script/>%L%
<style/>%L%
<pre>¶%L%</pre><listing>¶%L%
</textarea>%L%
</script>%L%
""",
    ),
    "styles": _grammar(
        "style div p td svg span",
        """
<style>@import "%U%";@import url(%U%);</style>
<style>@import '%U%' screen;@IMPORT/**/"%U%"</style>
<style>x{background:url(%U%)}/* url(%U%) */y{background:url("%U%")}</style>
<style>x{background:url( '%U%' )}url(%U%
<style>x{b:u\\72l(%U%)}\\"{c:url(%U%)}</style>
<style>x{b:url(a\\)b%U%)}y{c:url(\\62 %U%)}</style>
<style>@namespace url(%U%);@namespace x '%U%';x{b:src("%U%") image-set("%U%" 2x)}</style>
<style>x{b:url("a¶b")}y{c:url(%U%)}</style>
<style>x{b:url(a b)}y{c:url(c(d)}z{e:url(%U%)}</style>
<style>&amp;url(&amp;)</style>
<style media=print type=text/plain>url(%U%)</style>
<style><a href=%U%></style>
<p style="background:url(%U%)">
<p style="background:url(&quot;%U%&quot;)">
<p style='background:url&lpar;%U%&rpar;'>
<p style="background:url(&#39;%U%&#x27;)">
<p style=background:url(%U%);b:URL(%U%)>
<p style="@import '%U%'">
<p style="b:url(%U%">
<p style="a\\:b:url(x\\2f y)">
<p style>
<p style="" style="background:url(%U%)">
<p style="background:image-set('%U%' 1x, url(%U%) 2x)">
<p style="color:red;/*url(%U%)*/">
<p style="background:url(data:image/png;base64,AA==)">
<p style="background:url()">
<p style="background:url(#x);b:url(' #x ')">
<style>url(\r¶%U%\r¶)url("%U%\\\r¶")</style>
""",
    ),
    "forms": _grammar(
        "form input button select option fieldset table tr td div p template",
        """
<form action=%U%>%L%<form action=%U%>%L%</form>%L%</form>
<form action=%U% method=post>%L%</form>
<form action=%U% method=POST rel=nofollow>
<form action=%U% method=dialog>
<form action=%U% method=" post">
<form action=%U% method=get rel=nofollow>
<form method=&#112;ost action=%U%>
<form action>%L%</form><form action="">
<table><form action=%U%></form><form action=%U%></table>
<table><tr><form action=%U%><td></form><form action=%U%>
<div><form action=%U%></div><form action=%U%></form>
<form action=%U%><div></form><form action=%U%></div>
<p><form action=%U%></p>%L%
<form action=%U%><template><form action=%U%></template></form>
<form action=%U%><table><tr><td></form></table><form action=%U%>
<form action=%U%><svg></form><form action=%U%></svg>
<input type=image src=%U% srcset="%U% 2x"><input type=IMAGE src=%U%>
<input type=text src=%U%><input src=%U%><input type=imag&#101; src=%U%>
<button formaction=%U%><isindex action=%U%>
</form>
""",
    ),
    "select": _grammar(
        "select option optgroup selectedcontent input tr td table hr keygen textarea template a p",
        """
<select><option>%L%<option>%L%</select>%L%
<select>%L%<select>%L%</select>
<select><input type=image src=%U%>%L%
<select><table><tr><td>%L%</select></table>
<table><tr><td><select><td>%L%</table>
<table><tr><select></tr>%L%</select>
<select><script src=%U%></script><style>url(%U%)</style><template>%L%</template>
<select><a href=%U%><img src=%U%><iframe src=%U%></select>
<select><textarea>%L%</textarea>%L%
<select><svg><a href=%U%></svg></select>
<select><link href=%U%><meta http-equiv=refresh content='0;%U%'>
<select style=background:url(%U%)><option style=background:url(%U%)><hr style=b:url(%U%)>
<select></option></optgroup></p>%L%
<select><button><selectedcontent>%L%</selectedcontent></button><option>%L%<option selected>%L%
<select><selectedcontent>%L%<option>%L%</select>%L%
</select>
""",
    ),
    "frames": _grammar(
        "frameset frame noframes body html head a p",
        """
<html><head></head><frameset><frame src=%U%><frame src=%U%></frameset></html>
<frameset>%L%<frame src=%U%></frameset>%L%
<frameset><noframes>%L%</noframes></frameset><noframes>%L%</noframes>
<frameset style=background:url(%U%)><frameset><frame src=%U%>
<frame src=%U%>
<p></p><frameset><frame src=%U%>
 <frameset><frame src=%U%></frameset>
<link href=%U%><frameset><frame src=%U%></frameset>
<body><frameset><frame src=%U%></frameset>
<br><frameset><frame src=%U%>
<input type=hidden><frameset><frame src=%U%>
</frameset></html>%L%
""",
    ),
    "comments": _grammar(
        "a p div",
        """
<!-- %L% -->%L%
<!-->%L%-->
<!--->%L%-->
<!---->%L%-->
<!----->%L%
<!-- --!>%L%-->%L%
<!-- --! >%L%-->%L%
<!-- -- >%L%-->%L%
<!-- --->%L%
<!-- <!-- -->%L%-->%L%
<!-- <!--> %L% -->%L%
<!-- <!-> %L% -->%L%
<!--!>%L%-->%L%
<!--!-->%L%
<!--->%L%
<!-%L%-->
<!>%L%
<! %L%>%L%
<?xml %L% ?>%L%
<?>%L%
<? -- %L%
</ >%L%
</>%L%
</ a href=%U%>%L%
</a href=">%L%">%L%
</p/>%L%
</3>%L%
<3 href=%U%>%L%
< a href=%U%>
<=a>%L%
<!DOCTYPE "%L%">%L%
<!DOCTYPE html SYSTEM 'about:%L%>'>%L%
<!doctype%L%
<![CDATA[%L%]]>%L%
<![if IE]>%L%<![endif]>
<!--[if IE]>%L%<![endif]-->%L%
<!--
-->
""",
    ),
    "attributes": _grammar(
        "a img link p form area source video",
        """
<a href=%U% href=%U%>
<a rel=nofollow href=%U% rel=me>
<a href = "%U%">
<a href¶=¶'%U%'>
<a href="%U%"rel=nofollow>
<a href='%U%'/rel=nofollow/>
<a/href=%U%/>
<a / href=%U% / >
<a =href=%U%>
<a ="%U%" href=%U%>
<a href="%U%>%L%">
<a href='%U%"'>%L%'>
<a href=%U%">%L%
<a href=%U%'rel=nofollow>
<a href=%U%<b>%L%
<a href=>%L%
<a href= >%L%
<a href=/>%L%
<a href>%L%
<a href="">%L%
<a href=''rel=ugc>%L%
<A HREF=%U% REL=NoFollow>
<a hREf="%U%" Rel="SPONSORED external">
<a href="\t%U%\r¶">
<a href="a\rb¶c\td%U%">
<a href=" %U% ">
<a href="\f%U%">
<a href="%U%\0">
<a h\0ref=%U% href=%U%>
<a href="%U%&amp;b=1&ampx&amp=2&amp">
<a href="?a=1&copy=2&copy;&copyx&copy 3&not;&notit;&notin;&not=">
<a href=%U%&lt;&gt=&quot&#39&apos;>
<a href="&#x41;&#65;&#0;&#xD800;&#x110000;&#128;&#x80;&#xA;&#13;&#xFFFF;">
<a href="&#;&#x;&#X41;&#x41&#65 &#65x&#xg">
<a href="&NotEqualTilde;&acE;&fjlig;&ThickSpace;&Tab;&NewLine;">
<a href="&lpar;&rpar;&sol;&colon;&quest;&num;&bsol;&period;">
<a href="&#47;&#47;x&#46;example&sol;y">
<a href="&#106;avascript:x">
<a href="&unknown;&unknown=&unknown">
<a href="&amp;amp;&amp&#38;&AMP;&AMP=&Amp;">
<a href="&nbsp;%U%&nbsp;">
<a rel="no&#102;ollow" href=%U%>
<a rel="nofollow&#32;x" href=%U%>
<a rel="x\fnofollow¶me" href=%U%>
<a rel=nofollow&nbsp;x href=%U%>
<a href=%U% rel>
<img src=%U% srcset="%U% 1x, %U% 2x,%U%" alt="<a href=%U%>">
<img srcset=%U% src>
<img srcset="%U% 100w 50h, %U% (a, b) 1x">
<img srcset=",%U%,, %U%,">
<img srcset="%U%&#32;2x&comma;%U%">
<source src=%U% srcset="%U%">
<video src=%U% poster=%U%><track src=%U%></video>
<audio src=%U%><embed src=%U%><object data=%U% src=%U%>
<link rel="stylesheet" href=%U%><link rel=ICON href=%U%><link rel="dns-prefetch" href=%U%>
<link rel="preconnect stylesheet" href=%U%><link rel=preload as=image href=%U%>
<link rel=preload href=%U% as=font imagesrcset="%U% 1x"><link rel=prefetch href=%U%>
<link rel="alternate nofollow" href=%U%><link href=%U%><link rel=prefetch as=document href=%U%>
<link rel="style&#115;heet" href=%U%><link rel=&quot;icon href=%U%>
<area href=%U% rel=ugc><map><area href=%U%></map>
<image src=%U% href=%U%>
<use href=%U%><textPath href=%U%><feImage href=%U%>
<a href='%U%' style='b:url(%U%)' background=%U%>
<p href=%U% src=%U% srcset=%U% action=%U% data=%U% poster=%U%>
<a b='c'd="e"f=g href=%U%>
<a "href=%U%>
<a 'href'=%U%>
<a href`=%U% href=%U%>
<a href=`%U%`>
<a href=%U%\x0brel=nofollow>
<a\x0bhref=%U%>
<a\fhref=%U%>
<a\thref=%U%¶>
<a\rhref=%U%\r>
<a href="%U%
<a href='%U%
<a href=%U%
<a href=%U%\x20
<a href="%U%" rel
""",
    ),
    "references": _grammar(
        "a img p",
        """
<a href="%U%">
<a href=%U%>
<a href='%U%' rel=nofollow>
<img src="%U%">
<link rel=stylesheet href="%U%">
<a href="%U%#%U%">
<a href="%U%?%U%">
<a href="%U%/../%U%">
""",
    ),
    "bases": _grammar(
        "base a p head body template svg noscript",
        """
<base href=%U%>
<base href="%U%">
<head><base href="%U%"></head><body>%L%
%L%<base href="%U%">%L%
<base target=_top><base href="%U%">
<base href="%U%"><base href="%U%">
<base>
<base href>
<base href="data:text/html,x">
<base href="javascript:x">
<base href="ftp://f.example/x/">
<base href="mailto:x">
<base href="//other.example">
<base href="../up/">
<base href="?q">
<base href="#f">
<base href="http://u:p@h.example:81/x/#f">
<base href="http://[::1]:99/">
<base href="http://bad host/">
<base href=" http://sp.example/a/ ">
<base href="http://h.example/&amp;/x">
<base href="http:&sol;/ent.example/">
<base href="http://h.example:25/">
<base href="HTTP://UPPER.EXAMPLE/%7e/">
<BASE HREF=%U%>
<template><base href=%U%></template>
<svg><base href=%U%></svg>
<svg><desc><base href=%U%></desc></svg>
<noscript><base href=%U%></noscript>
<body><base href=%U%>%L%
<table><base href=%U%></table>
<select><base href=%U%></select>
<title><base href=%U%></title>
<!-- <base href=%U%> -->
<base style=background:url(%U%) href=%U%>
""",
    ),
    "meta": _grammar(
        "meta head body template svg p noscript",
        """
<meta charset=%C%>
<meta charset="%C%" />
<META CHARSET='%C%'>
<meta http-equiv=content-type content="text/html; charset=%C%">
<meta content="text/html; charset='%C%'" http-equiv="Content-Type">
<meta http-equiv=content-type content="charset">
<meta http-equiv=content-type content="charset = %C%;x">
<meta charset=%C% charset=%C%>
<meta char\0set=%C%>
<!-- <meta charset=%C%> -->
<svg><meta charset=%C%></svg>
<title><meta charset=%C%></title>
<script><meta charset=%C%></script>
<body><p><meta charset=%C%>
<meta http-equiv=refresh content="0;url=%U%">
<meta http-equiv=REFRESH content="5; URL='%U%'">
<meta http-equiv=refresh content=%U%>
<meta http-equiv=refresh content="1,%U% x">
<meta http-equiv=refresh content="1&semi;url&equals;%U%">
<meta http-equiv="refresh " content="1;%U%">
<meta http-equiv=refresh>
<meta content="3" http-equiv=refresh>
<meta name=%N% content=%R%>
<meta content="%R%" name="%N%">
<meta name=" %N% " content=" %R% , %R% ">
<meta name=ro&#98;ots content=no&#105;ndex>
<meta name=robots content="">
<meta name=robots content>
<meta name=robots http-equiv=refresh content="1;none">
<META NAME=ROBOTS CONTENT="NOINDEX,NOFOLLOW">
<template><meta name=robots content=none></template>
<svg><meta name=robots content=none></svg>
<noscript><meta name=robots content=none></noscript>
<meta property=og:image content=%U%>
<meta itemprop=url content=%U% style=background:url(%U%)>
""",
    ),
    "charsets": _grammar(
        "meta a p",
        """
<meta charset=%C%>
<meta http-equiv=content-type content="text/html; charset=%C%">
<a href="%U%?é=ü日本&ж=я">é日本語</a>
<a href="日本/語?q=日本">
<a href="/été?x=été#été">
<a href="?\u20ac=\u0416&amp;\U0001f600">
<a href="&eacute;?&eacute;&#x65e5;">
<p>Съешь же ещё этих мягких французских булок
<p>このページでは、ソートの方法と表示について説明します。
<p>視野無限廣。窗外有藍天。
<p>Voilà comment naïveté et Œdipe se mêlent
<p style="background:url(日本.png)">
<img srcset="é.png 1x, ü.png 2x">
<a href=\udcff\udcfe?\udc80>
<a href="?\udce9=\udc83\\">
<a href="?~{<:Ky2;~}">
<a href="?\x1b$B%F%9%H\x1b(B">
<a href="\ufeff%U%">
<a href="?\u00a5\u203e">
""",
    ),
    "adoption": _grammar(
        "a b i em font nobr p div table td h1 li ul button applet object marquee dd dt span code",
        """
<a href=%U%>x<a href=%U%>y</a>
<a href=%U%><div><a href=%U%>
<b><p></b>%L%</p>%L%
<a href=%U%><p>x</a>%L%</p>
<b style=background:url(%U%)><p>x</b>y</p>z
<b><b><b><b><p></b></b>%L%
<font style=b:url(%U%)><font style=b:url(%U%)><p></font>%L%
<a href=%U%><table><a href=%U%></table>
<a href=%U% style=b:url(%U%)><b><div></a>%L%</b>
<nobr><nobr>%L%</nobr>
<button><button>%L%
<p><p>%L%</p></p>%L%
<h1><h2>%L%</h1>
<li><li>%L%<ul><li>%L%
<object data=%U%><a href=%U%></object>%L%</a>
<applet><marquee>%L%</applet>%L%
<a href=%U%><object><a href=%U%></object></a>
</p></br>
</a></b></div>
""",
    ),
    "lazy": _grammar(
        "img source iframe div section picture video td body meta base svg use a script input",
        """
<img src=%U% data-src="%U%" data-srcset="%U% 1x, %U% 2x">
<img data-src=%U% data-lazy-src=%U% data-original=%U%><img data-src=%U% data-src=%U%>
<img data-src="/a.jpg" data-srcset="/b.jpg 100w" data-lazy-srcset="/c.jpg 2x">
<img DATA-SRC=/%U% data-sizes=auto data-lazy=true><img data-lazy=/%U% data-echo=a.b>
<img data-src='{"a": "/b.png"}'><img data-src='["/b.png"]'><img data-src=a{width}/b.png>
<img data-src="a&#46;png"><img data-src="&lt;%U%"><img data-src="a/b&amp;c.png">
<img data-src=x.5><img data-src=.x><img data-src=x.><img data-src=%U%/>
<img data-srcset=%U% data-poster=%U%><img data-bg=%U% data-bgset="%U%/ 1x">
<img data-srcset="/%U% 2.5x, /%U% 0w, /%U% 1.x, /%U% -1x"><img srcset="/%U% 10W">
<img srcset="a 1x,b 2x"><img srcset="a 1x ,b 0x"><img srcset="a  00100w  ,  b,c 1x,">
<img srcset=","><img srcset="a,,"><img srcset="a 1x 2w, b 3h"><img srcset="a&amp;b 1x, c">
<source src=%U% srcset="%U% 1x" data-src=/%U% data-srcset="/%U% 1x, /%U%">
<source data-lazy-srcset="/%U% 100w"><source data-original-srcset=/%U% data-srcset=/%U%>
<iframe src=%U% data-src=/%U% data-srcset=/%U%></iframe><iframe data-lazy-src=/%U%></iframe>
<div data-src=/a.jpg></div><div data-src=/a.html></div><div data-src="/a.PNG?x"></div>
<div data-bg="/%U%" data-src=%U%></div><div data-bg="url('/%U%')"></div><p data-background=#fff>
<div data-bg-multi="url(/%U%), url(%U%)" data-background-image="%U%"></div>
<td data-bg=/%U%><td data-src=/x.png><tr data-src=/x><body data-background=/%U%>
<video data-src=/%U% data-poster=/%U%></video><div data-poster=/p.png></div>
<svg data-src=/x.svg><use data-src=/y.png xlink:href=%U% /><g data-bg=/%U%></g></svg>
<script data-src=/%U%></script><a data-src=/x.webp href=%U%>x</a><embed data-src=/%U%>
<input data-src=/x.png><base data-src=/x.png><meta data-src=/x.png><link data-src=/x.png>
<form data-src=/x.png action=%U%></form>
<img src=%U% data-large=/x.png data-Size-2='https://h.example/%U%.jpg?x' data-title="a.png">
<img data-x=" ./x.webp" data-y='&#47;y.gif' data-z="&amp;/z.png" data-v=/no data-w='/{w}.png'>
<source data-x=../x.avif data-y="/a.png, /b.png 2x"><picture data-x=/x.png><div data-x=/y.png>
<p data-resource-suffix=%U%>
<div data-search-js=%U% data-root-path=../></div><meta data-search-js=x data-search-index-js=%U%>
<img DATA-X=/x.PNG data-=/x.png data-src-2=\\x.png data-u="//h.example/u.png"><img data-x="">
""",
    ),
    "within": _grammar(
        "iframe noframes button input form table applet param object blockquote q ins p select",
        """
<iframe srcdoc="<a href=%U%>x</a><img src=%U%>"></iframe>
<iframe srcdoc='<p style="b:url(%U%)"><script src=%U%></script>' src=%U% longdesc=%U%></iframe>
<iframe srcdoc="&lt;a href=&quot;%U%&quot;&gt;"></iframe><iframe srcdoc></iframe>
<iframe srcdoc="<base href=/z/><a href=b>">%L%</iframe>%L%
<iframe srcdoc="<iframe srcdoc='<a href=%U%>'>%L%"></iframe>
<iframe srcdoc="<meta name=robots content=none><meta charset=%C%>%L%"></iframe>
<iframe srcdoc="&lt;&#98;ase href=/y/&gt;&lt;a href=c&gt;"></iframe>
<noframes>%L%</noframes>%L%<noframes><base href=/w/>%L%</noframes>
<noframes><body background=%U%>%L%<noframes>%L%</noframes>%L%
<table><noframes>%L%</noframes><tr><td></table><noframes background=%U%>x</noframes>
<select><noframes>%L%</noframes></select>%L%
<form action=%U%><button formaction=%U%>x</button></form>
<form action=%U%></form><button formaction=%U%>x</button>
<form method=post id=f><button formaction=%U%>x<button formaction=%U% formmethod=get>y</form>
<form id=g></form><button form=g formaction=%U%>x<button form=f formaction=%U%>
<button formaction=%U%>x</button><form action=%U%></form>
<button type=button formaction=%U%><button type=reset formaction=%U%>
<button type=SUBMIT formaction=%U%>
<input type=submit formaction=%U%><input type=image src=%U% formaction=%U%><input formaction=%U%>
<form method=dialog><input type=submit formaction=%U% formmethod=POST></form>
<table><form method=post><button formaction=%U%><tr><td><button formaction=%U%></table>
<form><template><button formaction=%U%></template></form>
<form method=g&#101;t><button formaction=%U% formmethod=g&#101;t>
<img longdesc=%U% lowsrc=%U% dynsrc=%U%><frame longdesc=%U%>
<applet codebase=%U% archive="a.jar, /b.jar">%L%</applet><applet archive=%U%>
<object codebase=%U% data=%U%><param name=movie value=/%U%><param name=x value=/y></object>
<param name=src value=%U%><param valuetype=ref value=/%U%><param name=s&#114;c value=/%U%>
<blockquote cite=%U%><q cite=%U%><ins cite=%U%><del cite=%U%>x</del></ins></q></blockquote>
<p cite=%U% archive=%U% codebase=%U% formaction=%U% longdesc=%U%><bgsound src=%U%>
<svg><button formaction=%U%></svg><svg><noframes>%L%</noframes></svg>
""",
    ),
    "metadata": _grammar(
        "meta script head p template svg",
        """
<meta property=og:image content=%U%><meta name=twitter:image content="%U%">
<meta property="og:image" content="http://h.example/a.png"><meta content=/b.png property=OG:IMAGE>
<meta property=og:image content=//h.example/c.png><meta name=image content=d.png>
<meta property=og:image content=https://www.h.example/e.png><meta itemprop=image content=/f>
<meta property=og:image content="http://h.example:80/g.png"><meta property=og:image content=g>
<meta property=og:image content="http://o.example/a.png?x=1&amp;y"><meta property=og:image>
<meta property=og:image content="http://h.example/a.png?x=1&amp;y&copy"><meta name=og:image content>
<meta property="og&#58;image" content=/h.png><meta property=og:image:width content=1/2>
<meta property=og:title name=twitter:image:src content=/i.png><meta name=thumbnail content=/{x}>
<meta name=msapplication-TileImage content=/j.png><meta name=msapplication-config content=/k.xml>
<meta name=msapplication-config content=none><meta name=robots property=og:image content=/noindex>
<meta property=og:image content='http:\\h.example\\l.png'><meta property=og:image content=http:/x>
<meta property=og:image content='/m"n.png'><meta property=og:image content="\t/o.png ">
<script type=application/ld+json>{"image": "/%U%", "logo": {"url": "/%U%"}}</script>
<script type="application/ld+json" src=%U%>{"@type": "ImageObject", "url": "/%U%"}</script>
<script type=" application/LD+JSON">[{"image": ["/a", {"contentUrl": "http://h.example/b"}]}]</script>
<script type=application/ld+json>{"image": "http://o.example/x"</script>
<script type=application/ld+json; xlink:href=%U%>{"image": "/c"}</script>
<script type=application&#47;ld+json>{"image": "/\u0064&amp;"}</script>
<script type=application/ld+json>{"image": "/e"}
<template><script type=application/ld+json>{"image": "/f"}</script></template>
<svg><script type=application/ld+json>{"image": "/g"}</script></svg>
<noscript><meta property=og:image content=/h></noscript><body><meta property=og:image content=/i>
""",
    ),
    "deep": _grammar(
        "div b a svg table template form font ul li span object",
        """
%D%
%D%%L%
%D%<p>%L%</p>
""",
    ),
}

# -- values within the pieces


def _words(text: str) -> tuple[str, ...]:
    """Split `text` at blanks; a raised dot stands for a blank within a word."""
    return tuple(word.replace("·", " ") for word in text.split(" "))


LINKS = (
    '<a href="%U%">x</a>',
    "<a href=%U%>",
    '<a class=x href="%U%" rel="nofollow">x</a>',
    "<img src=%U%>",
    '<link rel=stylesheet href="%U%">',
    '<link rel="icon" href="%U%"/>',
    "<script src=%U%></script>",
    "<iframe src=%U%></iframe>",
    "<form action=%U%></form>",
    '<p style="background:url(%U%)">',
    '<area href="%U%">',
    '<img srcset="%U% 1x, %U% 2x">',
    '<video src="%U%" poster="%U%"></video>',
    "<object data=%U%></object>",
    "<input type=image src=%U%>",
    "<td background=%U%>",
    "<use xlink:href=%U%/>",
    "<style>x{b:url(%U%)}</style>",
)
REFERENCES = _words(
    "# ? ?q ?q#f #f . .. ./ ../ ./x ../x ../../x ../../../../../../../../../ / /x // //o.example"
    " //o.example/x ///x /./x /../x x/../y x/. x/./y x//y /x// a/b/c/ a;b a:b ./a:b 1:2 :x @x a@b"
    " * ~x http: http:x http:/x http:// http:///x http://o.example HTTP://O.Example/X https:x"
    " https://o.example:443/ http://o.example:80/x http://o.example:8080 http://o.example:/x"
    " http://o.example:99999/ http://o.example:25/ http://o.example:0/ http://u@o.example/"
    " http://u:p@o.example/x http://@o.example/ http://o.example?q http://o.example#f"
    " http://o.example. http://o..example/ http://%6f.example/ http://[::1]/ http://[::1]:80/x"
    " http://[1::zz]/ http://1.2.3.4/ http://0x7f.1/ http://256.1.1.1/ http://127.1"
    " http://o_o.example/ http://-.example/ http://xn--/ http://é.example/é //bücher.example"
    " http://日本.example/ http://Ö.example http://xn--bcher-kva.example/ http://o.example\\x \\x"
    " \\\\o.example\\x x\\y /\\x mailto:a@b javascript:x('<a·href=y>') data:,x ftp://f/x tel:1"
    " x-y+z.1:q JavaScript:x java\nscript:x ·javascript:x file:///x about:blank blob:x ws://x/"
    " %20 %2e %2E%2e/x x/%2e%2e/y % %% %z1 %4 %41%7e%2f%2F %%32e %c3%a9 a·b ·a· \ta\n a\tb a%20b"
    " a+b é 日本 ?é #é \xa0x \u3000 a|b a^b a`b a{b} a[b] ?a|b ?a^b ?a`b ?{} ?[] ?' ?%27 'x' x?y?z"
    " x?a=1&b=2 x?a=1&amp;b=2 x?& ?&copy=1 x? x?# x?? ?/../x x#?y "
    " http://h.example/dir/sub/page.html page.html /dir/sub/page.html? ./page.html#x ... x... .x"
    " ..x x.. .../x .;x ..%2f a/.. a/../ a/../.. /. /.. \x01 a\x7fb a\x0bb \x1fx a\x80b \ufdd0"
    " \ufffe \u200b x\u202ey \u017f http\uff1a//x \u212a o.example www.o.example/x h.example"
    " //h.example:80/x"
)
CHARSETS = _words(
    "utf-8 UTF8 windows-1252 iso-8859-1 latin1 shift_jis gbk gb18030 big5 iso-2022-jp euc-jp"
    " euc-kr koi8-r utf-16 utf-16be utf-16le utf-7 utf-32 x-user-defined replacement iso-2022-kr"
    " hz-gb-2312 none  ·utf-8· ascii utf-8; 'utf-8' \"utf-8 x-sjis windows-31j tis-620 macintosh"
    " ibm866 cp1251 unicode csunicode utf-8\\ iso-8859-8-i x-mac-cyrillic iso88591"
)
CODECS = _words(
    "utf-8 utf-8-sig utf-16 utf-16-le utf-16-be cp1252 shift_jis gbk iso2022_jp euc_jp big5"
    " koi8_r cp1251 gb18030 euc_kr hz utf-7"
)
ATTRIBUTES = _words(
    "href src srcset style rel action background xlink:href data poster class id type method as"
    " imagesrcset name content http-equiv charset HREF xml:base hreflang data-href srcdoc"
    " longdesc data-src data-srcset data-bg formaction property"
    ' media alt / = "'
)
VALUES = _words(
    "nofollow stylesheet icon image IMAGE post get x  a>b < robots refresh noindex preload x-y"
    " text/html utf-8 &amp; & é a·b 1;x"
)
NAMES = _words("robots ROBOTS larbinpy LARBINPY googlebot description  referrer")
RULES = _words(
    "noindex nofollow none index all NoIndex \"noindex,·nofollow\" nofollow,x 'none;' noindexx"
    " 'no·index' noarchive unavailable_after:none \"x\tnone\""
)
TEXTS = _words('text · \n &lt;a·href=x&gt; a·<·b a<b & < > " é \x00 \r\n')
STARTS = _words(
    "<!DOCTYPE·html>\n<html><head><title>t</title></head><body> <!DOCTYPE·html>    <html><body>"
    " <html><head> <head> <body> <!DOCTYPE·html><html·lang=en>\n<head>\n text <p> \ufeff"
    " \n·<!--·x·--><!doctype·html><title>t</title> <?xml·version='1.0'?>"
    ' <!DOCTYPE·html·PUBLIC·"-//W3C//DTD·HTML·4.01·Transitional//EN">'
)
ENDS = _words("   </body></html> </body></html>\n<!--·x·--> </html> \n < </ <!--")

KINDS = tuple(GRAMMARS)
