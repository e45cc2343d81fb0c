# Prints the settings of srt. Variable: GRANTS, as exhibit-confine prints them.
BEGIN {
    lines = split(ENVIRON["GRANTS"], line, "\n")
    for (i = 1; i <= lines; i++) {
        path = quoted(substr(line[i], index(line[i], " ") + 1))
        read = read (i > 1 ? ", " : "") path
        if (line[i] ~ /^write /)
            write = write (write == "" ? "" : ", ") path
    }
    print "{\"network\": {\"allowedDomains\": [], \"deniedDomains\": [], \"allowLocalBinding\": false},"
    print " \"filesystem\": {\"denyRead\": [\"/\"], \"allowRead\": [" read "],"
    print "  \"allowWrite\": [" write "], \"denyWrite\": []}}"
    exit
}
