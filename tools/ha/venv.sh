#!/usr/bin/env bash
# Makes the Python environment for one version of Patroni and prints its interpreter:
# `venv.sh 4` the newest 4.x, `venv.sh 3.0.2` just that one. Kept below target/ha and used again.
#
# The user under whom the cluster runs must be able to execute the interpreter and to read what is
# installed: where the checkout is shut to that user, the environment is made below /var/tmp.
set -euo pipefail
version=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# As who the cluster will run.
as_cluster() {
    if ((EUID == 0)); then
        (cd / && runuser -u postgres -- "$@")
    else
        "$@"
    fi
}

# The first Python that is new enough, complete, and reachable for that user.
base_python() {
    local candidate
    for candidate in python3 /usr/bin/python3; do
        candidate=$(command -v "$candidate") || continue
        as_cluster "$candidate" -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' \
            >/dev/null 2>&1 && echo "$candidate" && return
    done
    echo "no Python 3.11 or newer with venv that the cluster's user can execute" >&2
    return 1
}

home=$root/target/ha
mkdir -p "$home"
as_cluster test -x "$home" || {
    home=/var/tmp/roster-ha-$EUID
    mkdir -p "$home"
    [[ -O $home ]] || exit 1
}
venv=$home/patroni-$version
if [[ ! -e $venv/complete ]]; then
    rm -rf "$venv"
    umask 022
    "$(base_python)" -m venv "$venv" >&2
    case $version in
        *.*) wanted=("patroni[etcd3]==$version") ;;
        *) wanted=("patroni[etcd3]>=$version,<$((version + 1))") ;;
    esac
    "$venv/bin/pip" install --quiet --disable-pip-version-check \
        "${wanted[@]}" 'psycopg[binary]>=3.2,<4' >&2
    touch "$venv/complete"
fi
as_cluster "$venv/bin/python" -c 'import patroni, psycopg'
echo "$venv/bin/python"
