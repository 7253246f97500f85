#!/usr/bin/env bash
# Runs faker_roundtrip.py in the environment that has Faker.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exec "$("$here/venv.sh")" "$here/faker_roundtrip.py" "$@"
