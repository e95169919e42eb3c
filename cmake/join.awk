# Several sources as one, for the compiler to read once what all of them include: first that, then each
# source in a namespace of its own, lest their names meet. Messages name the lines of the sources.
#
#     awk -v root=PATH -f join.awk FILE...
#
# Run at the root of the tree with paths from there; PATH leads there from where the compiler is run.
# Read next: join.cmake.
FNR == 1 {
    if (NR > 1) text = text "}\n"
    path = FILENAME
    folder = path
    sub(/[^\/]*$/, "", folder)
    name = path
    gsub(/[^A-Za-z0-9]/, "_", name)
    text = text "namespace in_" name " {\n#line 1 \"" root "/" path "\"\n"
    reopened = 0
}
/^#include "/ { $0 = "#include <tapestry/" folder substr($0, 11); sub(/"$/, ">") }
/^#include </ { if (!($0 in seen)) included = included $0 "\n"; seen[$0] = 1; $0 = "" }
# Within, a namespace tapestry is another one, in which the library's is seen.
/^namespace tapestry/ && !reopened {
    text = text "namespace tapestry { using namespace ::tapestry;" \
        " namespace test { using namespace ::tapestry::test; } }\n#line " FNR "\n"
    reopened = 1
}
{ text = text $0 "\n" }
END { printf "%s%s}\n", included, text }
