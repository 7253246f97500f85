#!/usr/bin/env bash
# Installs what clients.py and describe.py need from PyPI and npm once, under target, and prints the
# path of the Python interpreter. The packages of npm are in node_modules beside its environment.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# Both may run at the same time.
target=$(cd "$here/../../.." && pwd)/target
mkdir -p "$target"
exec 9>"$target/clients.lock"
flock 9
python=$("$here/../venv.sh" "$here/requirements.txt" clients)
packages=$(dirname "$(dirname "$python")")
if ! cmp -s "$here/package-lock.json" "$packages/node_modules/package-lock.json"; then
    cp "$here/package.json" "$here/package-lock.json" "$packages"
    PATH="$packages/bin:$PATH" "$packages/bin/npm" ci --prefix "$packages" --ignore-scripts \
        --no-audit --no-fund --loglevel=error >&2
    cp "$here/package-lock.json" "$packages/node_modules"
fi
echo "$python"
