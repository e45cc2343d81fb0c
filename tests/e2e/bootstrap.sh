#!/bin/bash
# script/bootstrap with a package manager that is made up: it installs what is missing and says so, does not hide a
# failure, and does nothing the second time.
set -uo pipefail
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
mkdir "$work/bin"
: >"$work/installed"
echo none >"$work/broken"

# The made-up tools keep what is installed in a file, one package a line, and what they were told in another.
tool() { cat >"$work/bin/$1" && chmod +x "$work/bin/$1"; }
tool dpkg-query <<SH
#!/bin/bash
grep -qx "\${!#}" "$work/installed" && echo installed
SH
tool apt-get <<SH
#!/bin/bash
echo "\$DEBIAN_FRONTEND \$*" >>"$work/told"
case " \$* " in *" \$(cat "$work/broken") "*) echo "E: no mirror" >&2; exit 100 ;; esac
case "\$*" in *' install '*) printf '%s\n' "\$@" | grep -v -e ^- -e ^install\$ >>"$work/installed" ;; esac
case " \$* " in *' install '*' nodejs '*) printf '#!/bin/bash\necho v18.20.4\n' >"$work/named/node" ;; esac
SH
tool id <<SH
#!/bin/bash
cat "$work/uid"
SH
# On the PATH is a newer node than the one that plans name; where npm is absent, one is on the PATH.
tool node <<<$'#!/bin/bash\necho v20.11.0'
tool npm <<<'#!/bin/bash'
mkdir "$work/named"
named() { cat >"$work/named/$1" && chmod +x "$work/named/$1"; }
named node <<<$'#!/bin/bash\necho v16.20.0'
named npm <<<'#!/bin/bash'
for name in bash env cat grep sed; do ln -s "$(command -v $name)" "$work/bin/$name"; done

bootstrap() {
    : >"$work/told"
    said=$(PATH=$work/bin BOOTSTRAP_NODE=$work/named/node BOOTSTRAP_NPM=$work/named/npm \
        "$work/bin/bash" "$source/script/bootstrap" 2>&1)
    status=$?
}
check() { # CLAIM COMMAND...
    local claim=$1
    shift
    "$@" && return
    printf '%s\nnot so: %s\n' "$said" "$claim" >&2
    failures=$((failures + 1))
}

echo 1000 >"$work/uid"
bootstrap
check "without root and sudo nothing is installed" test ! -s "$work/told" -a $status = 1
check "without root and sudo it is told what to do" grep -q 'As root: apt-get install .* cmake ' <<<"$said"

echo 0 >"$work/uid"
for verb in update install; do
    echo $verb >"$work/broken"
    bootstrap
    check "a failure of apt-get $verb is one of bootstrap" test $status = 100
    check "a failure of apt-get $verb is shown" test "$(tail -n 1 <<<"$said")" = "E: no mirror"
done
echo none >"$work/broken"

bootstrap
check "missing packages are installed" test $status = 0
check "an old node is replaced: a node 20 elsewhere does not count" grep -qx nodejs "$work/installed"
check "an npm that is there is kept" test -z "$(grep -x npm "$work/installed")"
check "the lists are brought up to date first" test "$(head -n 1 "$work/told")" = "noninteractive --quiet --yes update"
check "nothing is installed by recommendation" \
    grep -q '^noninteractive .* install --no-install-recommends ' "$work/told"
check "what is installed is told" grep -q '^bootstrap: installing gcc .* nodejs$' <<<"$said"

bootstrap
check "the second time nothing is done" test ! -s "$work/told"
check "the second time one line says so" test "$said" = "bootstrap: nothing to install"

sed -i /zstd/d "$work/installed"
echo 1000 >"$work/uid"
tool sudo <<'SH'
#!/bin/bash
exec "$@"
SH
bootstrap
check "sudo is used where it is needed, and that is told" grep -q 'through sudo$' <<<"$said"
check "only what is missing is installed" grep -q 'no-install-recommends libzstd-dev zstd$' "$work/told"

rm "$work/named/npm"
bootstrap
check "an npm elsewhere does not count" test "$said" = "bootstrap: not root, so apt-get is run through sudo
bootstrap: installing npm
bootstrap: installed npm"

rm "$work/named/node"
bootstrap
check "without the node that plans name a node 20 elsewhere does not count" \
    grep -q '^bootstrap: installed nodejs$' <<<"$said"

named node <<<$'#!/bin/bash\necho v18.15.0'
bootstrap
check "a node 18 that knows test reporters is kept where plans name it" test "$said" = "bootstrap: nothing to install"

named node <<<$'#!/bin/bash\necho v18.13.0'
bootstrap
check "an older one is not, though its package is there" grep -q '^bootstrap: installed nodejs$' <<<"$said"

[ $failures = 0 ]
