# Prints the config.json of an OCI bundle. Arguments: the command. Variables: CWD; MOUNTS as exhibit-confine prints
# them; IDS, the user's and the group's; all others are the command's own.

function bind(path, options) {
    printf ",\n  {\"destination\": %s, \"type\": \"bind\", \"source\": %s, \"options\": [\"bind\", %s]}", quoted(path),
        quoted(path), options
}

BEGIN {
    split(ENVIRON["IDS"], ids, " ")

    print "{\"ociVersion\": \"1.0.2\", \"hostname\": \"exhibit\", \"root\": {\"path\": \"rootfs\", \"readonly\": true},"
    printf " \"process\": {\"terminal\": false, \"user\": {\"uid\": %d, \"gid\": %d}, \"cwd\": %s,\n  \"args\": [",
        0, 0, quoted(ENVIRON["CWD"])
    for (i = 1; i < ARGC; i++)
        printf "%s%s", (i > 1 ? ", " : ""), quoted(ARGV[i])
    printf "],\n  \"env\": ["
    for (name in ENVIRON)
        if (name != "CWD" && name != "MOUNTS" && name != "IDS")
            printf "%s%s", (count++ ? ", " : ""), quoted(name "=" ENVIRON[name])
    print "],\n  \"capabilities\": {}, \"noNewPrivileges\": true},"

    printf " \"mounts\": [\n  {\"destination\": \"/proc\", \"type\": \"proc\", \"source\": \"proc\"}"
    lines = split(ENVIRON["MOUNTS"], line, "\n")
    for (i = 1; i <= lines; i++) {
        path = substr(line[i], index(line[i], " ") + 1)
        if (line[i] ~ /^read /)
            bind(path, "\"ro\", \"nosuid\", \"nodev\"")
        else if (line[i] ~ /^write \/dev\//)
            bind(path, "\"rw\", \"nosuid\", \"noexec\"")
        else if (line[i] ~ /^write /)
            bind(path, "\"rw\", \"nosuid\", \"nodev\"")
    }
    print "],"

    printf " \"linux\": {\"namespaces\": [{\"type\": \"pid\"}, {\"type\": \"mount\"}, {\"type\": \"network\"}, " \
           "{\"type\": \"ipc\"}, {\"type\": \"uts\"}"
    if (ids[1] != 0)
        printf ", {\"type\": \"user\"}], \"uidMappings\": [{\"containerID\": 0, \"hostID\": %d, \"size\": 1}],\n" \
               "  \"gidMappings\": [{\"containerID\": 0, \"hostID\": %d, \"size\": 1}]", ids[1], ids[2]
    else
        printf "]"
    print "}}"
    exit
}
