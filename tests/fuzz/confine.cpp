#include <tapestry/tests/fuzz/confine.h>

#if defined(__linux__) && __has_include(<linux/landlock.h>)
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace tapestry::fuzz {
namespace {

// All rights of Landlock's first version that change the file system.
constexpr std::uint64_t kWriting = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                   LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                                   LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                                   LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                                   LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
// Since version 2: renaming and linking between directories, which is otherwise refused.
constexpr std::uint64_t kRefer = std::uint64_t{1} << 13;

bool allow(int rules, const std::filesystem::path& directory, std::uint64_t rights) {
    landlock_path_beneath_attr rule{};
    rule.allowed_access = rights;
    rule.parent_fd = ::open(directory.c_str(), O_PATH | O_CLOEXEC);
    if (rule.parent_fd < 0) return false;
    const long done = ::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    ::close(rule.parent_fd);
    return done == 0;
}

}  // namespace

bool confine_writing(const std::vector<std::filesystem::path>& directories) {
    const long version =
        ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 2) return false;
    landlock_ruleset_attr attributes{};
    attributes.handled_access_fs = kWriting | kRefer;
    const int rules =
        static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0));
    bool good = rules >= 0;
    for (const auto& directory : directories) {
        good = good && allow(rules, directory, kWriting | kRefer);
    }
    good = good && allow(rules, "/dev/null", LANDLOCK_ACCESS_FS_WRITE_FILE);
    good = good && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    if (rules >= 0) ::close(rules);
    return good;
}

}  // namespace tapestry::fuzz
#else
namespace tapestry::fuzz {

bool confine_writing(const std::vector<std::filesystem::path>&) { return false; }

}  // namespace tapestry::fuzz
#endif
