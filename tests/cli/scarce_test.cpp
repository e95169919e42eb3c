// Too few threads, too little memory, absurd sizes, and runs that fail: how the command responds.
#include <tapestry/tests/cli/command.h>
#include <tapestry/tests/core/support.h>
#include <tapestry/tests/skip.h>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

using namespace tapestry::test;
namespace fs = std::filesystem;

namespace {

constexpr long kMegabyte = 1L << 20;
constexpr long kStack = 8 * kMegabyte;  // of a thread, whatever `ulimit -s` says

// Can memory be limited here? AddressSanitizer needs the address space itself, and emulators ignore
// the limit.
bool has_limits() {
    const Place place;
    const Surroundings limited{.address_space_limit = 1000 * kMegabyte, .stack_limit = kStack};
    return !kAddressSanitizer &&
           place.run({"info"}, {.address_space_limit = kMegabyte}).code != 0 &&
           place.run({"info"}, limited).code == 0;
}

struct ScarcePlace : Place {
    ScarcePlace() { spill(*this / "t.txt", simple_text()); }
};

}  // namespace

TEST_CASE("cli: threads that the system does not start are done without, which is said") {
    if (!has_limits()) return skip("no limit of the address space here");
    const ScarcePlace place;
    const Outcome outcome =
        place.run(tiny_training(), {.environment = {{"TAPESTRY_THREADS", "500"}},
                                    .address_space_limit = 600 * kMegabyte,
                                    .stack_limit = kStack});
    INFO(outcome.err);
    CHECK_EQ(outcome.code, 0);
    CHECK(outcome.err.starts_with("tapestry: could not start 500 threads ("));
    CHECK(outcome.err.find("); continuing with ") != std::string::npos);
    CHECK_EQ(lines_of(outcome.err).size(), 1);
    const std::string weights = slurp(place / "m" / "model.safetensors");
    check_done(place.run(tiny_training({"--overwrite"})));
    CHECK(slurp(place / "m" / "model.safetensors") == weights);
}

TEST_CASE("cli: inspect measures the machine in the memory that there is") {
    if (!has_limits()) return skip("no limit of the address space here");
    const ScarcePlace place;
    put_model(place / "m");
    const Outcome outcome = place.run({"inspect", "--model", "m", "--prompt", "The cat"},
                                      {.address_space_limit = 130 * kMegabyte});
    INFO(outcome.err);
    CHECK_EQ(outcome.code, 0);
}

TEST_CASE("cli: a working directory that was removed") {
    const Place place;
    spill(place / "t.txt", simple_text());
    fs::create_directories(place / "gone");
    const int gone = ::open((place / "gone").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE_GE(gone, 0);
    fs::remove(place / "gone");
    const auto there = [&](const Arguments& arguments) {
        return Process(arguments, "/proc/self/fd/" + std::to_string(gone)).wait();
    };
    const std::string text = place / "t.txt", out = place / "m";
    check_done(there(tiny_training({"--text", text, "--out", out})));
    CHECK(slurp(place / "m" / "report.html").find("removed since") != std::string::npos);
    check_done(there({"runs", out}));
    for (const char* relative : {"m", "."}) {
        check_refused(there(tiny_training({"--text", text, "--out", relative})),
                      fmt::format("'{}': the working directory, where it would be, was removed: No "
                                  "such file or directory",
                                  relative));
    }
    check_refused(there(tiny_training({"--text", ".", "--out", out})), "'.'");
    check_refused(there({"sample", "--model", "m"}), "m");
    ::close(gone);
}

TEST_CASE("cli train: too many layers are refused before they are built") {
    const ScarcePlace place;
    const Outcome outcome = place.run(
        tiny_training({"--layers", "1000000000", "--dim", "2", "--context", "4", "--batch", "1"}));
    check_refused(outcome,
                  "training this model would need about 5");  // times 10 TB, all but 1.7 overhead
    CHECK_LT(outcome.processor_seconds, 5);
    CHECK_FALSE(std::filesystem::exists(place / "m"));
}

TEST_CASE("cli train: a run that learned nothing reports it") {
    const ScarcePlace place;
    const Outcome bad = place.run(tiny_training({"--lr", "30", "--warmup", "0", "--clip", "0"}));
    INFO(bad.out);
    CHECK_EQ(bad.code, 0);
    CHECK(bad.out.find("saved in m (") != std::string::npos);
    CHECK(bad.out.find("), but the learning rate of 30 is too high: the loss was ") !=
          std::string::npos);
    CHECK(bad.out.find(", while guessing gives ") != std::string::npos);
    const Outcome good =
        place.run(tiny_training({"--lr", "1e-2", "--steps", "100", "--overwrite"}));
    INFO(good.out);
    check_done(good);
    CHECK(good.out.find("saved in m (") != std::string::npos);
    CHECK_EQ(good.out.find("but the"), std::string::npos);
}
