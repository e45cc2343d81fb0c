# Prints the settings of srt. Variable: GRANTS, as exhibit-confine prints them, with `deny PATH` too.
BEGIN {
    lines = split(ENVIRON["GRANTS"], line, "\n")
    for (i = 1; i <= lines; i++) {
        kind = substr(line[i], 1, index(line[i], " ") - 1)
        path = quoted(substr(line[i], index(line[i], " ") + 1))
        if (kind == "read" || kind == "write")
            read = read (read == "" ? "" : ", ") path
        if (kind == "write")
            write = write (write == "" ? "" : ", ") path
        if (kind == "deny")
            deny = deny (deny == "" ? "" : ", ") path
    }
    print "{\"network\": {\"allowedDomains\": [], \"deniedDomains\": [], \"allowLocalBinding\": false},"
    print " \"filesystem\": {\"denyRead\": [" deny "],\n  \"allowRead\": [" read "],"
    print "  \"allowWrite\": [" write "], \"denyWrite\": []}}"
    exit
}
