#!/usr/bin/env bash
# A private PostgreSQL cluster for tests, in its own directory, on a free loopback port.
#
#   tools/postgres.sh start DIR [LOCALE]   creates and starts one, and prints the URL of its database
#   tools/postgres.sh stop DIR             stops it and removes the files that start created
#   tools/postgres.sh standby DIR OF       starts a standby in DIR of the cluster in OF, and prints the
#                                          URL of its database
#   tools/postgres.sh promote DIR          makes a standby a primary
#   tools/postgres.sh kill DIR             stops it without a checkpoint, as a crash does
#   tools/postgres.sh resume DIR           starts one that was killed, on the same port
#
# Its databases have the locale C, or this LOCALE of ICU, such as en-US. ROSTER_POSTGRES_PROGRAMS
# names the directory of the server's programs. Without it, pg_config is used, then Debian's newest.
# The cluster is durable and has PostgreSQL's default settings, except for max_connections and the
# options in ROSTER_POSTGRES_OPTIONS, such as '-c fsync=off' for tests without a power failure.
# Passwords are hashed with md5, because the iterations of SCRAM took a tenth of the time of the
# tests, which open a dozen connections each.
# The role of the URL is not a superuser; it may create databases and roles, and schemas in
# `postgres`. PostgreSQL refuses to run as root. If root runs this script, the cluster belongs to the
# user `postgres`, or to `nobody`, who must be able to access DIR.
set -euo pipefail

fail() {
    echo "postgres.sh: $*" >&2
    exit 1
}

usage() {
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

# The directory of PostgreSQL's programs.
programs() {
    local bin candidates=()
    if [[ -n ${ROSTER_POSTGRES_PROGRAMS-} ]]; then
        echo "$ROSTER_POSTGRES_PROGRAMS"
        return
    fi
    if command -v pg_config >/dev/null; then
        candidates+=("$(pg_config --bindir)")
    fi
    while IFS= read -r bin; do
        candidates+=("$bin")
    done < <(printf '%s\n' /usr/lib/postgresql/*/bin | sort --version-sort --reverse)
    for bin in "${candidates[@]}"; do
        if [[ -x $bin/initdb && -x $bin/postgres && -x $bin/pg_ctl && -x $bin/psql ]]; then
            echo "$bin"
            return
        fi
    done
    fail "the programs of the PostgreSQL server were not found; on Debian: apt-get install" \
        "postgresql postgresql-client"
}

# owned COMMAND...: runs the command as the cluster's owner, in DIR, which the owner can read.
owned() {
    if ((EUID == 0)); then
        (cd "$dir" && runuser -u "$owner" -- "$@")
    else
        (cd "$dir" && "$@")
    fi
}

# A loopback port without a listener. Another process may still take it first.
free_port() {
    local port
    for _ in {1..100}; do
        # Below the ports that Linux uses for outgoing connections.
        port=$((20000 + (RANDOM << 15 | RANDOM) % 12000))
        if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            echo "$port"
            return
        fi
    done
    fail "no free port was found"
}

# A password of letters and digits, which need no escape in a URL.
password() {
    od -An -N16 -tx1 /dev/urandom | tr -d ' \n'
}

# Starts the server on its port.
run_server() {
    owned "$bin/pg_ctl" start --pgdata=data --log=server.log --wait --timeout=60 --silent \
        --options="-c listen_addresses=127.0.0.1 -c port=$(<"$dir/port") -c max_connections=200 \
            -c password_encryption=md5 -c unix_socket_directories='' ${ROSTER_POSTGRES_OPTIONS-}" \
        >>"$dir/pg_ctl.log" 2>&1
}

# Starts the server on a free port.
start_on_free_port() {
    local tries
    for tries in {1..10}; do
        port=$(free_port)
        echo "$port" >"$dir/port"
        if run_server; then
            return
        fi
        grep -q 'Address already in use' "$dir/server.log" && ((tries < 10)) ||
            fail "PostgreSQL did not start; see $dir/server.log"
    done
}

make_directory() {
    [[ ! -e $dir/data ]] || fail "$dir holds a cluster already; stop it first"
    mkdir -p "$dir"
    if ((EUID == 0)); then
        chown "$owner" "$dir"
        owned test -w "$dir" || fail "the user $owner cannot reach $dir"
    fi
    chmod 700 "$dir"
}

start() {
    make_directory
    owned sh -c "umask 077; echo $(password) > superuser"
    local provider=()
    [[ -z $locale ]] || provider=(--locale-provider=icu --icu-locale="$locale")
    owned "$bin/initdb" --pgdata=data --username=postgres --pwfile=superuser \
        --auth=md5 --encoding=UTF8 --locale=C "${provider[@]}" --no-instructions \
        >"$dir/initdb.log" 2>&1 ||
        fail "initdb failed; see $dir/initdb.log"
    start_on_free_port
    local secret
    secret=$(password)
    echo "$secret" >"$dir/secret"
    # PostgreSQL 18 warns about md5.
    PGPASSWORD=$(cat "$dir/superuser") PGOPTIONS='-c client_min_messages=error' \
        "$bin/psql" --no-psqlrc --quiet --set=ON_ERROR_STOP=1 \
        --host=127.0.0.1 --port="$port" --username=postgres --dbname=postgres \
        --command="CREATE ROLE roster LOGIN CREATEDB CREATEROLE PASSWORD '$secret'" \
        --command='CREATE DATABASE roster OWNER roster' \
        --command='ALTER DATABASE postgres OWNER TO roster' >&2 || {
        stop
        fail "the role and the database were not made"
    }
    echo "postgres://roster:$secret@127.0.0.1:$port/roster"
}

standby() {
    make_directory
    PGPASSWORD=$(<"$of/superuser") "$bin/pg_basebackup" --pgdata="$dir/data" --write-recovery-conf \
        --checkpoint=fast --dbname="host=127.0.0.1 port=$(<"$of/port") user=postgres" >&2 ||
        fail "the base backup of $of failed"
    cp "$of/superuser" "$of/secret" "$dir/"
    ((EUID != 0)) || chown -R "$owner" "$dir"
    start_on_free_port
    echo "postgres://roster:$(<"$dir/secret")@127.0.0.1:$port/roster"
}

stop() {
    [[ -e $dir/data ]] || return 0
    # If `fast` fails, `immediate` is used, because the data is deleted anyway.
    if [[ -e $dir/data/postmaster.pid ]]; then
        owned "$bin/pg_ctl" stop --pgdata=data --mode=fast --timeout=30 --silent >&2 ||
            owned "$bin/pg_ctl" stop --pgdata=data --mode=immediate --timeout=30 --silent >&2 ||
            fail "PostgreSQL in $dir does not stop"
    fi
    rm -rf "$dir/data"
    rm -f "$dir/superuser" "$dir/secret" "$dir/port" "$dir/initdb.log" "$dir/pg_ctl.log" "$dir/server.log"
    rmdir "$dir" 2>/dev/null || true
}

[[ $# == 2 || ($# == 3 && ($1 == start || $1 == standby)) ]] || usage
[[ -n $2 ]] || usage
locale=${3-}
dir=$(realpath -m -- "$2")
of=$(realpath -m -- "${3-.}")
bin=$(programs)
owner=postgres
id -u postgres >/dev/null 2>&1 || owner=nobody
case $1 in
    start) start ;;
    stop) stop ;;
    standby) standby ;;
    promote) owned "$bin/pg_ctl" promote --pgdata=data --wait --silent >&2 ;;
    kill) owned "$bin/pg_ctl" stop --pgdata=data --mode=immediate --timeout=30 --silent >&2 ;;
    resume) run_server || fail "PostgreSQL did not start; see $dir/server.log" ;;
    *) usage ;;
esac
