# Makes .venv at the top of the checkout, or of a copy if this user may not write the checkout. The
# scripts beside this file source it and set $root.
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

# read_stamps: sets $want and $source, which the files of a finished environment have.
read_stamps() {
    want="$root $(cksum <"$root/setup.cfg")"
    source=$(cat "$root/setup.py" "$root"/larbinpy/native/*.[ch] | cksum)
}

# is_made [EXTRA]...: whether the environment is finished, and this user can run it.
is_made() {
    [ "$(cat "$root/.venv/made" 2>/dev/null)" = "$want" ] &&
        [ "$(cat "$root/.venv/built" 2>/dev/null)" = "$source" ] &&
        "$root/.venv/bin/python" -c '' 2>/dev/null || return 1
    for extra in "$@"; do
        [ -e "$root/.venv/made-$extra" ] || return 1
    done
}

# use_copy: sets $root to a copy of the checkout in the cache of this user, who may not write the
# checkout itself. It is copied again when a file of the checkout is newer.
use_copy() {
    [ -e "$root/setup.cfg" ] || {
        say "no checkout: ${root:-no folder}"
        exit 1
    }
    copy=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/larbinpy/$(echo "$root" | cksum)
    copy=${copy%% *}
    mkdir -p "$copy" 2>/dev/null && [ -w "$copy" ] || {
        say "no permission to write $root, nor $copy"
        say "set XDG_CACHE_HOME to a folder of your own"
        exit 1
    }
    (
        if command -v flock >/dev/null; then flock 9; fi
        if [ ! -e "$copy/.copied" ] || [ -n "$(find "$root"/[!.]* -name __pycache__ -prune \
            -o -newer "$copy/.copied" -print -quit)" ]; then
            say "no permission to write $root: using a copy of it, $copy"
            touch "$copy/.begun"
            rm -rf "$copy"/[!.]*
            cp -R "$root"/[!.]* "$copy/"
            chmod -R u+w "$copy"/[!.]*
            mv "$copy/.begun" "$copy/.copied"
        fi
    ) 9>"$copy/.copy.lock"
    root=$copy
}

# make_env [EXTRA]...: makes .venv with larbinpy and the packages of each EXTRA. It is made again
# if setup.cfg, the interpreter or the path of the checkout changed; the compiled module is built
# again if its source changed. If the checkout belongs to another user and its .venv is not usable,
# $root becomes a copy.
make_env() {
    read_stamps
    if is_made "$@"; then return; fi
    if [ ! -w "$root" ]; then
        use_copy
        read_stamps
        if is_made "$@"; then return; fi
    fi
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
        # As pip does for packages, so that a user who writes no bytecode starts as quickly.
        "$root/.venv/bin/python" -m compileall -q "$root/larbinpy" >&2 || true
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
