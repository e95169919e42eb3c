// Directory locks: which processes they exclude, and for how long.
#include <tapestry/core/directory.h>
#include <tapestry/tests/core/scratch.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

using namespace tapestry;
using test::check_message;
using test::slurp;
using test::spill;

TEST_CASE("lock: a second one is refused with the number of the first's process") {
    const test::Scratch scratch;
    {
        const DirectoryLock lock(scratch.path());
        CHECK(lock.is_held());
        CHECK_EQ(slurp(scratch / ".lock"), fmt::format("{}\n", ::getpid()));
        check_message<BusyError>([&] { DirectoryLock second(scratch.path()); },
                                 fmt::format("'{}': in use by another process, {}",
                                             scratch.path().native(), ::getpid()));
    }
    CHECK(scratch.names().empty());
    CHECK(DirectoryLock(scratch.path()).is_held());
}

TEST_CASE("lock: one whose process was killed does not block") {
    const test::Scratch scratch;
    int ready[2];
    REQUIRE_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const DirectoryLock lock(scratch.path());
        [[maybe_unused]] const auto told = ::write(ready[1], "x", 1);
        for (;;) ::pause();
    }
    char byte = 0;
    REQUIRE_EQ(::read(ready[0], &byte, 1), 1);
    check_message<BusyError>([&] { DirectoryLock second(scratch.path()); },
                             fmt::format("in use by another process, {}", child));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    CHECK(std::filesystem::exists(scratch / ".lock"));
    CHECK(DirectoryLock(scratch.path()).is_held());
    CHECK(scratch.names().empty());
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST_CASE("lock: other things in its place") {
    const test::Scratch scratch;
    spill(scratch / ".lock", std::string("12\n\0\0", 5));  // as after a power failure
    CHECK(DirectoryLock(scratch.path()).is_held());
    const auto refused = [&] {
        check_message<IoError>([&] { DirectoryLock lock(scratch.path()); },
                               ".lock': not a lock file that Tapestry wrote");
    };
    spill(scratch / ".lock", "no number");
    refused();
    CHECK_EQ(slurp(scratch / ".lock"), "no number");
    std::filesystem::remove(scratch / ".lock");
    check_message<IoError>([&] { DirectoryLock lock(scratch / "none"); }, "No such file");
    std::filesystem::create_symlink(scratch / "target", scratch / ".lock");
    CHECK_THROWS_AS(DirectoryLock(scratch.path()), IoError);
    CHECK_FALSE(std::filesystem::exists(scratch / "target"));
}

TEST_CASE("lock: a pipe, and a file that has another name as well, are left alone") {
    const test::Scratch scratch;
    const auto refused = [&] {
        check_message<IoError>([&] { DirectoryLock lock(scratch.path()); },
                               ".lock': not a lock file that Tapestry wrote");
    };
    spill(scratch / "precious", "47");
    std::filesystem::create_hard_link(scratch / "precious", scratch / ".lock");
    refused();
    CHECK_EQ(slurp(scratch / "precious"), "47");
    std::filesystem::remove(scratch / ".lock");
    REQUIRE_EQ(::mkfifo((scratch / ".lock").c_str(), 0600), 0);
    refused();
    std::filesystem::remove(scratch / ".lock");
}
