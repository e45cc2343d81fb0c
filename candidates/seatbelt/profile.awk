# Prints a profile of seatbelt. Variables: GRANTS, as exhibit-confine prints them; STARTUP, the profile that is included.

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
    print "(deny network*)\n(allow process-fork)\n(allow file-read-metadata)"
    lines = split(ENVIRON["GRANTS"], line, "\n")
    for (i = 1; i <= lines; i++) {
        path = substr(line[i], index(line[i], " ") + 1)
        if (path == "")
            continue
        allow("file-read*", path)
        if (line[i] ~ /^execute /)
            allow("process-exec", path)
        if (line[i] ~ /^write /)
            allow("file-write*", path)
    }
    exit
}
