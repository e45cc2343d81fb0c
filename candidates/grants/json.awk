# A text as a JSON string, byte by byte: what is not UTF-8 stays so, and a reader of JSON may refuse it.

function quoted(text,    at, out, c) {
    out = ""
    for (at = 1; at <= length(text); at++) {
        c = substr(text, at, 1)
        out = out (c in escapes ? escapes[c] : c)
    }
    return "\"" out "\""
}

BEGIN {
    for (code = 1; code < 32; code++)
        escapes[sprintf("%c", code)] = sprintf("\\u%04x", code)
    escapes["\""] = "\\\""
    escapes["\\"] = "\\\\"
}
