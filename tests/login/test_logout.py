"""Links that end a session, and those that only look so."""
# ruff: noqa: RUF001 - letters of other alphabets

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.login.judge import ends_session, says_logout
from larbinpy.url import resolve

SITE = "http://a.test"

#: Addresses of common programs.
ENDS = """
/logout /logout/ /Logout /LOGOUT /logout.php /logout.html /logout.aspx /logout.do /user/logout
/users/sign_out /sign-out /signout /SignOut /account/log-out /accounts/logout/ /log_out /logoff
/Account/LogOff /auth/logoff.jsp /sign_off /logOut /userLogout /UserLogout.action /user/logout/now
/index.php?action=logout /index.php?title=Special:UserLogout /wiki/Special:UserLogout
/wiki/Special:Userlogout /wp-login.php?action=logout&_wpnonce=5f1 /?logout /?logout=1
/?logout=true /index.php?r=site/logout /index.php?route=account/logout /doku.php?id=x&do=logout
/ucp.php?mode=logout&sid=1 /member.php?action=logout&logoutkey=2 /login?logout
/j_spring_security_logout /j_acegi_logout /Shibboleth.sso/Logout /saml2/slo /simplesaml/saml/sls
/.auth/logout /oauth2/sign_out /connect/endsession /oidc/end_session /session/destroy
/sessions/destroy /session/end /sign/out /logout;jsessionid=1F /x!logout
/secure/Logout!default.jspa /_/logout /api/v1/logout /admin/logout/?next=/ /logoutUser /doLogout
/en/logout/confirm /abmelden /konto/ausloggen /deconnexion /d%C3%A9connexion /se-deconnecter
/cerrar-sesion /cerrar_sesi%C3%B3n /salir /sair /sair.php /esci /disconnetti /uitloggen /afmelden
/logga-ut /logg-ut /logud /kirjaudu-ulos /wyloguj /wyloguj-sie /odhlasit /odhlaseni /kijelentkezes
/deconectare /odjava /cikis /cikis-yap /dang-xuat /keluar /terminar-sessao
/%E9%80%80%E5%87%BA%E7%99%BB%E5%BD%95 /%E7%99%BB%E5%87%BA
/%E3%83%AD%E3%82%B0%E3%82%A2%E3%82%A6%E3%83%88 /?%EB%A1%9C%EA%B7%B8%EC%95%84%EC%9B%83
"""

#: Addresses as real sites have them, with words of the above.
STAYS = """
/ /?logout=FALSE /sign-up/out-now /log-book/off /session-notes/end-of-line /exit /exit-interviews
/logout-bug-report /blog/how-to-log-out-of-facebook /catalog/output /log
/logs/output /login /login?next=/logout /sign-in /signup /signatures /log/outage
/signoff-sheet-template /design-sign-off-process /issues?q=logout /search?query=log+out
/login?redirect=%2Flogout /?logout=0 /?logout=false /blog/outlook /weblog/outdoor
/docs/session-management /session/42 /sessions/2024 /slo/kontakt /about/slo /wiki/Sign_language
/forum/viewtopic.php?t=1&title=cannot+log+out /kb/logout-button-missing /releases/logout-fix.html
/sairam /esci-journal /salir-de-fiesta /salir-con-amigos /keluarga /exit/route-66 /cikisli
/wiki/%D0%92%D1%8B%D1%85%D0%BE%D0%B4 /wiki/%E9%80%80%E5%87%BA /desconectar-bateria
/deconnexion-du-monde /abmelden-der-umsatzsteuer /logoutput /logofficial /signoffs /blogout
/dialog/out-of-stock /prolog/off /tag/logout-issues /news/odjava-vozila-postupak
/logging-out-of-a-device /auto-logout-settings /single-sign-on /sign-outs/ /en/checkout /timeout
/shopping/take-out /sold-out /session-end-notes /download/logout-icon.svg /css/logout-button.css
/questions/231/logout-not-working /2024/06/log-off-and-live /q/endsession-in-oidc /users/mary
/profile/edit /account /account/settings /admin/users /?page=2&sort=signed /static/logo.png
/ausloggen-problem /uitloggen-lukt-niet /product/sign-out-of-stock /unsubscribe /messages/delete
"""

TEXTS = """
Log out|Logout|LOG OUT|Sign out|Sign Out »|Log off|Log me out|Log out (mary)|[Log out]|Logout [mary]
Sign out of your account|Sign out of all devices|Click here to log out
Abmelden|Jetzt abmelden|Ausloggen|Déconnexion|Deconnexion|Se déconnecter|Cerrar sesión|Salir|Sair
Terminar sessão|Esci|Disconnetti|Uitloggen|Afmelden|Logga ut|Logg ut|Log ud|Kirjaudu ulos|Wyloguj
Wyloguj się|Odhlásit se|Odhlásiť sa|Kijelentkezés|Deconectare|Odjava|Αποσύνδεση|Έξοδος|Çıkış|ÇIKIŞ
Oturumu kapat|Выход|Выйти|Вийти|Вихід|Изход|Atsijungti|Iziet|تسجيل الخروج|خروج|התנתקות|लॉग आउट
লগ আউট|ออกจากระบบ|Đăng xuất|Keluar|Log keluar|退出|退出登录|注销|登出|ログアウト|로그아웃|로그 아웃
Tanca la sessió|Logi välja|Ieșire|Одјава
"""

OTHERS = """
Exit|Logout bug report|How to log out|Sign up|Log in|Sign in|Output log|Log|Out|Sold out|Check out
Sign-off process|Newsletter abmelden|Exit interviews|Выход книги|Выход в свет|退出する条件について
Salir de fiesta|Sair de casa|Désabonnement|Se connecter|Cerrar|Sesión|Anmelden|登录|ログイン|로그인
The session in which I forgot to log out of my account and lost a day of work by that
Login and logout|My account|Settings|Help
"""


def _lines(texts: str) -> list[str]:
    return texts.strip().replace("\n", "|").split("|")


@pytest.mark.parametrize("path", ENDS.split())
def test_addresses_that_end_a_session(path: str) -> None:
    href = resolve(path, SITE)
    assert href is not None
    assert ends_session(href)


@pytest.mark.parametrize("path", STAYS.split())
def test_addresses_that_do_not(path: str) -> None:
    href = resolve(path, SITE)
    assert href is not None
    assert not ends_session(href)


@pytest.mark.parametrize("text", [*_lines(TEXTS), " log \n out "])
def test_texts_that_end_a_session(text: str) -> None:
    assert says_logout(text)


@pytest.mark.parametrize("text", ["", f"Log out ({'x' * 320})", *_lines(OTHERS)])
def test_texts_that_do_not(text: str) -> None:
    assert not says_logout(text)


def test_the_host_does_not_count() -> None:
    assert not ends_session("http://logout.test/")
    assert not ends_session("http://logout/")


@given(st.text(), st.text())
def test_any_text_is_a_link(path: str, text: str) -> None:
    assert says_logout(text) in (True, False)
    href = resolve(f"/{path}", SITE)
    if href is not None:
        assert ends_session(href) in (True, False)
