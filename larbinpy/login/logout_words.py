"""The words of links that end a session, in the languages of most web pages."""
# ruff: noqa: RUF001 - letters of other alphabets

#: Phrases for addresses and texts; those of a line are of one or a few languages.
PHRASES = """
logout, logoff, signout, signoff, log out, log off, sign out, sign off, end session, endsession
abmelden, abmeldung, ausloggen, jetzt abmelden, sitzung beenden
déconnexion, se déconnecter, déconnecter, me déconnecter, déconnectez vous, fermer la session
cerrar sesión, cerrar la sesión, cierre de sesión, finalizar sesión, desconectarse, desconectar
terminar sessão, encerrar sessão, finalizar sessão, fechar sessão, fazer logout, pechar sesión
disconnetti, disconnettiti, disconnessione, scollegati, chiudi sessione
tanca la sessió, tancar sessió, tanca sessió, saioa itxi
uitloggen, afmelden, log uit
logga ut, utloggning, logg ut, logg av, log ud, logud, log af, útskrá
kirjaudu ulos, uloskirjautuminen, logi välja
wyloguj, wyloguj się, wylogowanie, wylogować
odhlásit, odhlásit se, odhlášení, odhlásiť, odhlásiť sa, odhlásenie
kijelentkezés, kijelentkezik
deconectare, deconectează te, delogare
odjava, odjavi se, odjavite se, одјава, одјави се
αποσύνδεση
oturumu kapat, çıkış yap, cikis yap, çıkış yapın, güvenli çıkış, guvenli cikis
выйти из системы, выйти из аккаунта, вийти з системи, завершить сеанс
atsijungti, izrakstīties
تسجيل الخروج, تسجيل خروج, الخروج من الحساب, خروج از حساب, خروج از سیستم, لاگ آؤٹ
התנתק, התנתקות, להתנתק
लॉग आउट, लॉगआउट, साइन आउट, লগ আউট, লগআউট
ออกจากระบบ, ลงชื่อออก
đăng xuất, dang xuat, log keluar
退出登录, 退出登錄, 退出登陆, 安全退出, 退出系统, 退出账号, 注销登录, 登出, 登出系统
ログアウト, ログアウトする, サインアウト, ログオフ
로그아웃, 로그 아웃, 사인아웃
"""

#: Words that mean other things as well: they count if they are a whole text, or a whole part of an
#: address in ASCII. Articles have addresses such as /wiki/Выход.
AMBIGUOUS = """
sair, salir, esci, surt, keluar, ieșire, iesire, çıkış, cikis, kilépés, iziet, thoát
выход, выйти, вихід, вийти, изход, излез, излаз, έξοδος
خروج, الخروج, יציאה, 退出, 注销, 註銷
"""

#: Words beside the phrases, and extensions of files.
FILLERS = """
user users member members customer client admin account accounts profile session sessions auth
sso cas saml oidc openid oauth secure security spring acegi j special spezial page index action
do now here click please me my your the this of from to and all everywhere devices site sites
php php5 html htm xhtml asp aspx ashx jsp jspx jsf cgi pl cfm json xml
"""

#: Names in a query whose values are what people look for, or addresses to go to later.
NOT_ASKED = """
q query search s keyword keywords term text words tag next return returnto return_to returnurl
return_url redirect redirect_to redirect_uri redirecturl continue back backurl dest destination
ref referer referrer goto url target service came_from rurl from to
"""
