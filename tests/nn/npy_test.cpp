// .npy and .npz: NumPy reads what is written and writes what is read, in every type and order;
// damaged files are refused in one line; windows of a series.
#include <doctest/doctest.h>
#include <tapestry/core/create.h>
#include <tapestry/core/file.h>
#include <tapestry/core/random.h>
#include <tapestry/nn/data/npy.h>
#include <tapestry/nn/data/splits.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/subscript.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/skip.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

using namespace tapestry;

namespace {

namespace fs = std::filesystem;

bool same(const Tensor& a, const Tensor& b) {
    return a.dtype() == b.dtype() && a.shape() == b.shape() &&
           a.to_vector<double>() == b.to_vector<double>();
}

// A file of version 1.0 with this dict and these bytes.
std::string npy_of(const std::string& dict, const std::string& data) {
    std::string text = "\x93NUMPY";
    text +=
        {'\1', '\0', static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};
    return text + dict + data;
}

Tensor read_bytes(const fs::path& directory, const std::string& bytes) {
    write_file_atomically(directory / "x.npy", bytes);
    return read_npy(directory / "x.npy");
}

std::string dict_of(const std::string& descr, const std::string& shape,
                    const std::string& order = "False") {
    return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

}  // namespace

TEST_CASE("npy: what is written is read, in every type") {
    const test::Scratch directory;
    Generator generator(5);
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3}, Shape{0, 4}, Shape{2, 1, 3, 2}}) {
        for (const DType dtype : {DType::f32, DType::f64, DType::i64, DType::boolean, DType::f16}) {
            const Tensor x = to(randn(shape, generator), dtype);
            CAPTURE(shape);
            CAPTURE(dtype);
            write_npy(directory.path() / "x.npy", x);
            CHECK(same(read_npy(directory.path() / "x.npy"), x));
        }
    }
    const Tensor x = randn({3, 4}, generator);
    write_npy(directory.path() / "x.npy", transpose(x, 0, 1));  // strided
    CHECK(same(read_npy(directory.path() / "x.npy"), transpose(x, 0, 1)));
    // The bytes that NumPy 1.24 writes for np.arange(3).
    write_npy(directory.path() / "x.npy", arange(3));
    std::string header = npy_of(dict_of("<i8", "(3,)"), "").substr(10);
    header.pop_back();
    header.resize(64 - 10 + 63, ' ');
    const std::string bytes = read_file(directory.path() / "x.npy");
    CHECK_EQ(bytes.size() % 64, 3 * 8);
    CHECK_EQ(bytes.substr(10, 57), "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }");
    test::check_message<DTypeError>(
        [&] { write_npy(directory.path() / "x.npy", to(x, DType::bf16)); },
        "npy: NumPy has no bf16; convert with to()");
}

TEST_CASE("npy: other types, byte orders and Fortran's order") {
    const test::Scratch directory;
    const auto read = [&](const std::string& dict, const std::string& data) {
        return read_bytes(directory.path(), npy_of(dict, data)).to_vector<double>();
    };
    using Numbers = std::vector<double>;
    CHECK_EQ(read(dict_of("|i1", "(2,)"), std::string("\xff\x02", 2)), Numbers{-1, 2});
    CHECK_EQ(read(dict_of("|u1", "(2,)"), std::string("\xff\x02", 2)), Numbers{255, 2});
    CHECK_EQ(read(dict_of("<i2", "(1,)"), std::string("\xfe\xff", 2)), Numbers{-2});
    CHECK_EQ(read(dict_of(">i2", "(1,)"), std::string("\xff\xfe", 2)), Numbers{-2});
    CHECK_EQ(read(dict_of(">u4", "(1,)"), std::string("\0\0\1\2", 4)), Numbers{258});
    CHECK_EQ(read(dict_of(">f4", "(1,)"), std::string("\x3f\xc0\0\0", 4)), Numbers{1.5});
    CHECK_EQ(read(dict_of(">f8", "()"), std::string("\x3f\xf8\0\0\0\0\0\0", 8)), Numbers{1.5});
    CHECK_EQ(read(dict_of("<f2", "(1,)"), std::string("\0\x3e", 2)), Numbers{1.5});
    CHECK_EQ(read(dict_of("|b1", "(2,)"), std::string("\0\1", 2)), Numbers{0, 1});
    CHECK_EQ(read(dict_of("|u1", "(2, 3)", "True"), std::string("\0\3\1\4\2\5", 6)),
             Numbers{0, 1, 2, 3, 4, 5});
    CHECK_EQ(read("{\"shape\": (2L,), \"descr\":\"|u1\",\"fortran_order\":False}",
                  std::string("\1\2", 2)),
             Numbers{1, 2});
}

TEST_CASE("npy: a damaged file is refused in one line") {
    const test::Scratch directory;
    const std::string name = "'" + (directory.path() / "x.npy").native() + "': ";
    const auto refuses = [&](const std::string& bytes, const std::string& message) {
        test::check_message<IoError>([&] { read_bytes(directory.path(), bytes); }, name + message);
    };
    refuses("", "0 bytes; a .npy file has at least 10");
    refuses("price,size\n100,3\n", "not a .npy file");
    const std::string good = npy_of(dict_of("|u1", "(2,)"), "ab");
    for (std::size_t n = 0; n < good.size(); ++n) {  // ends early
        CAPTURE(n);
        CHECK_THROWS_AS(read_bytes(directory.path(), good.substr(0, n)), IoError);
    }
    refuses(good + "c", "[2] of 1 bytes each need 2 bytes, found 3");
    std::string version = good;
    version[6] = 9;
    refuses(version, "version 9.0 of the .npy format is unknown");
    const auto refuses_dict = [&](const std::string& dict, const std::string& message) {
        refuses(npy_of(dict, "ab"), message);
    };
    refuses_dict(dict_of("<c16", "(2,)"), "elements of type '<c16' are not supported");
    refuses_dict(dict_of("|O", "(2,)"), "elements of type '|O' are not supported");
    refuses_dict(dict_of("<U3", "(2,)"), "elements of type '<U3' are not supported");
    refuses_dict(dict_of("<M8[ns]", "(2,)"), "elements of type '<M8[ns]' are not supported");
    refuses_dict("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}",
                 "its elements are records; save each field by itself");
    refuses_dict(dict_of("|u1", "(-2,)"), "the header is not NumPy's: shape is not a tuple");
    refuses_dict(dict_of("|u1", "(4611686018427387904, 4)"), "the shape");
    refuses_dict(dict_of("|u1", "(4611686018427387904, 4, 0)"), "the shape");
    refuses_dict(dict_of("|u1", "(1,1,1,1,1,1,1,1,2)"), "9 axes; at most 8 are supported");
    refuses_dict(dict_of("|u1", "(2,)", "None"), "the header is not NumPy's: fortran_order");
    refuses_dict("{'descr': '|u1'}", "the header is not NumPy's: descr, fortran_order or shape is");
    refuses_dict("[1, 2]", "the header is not NumPy's: expected { at byte 0");
    refuses(npy_of(dict_of("|b1", "(2,)"), "ab"), "a bool is byte 97, neither 0 nor 1");
    refuses(npy_of(dict_of("<u8", "(1,)"), std::string(8, '\xff')),
            "18446744073709551615 is too large for i64");
    CHECK_THROWS_AS(read_npy(directory.path()), IoError);
    CHECK_THROWS_AS(read_npy(directory.path() / "none.npy"), IoError);
}

TEST_CASE("npz: several arrays by name") {
    const test::Scratch directory;
    const fs::path path = directory.path() / "x.npz";
    const NamedTensors wanted{{"x", ones({2, 3})},
                              {"größe", arange(4)},
                              {"empty", zeros({0})},
                              {"scalar", scalar(2.5, DType::f64)}};
    const FileDigest first = write_npz(path, wanted);
    CHECK(write_npz(path, wanted) == first);
    const NamedTensors found = read_npz(path);
    REQUIRE_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        CHECK_EQ(found[i].first, wanted[i].first);
        CHECK(same(found[i].second, wanted[i].second));
    }
    write_npz(path, {});
    CHECK(read_npz(path).empty());
    test::check_message<ValueError>(
        [&] {
            write_npz(path, {{"a", ones({1})}, {"a", ones({1})}});
        },
        "write_npz: the name 'a' is given twice");
    test::check_message<ValueError>(
        [&] {
            write_npz(path, {{"", ones({1})}});
        },
        "write_npz: '' cannot be a name");

    // Every single changed bit is noticed, or changes nothing that is read.
    const NamedTensors small{{"a", arange(3)}};
    write_npz(path, small);
    const std::string good = read_file(path);
    const std::size_t every = test::is_long() ? 1 : 7;
    int refused = 0;
    for (std::size_t bit = 0; bit < 8 * good.size(); bit += every) {
        std::string bad = good;
        bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
        write_file_atomically(path, bad, {.sync = false});
        try {
            const NamedTensors read = read_npz(path);
            CAPTURE(bit);
            REQUIRE_LE(read.size(), 1);
            if (!read.empty()) CHECK(same(read[0].second, arange(3)));
        } catch (const IoError&) {
            ++refused;
        }
    }
    CHECK_GT(refused, static_cast<int>(8 * good.size() / every) * 5 / 8);
    for (std::size_t n = 0; n < good.size(); ++n) {
        write_file_atomically(path, good.substr(0, n), {.sync = false});
        CHECK_THROWS_AS(read_npz(path), IoError);
    }
    std::string packed = good;  // as np.savez_compressed says
    packed[good.find("PK\x01\x02") + 10] = 8;
    write_file_atomically(path, packed);
    test::check_message<IoError>([&] { read_npz(path); },
                                 "'a.npy' is compressed; np.savez writes a file that is not");
    write_file_atomically(path, "no archive");
    test::check_message<IoError>([&] { read_npz(path); }, "not a .npz file");
}

TEST_CASE("npz: entries that share their bytes are refused before they fill the memory") {
    const test::Scratch directory;
    const fs::path path = directory.path() / "x.npz";
    write_npz(path, {{"a", arange(100)}});
    std::string twice = read_file(path);
    const std::size_t entry = twice.find("PK\x01\x02"), end = twice.size() - 22;
    std::string other = twice.substr(entry, end - entry);
    other[46] = 'b';                       // its name: b.npy
    twice[end + 8] = twice[end + 10] = 2;  // entries
    twice[end + 12] = static_cast<char>(2 * other.size());
    twice.insert(end, other);
    write_file_atomically(path, twice);
    test::check_message<IoError>([&] { read_npz(path); }, "x.npz': damaged: its entries overlap");
}

TEST_CASE("npy: windows of a series") {
    const test::Scratch directory;
    const fs::path path = directory.path() / "series.npy";
    const Tensor series = reshape(arange(20, DType::f32), {10, 2});
    write_npy(path, series);
    const SeriesWindows windows(path, {.length = 3, .stride = 2});
    CHECK_EQ(windows.size(), 4);
    CHECK_EQ(windows.step_shape(), Shape{2});
    const Tensor found = windows.batch(tensor<std::int64_t>({3, 0}));
    CHECK_EQ(found.shape(), Shape{2, 3, 2});
    CHECK(same(found[0], slice(series, 0, 6, 9)));
    CHECK(same(found[1], slice(series, 0, 0, 3)));
    const SeriesWindows later(path, {.length = 2, .first = 6, .last = 9});
    CHECK_EQ(later.size(), 2);
    CHECK(same(later.batch(tensor<std::int64_t>({1}))[0], slice(series, 0, 7, 9)));
    CHECK_EQ(windows.batch(zeros({0}, DType::i64)).shape(), Shape{0, 3, 2});
    test::check_message<IndexError>([&] { windows.batch(tensor<std::int64_t>({4})); },
                                    "SeriesWindows: window 4 is not from 0 to 3");
    test::check_message<ValueError>([&] { SeriesWindows(path, {.length = 11}); },
                                    "SeriesWindows: 10 steps have no window of 11");
    test::check_message<ValueError>(
        [&] { SeriesWindows(path, {.length = 0}); },
        "SeriesWindows: length and stride must be positive, got 0 and 1");
    test::check_message<ValueError>([&] { SeriesWindows(path, {.length = 1, .last = 11}); },
                                    "SeriesWindows: steps 0 to 11 of 10");
    write_npy(path, arange(5));  // a vector
    CHECK(same(SeriesWindows(path, {.length = 2}).batch(tensor<std::int64_t>({3})),
               tensor<std::int64_t>({{3, 4}})));
    write_file_atomically(path, npy_of(dict_of("|u1", "(2, 2)", "True"), "abcd"));
    test::check_message<IoError>([&] { SeriesWindows(path, {.length = 1}); }, "Fortran's order");
}

TEST_CASE("splits: groups stay together, and the future is held out") {
    const Tensor groups = tensor<std::int64_t>({7, 3, 7, 5, 3, 9, 5, 7});
    Generator generator(1);
    for (int i = 0; i < 20; ++i) {
        const HeldOut split = split_by_group(groups, 0.3, generator);
        CHECK_EQ(split.train.numel() + split.held_out.numel(), 8);
        CHECK_GE(split.held_out.numel(), 3);
        for (const std::int64_t a : split.train.to_vector<std::int64_t>()) {
            for (const std::int64_t b : split.held_out.to_vector<std::int64_t>()) {
                CHECK_NE(groups.at({a}), groups.at({b}));
            }
        }
    }
    CHECK_GE(split_by_group(groups, 0.99, generator).train.numel(), 1);
    const Tensor times = tensor<double>({5, 1, 4, 2, 3, 4, 4, 0.5, 6, 0});
    const HeldOut split = split_by_time(times, 0.2);
    CHECK_EQ(split.held_out.to_vector<std::int64_t>(), std::vector<std::int64_t>{0, 8});
    CHECK_EQ(split_by_time(times, 0.3).held_out.numel(), 5);  // all three 4s
    const std::int64_t big = std::int64_t{1} << 60;           // no two of these are one double
    const HeldOut exact = split_by_time(tensor<std::int64_t>({big, big + 1}), 0.5);
    CHECK_EQ(exact.held_out.to_vector<std::int64_t>(), std::vector<std::int64_t>{1});
    test::check_message<ValueError>([&] { split_by_time(ones({3}), 0.5); },
                                    "split_by_time: all 3 times are equal");
    test::check_message<ValueError>([&] { split_by_time(times, 1); },
                                    "split_by_time: the fraction must be between 0 and 1, got 1");
    test::check_message<ValueError>([&] { split_by_group(ones({3}, DType::i64), 0.5); },
                                    "split_by_group: needs two groups, got 1");
    test::check_message<ValueError>(
        [&] {
            split_by_time(tensor<double>({1, std::numeric_limits<double>::quiet_NaN()}), 0.5);
        },
        "split_by_time: a time is NaN");
    test::check_message<ShapeError>(
        [&] {
            split_by_time(ones({2, 2}), 0.5);
        },
        "split_by_time: times must be [N], got [2, 2]");
}
