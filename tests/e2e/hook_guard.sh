#!/bin/bash
# The workspace of the hook-confinement experiment, unconfined: its 41 checks, its command line, and an archive that is
# the same each time it is packed.
set -uo pipefail
source=$2
failures=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$source/experiments/hook-confinement/workspace" "$work/package"
cd "$work/package" || exit 1
export HOME=$work/home npm_config_cache=$work/cache npm_config_offline=true npm_config_update_notifier=false
mkdir "$HOME"

equal() { # CLAIM EXPECTED SEEN
    [ "$2" = "$3" ] && return
    printf 'not so: %s\nexpected: %s\nseen:     %s\n' "$1" "$2" "$3" >&2
    failures=$((failures + 1))
}

frame() { printf '{"jsonrpc":"2.0","id":1,"method":"inspect","params":{"command":"%s"}}\n' "$1"; }

node --test --test-reporter=tap test/hooks.test.js >"$work/tap"
equal "the checks pass" 0 $?
equal "there are 41 of them" "# tests 41 # pass 41 # fail 0 " \
    "$(grep -E '^# (tests|pass|fail) ' "$work/tap" | tr '\n' ' ')"

said=$(frame 'git status' | node bin/hook-guard.js inspect --json)
equal "a harmless command ends with 0" 0 $?
equal "a harmless command passes" \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"action\":\"pass\",\"reasons\":[],\"user\":\"$(id -un)\"}}" "$said"
frame 'rm -rf /' | node bin/hook-guard.js inspect --json >/dev/null
equal "a harmful command ends with 2" 2 $?
frame 'sudo ls' | node bin/hook-guard.js inspect --json >/dev/null
equal "a doubtful command ends with 0" 0 $?
said=$(echo '{' | node bin/hook-guard.js inspect --json 2>/dev/null)
equal "a broken frame ends with 1" 1 $?
equal "a broken frame is answered" \
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the frame is not JSON"}}' "$said"
cat >"$work/no_user.js" <<'JS'
require('node:os').userInfo = () => { throw new Error('no such user'); };
JS
said=$(frame 'git status' | node --require "$work/no_user.js" bin/hook-guard.js inspect --json 2>&1)
equal "a user that cannot be looked up ends with 1" 1 $?
equal "a user that cannot be looked up is told" "hook-guard: no such user" "$said"

for turn in 1 2; do
    mkdir "$work/$turn"
    npm pack --pack-destination "$work/$turn" >"$work/npm" 2>&1 || { cat "$work/npm" >&2; failures=$((failures + 1)); }
done
equal "two archives are equal" "" "$(cmp "$work"/[12]/*.tgz 2>&1)"
equal "the archive holds no test" "" "$(tar tf "$work"/1/*.tgz | grep test)"

[ $failures = 0 ]
