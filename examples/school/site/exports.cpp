// The course's programs as functions for a page to call; they print to standard output. Compiled
// for WebAssembly only. Read next: web/course_worker.js, which calls them.
#include <tapestry/examples/school/site/number.h>

#include <emscripten.h>

#include <cstdio>
#include <exception>

extern "C" {

/// Sets number k of the next program to run.
EMSCRIPTEN_KEEPALIVE void course_change(int k, double value) {
    const auto place = static_cast<std::size_t>(k);
    if (place >= course::changed.size()) course::changed.resize(place + 1, NAN);
    course::changed[place] = value;
}

/// Returns the program's exit status; after an exception, prints its message and returns 1.
EMSCRIPTEN_KEEPALIVE int course_run(int program) {
    int status = 1;
    try {
        if (program >= 0 && program < course::program_count) status = course::programs[program]();
    } catch (const std::exception& error) {
        std::printf("%s\n", error.what());
    }
    std::fflush(stdout);
    return status;
}

}  // extern "C"
