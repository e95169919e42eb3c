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

bool is_long() {
    const char* const form = std::getenv("TAPESTRY_TESTS");
    return form != nullptr && std::string_view(form) == "long";
}

}  // namespace tapestry::test
