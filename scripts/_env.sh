# Makes .venv at the top of the checkout. The scripts beside this file source it and set $root.
# Messages go to standard error, because standard output belongs to the program.

say() { echo "$(basename "$0"): $*" >&2; }

# apt_install PACKAGE...: installs the missing packages if run by root on Debian. Fails if it
# cannot, with their names in $missing.
apt_install() {
    missing=
    for package in "$@"; do
        dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
            missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || return 1
    say "installing with apt:$missing"
    # With RUNLEVEL=1 Debian does not start the services that it installs.
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

# make_env [EXTRA]...: makes .venv with larbinpy and the packages of each EXTRA. It is made again
# if setup.cfg, the interpreter or the path of the checkout changed; the compiled module is built
# again if its source changed.
make_env() {
    want="$root $(cksum <"$root/setup.cfg")"
    source=$(cat "$root/setup.py" "$root"/larbinpy/native/*.[ch] | cksum)
    (
        # One script at a time makes it.
        if command -v flock >/dev/null; then flock 9; fi
        if [ "$(cat "$root/.venv/made" 2>/dev/null)" != "$want" ] ||
            ! "$root/.venv/bin/python" -c '' 2>/dev/null; then
            find_python || { apt_install python3-venv && find_python; } || {
                say "needs Python 3.11 or newer with its venv module; please install them"
                say "(as root on Debian: apt-get install python3-venv)"
                exit 1
            }
            say "making $root/.venv (only once)"
            "$python" -m venv --clear "$root/.venv" >&2
            pip_install "$root"
            echo "$want" >"$root/.venv/made"
            echo "$source" >"$root/.venv/built"
        fi
        if [ "$(cat "$root/.venv/built" 2>/dev/null)" != "$source" ]; then
            pip_install "$root" --no-deps
            echo "$source" >"$root/.venv/built"
        fi
        for extra in "$@"; do
            [ -e "$root/.venv/made-$extra" ] && continue
            say "adding the packages of $extra"
            pip_install "$root[$extra]"
            touch "$root/.venv/made-$extra"
        done
    ) 9>"$root/.venv.lock"
}

# pip_install WHAT [OPTION]...
pip_install() {
    "$root/.venv/bin/python" -m pip install --quiet --disable-pip-version-check -e "$@" >&2 || {
        say "pip could not install the packages (see above); the next run tries again"
        exit 1
    }
}
