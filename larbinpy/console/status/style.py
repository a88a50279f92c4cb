"""The style sheet of the status pages, inlined in each page; it loads nothing."""

from base64 import b64encode
from hashlib import sha256

#: Colours of the light and the dark sheet by name. `blue`, `green` and `amber` are used for
#: lines and areas of plots as well as for text; all text is on `page` or `card`.
LIGHT = {
    "page": "#f4f5f2",
    "card": "#ffffff",
    "ink": "#1f2429",
    "soft": "#596168",
    "line": "#dfe1dc",
    "blue": "#23669a",
    "green": "#27734a",
    "amber": "#85590a",
    "red": "#b02a2a",
    "mark": "#f6e39a",
}
DARK = {
    "page": "#14171a",
    "card": "#1c2024",
    "ink": "#e6e7e4",
    "soft": "#a3aab1",
    "line": "#343a40",
    "blue": "#6db1e3",
    "green": "#6fc791",
    "amber": "#e0b45c",
    "red": "#f08a84",
    "mark": "#5c4d14",
}


def _variables(colours: dict[str, str]) -> str:
    return ";".join(f"--{name}:{value}" for name, value in colours.items())


STYLE = (
    f"""
:root{{color-scheme:light dark;{_variables(LIGHT)}}}
@media (prefers-color-scheme:dark){{:root{{{_variables(DARK)}}}}}
"""
    + """
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);overflow-wrap:anywhere;
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
header,main,footer,.live{max-width:74rem;margin:0 auto;padding:0 1rem}
header{padding-top:1rem}
.live{display:flex;flex-direction:column;position:relative}
#bar{position:absolute;right:1rem;bottom:.85rem;font-size:.85rem;color:var(--soft)}
#bar label{display:flex;gap:.35rem;align-items:center;padding:.25rem 0}
#lost{margin:0 0 1rem;padding:.6rem 1rem;border:2px solid var(--red);border-radius:.5rem;
font-weight:600}
[hidden]{display:none!important}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
h1{font-size:1.3rem;margin:0;display:flex;flex-wrap:wrap;gap:.2rem .75rem;align-items:baseline}
h1 small{font-size:.9rem;font-weight:400;color:var(--soft);font-variant-numeric:tabular-nums}
h1 b{color:var(--blue)}
h2{font-size:1rem;margin:0 0 .8rem;display:flex;flex-wrap:wrap;gap:.25rem 1rem;
justify-content:space-between;align-items:baseline}
h3{font-size:.85rem;margin:1.4rem 0 .4rem;color:var(--soft)}
a{color:var(--blue)}
:focus-visible{outline:2px solid var(--blue);outline-offset:2px}
nav{display:flex;flex-wrap:wrap;gap:.1rem .2rem}
header nav{margin:.7rem 5rem .9rem -.6rem}
nav a{padding:.25rem .6rem;border-radius:.4rem;text-decoration:none;color:var(--soft)}
nav a:hover{color:var(--blue);text-decoration:underline}
nav a[aria-current]{background:var(--card);color:var(--ink);font-weight:600;
box-shadow:0 0 0 1px var(--line)}
h2 nav{font-size:.85rem}
h2 nav a[aria-current]{background:var(--page)}
section{background:var(--card);border:1px solid var(--line);border-radius:.6rem;
padding:1rem 1.1rem;margin:0 0 1rem;position:relative}
.state{font-size:.8rem;font-weight:600;padding:.1rem .6rem;border:1px solid;border-radius:1rem;
color:var(--amber)}
.state.running,.good{color:var(--green)}
.note{color:var(--blue)}
.warning{color:var(--amber)}
.trouble{color:var(--red)}
.health ul{list-style:none;margin:0;padding:0;display:grid;gap:.3rem}
.health li{display:flex;gap:.75rem;align-items:baseline}
.health b{flex:none;min-width:4.6rem;text-align:center;font-size:.8rem;padding:.05rem .5rem;
border:1px solid;border-radius:1rem}
.cards,.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(26rem,100%),1fr));
gap:1.5rem 2.25rem}
.plots{gap:1.4rem 2.25rem}
.now{display:flex;flex-wrap:wrap;gap:0 .8rem;align-items:baseline;margin:0 0 .1rem;
font-size:.85rem;color:var(--soft)}
.now b{color:var(--ink)}
.now strong{font-size:1.5rem;line-height:1.2;color:var(--ink);font-weight:600;
font-variant-numeric:tabular-nums}
figure{margin:0;min-width:0}
figcaption{display:flex;flex-wrap:wrap;gap:0 .9rem;font-size:.85rem;color:var(--soft);
margin-bottom:.4rem;align-items:baseline}
figcaption b{color:var(--ink)}
figcaption .mean{margin-left:auto}
.mean{font-size:.85rem;color:var(--soft);margin:0 0 .4rem;font-variant-numeric:tabular-nums}
.key::before{content:"";display:inline-block;width:.9rem;height:.2rem;margin-right:.35rem;
vertical-align:middle;background:currentColor}
.plot{display:grid;grid-template-columns:1fr auto;gap:.15rem .5rem}
.plot svg{display:block;width:100%;height:6.5rem;overflow:visible}
.scale{display:flex;flex-direction:column;justify-content:space-between;margin:-.5em 0;
font-size:.75rem;line-height:1;color:var(--soft);text-align:right;min-width:3.9rem;
font-variant-numeric:tabular-nums}
.axis{display:flex;justify-content:space-between;font-size:.75rem;color:var(--soft)}
svg path{fill:none;vector-effect:non-scaling-stroke}
.grid{stroke:var(--line);stroke-width:1}
.line{stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.line.s0{stroke:var(--blue)}.key.s0{color:var(--blue)}
.line.s1{stroke:var(--green)}.key.s1{color:var(--green)}
.line.s2{stroke:var(--red);stroke-dasharray:5 4}.key.s2{color:var(--red)}
svg .area{fill:var(--blue);fill-opacity:.13}
svg.share{display:block;width:100%;min-width:5rem;height:.55rem;margin-top:.45rem}
svg rect{fill:var(--blue)}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(9.5rem,1fr));gap:1rem;margin:0}
dt{font-size:.8rem;color:var(--soft)}
dd{margin:0;font-size:1.3rem;line-height:1.3;font-variant-numeric:tabular-nums}
dd small{display:block;font-size:.8rem;color:var(--soft)}
dl.list{display:block;columns:17rem;column-gap:2.5rem}
.plots+dl.list,.way+dl.list{margin-top:1.2rem}
dl.list div{display:flex;gap:1rem;justify-content:space-between;padding:.3rem 0;
border-bottom:1px solid var(--line);break-inside:avoid}
dl.list dt,dl.list dd{font-size:.9rem;line-height:1.5}
dl.list dt{max-width:70%;overflow-wrap:break-word}
dl.list dd{text-align:right;overflow-wrap:anywhere}
.way{list-style:none;margin:0;padding:0;display:flex;flex-wrap:wrap;gap:.6rem 1.6rem}
.way li{flex:1 1 9.5rem;padding:.5rem .8rem;border:1px solid var(--line);border-radius:.5rem;
position:relative;display:flex;flex-direction:column}
.way li+li::before{content:"\\2192";position:absolute;left:-1.35rem;top:1.2rem;color:var(--soft)}
.way span{font-size:.8rem;color:var(--soft)}
.way strong{font-size:1.2rem;font-weight:600;line-height:1.35;font-variant-numeric:tabular-nums}
.way small{font-size:.75rem;line-height:1.3;color:var(--soft)}
.gate,.states,.more{margin:.8rem 0 0;font-size:.9rem}
.states{margin:0;display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;color:var(--soft)}
.states b{color:var(--ink)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{overflow-wrap:normal;text-align:left;padding:.32rem 1.2rem .32rem 0;vertical-align:top;
border-top:1px solid var(--line)}
th:last-child,td:last-child{padding-right:0}
thead th{border-top:0;font-weight:600;font-size:.8rem;color:var(--soft);white-space:nowrap}
td small{display:block;color:var(--soft);font-size:.85rem}
td:has(svg){width:50%}
.w{overflow-wrap:anywhere;min-width:12rem}
td.w{width:100%}
td.w:has(+.w){width:40%}
.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
details{margin-top:1.2rem}
summary{cursor:pointer;font-size:.85rem;font-weight:600;color:var(--soft)}
.none{margin:0;color:var(--soft)}
#control{max-width:72rem;margin:0 auto 1rem;width:calc(100% - 2rem);padding:.6rem 1.1rem}
#control div,#control form{display:flex;flex-wrap:wrap;gap:.5rem;align-items:center}
#control #explain{flex:1 1 18rem;flex-wrap:nowrap}
#control #ask{margin-top:.6rem}
#control label span{display:block;margin-bottom:.2rem}
#control #ask{align-items:end}
#control label{flex:1;min-width:0;font-size:.85rem;color:var(--soft)}
#explain label span{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
button,input[type=text]{font:inherit;font-size:.9rem;color:var(--ink);background:var(--page);
border:1px solid var(--line);border-radius:.4rem;padding:.25rem .7rem}
button{cursor:pointer;white-space:nowrap}
button:hover:enabled{border-color:var(--blue);color:var(--blue)}
button:disabled{opacity:.5;cursor:default}
input[type=text]{width:100%;min-width:0}
.secret{-webkit-text-security:disc}
#answer{margin:.6rem 0 0;font-size:.85rem;white-space:pre-wrap;overflow-wrap:anywhere;
unicode-bidi:isolate}
.ask form{display:flex;gap:.6rem}
input[type=search]{flex:1;min-width:0;font:inherit;color:var(--ink);background:var(--page);
border:1px solid var(--line);border-radius:.4rem;padding:.45rem .8rem}
.ask button{font-size:1rem;padding:.45rem 1.1rem}
.found{display:grid;grid-template-columns:minmax(0,1fr) 15rem;gap:0 1rem;align-items:start}
.found>:only-child{grid-column:1/-1}
.summary{background:none;border:0;padding:.1rem 1.1rem 0;margin-bottom:.8rem}
.summary h2{margin:0;font-weight:400;color:var(--soft)}
.summary nav a[aria-current]{background:var(--card)}
.notes{margin:.5rem 0 0;padding:0;list-style:none;font-size:.9rem;display:grid;gap:.2rem}
.hits{list-style:none;margin:0;padding:0}
.hits li{background:var(--card);border:1px solid var(--line);border-radius:.6rem;
padding:.8rem 1.1rem;margin:0 0 .7rem}
.hits h3{font-size:1.05rem;line-height:1.35;margin:0;color:var(--ink)}
.hits h3,.hits p,.text p{overflow:clip;overflow-clip-margin:.3rem}
.hits p{margin:.3rem 0 0}
.hits p.none{font-size:.8rem;margin-top:.4rem}
.url{font-size:.85rem}
p.url{margin:.1rem 0 0}
h2+p.url{margin-top:-.6rem}
.url+*{margin-top:.9rem}
.hits .url+p{margin-top:.3rem}
.back{margin:0 0 .8rem;font-size:.9rem}
.url a{color:var(--green);text-decoration:none}
.url a:hover{text-decoration:underline}
mark{background:none;color:inherit;font-weight:700;box-shadow:inset 0 -.45em var(--mark)}
.pages{display:flex;flex-wrap:wrap;gap:.3rem;margin:1rem 0}
.pages a{border:1px solid var(--line);background:var(--card);font-variant-numeric:tabular-nums}
.pages a[aria-current]{border-color:var(--blue);color:var(--blue);box-shadow:none}
.facets h2{font-size:.85rem;margin:0 0 .3rem;color:var(--soft)}
.facets ul+h2{margin-top:1.1rem}
.facets ul{list-style:none;margin:0;padding:0;font-size:.9rem}
.facets li{display:flex;justify-content:space-between;gap:.7rem;padding:.15rem 0}
.facets a{text-decoration:none}
.facets a:hover{text-decoration:underline}
.facets small{color:var(--soft);font-variant-numeric:tabular-nums}
.examples{display:block;margin-top:.8rem}
.examples div{display:grid;grid-template-columns:13rem 1fr;gap:.2rem 1rem;padding:.35rem 0;
border-top:1px solid var(--line)}
.examples dt,.examples dd{font-size:.95rem;line-height:1.5;color:var(--ink)}
code{font:.9em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.text{max-width:46rem}
.text p{margin:0 0 .8rem}
.text .code{margin-top:-.8rem;white-space:pre-wrap}
details ul{padding-left:1.2rem;margin:.6rem 0 0;font-size:.9rem}
details li small{display:block;color:var(--soft)}
footer{color:var(--soft);font-size:.85rem;padding-bottom:2rem}
@media (max-width:40rem){
.found{display:block}
.hits li{padding:.7rem .8rem}
.summary{padding:.1rem .8rem 0}
.examples div{display:block}
header,main,footer,.live{padding-left:.7rem;padding-right:.7rem}
#control{width:calc(100% - 1.4rem)}
section{padding:.8rem .8rem}
header nav{margin:.6rem 0 .7rem -.5rem;font-size:.95rem}
nav a{padding:.25rem .5rem}
#bar{position:static;text-align:right;margin:-.4rem 0 .3rem}
.live{align-items:flex-end}
dl{grid-template-columns:repeat(auto-fill,minmax(8rem,1fr));gap:.8rem}
.way{display:grid;gap:.4rem}
.way li{display:grid;grid-template-columns:1fr auto;align-items:baseline}
.way strong{grid-row:1;grid-column:2}
.way li+li::before{content:none}
figcaption .mean{margin-left:0}
.w{min-width:7rem}
table:has(td small) :is(th:empty,td:has(svg)){display:none}
td:has(svg){width:auto}
th,td{padding-right:.7rem}
.wide thead{display:none}
.wide tr{display:flex;flex-wrap:wrap;gap:0 .9rem;padding:.4rem 0;border-top:1px solid var(--line)}
.wide tr:first-child{border-top:0}
.wide td{border:0;padding:0;text-align:left;font-size:.85rem}
.wide td.w{flex:1 0 100%;font-size:.9rem}
.wide td:not(.w)::before{content:attr(data-name) " ";color:var(--soft)}
}
"""
)

#: The source expression of the sheet for Content-Security-Policy (CSP level 3, 2.3.1).
STYLE_HASH = "'sha256-" + b64encode(sha256(STYLE.encode()).digest()).decode() + "'"
