#!/usr/bin/env bash
# Runs contract_runs.py in the environment that has schemathesis.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exec "$("$here/venv.sh")" "$here/contract_runs.py" "$@"
