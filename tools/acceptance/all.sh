#!/usr/bin/env bash
# Every acceptance command in turn, against a binary that is already built (default
# target/release/roster, else --binary PATH); `--slice` for the small run of CI. Goes on after a
# failure, and fails at the end if any failed.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=$("$here/venv.sh") || exit 1
failed=()
commands=(
    faker_roundtrip bulk_roundtrip races kill9 idempotency follow_events purge_search backup_load
    slow_connections contract_runs
)
for command in "${commands[@]}"; do
    echo "== $command"
    "$python" "$here/$command.py" "$@" || failed+=("$command")
done
if ((${#failed[@]})); then
    echo "failed: ${failed[*]}" >&2
    exit 1
fi
echo "all acceptance commands passed"
