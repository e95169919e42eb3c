// The course's programs as functions that a page can call; what they print goes to the standard
// output. Compiled for WebAssembly alone. Read next: web/course_worker.js, which calls them.
#include <tapestry/examples/school/site/number.h>

#include <emscripten.h>

#include <cstdio>
#include <exception>

extern "C" {

/// Number k of the next program to run shall be `value`.
EMSCRIPTEN_KEEPALIVE void course_change(int k, double value) {
    const auto place = static_cast<std::size_t>(k);
    if (place >= course::changed.size()) course::changed.resize(place + 1, NAN);
    course::changed[place] = value;
}

/// Its exit status; 1 after an exception, whose message is printed.
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
