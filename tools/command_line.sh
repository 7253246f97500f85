#!/usr/bin/env bash
# Checks what the binary generates from its command line: the completions load in bash, zsh and fish
# and complete there, and man renders each page without a warning. Needs Debian's packages `zsh`,
# `fish` and `man-db`.
#
#   tools/command_line.sh BINARY
set -uo pipefail
binary=$(realpath -e -- "${1:?the binary to check}") || exit 1
place=$(mktemp -d) || exit 1
trap 'rm -rf "$place"' EXIT
faults=0
export LC_ALL=C.UTF-8 HOME=$place

fault() {
    printf '%s\n' "$@" >&2
    faults=$((faults + 1))
}

# offers SHELL TEXT: whether the shell printed the command that begins with `us`.
offers() {
    local shell=$1 said=$2
    [[ $said == *users* ]] || fault "$shell does not complete 'roster us':" "$said"
}

for shell in bash zsh fish; do
    "$binary" completions "$shell" >"$place/$shell" || fault "no completions for $shell"
done

# The function that the script registers is called as bash calls it at a TAB.
bash -n "$place/bash" || fault 'bash cannot read its completions'
offers bash "$(bash --norc -c 'source "$1" && complete -p roster >/dev/null || exit
    COMP_WORDS=(roster us) COMP_CWORD=1 COMP_LINE="roster us" COMP_POINT=9
    function=$(complete -p roster | sed "s/.*-F \([^ ]*\).*/\1/")
    "$function" roster us roster && echo "${COMPREPLY[@]}"' - "$place/bash" 2>&1)"

# A terminal of its own, in which a TAB is pressed.
mkdir "$place/functions" && mv "$place/zsh" "$place/functions/_roster"
cat >"$place/tab.zsh" <<'ZSH'
zmodload zsh/zpty
zpty tab zsh -f -i
zpty -w tab "PS1=; fpath=($1 \$fpath); autoload -U compinit; compinit -u -D; echo \$_comps[roster]"
zpty -r -m tab said '*_roster*' || exit
zpty -w -n tab $'roster us\t'
zpty -r -m tab said '*users*'
print -r -- "$said"
zpty -d tab
ZSH
offers zsh "$(timeout 20 zsh -f "$place/tab.zsh" "$place/functions" 2>&1)"

fish --no-config --no-execute "$place/fish" || fault 'fish cannot read its completions'
offers fish "$(fish --no-config -c "source $place/fish; complete -C 'roster us'" 2>&1)"

"$binary" man "$place/man" || fault 'no man pages'
for page in "$place"/man/*.1; do
    said=$(MANWIDTH=80 man --warnings --local-file "$page" 2>&1 >"$place/page")
    [[ -z $said ]] || fault "${page##*/}: $said"
    said=$(groff -ww -man -Tutf8 "$page" 2>&1 >"$place/page")
    [[ -z $said ]] || fault "${page##*/}: $said"
    grep -q 'EXIT STATUS' "$page" || fault "${page##*/} has no exit statuses"
done
pages=("$place"/man/*.1)
echo "completions of 3 shells and ${#pages[@]} man pages: $faults faults"
((faults == 0))
