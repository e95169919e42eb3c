#include <tapestry/tests/survival/disk.h>

#include <tapestry/tests/core/scratch.h>

#include <algorithm>

namespace tapestry::test {
namespace {

namespace fs = std::filesystem;

std::string parent_of(const std::string& path) { return fs::path(path).parent_path().native(); }

void write_at(std::string& contents, std::uint64_t at, std::string_view bytes) {
    if (contents.size() < at + bytes.size()) contents.resize(at + bytes.size(), '\0');
    contents.replace(at, bytes.size(), bytes);
}

}  // namespace

// The synced contents, plus a prefix of the later writes; the last of them partial, or as allocated
// zeros that were never filled.
std::string Disk::File::contents(Generator* chance) const {
    std::string all = synced;
    if (chance == nullptr) return all;
    const std::uint64_t kept = chance->below(pending.size() + 1);
    for (std::uint64_t i = 0; i < kept; ++i) {
        const Write& write = pending[i];
        if (write.truncates) {
            all.resize(write.at, '\0');
            continue;
        }
        std::string bytes = write.bytes;
        if (i + 1 == kept && kept < pending.size() + 1) {
            const std::uint64_t whole = chance->below(bytes.size() + 1);
            if (chance->below(2) == 0) {
                bytes.resize(whole);
            } else {
                std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(whole), bytes.end(), '\0');
            }
        }
        write_at(all, write.at, bytes);
    }
    return all;
}

const Disk::FilePtr& Disk::file_at(const std::string& path) const {
    const auto found = now_.find(path);
    require(found != now_.end(), "disk: no file '{}'", path);
    return found->second;
}

void Disk::change(std::vector<Entry> entries) {
    Change change{std::move(entries), {}};
    for (const Entry& entry : change.entries) {
        change.directories.insert(parent_of(entry.path));
        if (entry.file) {
            now_[entry.path] = entry.file;
        } else {
            now_.erase(entry.path);
        }
    }
    pending_.push_back(std::move(change));
}

void Disk::sync_directory(const std::string& path) {
    std::vector<Change> left;
    for (Change& change : pending_) {
        if (!change.directories.contains(path)) {
            left.push_back(std::move(change));
            continue;
        }
        for (const Entry& entry : change.entries) {
            if (entry.file) {
                sure_[entry.path] = entry.file;
            } else {
                sure_.erase(entry.path);
            }
        }
    }
    pending_ = std::move(left);
}

void Disk::apply(const FileEvent& event) {
    switch (event.call) {
        case FileCall::open:
            if (event.created) change({{event.path, std::make_shared<File>()}});
            if (event.truncated) file_at(event.path)->pending.push_back({0, {}, true});
            break;
        case FileCall::write:
            file_at(event.path)->pending.push_back({event.at, event.bytes, false});
            break;
        case FileCall::truncate:
            file_at(event.path)->pending.push_back({event.at, {}, true});
            break;
        case FileCall::sync: {
            if (directories_.contains(event.path)) return sync_directory(event.path);
            File& file = *file_at(event.path);
            for (const Write& write : file.pending) {
                if (write.truncates) {
                    file.synced.resize(write.at, '\0');
                } else {
                    write_at(file.synced, write.at, write.bytes);
                }
            }
            file.pending.clear();
            break;
        }
        case FileCall::rename: {
            const FilePtr file = file_at(event.path);
            change({{event.path, nullptr}, {event.to, file}});
            break;
        }
        case FileCall::unlink: change({{event.path, nullptr}}); break;
        case FileCall::make_directory:
            directories_.insert(event.path);
            change({{event.path, std::make_shared<File>()}});
            break;
    }
}

void Disk::leave(const fs::path& folder, Generator* chance) const {
    std::map<std::string, FilePtr> left = sure_;
    for (const Change& change : pending_) {
        if (chance == nullptr || chance->below(2) == 0) continue;
        for (const Entry& entry : change.entries) {
            if (entry.file) {
                left[entry.path] = entry.file;
            } else {
                left.erase(entry.path);
            }
        }
    }
    for (const auto& [path, file] : left) {  // a directory precedes its entries
        const fs::path place = folder / path;
        if (!fs::is_directory(place.parent_path())) continue;  // lost with its directory
        if (directories_.contains(path)) {
            fs::create_directory(place);
        } else {
            spill(place, file->contents(chance));
        }
    }
}

}  // namespace tapestry::test
