#!/usr/bin/env bash
# Runs the acceptance commands against a binary that is already built.
#
#   all.sh [--binary PATH] [--seed N]   all of them, one after the other: some hours
#   all.sh --slice [--binary PATH] ...  a small run of each, several at a time
#
# What can run over PostgreSQL runs a second time, over a private cluster; a slice leaves out what
# another command over PostgreSQL does too. Goes on after a failure, and fails at the end if any
# command failed.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=$("$here/venv.sh") || exit 1
slice=false
[[ " $* " != *' --slice '* ]] || slice=true

# The longest ones come first.
sqlite=(contract_runs console webhook_mirror tenants indexes browser csv_import cli_follow tls_scan
    handover 'handover --tls' kill9 idempotency faker_roundtrip bulk_roundtrip new_store bulk_change
    follow_events follow_stream stream_readers event_clients recipes clients describe scim scim_client
    providers tenants_cost scim_walk purge_long backup_load proxies)
postgres=(tenants indexes former_primary bulk_change follow_stream migrate kill9 bulk_roundtrip
    purge_long stream_readers handover idempotency 'scim_walk --processes 3')
# They compare times with limits, so each runs alone. Three make their store in PostgreSQL.
alone=(wal_ceiling held_memory attacks three_processes hot_users wire_cut)
# It compares times too, but it waits most of its time: in a slice it runs beside those above.
waiting=slow_connections
# Over PostgreSQL the Rust tests hold responses against the description, compare random sequences of
# commands with the oracle and kill a sender of webhooks, and three_processes follows the log.
$slice || sqlite+=(cli_import)
$slice || postgres+=(cli_follow cli_import clients contract_runs csv_import faker_roundtrip
    follow_events providers recipes scim scim_client scim_walk tenants_cost webhook_mirror)

jobs=1
$slice && jobs=$(($(nproc) + 1))
scratch=$(mktemp -d) || exit 1
trap '"$here/../postgres.sh" stop "$scratch/postgres"; rm -rf "$scratch"' EXIT
chmod 711 "$scratch"
: >"$scratch/failed"

# run NAME ARGUMENT...: a command, with what it took. What a failed one said last is shown once more
# at the end.
run() {
    local start=$SECONDS
    echo "== $*"
    local said
    said=$(mktemp -p "$scratch")
    "$python" "$here/$1.py" "${@:2}" 2>&1 | tee "$said"
    ((PIPESTATUS[0] == 0)) || { echo "$*" && tail -n 15 "$said"; } >>"$scratch/failed"
    echo "   $((SECONDS - start)) s"
}

# queue NAME ARGUMENT...: runs a command when there is a place; its output comes in one piece.
queue() {
    if ((jobs == 1)); then
        run "$@"
        return
    fi
    while (($(jobs -rp | wc -l) >= jobs)); do
        wait -n
    done
    (
        output=$(mktemp -p "$scratch")
        run "$@" >"$output" 2>&1
        flock "$scratch/shown" cat "$output"
    ) &
}

for command in "${sqlite[@]}"; do
    # shellcheck disable=SC2086 # a name with its words
    queue $command "$@"
done
if ROSTER_TEST_POSTGRES=$("$here/../postgres.sh" start "$scratch/postgres"); then
    export ROSTER_TEST_POSTGRES
    for command in "${postgres[@]}"; do
        # migrate fills PostgreSQL from SQLite, and former_primary starts clusters of its own.
        engine='--engine postgres'
        [[ $command != migrate && $command != former_primary ]] || engine=
        # shellcheck disable=SC2086 # a name with its words
        queue $command $engine "$@"
    done
else
    echo postgres >>"$scratch/failed"
fi
wait
if $slice; then
    queue "$waiting" "$@"
else
    alone+=("$waiting")
fi
for command in "${alone[@]}"; do
    run "$command" "$@"
done
wait
if [[ -s $scratch/failed ]]; then
    echo 'failed:' >&2
    cat "$scratch/failed" >&2
    exit 1
fi
echo "all acceptance commands passed"
