#!/usr/bin/env bash
# Installs what of etcd, PostgreSQL and Python's venv is missing, from Debian's packages. No service
# of Debian's is started by it, and no cluster of Debian's is made: the suite starts its own.
set -euo pipefail

missing=()
command -v etcd >/dev/null || missing+=(etcd-server)
command -v etcdctl >/dev/null || missing+=(etcd-client)
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || missing+=(postgresql)
command -v python3 >/dev/null || missing+=(python3)
/usr/bin/python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
((${#missing[@]})) || exit 0

command -v apt-get >/dev/null || {
    echo "please install what provides: ${missing[*]}" >&2
    exit 1
}
as_root=()
if ((EUID != 0)); then
    command -v sudo >/dev/null || {
        echo "please install as root: apt-get install ${missing[*]}" >&2
        exit 1
    }
    as_root=(sudo)
fi

# While packages are set up, a policy of ours keeps their services from starting, unless the machine
# has one already; and PostgreSQL is told to make no cluster of its own.
echo "installing ${missing[*]}"
"${as_root[@]}" bash -s -- "${missing[@]}" <<'AS_ROOT'
set -euo pipefail
policy=/usr/sbin/policy-rc.d
clusters=/etc/postgresql-common/createcluster.d/roster-ha.conf
ours=("$clusters")
trap 'rm -f "${ours[@]}"' EXIT
if [[ ! -e $policy ]]; then
    ours+=("$policy")
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi
mkdir -p "${clusters%/*}"
echo 'create_main_cluster = false' >"$clusters"
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@" </dev/null
AS_ROOT
