#!/usr/bin/env bash
# Three PostgreSQL with Patroni, the service in front, and a primary that dies in four ways.
#
#   tools/ha/run.sh --binary PATH [--patroni VERSION] [--scenario NAME] [--expect-loss] [--keep]
#
# --patroni VERSION   from PyPI: 4 (default: the newest 4.x when its environment was made), or an
#                     exact version; 3.0.2 is known to lose, run it with --expect-loss
# --scenario NAME     node-killed, postmaster-killed, switchover or frozen; may be repeated
# --processes N       of the service, in front of one cluster (default 2)
# --client sql        write to the database without the service: holds the suite itself to account
# --keep              leave each scenario's folder and logs
#
# Packages that are missing are installed with apt-get (as root or through sudo); Debian's own
# services of them are neither started nor used. Exit status 1 on a lost or doubled write, or a
# recovery that took more than 5 s.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
patroni=4
passed_on=()
while (($#)); do
    case $1 in
        --patroni)
            patroni=${2:?--patroni needs a version}
            shift 2
            ;;
        -h | --help)
            sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
            exit 0
            ;;
        *)
            passed_on+=("$1")
            shift
            ;;
    esac
done

"$here/packages.sh" >&2
bin_dir=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
python=$("$here/venv.sh" "$patroni")
# The outermost deadline: the suite ends what it started when it is told to, well within the
# seconds that are left to it then.
exec timeout --foreground --kill-after=60 3000 \
    "$python" -u -B "$here/suite.py" --bin-dir "$bin_dir" "${passed_on[@]}"
