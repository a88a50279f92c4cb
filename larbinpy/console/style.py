"""The one style sheet of the status pages; it lies in each page and loads nothing."""

from base64 import b64encode
from hashlib import sha256

STYLE = """
:root{color-scheme:light dark;--page:#f6f6f3;--card:#fff;--ink:#22262b;--soft:#62686f;
--line:#e2e2dc;--blue:#2f6f9f;--good:#2c7a4b;--hold:#8f6410}
@media (prefers-color-scheme:dark){:root{--page:#15181b;--card:#1d2125;--ink:#e4e5e2;
--soft:#9aa1a8;--line:#30353a;--blue:#69aede;--good:#6cc08b;--hold:#dcb15c}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
header,main,footer{max-width:68rem;margin:0 auto;padding:0 1rem}
header{padding-top:1.25rem}
h1{font-size:1.35rem;margin:0;display:flex;flex-wrap:wrap;gap:.2rem .75rem;align-items:baseline}
h1 small{font-size:.9rem;font-weight:400;color:var(--soft)}
h2{font-size:1rem;margin:0 0 .75rem}
h3{font-size:.9rem;margin:1.25rem 0 .4rem;color:var(--soft)}
.state{font-size:.8rem;font-weight:600;padding:.1rem .6rem;border:1px solid;border-radius:1rem;
color:var(--hold)}
.state.running{color:var(--good)}
nav{display:flex;flex-wrap:wrap;gap:.15rem .25rem;margin:.9rem -.6rem 1rem}
nav a{padding:.25rem .6rem;border-radius:.4rem;text-decoration:none;color:var(--soft)}
nav a:hover{color:var(--blue)}
nav a[aria-current]{background:var(--card);color:var(--ink);font-weight:600;
box-shadow:0 0 0 1px var(--line)}
a{color:var(--blue)}
section{background:var(--card);border:1px solid var(--line);border-radius:.6rem;
padding:1rem 1.1rem;margin:0 0 1rem}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(9rem,1fr));gap:1rem;margin:0}
dt{font-size:.8rem;color:var(--soft)}
dd{margin:0;font-size:1.35rem;line-height:1.3;font-variant-numeric:tabular-nums}
dd small{display:block;font-size:.8rem;color:var(--soft)}
dl.list{display:block;columns:17rem;column-gap:2.5rem}
dl.list div{display:flex;gap:1rem;justify-content:space-between;padding:.3rem 0;
border-bottom:1px solid var(--line);break-inside:avoid}
dl.list dt,dl.list dd{font-size:.9rem;line-height:1.5}
dl.list dt{max-width:70%;overflow-wrap:break-word}
dl.list dd{text-align:right;overflow-wrap:anywhere}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:left;padding:.3rem .9rem .3rem 0;vertical-align:top;
border-top:1px solid var(--line)}
thead th{border-top:0;font-weight:600;font-size:.8rem;color:var(--soft);white-space:nowrap}
td{overflow-wrap:anywhere;min-width:4rem}
td:first-child{min-width:11rem}
.n{text-align:right;padding-right:1.4rem;white-space:nowrap;font-variant-numeric:tabular-nums;overflow-wrap:normal}
svg.share{display:block;width:100%;min-width:5rem;height:.55rem;margin-top:.45rem}
svg.bars{display:block;width:100%;height:7rem;border-bottom:1px solid var(--line)}
svg rect{fill:var(--blue)}
svg .hit{fill:transparent}
figure{margin:0 0 1.5rem}
figure:last-child{margin-bottom:0}
figcaption{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 1rem;font-size:.85rem;
color:var(--soft);margin-bottom:.4rem}
figcaption b{color:var(--ink)}
.axis{display:flex;justify-content:space-between;font-size:.75rem;color:var(--soft)}
.none{margin:0;color:var(--soft)}
footer{color:var(--soft);font-size:.85rem;padding-bottom:2rem}
"""

#: What a Content-Security-Policy names the sheet by (CSP level 3, section 2.3.1).
STYLE_HASH = "'sha256-" + b64encode(sha256(STYLE.encode()).digest()).decode() + "'"
