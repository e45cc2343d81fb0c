# Prints the configuration of codex; a string of TOML is one of JSON. Variable: GRANTS, as exhibit-confine
# prints them, with `deny PATH` too.
BEGIN {
    print "default_permissions = \"exhibit\"\n\n[permissions.exhibit.filesystem]\n\":minimal\" = \"read\""
    lines = split(ENVIRON["GRANTS"], line, "\n")
    for (i = 1; i <= lines; i++) {
        path = substr(line[i], index(line[i], " ") + 1)
        kind = line[i] ~ /^(write|deny) / ? substr(line[i], 1, index(line[i], " ") - 1) : "read"
        if (line[i] !~ /^link / && path !~ /^\/dev\//) # codex makes devices of its own
            print quoted(path) " = " quoted(kind)
    }
    print "\n[permissions.exhibit.network]\nenabled = false"
    exit
}
