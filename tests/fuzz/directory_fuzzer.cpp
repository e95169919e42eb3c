// A fuzzer whose input is a whole directory: a model, run, data or cache from a stranger. A run
// reads it with every reader of the library, then writes into it, and checks its surroundings after
// both.
// `.ci/long directories` builds and runs it:
//
//     directory_fuzzer -timeout=10 -max_len=70000 -entropic=0 FOUND tests/fuzz/corpus
//
// Findings are sanitizer reports, signals, timeouts and, with a message and an abort: an exception
// that is not a tapestry::Error, a change outside of the directory, a change inside by a reader,
// and a change of a foreign file by a writer. Read next: archive.h, the input; run_archive.cpp;
// mutate.h.
#include <tapestry/core/parallel.h>
#include <tapestry/tests/fuzz/confine.h>
#include <tapestry/tests/fuzz/mutate.h>
#include <tapestry/tests/fuzz/world.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

using namespace tapestry;

extern "C" {
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
const char* __asan_default_options();
int LLVMFuzzerInitialize(int* count, char*** arguments);
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed);
std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* a, std::size_t a_size,
                                      const std::uint8_t* b, std::size_t b_size, std::uint8_t* to,
                                      std::size_t max_size, unsigned seed);
}

namespace {

namespace fs = std::filesystem;

const fuzz::World& world() {
    static const fuzz::World one;
    return one;
}

std::string_view view(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

// The number of bytes written; 0 if they do not fit.
std::size_t put(const fuzz::Archive& archive, std::uint8_t* to, std::size_t max_size) {
    const std::string bytes = fuzz::encode(archive);
    if (bytes.size() > max_size) return 0;
    std::memcpy(to, bytes.data(), bytes.size());
    return bytes.size();
}

// Applies libFuzzer's own mutations to one file.
void mutate_blindly(fuzz::Archive& archive, fuzz::Chance& chance) {
    if (archive.entries.empty()) return;
    std::string& contents = chance.pick(archive.entries).contents;
    const std::size_t size = contents.size();
    contents.resize(std::min(size + 64, fuzz::kMaxContents));
    auto* data = reinterpret_cast<std::uint8_t*>(contents.data());
    contents.resize(LLVMFuzzerMutate(data, std::min(size, contents.size()), contents.size()));
}

// libFuzzer's arguments are relative to the working directory, which World changes. To merge, start
// the fuzzer by its absolute path.
std::vector<std::string> absolute_arguments(int count, char** arguments, const std::string& here) {
    std::vector<std::string> all{arguments[0]};  // libFuzzer does not let it be changed
    bool has_prefix = false;
    for (const std::string argument : std::vector(arguments + 1, arguments + count)) {
        has_prefix = has_prefix || argument.starts_with("-artifact_prefix=");
        all.push_back(argument.starts_with("-") ? argument : fs::absolute(argument).native());
    }
    if (!has_prefix) all.push_back("-artifact_prefix=" + here + "/");
    return all;
}

void confine(const std::vector<std::string>& arguments, const std::string& here) {
    std::vector<fs::path> directories{fs::temp_directory_path(), here};
    if (fs::is_directory("/dev/shm")) directories.push_back("/dev/shm");  // OpenMP's runtime
    for (const std::string& argument : arguments) {  // "DIRECTORY", "-artifact_prefix=DIRECTORY/"
        const fs::path value = argument.substr(argument.find('=') + 1);
        const fs::path folder =
            argument.starts_with("-") ? value.parent_path() : fs::path(argument);
        if (folder.is_absolute() && fs::is_directory(folder)) directories.push_back(folder);
    }
    if (fuzz::confine_writing(directories)) return;
    std::fputs("directory_fuzzer: this kernel has no Landlock: a finding may write anywhere\n",
               stderr);
    if (::geteuid() == 0) std::exit(2);
}

}  // namespace

// Where a block was allocated, in fewer frames: this is done at every allocation.
const char* __asan_default_options() { return "malloc_context_size=6:quarantine_size_mb=64"; }

int LLVMFuzzerInitialize(int* count, char*** arguments) {
    static std::vector<std::string> all;
    static std::vector<char*> pointers;
    const std::string here = fs::current_path().native();
    all = absolute_arguments(*count, *arguments, here);
    for (std::string& argument : all) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    *count = static_cast<int>(all.size());
    *arguments = pointers.data();
    confine(all, here);
    set_num_threads(1);
    world();
    return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string found = fuzz::run_archive(world(), fuzz::decode(view(data, size)));
    if (found.empty()) return 0;
    std::fprintf(stderr, "directory_fuzzer: %s\n", found.c_str());
    std::abort();
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed) {
    fuzz::Chance chance(seed);
    fuzz::Archive archive = fuzz::decode(view(data, size));
    if (chance.one_in(10)) {
        mutate_blindly(archive, chance);
    } else {
        fuzz::mutate(archive, chance);
    }
    const std::size_t bytes = put(archive, data, max_size);
    return bytes > 0 ? bytes : LLVMFuzzerMutate(data, size, max_size);
}

std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* a, std::size_t a_size,
                                      const std::uint8_t* b, std::size_t b_size, std::uint8_t* to,
                                      std::size_t max_size, unsigned seed) {
    fuzz::Chance chance(seed);
    return put(fuzz::cross(fuzz::decode(view(a, a_size)), fuzz::decode(view(b, b_size)), chance),
               to, max_size);
}
