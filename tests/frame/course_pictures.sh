#!/usr/bin/env bash
# The pictures of the course match the program's output; after changing a picture or the program,
# draw them again. Overlapping words are errors in the program itself (drawing.h).
# Usage: course_pictures.sh PROGRAM SOURCE_DIR
set -euo pipefail

drawn=$(mktemp -d)
trap 'rm -rf "$drawn"' EXIT
"$1" "$2/examples/school/pictures/course.txt" "$drawn"
if ! diff -r "$drawn" "$2/docs/course/pictures"; then
    echo "DIFFERENT: docs/course/pictures (>) is not what course_pictures draws (<); draw it again:"
    echo "    build/release/examples/course_pictures examples/school/pictures/course.txt docs/course/pictures"
    exit 1
fi
echo "$(find "$drawn" -name '*.svg' | wc -l) pictures"
