// Reading and atomic writing of files: refused cases, and that a failed save leaves no temporary
// file and the previous file unchanged.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <tapestry/core/directory.h>
#include <tapestry/core/file.h>
#include <tapestry/tests/core/nobody.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/core/size_limit.h>
#include <tapestry/tests/skip.h>
#include <unistd.h>

#include <algorithm>

using namespace tapestry;
using test::check_message;
using test::message_of;
using test::Nobody;
using test::Scratch;
using test::SizeLimit;
using test::slurp;
using test::spill;
using Names = std::vector<std::string>;

namespace {

// The error of writing to `path` as a user without permission; "" if the test cannot switch users.
std::string message_without_rights(const std::filesystem::path& path) {
    const Nobody nobody;
    if (!nobody.is_bound_by_permissions()) return "";
    return message_of<IoError>([&] { write_file_atomically(path, "new"); });
}

mode_t mode_of(const std::filesystem::path& path) {
    struct stat status {};
    ::stat(path.c_str(), &status);
    return status.st_mode & 07777;
}

}  // namespace

TEST_CASE("file: reading a whole file") {
    const Scratch scratch;
    const std::string contents("a\0b\r\n\xFF", 6);
    spill(scratch / "some", contents);
    CHECK_EQ(read_file(scratch / "some"), contents);
    spill(scratch / "empty", "");
    CHECK(read_file(scratch / "empty").empty());
    std::filesystem::create_symlink("some", scratch / "link");
    CHECK_EQ(read_file(scratch / "link"), contents);
    InputFile file(scratch / "some");
    CHECK_EQ(file.size(), 6);
    std::string buffer(4, ' ');
    file.read(std::as_writable_bytes(std::span(buffer)));
    CHECK_EQ(buffer, contents.substr(0, 4));
    check_message<IoError>([&] { file.read(std::as_writable_bytes(std::span(buffer))); },
                           "it ends 2 bytes too early");
}

TEST_CASE("file: what cannot be read") {
    const Scratch scratch;
    check_message<IoError>(
        [&] { read_file(scratch / "none"); },
        "cannot read '" + (scratch / "none").native() + "': No such file or directory");
    check_message<IoError>([&] { read_file(scratch.path()); }, "it is a directory, not a file");
    check_message<IoError>([&] { read_file(""); }, "cannot read '': No such file or directory");
    check_message<IoError>([] { read_file("/dev/zero"); }, "it is a device, not a file");
    REQUIRE_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
    check_message<IoError>([&] { read_file(scratch / "pipe"); }, "it is a pipe, not a file");
    spill(scratch / "file", "12345");
    check_message<IoError>([&] { read_file(scratch / "file" / "x"); }, "Not a directory");
    check_message<IoError>([&] { read_file(scratch / "file", 4); },
                           "5 bytes, more than the 4 allowed");
    std::filesystem::create_symlink("loop", scratch / "loop");
    check_message<IoError>([&] { read_file(scratch / "loop"); }, "symbolic links");
    check_message<IoError>([&] { read_file(scratch / "a\nb\x1B"); }, "a\\nb\\u{1B}'");
    // A sparse file of 1 TB: refused before memory is allocated.
    spill(scratch / "sparse", "");
    std::error_code refused;
    std::filesystem::resize_file(scratch / "sparse", std::uintmax_t{1} << 40, refused);
    if (refused) return test::skip("no sparse file of 1 TB here: " + refused.message());
    check_message<IoError>([&] { read_file(scratch / "sparse"); }, "1099511627776 bytes, more");
}

TEST_CASE("file: not readable") {
    const Scratch scratch;
    spill(scratch / "secret", "x");
    ::chmod((scratch / "secret").c_str(), 0);
    std::string message;
    {
        const Nobody nobody;
        if (nobody.is_bound_by_permissions()) {
            message = message_of<IoError>([&] { read_file(scratch / "secret"); });
        }
    }
    if (message.empty()) return test::skip("root, and no other user to be");
    CHECK(message.find("Permission denied") != std::string::npos);
}

TEST_CASE("file: writing, replacing, names") {
    const Scratch scratch;
    write_file_atomically(scratch / "a", "first");
    CHECK_EQ(slurp(scratch / "a"), "first");
    write_file_atomically(scratch / "a", "second");
    CHECK_EQ(slurp(scratch / "a"), "second");
    write_file_atomically(scratch / "a", "");
    CHECK_EQ(slurp(scratch / "a"), "");
    write_file_atomically(scratch / "a", [](OutputFile& file) {
        file.write("in ");
        file.write("");
        file.write("pieces");
    });
    CHECK_EQ(slurp(scratch / "a"), "in pieces");
    write_file_atomically(scratch / "a", "at once", {.sync = false});
    CHECK_EQ(slurp(scratch / "a"), "at once");
    const std::string longest(255, 'n');
    write_file_atomically(scratch / longest, "long");
    CHECK_EQ(slurp(scratch / longest), "long");
    CHECK_EQ(scratch.names().size(), 2);
    const std::string large(5'000'000, 'x');
    write_file_atomically(scratch / "a", large);
    CHECK(slurp(scratch / "a") == large);
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(scratch.path());
    write_file_atomically("relative", "r");
    std::filesystem::current_path(before);
    CHECK_EQ(slurp(scratch / "relative"), "r");
}

TEST_CASE("file: permissions are kept, links are replaced") {
    const Scratch scratch;
    const mode_t mask = ::umask(022);
    write_file_atomically(scratch / "a", "1");
    CHECK_EQ(mode_of(scratch / "a"), 0644);
    ::chmod((scratch / "a").c_str(), 0600);
    write_file_atomically(scratch / "a", "2");
    CHECK_EQ(mode_of(scratch / "a"), 0600);
    ::umask(mask);
    std::filesystem::create_symlink("a", scratch / "link");
    write_file_atomically(scratch / "link", "3");
    CHECK_FALSE(std::filesystem::is_symlink(scratch / "link"));
    CHECK_EQ(slurp(scratch / "link"), "3");
    CHECK_EQ(slurp(scratch / "a"), "2");
    std::filesystem::create_symlink("nowhere", scratch / "dangling");
    write_file_atomically(scratch / "dangling", "4");
    CHECK_EQ(slurp(scratch / "dangling"), "4");
    std::filesystem::create_symlink("loop", scratch / "loop");
    write_file_atomically(scratch / "loop", "5");
    CHECK_EQ(slurp(scratch / "loop"), "5");
}

TEST_CASE("file: what cannot be written") {
    const Scratch scratch;
    const auto write = [](const std::filesystem::path& path) {
        return [path] { write_file_atomically(path, "x"); };
    };
    std::filesystem::create_directory(scratch / "dir");
    check_message<IoError>(write(scratch / "dir"), "dir': it is a directory, not a file");
    check_message<IoError>(write(scratch / "dir/"), "the path does not name a file");
    check_message<IoError>(write(""), "the path does not name a file");
    check_message<IoError>(write(scratch / "dir/.."), "the path does not name a file");
    check_message<IoError>(
        write(scratch / "none" / "x"),
        "directory '" + (scratch / "none").native() + "': No such file or directory");
    spill(scratch / "file", "kept");
    check_message<IoError>(write(scratch / "file" / "x"), "Not a directory");
    REQUIRE_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
    check_message<IoError>(write(scratch / "pipe"), "pipe': it is a pipe, not a file");
    check_message<IoError>(write(scratch / std::string(256, 'n')), "File name too long");
    CHECK_EQ(slurp(scratch / "file"), "kept");
    CHECK_EQ(scratch.names().size(), 3);
    CHECK(std::filesystem::is_empty(scratch / "dir"));
}

TEST_CASE("file: no right to write") {
    const Scratch scratch;
    spill(scratch / "kept", "old");
    ::chmod((scratch / "kept").c_str(), 0444);
    ::chmod(scratch.path().c_str(), 0777);
    const std::string file_message = message_without_rights(scratch / "kept");
    ::chmod(scratch.path().c_str(), 0555);
    const std::string directory_message = message_without_rights(scratch / "new");
    ::chmod(scratch.path().c_str(), 0755);
    if (file_message.empty()) return test::skip("root, and no other user to be");
    CHECK_EQ(file_message, "cannot write '" + (scratch / "kept").native() + "': Permission denied");
    CHECK_EQ(directory_message, "cannot write '" + (scratch / "new").native() + "': directory '" +
                                    scratch.path().native() + "': Permission denied");
    CHECK_EQ(slurp(scratch / "kept"), "old");
    CHECK_EQ(scratch.names(), Names{"kept"});
}

TEST_CASE("file: a full disk keeps the previous file") {
    const Scratch scratch;
    spill(scratch / "kept", "old");
    std::string message;
    {
        const SizeLimit limit(1000);  // the first write is short, the second fails
        message = message_of<IoError>(
            [&] { write_file_atomically(scratch / "kept", std::string(5000, 'x')); });
    }
    CHECK_EQ(message, "cannot write '" + (scratch / "kept").native() + "': File too large");
    CHECK_EQ(slurp(scratch / "kept"), "old");
    CHECK_EQ(scratch.names(), Names{"kept"});
    {
        const SizeLimit limit(1000);
        message = message_of<IoError>(
            [&] { write_file_atomically(scratch / "new", std::string(5000, 'x')); });
    }
    CHECK(message.find("File too large") != std::string::npos);
    CHECK_EQ(scratch.names(), Names{"kept"});
    write_file_atomically(scratch / "kept", std::string(5000, 'x'));
    CHECK_EQ(slurp(scratch / "kept").size(), 5000);
}

TEST_CASE("file: past the cache, the same bytes in any pieces") {
    constexpr std::size_t kBlock = std::size_t{1} << 20;
    const Scratch scratch;
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kBlock - 1, kBlock, kBlock + 1,
                                   2 * kBlock, 3 * kBlock + 4097}) {
        std::string contents(size, ' ');
        for (std::size_t i = 0; i < size; ++i) contents[i] = static_cast<char>(i * i / 7);
        for (const std::size_t piece : {std::size_t{100003}, kBlock, 5 * kBlock}) {
            CAPTURE(size);
            CAPTURE(piece);
            const FileDigest digest = write_file_atomically(
                scratch / "file",
                [&](OutputFile& file) {
                    for (std::size_t at = 0; at < size; at += piece) {
                        file.write(std::string_view(contents).substr(at, piece));
                    }
                },
                {.past_cache = true});
            CHECK(slurp(scratch / "file") == contents);
            CHECK_EQ(digest, digest_of_file(scratch / "file"));
        }
    }
    CHECK_EQ(scratch.names(), Names{"file"});
}

TEST_CASE("file: past the cache, a disk that is full after half a block") {
    const Scratch scratch;
    spill(scratch / "kept", "old");
    for (const rlim_t room : {1000U, 1500000U, 2097152U, 2100000U}) {
        const SizeLimit limit(room);
        const std::string message = message_of<IoError>([&] {
            write_file_atomically(scratch / "kept", std::string(2100001, 'x'),
                                  {.past_cache = true});
        });
        CHECK_EQ(message, "cannot write '" + (scratch / "kept").native() + "': File too large");
    }
    CHECK_EQ(slurp(scratch / "kept"), "old");
    CHECK_EQ(scratch.names(), Names{"kept"});
}

TEST_CASE("file: an exception of the writer's keeps the previous file") {
    const Scratch scratch;
    spill(scratch / "kept", "old");
    CHECK_THROWS_AS(write_file_atomically(scratch / "kept",
                                          [&](OutputFile& file) {
                                              file.write("half");
                                              CHECK_EQ(scratch.names().size(), 2);
                                              throw ShapeError("stop");
                                          }),
                    ShapeError);
    CHECK_EQ(slurp(scratch / "kept"), "old");
    CHECK_EQ(scratch.names(), Names{"kept"});
}

TEST_CASE("file: a temporary file left by a killed process does not matter") {
    const Scratch scratch;
    std::string name;
    write_file_atomically(scratch / "a", [&](OutputFile&) { name = scratch.names().at(0); });
    const auto dash = name.rfind('-') + 1;
    const int used = std::stoi(name.substr(dash));
    for (int i = 1; i <= 50; ++i) {  // the next temporary names
        spill(scratch / fmt::format("{}{}.tmp", name.substr(0, dash), used + i), "stale");
    }
    write_file_atomically(scratch / "a", [&](OutputFile& file) {
        CHECK_EQ(scratch.names().size(), 52);
        file.write("fresh");
    });
    CHECK_EQ(slurp(scratch / "a"), "fresh");
    CHECK_EQ(scratch.names().size(), 51);
}

TEST_CASE("file: temporaries are told apart by their locks, not by process numbers") {
    const Scratch scratch;
    // Named after this process, which is alive, but not locked: left by another container, or by an
    // earlier process of the same number.
    const std::string stale = fmt::format(".tapestry-{}-900000.tmp", ::getpid());
    spill(scratch / stale, "half");
    // As one that another container writes, where it has a number that does not exist here.
    const std::string foreign = ".tapestry-1999999999-0.tmp";
    spill(scratch / foreign, "being written");
    const FileDescriptor writer(::open((scratch / foreign).c_str(), O_WRONLY));
    REQUIRE_EQ(::flock(writer.number(), LOCK_EX), 0);
    write_file_atomically(scratch / "a", [&](OutputFile&) {
        remove_stale_temporaries(scratch.path());
        CHECK_FALSE(std::filesystem::exists(scratch / stale));
        CHECK(std::filesystem::exists(scratch / foreign));
        CHECK_EQ(scratch.names().size(), 2);  // this one's own temporary, too
    });
    remove_stale_temporaries(scratch.path());
    CHECK_EQ(scratch.names(), Names{foreign, "a"});
}

TEST_CASE("directory: the names in it, in no order; none where there is none") {
    const Scratch scratch;
    CHECK(names_in(scratch.path()).empty());
    spill(scratch / "b", "x");
    spill(scratch / ".a", "");
    std::filesystem::create_directories(scratch / "c" / "d");
    Names names = names_in(scratch.path());
    std::sort(names.begin(), names.end());
    CHECK(names == Names{".a", "b", "c"});
    CHECK(names_in(scratch / "nowhere").empty());
    CHECK(names_in(scratch / "b").empty());
}

TEST_CASE("directory: why its names cannot be read, all or some of them") {
    const Scratch scratch;
    std::error_code error = std::make_error_code(std::errc::io_error);
    CHECK(names_in(scratch.path(), error).empty());
    CHECK_FALSE(error);
    CHECK(names_in(scratch / "nowhere", error).empty());
    CHECK(error == std::errc::no_such_file_or_directory);
    spill(scratch / "a", "");
    CHECK(names_in(scratch / "a", error).empty());
    CHECK(error == std::errc::not_a_directory);
}

TEST_CASE("directory: what is there, what is not, and what cannot be determined") {
    const Scratch scratch;
    std::filesystem::create_directory_symlink("nowhere", scratch / "link");
    CHECK(is_there(scratch.path()));
    CHECK_FALSE(is_there(scratch / "nowhere"));
    CHECK_FALSE(is_there(scratch / "link"));
    std::filesystem::create_directory_symlink("round", scratch / "round");
    check_message<IoError>([&] { is_there(scratch / "round" / "a"); },
                           "round/a': Too many levels of symbolic links");
}

TEST_CASE("directory: removed with all that is in it, and nothing that links lead to") {
    const Scratch scratch;
    std::filesystem::create_directories(scratch / "kept");
    std::filesystem::create_directories(scratch / "d" / "e" / "f");
    for (const char* name : {"kept/a", "d/a", "d/e/.b", "d/e/f/c"}) spill(scratch / name, name);
    std::filesystem::create_directory_symlink("../kept", scratch / "d" / "link");
    std::filesystem::create_directory_symlink("kept", scratch / "link");
    remove_tree(scratch / "d");
    remove_tree(scratch / "link");
    remove_tree(scratch / "nowhere");
    CHECK(scratch.names() == Names{"kept"});
    CHECK_EQ(slurp(scratch / "kept" / "a"), "kept/a");
}

TEST_CASE("result file: an earlier result is replaced, and nothing else") {
    const Scratch scratch;
    const auto page = scratch / "page.html";
    const std::string first = "<!doctype html>\n<p>1</p>", second = "<!doctype html>\n<p>2</p>";
    write_result(page, first);
    write_result(page, second);
    CHECK_EQ(slurp(page), second);
    spill(scratch / "empty", "");
    write_result(scratch / "empty", first);
    CHECK_EQ(slurp(scratch / "empty"), first);
    for (const std::string& other :
         {std::string("a text"), std::string("<svg xmlns="), std::string(9, '\0')}) {
        spill(scratch / "other", other);
        check_message<IoError>([&] { write_result(scratch / "other", first); },
                               (scratch / "other").string() +
                                   "': already exists and is another kind of file; choose another "
                                   "name");
        CHECK_EQ(slurp(scratch / "other"), other);
    }
    check_message<IoError>([&] { write_result(scratch.path(), first); }, "directory");
}
