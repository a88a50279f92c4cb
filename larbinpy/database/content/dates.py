"""Dates as pages declare them, in ISO 8601."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from email.utils import parsedate_to_datetime
from itertools import chain, islice

from turbohtml import Document, Element, Node

from larbinpy.page import timestamp
from larbinpy.url import split

_ISO = re.compile(
    r"(\d{4})-(\d\d?)-(\d\d?)(?:(?:T|\s+)(\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?"
    r"\s*(Z|UTC|GMT|[+-]\d\d:?\d\d)?)?",
    re.IGNORECASE,
)
#: The months of many languages, as they stand in dates, and those of Iran's own calendar.
_LANGUAGES = """
january february march april may june july august september october november december
januar februar märz april mai juni juli august september oktober november dezember
jänner feber mærz april mai juni juli august september oktober november dezember
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
gener febrer març abril maig juny juliol agost setembre octubre novembre desembre
ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie noiembrie decembrie
januari februari maart april mei juni juli augustus september oktober november december
januari februari mars april maj juni juli augusti september oktober november december
januar februar marts april maj juni juli august september oktober november desember
janúar febrúar mars apríl maí júní júlí ágúst september október nóvember desember
tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta elokuuta syyskuuta
 lokakuuta marraskuuta joulukuuta
jaanuar veebruar märts aprill mai juuni juuli august september oktoober november detsember
január február március április május június július augusztus szeptember október november
 december
stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada
 grudnia
ledna února března dubna května června července srpna září října listopadu prosince
januára februára marca apríla mája júna júla augusta septembra októbra novembra decembra
januarja februarja marca aprila maja junija julija avgusta septembra oktobra novembra decembra
siječnja veljače ožujka travnja svibnja lipnja srpnja kolovoza rujna listopada studenoga
 prosinca
januar februar mart april maj jun jul avgust septembar oktobar novembar decembar
јануар фебруар март април мај јун јул август септембар октобар новембар децембар
януари февруари март април май юни юли август септември октомври ноември декември
ocak şubat mart nisan may\u0131s haziran temmuz ağustos eylül ekim kas\u0131m aral\u0131k
januari februari maret april mei juni juli agustus september oktober november desember
января февраля марта апреля мая июня июля августа сентября октября ноября
 декабря
січня лютого березня квітня травня червня липня серпня вересня жовтня листопада
 грудня
ιανουαρίου φεβρουαρίου μαρτίου απριλίου μαΐου ιουνίου ιουλίου αυγούστου
 σεπτεμβρίου οκτωβρίου νοεμβρίου δεκεμβρίου
يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر
ژانویه فوریه مارس آوریل مه ژوئن ژوئیه اوت سپتامبر اکتبر نوامبر دسامبر
בינואר בפברואר במרץ באפריל במאי ביוני ביולי באוגוסט בספטמבר באוקטובר
 בנובמבר בדצמבר
जनवरी फरवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर
জানুয়ারি ফেব্রুয়ারি মার্চ এপ্রিল মে জুন জুলাই আগস্ট সেপ্টেম্বর অক্টোবর নভেম্বর
 ডিসেম্বর
มกราคม กุมภาพันธ์ มีนาคม เมษายน พฤษภาคม มิถุนายน กรกฎาคม สิงหาคม กันยายน
 ตุลาคม พฤศจิกายน ธันวาคม
sausio vasario kovo balandžio gegužės birželio liepos rugpjūčio rugsėjo spalio lapkričio
 gruodžio
janvāris februāris marts aprīlis maijs jūnijs jūlijs augusts septembris oktobris novembris
 decembris
janvārī februārī martā aprīlī maijā jūnijā jūlijā augustā septembrī oktobrī novembrī decembrī
urtarrilaren otsailaren martxoaren apirilaren maiatzaren ekainaren uztailaren abuztuaren
 irailaren urriaren azaroaren abenduaren
urtarrilak otsailak martxoak apirilak maiatzak ekainak uztailak abuztuak irailak urriak azaroak
 abenduak
xaneiro febreiro marzo abril maio xuño xullo agosto setembro outubro novembro decembro
janar shkurt mars prill maj qershor korrik gusht shtator tetor nëntor dhjetor
ionawr chwefror mawrth ebrill mai mehefin gorffennaf awst medi hydref tachwedd rhagfyr
yanvar fevral mart aprel may iyun iyul avqust sentyabr oktyabr noyabr dekabr
yanvar fevral mart aprel may iyun iyul avgust sentabr oktabr noyabr dekabr
januarie februarie maart april mei junie julie augustus september oktober november desember
januari februari mac april mei jun julai ogos september oktober november disember
enero pebrero marso abril mayo hunyo hulyo agosto setyembre oktubre nobyembre disyembre
januari februari machi aprili mei juni julai agosti septemba oktoba novemba desemba
јануари февруари март април мај јуни јули август септември октомври ноември декември
студзеня лютага сакавіка красавіка мая чэрвеня ліпеня жніўня верасня кастрычніка лістапада
 снежня
қаңтар ақпан наурыз сәуір мамыр маусым шілде тамыз қыркүйек қазан қараша желтоқсан
იანვარი თებერვალი მარტი აპრილი მაისი ივნისი ივლისი აგვისტო სექტემბერი ოქტომბერი ნოემბერი
 დეკემბერი
հունվարի փետրվարի մարտի ապրիլի մայիսի հունիսի հուլիսի օգոստոսի սեպտեմբերի հոկտեմբերի նոյեմբերի
 դեկտեմբերի
كانون_الثاني شباط آذار نيسان أيار حزيران تموز آب أيلول تشرين_الأول تشرين_الثاني كانون_الأول
جانفي فيفري مارس أفريل ماي جوان جويلية أوت سبتمبر أكتوبر نوفمبر ديسمبر
يناير فبراير مارس أبريل ماي يونيو يوليوز غشت شتنبر أكتوبر نونبر دجنبر
فروردین اردیبهشت خرداد تیر مرداد شهریور مهر آبان آذر دی بهمن اسفند
جنوری فروری مارچ اپریل مئی جون جولائی اگست ستمبر اکتوبر نومبر دسمبر
ינואר פברואר מרץ אפריל מאי יוני יולי אוגוסט ספטמבר אוקטובר נובמבר דצמבר
जानेवारी फेब्रुवारी मार्च एप्रिल मे जून जुलै ऑगस्ट सप्टेंबर ऑक्टोबर नोव्हेंबर डिसेंबर
जनवरी फेब्रुअरी मार्च अप्रिल मे जुन जुलाई अगस्ट सेप्टेम्बर अक्टोबर नोभेम्बर डिसेम्बर
ஜனவரி பிப்ரவரி மார்ச் ஏப்ரல் மே ஜூன் ஜூலை ஆகஸ்ட் செப்டம்பர் அக்டோபர் நவம்பர் டிசம்பர்
జనవరి ఫిబ్రవరి మార్చి ఏప్రిల్ మే జూన్ జులై ఆగస్టు సెప్టెంబర్ అక్టోబర్ నవంబర్ డిసెంబర్
જાન્યુઆરી ફેબ્રુઆરી માર્ચ એપ્રિલ મે જૂન જુલાઈ ઑગસ્ટ સપ્ટેમ્બર ઑક્ટોબર નવેમ્બર ડિસેમ્બર
ಜನವರಿ ಫೆಬ್ರವರಿ ಮಾರ್ಚ್ ಏಪ್ರಿಲ್ ಮೇ ಜೂನ್ ಜುಲೈ ಆಗಸ್ಟ್ ಸೆಪ್ಟೆಂಬರ್ ಅಕ್ಟೋಬರ್ ನವೆಂಬರ್ ಡಿಸೆಂಬರ್
ജനുവരി ഫെബ്രുവരി മാർച്ച് ഏപ്രിൽ മേയ് ജൂൺ ജൂലൈ ഓഗസ്റ്റ് സെപ്റ്റംബർ ഒക്ടോബർ നവംബർ ഡിസംബർ
ਜਨਵਰੀ ਫਰਵਰੀ ਮਾਰਚ ਅਪ੍ਰੈਲ ਮਈ ਜੂਨ ਜੁਲਾਈ ਅਗਸਤ ਸਤੰਬਰ ਅਕਤੂਬਰ ਨਵੰਬਰ ਦਸੰਬਰ
មករា កុម្ភៈ មីនា មេសា ឧសភា មិថុនា កក្កដា សីហា កញ្ញា តុលា វិច្ឆិកា ធ្នូ
ม.ค. ก.พ. มี.ค. เม.ย. พ.ค. มิ.ย. ก.ค. ส.ค. ก.ย. ต.ค. พ.ย. ธ.ค.
"""
_SHORTEST = 3


def _key(name: str) -> str:
    """The name of a month without case and accents, which capitals lack, and without blanks."""
    apart = unicodedata.normalize("NFD", name.casefold().replace("\u0131", "i"))
    letters = (each for each in apart if not unicodedata.combining(each))
    return "".join(each for each in letters if each.isprintable() and each not in " _").rstrip(".")


def _months() -> dict[str, int]:
    """The names of months, and their beginnings that are those of no other, with the month.

    Where two languages disagree, the first of them counts: English beginnings are all taken.
    """
    whole: dict[str, int] = {}
    begun: dict[str, int] = {}
    doubtful = set()
    for at, name in enumerate(map(_key, _LANGUAGES.replace("\n ", " ").split())):
        month = at % 12 + 1
        whole.setdefault(name, month)
        for end in range(_SHORTEST, len(name)):
            if begun.setdefault(name[:end], month) != month:
                doubtful.add(name[:end])
        if at == 11:
            whole |= begun
    found = {name: month for name, month in begun.items() if name not in doubtful}
    return found | whole | {"mrt": 3, "mrz": 3, "sept": 9}


_MONTHS = _months()
_NAME_OF_MONTH = (
    r"([^\W\d_][^\s\d.,/|-]{1,14}(?:\s\u0627\u0644\w{3,5})?"
    r"|[\u0e00-\u0e7f]{1,3}\.[\u0e00-\u0e7f]\.)\.?"
)
_OF = r"(?:de\s+|del\s+|of\s+|d['\u2019]|พ\.ศ\.\s*)?"
_Numbers = tuple[int, int, int]
#: The years before the first of the eras of emperors, and of the republic in Taiwan.
_ERAS = {"令": 2018, "平": 1988, "民": 1911}


def _named(year: str, month: str, day: str) -> _Numbers | None:
    number = _MONTHS.get(_key(month))
    return None if number is None else (int(year), number, int(day))


#: "June 3rd, 2025", "3 June 2025", "3. juin 2025", "2025 május 3", "3 de junho de 2025",
#: "2025/06/03" (and with dots), "20250603", "2025年6月3日", "令和7年6月3日", "13.06.2025", and with
#: other signs where only one of the numbers can be the month.
_SPELLINGS: tuple[tuple[re.Pattern[str], Callable[[tuple[str, ...]], _Numbers | None]], ...] = (
    (
        re.compile(
            rf"{_NAME_OF_MONTH}\s+(\d\d?)(?:st|nd|rd|th)?"
            r"(?:,\s*|\s+(?:\d\d?:\d\d(?::\d\d)?\s+(?:(?:[A-Z]{2,5}|[+-]\d{4})\s+)?)?)(\d{4})(?!\d)"
        ),
        lambda found: _named(found[2], found[0], found[1]),
    ),
    (
        re.compile(
            rf"(?<!\d)(\d\d?)(?:(?:st|nd|rd|th|er|[º°ª.])?[-/\s]+|\.){_OF}{_NAME_OF_MONTH}"
            rf"[,/-]?\s*{_OF}(\d{{4}})(?!\d)"
        ),
        lambda found: _named(found[2], found[1], found[0]),
    ),
    (
        re.compile(
            rf"(?<!\d)(\d{{4}})(?:[.,]|\s*m\.|\(?e?\)?ko)?\s+{_NAME_OF_MONTH}\s+(\d\d?)(?!\d)"
        ),
        lambda found: _named(found[0], found[1], found[2]),
    ),
    (
        re.compile(
            r"(?<!\d)(\d{4})\.?\s*(?:gada|жылғы|жылдың|ж\.)\s+(\d\d?)\.?[-\s]+"
            rf"{_NAME_OF_MONTH}"
        ),
        lambda found: _named(found[0], found[2], found[1]),
    ),
    (
        re.compile(
            r"(?<!\d)(\d{4})(?:\s*(?:[年년]|оны)|[./])\s*(\d\d?)"
            r"(?:\s*[月월]|(?:\s*-\u0440)?\s*сарын|[./])\s*(\d\d?)(?!\d)"
        ),
        lambda found: (int(found[0]), int(found[1]), int(found[2])),
    ),
    (
        re.compile(r"(令和|平成|民[國国])\s*(\d{1,3}|元)\s*年\s*(\d\d?)\s*月\s*(\d\d?)\s*日"),
        lambda found: (
            _ERAS[found[0][0]] + int(found[1].replace("元", "1")),
            int(found[2]),
            int(found[3]),
        ),
    ),
    (
        re.compile(r"(?<!\d)((?:19|20)\d\d)(\d\d)(\d\d)(?!\d)"),
        lambda found: (int(found[0]), int(found[1]), int(found[2])),
    ),
    (
        re.compile(r"(?<!\d)(\d\d?)\.\s?(0?[1-9]|1[0-2])\.\s?(\d{4})(?!\d)"),
        lambda found: (int(found[2]), int(found[1]), int(found[0])),
    ),
    (
        re.compile(
            r"(?<!\d)(\d\d?)\s+th\xe1ng\s+(\d\d?),?\s+(?:n\u0103m\s+)?(\d{4})(?!\d)", re.IGNORECASE
        ),
        lambda found: (int(found[2]), int(found[1]), int(found[0])),
    ),
    (
        re.compile(r"(?<!\d)(1[3-9]|2\d|3[01])[./-](\d\d?)[./-](\d{4})(?!\d)"),
        lambda found: (int(found[2]), int(found[1]), int(found[0])),
    ),
    (
        re.compile(r"(?<!\d)(\d\d?)[./-](1[3-9]|2\d|3[01])[./-](\d{4})(?!\d)"),
        lambda found: (int(found[2]), int(found[0]), int(found[1])),
    ),
)
#: "03/05/2025", whose order depends on the country, and "03.05.25".
_IN_DOUBT = re.compile(r"(?<!\d)(\d\d?)[/-](\d\d?)[/-](\d{4}|\d\d)(?![\d/-])")
_SHORT_YEAR = re.compile(r"(?<![\d.])(\d\d?)\.(0?[1-9]|1[0-2])\.(\d\d)(?![\d.])")
#: Seconds or milliseconds since 1970.
_UNIX = re.compile(r"(1\d{9})(?:\d{3})?")
#: Every date has one; most texts have none.
_YEAR = re.compile(r"\d{4}|令和|平成|民[國国]|二[\u3007○零]")
#: Numbers in words of China, up to 99.
_HAN = str.maketrans("\u3007○零一二三四五六七八九", "000123456789")
_HAN_TEN = re.compile(r"(\d?)十(\d?)")
#: Characters in which a date is looked for; no honest spelling is longer.
_LONGEST = 100
#: Characters of an element that is about a date.
_SHORT = 150
#: htmldate's bound: the date of a page does not precede the web.
_EARLIEST = "1995-01-01"
#: Two digits after these are a year of the last century.
_NINETIES = 90
#: Characters behind the word for a date, and those of it and them.
_SAID_WITHIN = 40
_SAID_BEFORE = 70
#: Each date that `iso` knows has one of these.
_NUMBER = re.compile(r"\d(?:\d{3}|\d?[./-]\d\d?[./-]\d\d)|\u5e74")
#: Attributes with a date beside `data-date` and its like, and elements that are about one.
_FOR_MACHINES = frozenset(("datetime", "content", "title"))
_UP = 3
#: Years after this one are counted from the death of the Buddha, as in Thailand.
_BUDDHIST = 2500
#: Years of Iran's calendar since 1992, and the day from which its days are counted.
_PERSIAN = range(1371, 1500)
_PERSIAN_DAY = 226_111
#: Elements that may show the date of the page: a selector, then what a class must have.
_SELECTOR = "time,abbr,[itemprop=datePublished]," + ",".join(
    f"[class*={word} i]" for word in ("dat", "time", "publish", "posted", "byline", "fecha")
)
_NAME = re.compile(
    r"(?:(?<![a-z])|(?<=pub)|(?<=post)|(?<=relative)|(?<=create)|(?-i:(?<=[a-z])(?=[DTPB])))"
    r"(?:date|dateline|datetime|time|timestamp|published|posted|byline|datum|fecha)(?![a-z])",
    re.IGNORECASE,
)
#: Names of elements whose date is one of something that happens, or of today.
_NOT_OF_PAGE = re.compile(r"event|current|today|birth|deadline|expir|start|(?<![a-z])end", re.I)
#: "This page was last modified on", and "Published", before a date or within a class.
_BEGINNING = 30
_CHANGE = re.compile(
    r"updated|modified|edited|revised|reviewed|changed|aktualisiert|ge\xe4ndert|bearbeitet"
    r"|mis(?:e)? \xe0 jour|modifi\xe9|actualizad|modificad|aggiornat|atualizad|bijgewerkt|gewijzigd"
    r"|\u043e\u0431\u043d\u043e\u0432\u043b|\u0438\u0437\u043c\u0435\u043d|\u66f4\u65b0|\u4fee\u6539|\uc218\uc815|g\xfcncel|aktualizacja|uppdaterad|opdateret",
    re.IGNORECASE,
)
_PUBLISHED = re.compile(r"publish|posted|pubdate|created|released", re.IGNORECASE)
_LABELS = re.compile(
    rf"(?=(?<!\w)(?:first |last )?(?:{_CHANGE.pattern}|publish|posted))", re.IGNORECASE
)
#: What a text says before its date, if it is that of the page: in its main part, or elsewhere.
_SAID = re.compile(
    r"(?<!\w)(?:published|posted|created|released|date|dated|datum|stand|ver\xf6ffentlicht|erschienen"
    r"|erstellt|publi\xe9e?|paru|publicad[oa]|fecha|pubblicat[oa]|geplaatst|gepubliceerd"
    r"|opublikowano|dodano|data|publicerad|julkaistu|\u043e\u043f\u0443\u0431\u043b\u0438\u043a\u043e\u0432\u0430\u043d\u043e|\u0434\u0430\u0442\u0430"
    r"|\u53d1\u5e03(?:\u65f6\u95f4|\u65e5\u671f|\u4e8e)?|\u53d1\u8868\u4e8e|\u65e5\u671f|\u65f6\u95f4|\u63b2\u8f09\u65e5|\u516c\u958b\u65e5|\u6295\u7a3f\u65e5|\ub4f1\ub85d\uc77c|\uc785\ub825)"
    r"(?:\s(?:on|am|le|el|il|op|em|by))?[:\s\uff1a]{1,3}(?=\D{0,16}\d)",
    re.IGNORECASE,
)
#: Dates in these are about something else.
_PARTS = "pre,code,dt,nav,aside,select,h2,h3,h4"
#: Names of what stands around dates of comments and of other stories.
_ELSEWHERE = re.compile(
    r"(?<![a-z])(?:comments?|replies|respond|related|latest|recent|recommend\w*|teasers?|trending"
    r"|popular|most-read|more|stories|sidebars?|(?<!post-)(?<!entry-)(?<!article-)footer)(?![a-z])"
    r"|(?<!\S)widget(?!\S)",
    re.IGNORECASE,
)
_AROUND = 8
#: The text of a link that is the title of another story, and of the teaser with it.
_TITLE = 25
_WORDS = 4
_TEASER = 400
_IN_URL = re.compile(r"/((?:199|20[0-4])\d)[/-]([a-z]{3,9}|\d\d?)[/-](\d\d?)(?=[/-]|$)")
_DIGITS_IN_URL = re.compile(r"[/_-]((?:199|20[0-4])\d)([01]\d)([0-3]\d)(?=[/._-]|$)")
_MOST = 100
#: Nodes after the heading, among which a byline stands, and the elements and texts of one.
_NEAR = 150
_INNER = 3
#: Those among which any short text is one.
_NEXT = 40
_BLOCKS = frozenset(("div", "p", "span", "li", "small", "em", "i", "font", "b", "td"))
_ONLY = re.compile(r"(?:(?:published|posted|date|on)\W*){0,2}[\w., /-]{6,30}", re.IGNORECASE)
#: Countries that write the month first, and domains of countries that say nothing of a language.
_MONTH_FIRST = frozenset(("us", "ph", "ca"))
_ANYWHERE = frozenset(("us", "io", "co", "tv", "me", "ai", "ly", "to", "fm", "cc", "ws", "eu"))


def day_first(lang: str | None, url: str) -> bool | None:
    """Whether 03/05 is in May, in the language `lang` ("en-US"); None if that is not known.

    Where no region is named, the country of the host counts.
    """
    country = split(url).host.rpartition(".")[2]
    is_country = len(country) == 2 and country not in _ANYWHERE
    code, _, region = (lang or "").lower().replace("_", "-").partition("-")
    if code == "en":
        return region not in _MONTH_FIRST if region else is_country
    return True if code or is_country else None


def iso(text: str, latest: str, order: bool | None = None) -> str | None:
    """Return the date or time in `text` as the page says it; None if there is none.

    "2026-11-23", or with a time if its zone is given, "2026-11-23T08:00:00+01:00". Days before
    1995 and after `latest`, an ISO date, are not believed. `order`: that of `day_first`.
    """
    text = text[:_LONGEST].strip()
    if "\u5e74" in text and not any(map(str.isdecimal, text)):
        text = _HAN_TEN.sub(lambda found: f"{found[1] or 1}{found[2] or 0}", text.translate(_HAN))
    if not _YEAR.search(text):
        return None if order is None else _short(text, latest, order)
    found = _ISO.match(text)
    if found is not None:
        return _checked(_from_iso(found), latest)
    if unix := _UNIX.fullmatch(text):
        return _checked(timestamp(int(unix[1])), latest)
    for pattern, numbers in _SPELLINGS:
        for found in pattern.finditer(text):
            date = numbers(found.groups())
            if date is not None:
                return _checked(_day(*date), latest)
    return None if order is None else _short(text, latest, order)


def _short(text: str, latest: str, order: bool) -> str | None:
    """A date whose numbers do not say their order, or with two digits for its year."""
    found = _IN_DOUBT.search(text)
    if found is None:
        found, order = _SHORT_YEAR.search(text), True
    if found is None:
        return None
    first, second, year = map(int, found.groups())
    if year < 100:
        year += 1900 if year > _NINETIES else 2000
    day, month = (first, second) if (order and second <= 12) or first > 12 else (second, first)
    return _checked(_day(year, month, day), latest)


def from_mail(text: str, latest: str) -> str | None:
    """As `iso`, for RSS and HTTP, whose dates are those of mail: "Mon, 23 Nov 2026 ... GMT"."""
    try:
        moment = parsedate_to_datetime(text[:_LONGEST].strip())
    except (ValueError, TypeError, IndexError, OverflowError):
        return iso(text, latest)
    if moment.tzinfo is None:
        return _checked(moment.date().isoformat(), latest)
    return _checked(moment.isoformat(timespec="seconds").replace("+00:00", "Z"), latest)


def in_url(url: str, latest: str) -> str | None:
    """The date that a URL shows: /2025/06/13/, /2025/jun/13/, /20250613/."""
    for pattern in (_IN_URL, _DIGITS_IN_URL):
        if found := pattern.search(url):
            year, month, day = found.groups()
            number = int(month) if month.isdigit() else _MONTHS.get(month, 0)
            if shown := _checked(_day(int(year), number, int(day)), latest):
                return shown
    return None


def in_tree(tree: Document, url: str, latest: str, order: bool | None = None) -> str | None:
    """The date of publication that the URL shows, or `<time>` or an element with such a class.

    Those after the heading count most, then those before it, the nearest first. Other text is not
    searched but for elements after the heading that are a date and no more: in running text, in
    programs, and on pages without a date stand those of something else. `order`: as for `iso`.
    """
    shown = in_url(url, latest)
    if shown is not None or _is_home(url):
        return shown
    heading = next(tree.iter_elements("h1"), None)
    near = () if heading is None else tuple(islice(heading.following, _NEAR))
    changed = None
    for each in _candidates(tree, heading, near):
        shown, later = _shown(each, latest, order)
        if (shown is None and later is None) or is_elsewhere(each, heading):
            continue
        is_near = each in near
        if shown is not None and (is_near or not _in_teaser(each, heading)):
            return shown
        if is_near:
            changed = changed or later
    return changed


def _is_home(url: str) -> bool:
    """Whether the dates of a page are those of its stories."""
    return split(url).path.partition("?")[0] == "/"


def in_text(text: str, url: str, latest: str, order: bool | None) -> str | None:
    """The date that a text calls the one of its publication."""
    if _is_home(url):
        return None
    for number in _NUMBER.finditer(text):
        # A third of the time of looking for the words everywhere.
        start = max(0, number.start() - _SAID_BEFORE)
        for each in _SAID.finditer(text, start, number.end()):
            said = text[each.end() :][:_SAID_WITHIN].partition("\n")[0]
            if found := iso(said, latest, order):
                return found
    return None


def _candidates(tree: Document, heading: Element | None, near: Sequence[Node]) -> Iterator[Element]:
    """Elements that may show the date: after the heading, short texts after it, and before it."""
    found = [
        each
        for each in tree.select(f"h1,{_SELECTOR}")[:_MOST]
        if each == heading
        or each.tag == "time"
        or each.attr("itemprop")
        or (_NAME.search(_class(each)) and each.select_one("time[datetime]") is None)
    ]
    at = found.index(heading) if heading in found else 0
    yield from found[at + 1 :] if heading in found else found
    for place, node in enumerate(near):
        if isinstance(node, Element) and node.tag in _BLOCKS and len(node) <= _INNER:
            text = node.text[: 2 * _LONGEST]
            if _YEAR.search(text):
                text = " ".join(text.split())
                if _ONLY.fullmatch(text) or (place < _NEXT and len(text) < _LONGEST):
                    yield node
    yield from reversed(found[:at])


def _shown(element: Element, latest: str, order: bool | None) -> tuple[str | None, str | None]:
    """The date of publication that an element shows, and that of a change.

    A date that is meant for machines counts before those of a short text.
    """
    if element.tag != "time" and _NOT_OF_PAGE.search(_class(element)):
        return None, None
    for name, value in element.attrs.items():
        if name in _FOR_MACHINES or (name[:5] == "data-" and _NAME.search(name)):
            date = iso(str(value or ""), latest)
            if date is not None:
                return (None, date) if _is_change(element) else (date, None)
    text = " ".join(element.text[: 4 * _LONGEST].split())
    if len(text) > _SHORT:
        return None, None
    parts = [part for part in _LABELS.split(text) if part]
    dated = [(part, date) for part in parts if (date := iso(part, latest, order))]
    own = (date for part, date in dated if not _CHANGE.match(part.removeprefix("last ")))
    shown = next(own, None)
    if shown is not None and len(parts) == 1 and _is_change(element):
        return None, shown
    return shown, next((date for _, date in dated if date != shown), None)


def _is_change(element: Element) -> bool:
    """Whether the date of an element is one of a change, by its names and the text before it."""
    names = f"{element.attr('itemprop')} {_class(element)} {' '.join(element.attrs)}"
    if _PUBLISHED.search(names):
        return False
    about = f"{names} {element.text.lstrip()[:_BEGINNING]}"
    node: Node = element
    for _ in range(_UP):
        before = node.previous_sibling
        while before is not None and before.text.isspace():
            before = before.previous_sibling
        if before is not None and not _YEAR.search(before.text):
            about += f" {before.text[-_BEGINNING:]}"
        parent = node.parent
        if before is not None or not isinstance(parent, Element) or len(parent.text) > _SHORT:
            break
        about, node = f"{about} {_class(parent)}", parent
    return bool(_CHANGE.search(about))


def is_elsewhere(element: Element, heading: Element | None) -> bool:
    """Whether the date of an element is one of something on the page."""
    if element.closest(_PARTS) is not None:
        return True
    for each in chain((element,), islice(element.ancestors, _AROUND)):
        if not isinstance(each, Element) or (heading is not None and heading in each.select("h1")):
            return False
        if _ELSEWHERE.search(f"{_class(each)} {each.attr('id') or ''}"):
            return each.tag not in ("html", "body", "main", "article")
    return False


def _in_teaser(element: Element, heading: Element | None) -> bool:
    """Whether little more than a link with the title of another story is around an element."""
    for each in islice(element.ancestors, _AROUND):
        if heading is None or not isinstance(each, Element) or len(each.text) > _TEASER:
            return False
        titles = (link.text.split() for link in each.iter_elements("a"))
        if any(len(words) >= _WORDS and len(" ".join(words)) >= _TITLE for words in titles):
            return next(each.iter_elements("h1"), None) is None
    return False


def _class(element: Element) -> str:
    return element.attr("class") or ""


def _from_iso(found: re.Match[str]) -> str | None:
    year, month, day, hour, minute, second, zone = found.groups()
    date = _day(int(year), int(month), int(day))
    if date is None or zone is None or int(hour) > 23 or int(minute) > 59 or int(second or 0) > 59:
        return date
    zone = zone.upper()
    if zone in ("Z", "UTC", "GMT") or zone[1:].replace(":", "") == "0000":
        zone = "Z"
    else:
        zone = f"{zone[:3]}:{zone[-2:]}"
    return f"{date}T{hour}:{minute}:{second or '00'}{zone}"


def _day(year: int, month: int, day: int) -> str | None:
    if year > _BUDDHIST:
        year -= 543
    try:
        found = _persian(year, month, day) if year in _PERSIAN else date(year, month, day)
        return found.isoformat()
    except ValueError:
        return None


def _persian(year: int, month: int, day: int) -> date:
    """A day of the calendar of Iran, in 1371 to 1499, whose leap years come in cycles of 33."""
    leaps = ((year + 1595) // 33 * 8 + ((year + 1595) % 33 + 3) // 4 for year in (year, year + 1))
    before, after = leaps
    longest = 31 if month < 7 else 30 if month < 12 else 29 + after - before
    if not (1 <= month <= 12 and 1 <= day <= longest):
        raise ValueError(month, day)
    return date.fromordinal(365 * year + before + 30 * month + min(month, 7) + day + _PERSIAN_DAY)


def _checked(date: str | None, latest: str) -> str | None:
    return date if date is not None and _EARLIEST <= date[:10] <= latest else None
