# doxygen's input filter: puts into doxygen's words what the layout of the headers says. Every line stays where
# it is, so warnings name the right one.
# - Lines that are indented by four spaces are code, or formulas, even without an empty line before them.
# - The comment that opens a file documents the file, which belongs to the group of its room (main.dox).
# - A comment covers the functions that follow without a gap: outside of classes all of them, as in docs/ops.md
#   (tests/ops/public_header.h); in a class the overloads of the first.
# - Left out, unless they have a comment: defaulted and deleted functions, and destructors.
# - Left out: explicit specialisations, which say nothing that their template does not.

# The function that a line declares; empty if it declares none.
function declared(line) {
    if (line !~ /\(/ || line ~ /^ *(#|}|\/\/|namespace|using|friend|return|static_assert)/) return ""
    if (!match(line, /operator *(\(\)|[^ (]+) *\(|[A-Za-z_0-9]+\(/)) return ""
    return substr(line, RSTART, RLENGTH - 1)
}

function indentation(line) { match(line, /^ */); return RLENGTH }

# The end of a declaration, perhaps with a comment behind it.
function ends(line) { return line ~ /[;}]( *\/\/.*)?$/ }

function opens(line) { return line ~ /{( *\/\/.*)?$/ }

# Prints a line once the next is known, which may end the code in a comment.
function emit(line, indented, begin) {
    indented = match(line, /^ *\/\/\/     *[^ ]/)
    if (!indented && code) {
        pending = pending " @endcode"
        code = 0
    }
    if (indented) {
        if (!code) begin = line ~ /[;{]( *\/\/.*)?$|#include/ ? "@code{.cpp}" : "@code{.unparsed}"
        sub(/\/\/\/     /, "/// " begin, line)
        code = 1
    }
    if (started) print pending
    started = 1
    pending = line
}

END { emit("") }

FNR == 1 { opening = 1 }
opening && /^\/\// { sub(/^\/\//, "///"); emit($0); next }
opening {
    opening = 0
    room = FILENAME
    sub(/.*\/tapestry\//, "", room)
    if (!sub(/\/[^\/]*$/, "", room)) room = ""
    gsub("/", "_", room)
    if (/^#pragma once/) { emit("/// @file"); in_room = room != ""; next }
}
in_room { in_room = 0; if (/^$/) { emit("/// @ingroup " room); next } }

# The rest of a declaration of several lines.
inside {
    if (opens($0)) body = 1
    if (body ? ($0 ~ /^ *}/ && indentation($0) == level) : ends($0)) inside = body = 0
    emit($0)
    next
}

# A specialisation, up to its closing brace.
held == "template <>" && /^struct / { special = 1; held = ""; emit("") }
special { if (/^};/) special = 0; emit(""); next }

/^ *\/\/\// {
    text = $0
    sub(/^ *\/\/\/ ?/, "", text)
    comment = fresh ? comment " " text : text
    fresh = 1
    emit($0)
    next
}
/^ *(\/\/.*)?$/ { if (held != "") { emit(held); held = "" } fresh = 0; covered = ""; emit($0); next }
/^ *template <.*>$/ { held = $0; next }

!fresh && !/\/\/\/</ && (/= (default|delete);( *\/\/.*)?$/ || /^ *(virtual )?~.*[;}]( *\/\/.*)?$/) { emit(""); next }

{
    name = declared($0)
    level = indentation($0)
    text = held == "" ? $0 : held "\n" $0
    if (fresh) covered = name
    else if (name != "" && covered != "" && (name == covered || level == 0) && !/\/\/\/</)
        sub(/^ */, "&/** " comment " */ ", text)
    else covered = ""
    fresh = 0
    held = ""
    inside = name != "" && !ends($0)
    body = inside && opens($0)
    emit(text)
}
