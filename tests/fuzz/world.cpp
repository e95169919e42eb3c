#include <tapestry/tests/fuzz/world.h>

#include <fmt/format.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tapestry::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

class Descriptor {
public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() { reset(-1); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    int number() const { return number_; }
    void reset(int number) {
        if (number_ >= 0) ::close(number_);
        number_ = number;
    }

private:
    int number_;
};

std::vector<std::string> entries_of(int folder) {
    std::vector<std::string> names;
    DIR* all = ::fdopendir(::openat(folder, ".", kFolder));
    if (all == nullptr) return names;
    while (const dirent* one = ::readdir(all)) {
        const std::string name = one->d_name;
        if (name != "." && name != "..") names.push_back(name);
    }
    ::closedir(all);
    std::sort(names.begin(), names.end());
    return names;
}

void empty(int folder) {
    for (const std::string& name : entries_of(folder)) {
        if (::unlinkat(folder, name.c_str(), 0) == 0) continue;
        ::fchmodat(folder, name.c_str(), 0700, 0);
        const Descriptor inner(::openat(folder, name.c_str(), kFolder));
        if (inner.number() >= 0) empty(inner.number());
        ::unlinkat(folder, name.c_str(), AT_REMOVEDIR);
    }
}

void write_whole(int file, std::string_view contents) {
    while (!contents.empty()) {
        const ssize_t written = ::write(file, contents.data(), contents.size());
        if (written <= 0) return;
        contents.remove_prefix(static_cast<std::size_t>(written));
    }
}

// The components of a relative path without ".."; empty for any other path.
std::vector<std::string> parts_of(const std::string& path) {
    std::vector<std::string> parts;
    std::istringstream stream(path);
    for (std::string part; std::getline(stream, part, '/');) {
        const bool good = !part.empty() && part != "." && part != ".." && part.size() < 256 &&
                          part.find('\0') == std::string::npos;
        if (!good) return {};
        parts.push_back(part);
    }
    return parts;
}

std::string with_root(std::string text, const std::string& root) {
    constexpr std::string_view kRoot = "@ROOT@";
    for (std::size_t at = 0; (at = text.find(kRoot, at)) != std::string::npos; at += root.size()) {
        text.replace(at, kRoot.size(), root);
    }
    return text;
}

// Replaces the descriptor by that of a folder below it, without following links.
void descend(Descriptor& folder, std::span<const std::string> parts, bool make) {
    for (const std::string& part : parts) {
        if (make) ::mkdirat(folder.number(), part.c_str(), 0755);
        folder.reset(::openat(folder.number(), part.c_str(), kFolder));
        if (folder.number() < 0) return;
    }
}

// The target is relative to the root.
void make_hard_link(int folder, const std::string& name, const std::string& target,
                    const fs::path& root) {
    const auto parts = parts_of(target);
    if (parts.empty() || parts.front() == "out") return;
    Descriptor from(::open(root.c_str(), kFolder));
    descend(from, std::span(parts).first(parts.size() - 1), false);
    if (from.number() < 0) return;
    [[maybe_unused]] const int done =
        ::linkat(from.number(), parts.back().c_str(), folder, name.c_str(), 0);
}

void make_file(int folder, const std::string& name, const std::string& contents, unsigned mode) {
    constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const Descriptor file(::openat(folder, name.c_str(), kNew, 0600));
    if (file.number() < 0) return;
    write_whole(file.number(), contents);
    ::fchmod(file.number(), mode);
}

void make(int folder, const std::string& name, const Entry& entry, const fs::path& root) {
    const bool expands = entry.kind != EntryKind::file || name.ends_with("manifest.json");
    const std::string contents = expands ? with_root(entry.contents, root) : entry.contents;
    switch (entry.kind) {
        case EntryKind::file: return make_file(folder, name, contents, entry.mode);
        case EntryKind::hard_link: return make_hard_link(folder, name, contents, root);
        case EntryKind::directory: ::mkdirat(folder, name.c_str(), 0755); return;
        case EntryKind::fifo: ::mkfifoat(folder, name.c_str(), entry.mode); return;
        case EntryKind::link:
            [[maybe_unused]] const int done = ::symlinkat(contents.c_str(), folder, name.c_str());
    }
}

void unpack_one(int place, const Entry& entry, const fs::path& root) {
    std::string dashes = root.native();
    std::replace(dashes.begin(), dashes.end(), '/', '-');
    const std::vector<std::string> parts = parts_of(with_root(entry.path, dashes));
    if (parts.empty()) return;
    Descriptor folder(::openat(place, ".", kFolder));
    descend(folder, std::span(parts).first(parts.size() - 1), true);
    if (folder.number() >= 0) make(folder.number(), parts.back(), entry, root);
}

// Sets the times of everything below back by a minute: the clock of most kernels stands still for
// milliseconds, in which a change would leave the times as they are.
void set_back_times(int folder) {
    for (const std::string& name : entries_of(folder)) {
        struct stat status {};
        if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (S_ISDIR(status.st_mode)) {
            const Descriptor inner(::openat(folder, name.c_str(), kFolder));
            if (inner.number() >= 0) set_back_times(inner.number());
        }
        const timespec then{.tv_sec = status.st_mtim.tv_sec - 60, .tv_nsec = 0};
        const timespec times[] = {then, then};
        ::utimensat(folder, name.c_str(), times, AT_SYMLINK_NOFOLLOW);
    }
}

std::string contents_of(int folder, const std::string& name, const struct stat& status) {
    if (S_ISLNK(status.st_mode)) {
        std::string target(4096, '\0');
        const ssize_t size = ::readlinkat(folder, name.c_str(), target.data(), target.size());
        target.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
        return target;
    }
    if (!S_ISREG(status.st_mode)) return {};
    const Descriptor file(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    std::string contents(std::min<std::size_t>(static_cast<std::size_t>(status.st_size), 4 << 20),
                         '\0');
    const ssize_t size = ::read(file.number(), contents.data(), contents.size());
    contents.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return contents;
}

void look_below(int folder, const std::string& prefix, const std::string& left_out, Snapshot& all) {
    for (const std::string& name : entries_of(folder)) {
        const std::string path = prefix + name;
        struct stat status {};
        if (path == left_out || ::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        all[path] = {.mode = status.st_mode,
                     .inode = status.st_ino,
                     .seconds = status.st_mtim.tv_sec,
                     .nanoseconds = status.st_mtim.tv_nsec,
                     .contents = contents_of(folder, name, status)};
        if (!S_ISDIR(status.st_mode)) continue;
        const Descriptor inner(::openat(folder, name.c_str(), kFolder));
        if (inner.number() >= 0) look_below(inner.number(), path + "/", left_out, all);
    }
}

void pack_below(int folder, const std::string& prefix, Archive& archive) {
    for (const std::string& name : entries_of(folder)) {
        struct stat status {};
        if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (S_ISDIR(status.st_mode)) {
            const Descriptor inner(::openat(folder, name.c_str(), kFolder));
            pack_below(inner.number(), prefix + name + "/", archive);
        } else {
            archive.entries.push_back(
                {.kind = S_ISLNK(status.st_mode) ? EntryKind::link : EntryKind::file,
                 .path = prefix + name,
                 .mode = status.st_mode & 0777U,
                 .contents = contents_of(folder, name, status)});
        }
    }
}

void spill(const fs::path& path, std::string_view contents, fs::perms mode) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << contents;
    fs::permissions(path, mode);
}

std::string text_to_learn_from() {
    std::string text;
    for (int i = 0; i < 12; ++i) text += "the cat sat on the mat\nand a hat\n";
    return text;
}

}  // namespace

std::string difference(const Snapshot& before, const Snapshot& after) {
    std::string modified;  // also true of a folder in which something is new or gone
    for (const auto& [path, item] : before) {
        const auto found = after.find(path);
        if (found == after.end()) return path + " is gone";
        const Item& now = found->second;
        if (now.contents != item.contents) return path + " has other contents";
        if (now.mode != item.mode) {
            return fmt::format("{} has mode {:o}, and had {:o}", path, now.mode, item.mode);
        }
        if (now.inode != item.inode) return path + " was replaced by another of the same contents";
        if (now != item) modified = path + " was modified";
    }
    for (const auto& [path, item] : after) {
        if (!before.contains(path)) return path + " is new";
    }
    return modified;
}

World::World() : before_(fs::current_path()) {
    ::umask(022);
    std::string root = fs::temp_directory_path() / "tapestry-world-XXXXXX";
    if (::mkdtemp(root.data()) == nullptr) throw std::runtime_error("cannot make " + root);
    root_ = root;
    spill(root_ / "outside/private/notes.txt", "do not touch\n", fs::perms{0600});
    spill(root_ / "outside/private/model.safetensors", "somebody else's\n", fs::perms{0644});
    spill(root_ / "outside/private/checkpoints/step-1000.safetensors", "x", fs::perms{0644});
    spill(root_ / "outside/private/notes-config.json", "y", fs::perms{0644});
    spill(root_ / "outside/config.json", "{}\n", fs::perms{0444});
    spill(root_ / "outside/text.txt", text_to_learn_from(), fs::perms{0600});
    spill(root_ / "home/.profile", "# mine\n", fs::perms{0644});
    fs::create_directories(root_ / "outside/empty");
    fs::create_directories(root_ / "home/.cache");
    fs::create_directories(root_ / "place");
    fs::create_directories(root_ / "out");
    ::setenv("HOME", (root_ / "home").c_str(), 1);
    ::setenv("XDG_CACHE_HOME", (root_ / "home/.cache").c_str(), 1);
    fs::current_path(root_ / "place");
    place_ = ::open(".", kFolder);
}

World::~World() {
    ::close(place_);
    std::error_code ignored;
    fs::current_path(before_, ignored);
    const Descriptor root(::open(root_.c_str(), kFolder));
    empty(root.number());
    fs::remove(root_, ignored);
}

void World::unpack(const Archive& archive) const {
    const Descriptor out(::open((root_ / "out").c_str(), kFolder));
    empty(out.number());
    empty(place_);
    ::mkdirat(place_, "D", 0755);
    const auto is_link = [](const Entry& entry) {
        return entry.kind == EntryKind::link || entry.kind == EntryKind::hard_link;
    };
    for (const bool links : {false, true}) {
        for (const Entry& entry : archive.entries) {
            if (is_link(entry) == links) unpack_one(place_, entry, root_);
        }
    }
    set_back_times(place_);
}

Archive World::pack() const {
    Archive archive;
    pack_below(place_, "", archive);
    return archive;
}

Snapshot World::look(bool with_directory) const {
    Snapshot all;
    for (const char* name : {"outside", "home", "place"}) {
        const Descriptor folder(::open((root_ / name).c_str(), kFolder));
        look_below(folder.number(), std::string(name) + "/", with_directory ? "" : "place/D", all);
    }
    return all;
}

}  // namespace tapestry::fuzz
