// Instruction sets: names, switching, and TAPESTRY_ISA.
#include <tapestry/core/cpu.h>
#include <tapestry/tests/core/child.h>
#include <tapestry/tests/core/support.h>
#include <tapestry/tests/skip.h>

#include <cstdlib>
#include <fstream>

using namespace tapestry;
using tapestry::test::check_throws;

namespace {

bool available(Isa isa) {
    const auto isas = available_isas();
    return std::find(isas.begin(), isas.end(), isa) != isas.end();
}

std::string joined_names() {
    std::string text;
    for (const Isa isa : available_isas()) {
        text += (text.empty() ? "" : ", ") + std::string(name_of(isa));
    }
    return text;
}

// A field ("vendor_id", "cpu family") of Linux's description of the first processor.
std::string processor(const std::string& field) {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (line.compare(0, field.size(), field) == 0) return line.substr(line.find(": ") + 2);
    }
    return {};
}

constexpr Isa kAll[] = {Isa::baseline,    Isa::avx2,       Isa::avx512,
                        Isa::avx512_bf16, Isa::avx512_amx, Isa::neon};

}  // namespace

TEST_CASE("cpu: names") {
    CHECK(name_of(Isa::baseline) == "baseline");
    CHECK(name_of(Isa::avx2) == "avx2");
    CHECK(name_of(Isa::avx512) == "avx512");
    CHECK(name_of(Isa::avx512_bf16) == "avx512_bf16");
    CHECK(name_of(Isa::avx512_amx) == "avx512_amx");
    CHECK(parent_of(Isa::avx512_bf16) == Isa::avx512);
    CHECK(parent_of(Isa::avx512_amx) == Isa::avx512);
    CHECK(parent_of(Isa::avx2) == Isa::avx2);
    CHECK(name_of(Isa::neon) == "neon");
}

TEST_CASE("cpu: what this machine has") {
    CHECK_FALSE(available_isas().empty());
    CHECK(available(current_isa()));
#if defined(__aarch64__)
    CHECK(available_isas() == std::vector<Isa>{Isa::neon});
#else
    CHECK(available_isas().front() == Isa::baseline);
    CHECK_FALSE(available(Isa::neon));
#endif
}

TEST_CASE("cpu: set_isa") {
    const Isa before = current_isa();
    for (const Isa isa : kAll) {
        if (available(isa)) {
            set_isa(isa);
            CHECK(current_isa() == isa);
        } else {
            check_throws<ValueError>([isa] { set_isa(isa); },
                                     fmt::format("set_isa: {} is not available; this machine and "
                                                 "this build have {}",
                                                 name_of(isa), joined_names()));
        }
    }
    set_isa(before);
}

TEST_CASE("cpu: child process" * doctest::skip()) {
    test::answer([] { return std::string(name_of(current_isa())); });
}

TEST_CASE("cpu: TAPESTRY_ISA") {
    const auto ask = [](std::string_view value) {
        return test::ask_child("cpu: child process", "TAPESTRY_ISA", std::string(value));
    };
    if (!ask(name_of(available_isas().front()))) return test::skip("no child processes here");
    for (const Isa isa : kAll) {
        const auto name = name_of(isa);
        CHECK(ask(name) ==
              (available(isa)
                   ? std::string(name)
                   : fmt::format("ValueError TAPESTRY_ISA={}: not available; this machine "
                                 "and this build have {}",
                                 name, joined_names())));
    }
    for (const char* wrong : {"", "sse2", "AVX2", "avx512 "}) {
        CHECK(ask(wrong) ==
              fmt::format(
                  "ValueError TAPESTRY_ISA={}: unknown instruction set; must be one of baseline, "
                  "avx2, avx512, avx512_bf16, avx512_amx and neon; this machine has {}",
                  wrong, joined_names()));
    }
}

TEST_CASE("cpu: VDPBF16PS is chosen where it is fast, on Zen 4 and Zen 5, and nowhere else") {
    if (std::getenv("TAPESTRY_ISA") != nullptr) return;  // then there is no automatic choice
    const Isa best = available_isas().back();
    const std::string vendor = processor("vendor_id"), family = processor("cpu family");
    const bool fast = vendor == "AuthenticAMD" && (family == "25" || family == "26");
    const bool slow = best == Isa::avx512_bf16 && !fast;
    const auto chosen = test::ask_child("cpu: child process", "TAPESTRY_THREADS", "1");
    if (chosen) CHECK(*chosen == name_of(slow ? Isa::avx512 : best));
}
