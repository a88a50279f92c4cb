# Makes .venv at the top of the checkout; read by the scripts beside it, which set $root.
# What it says goes to standard error: standard output belongs to the program.

say() { echo "$(basename "$0"): $*" >&2; }

# apt_install PACKAGE...: installs what is missing, where we may; fails where it cannot,
# with what is missing in $missing.
apt_install() {
    missing=
    for package in "$@"; do
        dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
            missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || return 1
    say "installing with apt:$missing"
    # RUNLEVEL=1 keeps Debian from starting the services that it installs.
    set -- env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -qq -y \
        -o DPkg::Lock::Timeout=300 -o Acquire::http::Timeout=20 -o Acquire::Retries=1
    "$@" install --no-install-recommends $missing </dev/null >/dev/null 2>&1 || {
        "$@" update && "$@" install --no-install-recommends $missing
    } </dev/null >&2
}

# find_python: sets $python to the first interpreter that is new enough and has venv.
find_python() {
    for python in python3 python3.11 python3.12 python3.13 python3.14 python3.15 /usr/bin/python3
    do
        "$python" -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null &&
            return 0
    done
    return 1
}

# make_env [EXTRA]: .venv with larbinpy and the packages of EXTRA, made anew when the
# packages wanted, the interpreter or the place of the checkout have changed.
make_env() {
    want="$root $(cat "$root/setup.cfg" "$root/pyproject.toml" | cksum)"
    (
        # Two at once would be in each other's way.
        if command -v flock >/dev/null; then flock 9; fi
        if [ "$(cat "$root/.venv/made" 2>/dev/null)" != "$want" ] ||
            ! "$root/.venv/bin/python" -c '' 2>/dev/null; then
            find_python || { apt_install python3-venv && find_python; } || {
                say "needs Python 3.11 or newer with its venv module; please install them"
                say "(as root on Debian: apt-get install python3-venv)"
                exit 1
            }
            say "making $root/.venv, once"
            "$python" -m venv --clear "$root/.venv" >&2
            pip_install "$root"
            echo "$want" >"$root/.venv/made"
        fi
        if [ -n "${1-}" ] && ! [ -e "$root/.venv/made-$1" ]; then
            say "adding what $1 needs"
            pip_install "$root[$1]"
            touch "$root/.venv/made-$1"
        fi
    ) 9>"$root/.venv.lock"
}

pip_install() {
    "$root/.venv/bin/python" -m pip install --quiet --disable-pip-version-check -e "$1" >&2 || {
        say "pip could not install what is needed; it says why above, and the next run tries again"
        exit 1
    }
}
