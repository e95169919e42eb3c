#include <tapestry/tests/skip.h>

#include <doctest/doctest.h>

#include <cstdio>
#include <string>

namespace tapestry::test {

void skip(std::string_view reason) {
    std::printf("skipped: %s: %s\n", doctest::getContextOptions()->currentTest->m_name,
                std::string(reason).c_str());
    std::fflush(stdout);  // a crash in a later test shall not lose it
}

}  // namespace tapestry::test
