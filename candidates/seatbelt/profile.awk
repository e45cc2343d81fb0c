# Prints a profile of seatbelt. Variables: GRANTS, as exhibit-confine prints them; STARTUP, the profile that is included.
# Of rules that fit, the last one counts: what the startup rules allow beyond the grants, and no program needs to start,
# is denied behind them, and allowed again where it is granted.

function quoted(text) {
    gsub(/\\/, "\\\\", text)
    gsub(/"/, "\\\"", text)
    return "\"" text "\""
}

function allow(what, path) {
    printf "(allow %s (subpath %s))\n", what, quoted(path)
}

BEGIN {
    print "(version 1)\n(deny default)"
    print "(import " quoted(ENVIRON["STARTUP"]) ")"
    print "(deny network*)"
    print "(deny file-read* (literal \"/private/etc/passwd\") (literal \"/private/etc/master.passwd\"))"
    print "(allow process-fork)\n(allow file-read-metadata)"
    lines = split(ENVIRON["GRANTS"], line, "\n")
    for (i = 1; i <= lines; i++) {
        path = substr(line[i], index(line[i], " ") + 1)
        if (path == "")
            continue
        if (path ~ /^\/(etc|tmp|var)(\/|$)/) # links there; a rule is one of the path without links
            path = "/private" path
        allow("file-read*", path)
        if (line[i] ~ /^execute /)
            allow("process-exec", path)
        if (line[i] ~ /^write /)
            allow("file-write*", path)
    }
    exit
}
