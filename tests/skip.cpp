#include <tapestry/tests/skip.h>

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace tapestry::test {

void skip(std::string_view reason) {
    std::printf("skipped: %s: %s\n", doctest::getContextOptions()->currentTest->m_name,
                std::string(reason).c_str());
    std::fflush(stdout);  // so a crash in a later test cannot lose it
}

namespace {
bool is_form(std::string_view form) {
    const char* const wanted = std::getenv("TAPESTRY_TESTS");
    return wanted != nullptr && form == wanted;
}
}  // namespace

bool is_long() { return is_form("long"); }

bool is_short() { return is_form("short"); }

}  // namespace tapestry::test
