// safetensors: known bytes in and out, and files that break one rule each. A reader of untrusted
// files must throw an IoError that names the problem, for any bytes.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/skip.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <limits>

using namespace tapestry;
using test::check_message;
using test::Scratch;
using test::slurp;
using test::spill;

namespace {

std::string length_prefix(std::uint64_t length) {
    std::string bytes;
    for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(length >> (8 * i)));
    return bytes;
}

// A file with this header and data.
std::string file_of(std::string_view header, std::string_view data = "") {
    return length_prefix(header.size()) + std::string(header) + std::string(data);
}

std::string zeros_of(std::size_t bytes) { return std::string(bytes, '\0'); }

// A tensor's entry, with the rest of the header around it.
std::string entry(std::string_view name, std::string_view dtype, std::string_view shape,
                  std::string_view offsets) {
    return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":{}}})", name, dtype, shape,
                       offsets);
}

std::string file_with(std::string_view dtype, std::string_view shape, std::string_view offsets,
                      std::size_t data) {
    return file_of(fmt::format("{{{}}}", entry("w", dtype, shape, offsets)), zeros_of(data));
}

const Tensor& find(const SafetensorsFile& file, std::string_view name) {
    for (const auto& [key, tensor] : file.tensors) {
        if (key == name) return tensor;
    }
    throw ValueError("no tensor " + std::string(name));
}

// Compares bits, so NaN equals NaN and -0 differs from 0.
bool same_bits(const Tensor& a, const Tensor& b) {
    if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
    return visit_dtype(a.dtype(), [&](auto zero) {
        const auto x = a.clone();
        const auto y = b.clone();
        return std::memcmp(x.data<decltype(zero)>(), y.data<decltype(zero)>(), x.bytes()) == 0;
    });
}

// Written by Python's json and struct: spaces after colons, no padding, unaligned data, and a
// header in another order than the data.
const std::string kFromPython =
    length_prefix(388) +
    R"({"__metadata__": {"format": "pt", "note": "h\u00e9"}, )"
    R"("second": {"dtype": "F64", "shape": [], "data_offsets": [8, 16]}, )"
    R"("first": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, )"
    R"("mask": {"dtype": "BOOL", "shape": [3], "data_offsets": [16, 19]}, )"
    R"("ids": {"dtype": "I64", "shape": [1, 2], "data_offsets": [19, 35]}, )"
    R"("none": {"dtype": "F32", "shape": [0, 4], "data_offsets": [19, 19]}})" +
    std::string(
        "\x00\x00\xc0?\x00\x00\x00\xc0\x9a\x99\x99\x99\x99\x99\xb9?\x01\x00\x01\xff\xff\xff\xff"
        "\xff\xff\xff\xff\x00\x00\x00\x00\x00\x01\x00\x00",
        35);

// Python's encoding of {"w", "b.0", "m", "i", "e"} of our_tensors(), with our padding.
const std::string kOurs =
    length_prefix(320) +
    R"({"__metadata__":{"a":"1","b":"\"q\""},)"
    R"("w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
    R"("b.0":{"dtype":"F64","shape":[],"data_offsets":[16,24]},)"
    R"("m":{"dtype":"BOOL","shape":[3],"data_offsets":[24,27]},)"
    R"("i":{"dtype":"I64","shape":[1],"data_offsets":[27,35]},)"
    R"("e":{"dtype":"F32","shape":[0,3],"data_offsets":[35,35]}}  )" +
    std::string(
        "\x00\x00\x80?\x00\x00\x00@\x00\x00@@\x00\x00\x80@\x9a\x99\x99\x99\x99\x99\xb9?\x01\x00"
        "\x01\xfe\xff\xff\xff\xff\xff\xff\xff",
        35);

NamedTensors our_tensors() {
    return {{"w", tensor<float>({{1, 2}, {3, 4}})},
            {"b.0", scalar(0.1, DType::f64)},
            {"m", tensor<bool>({true, false, true})},
            {"i", tensor<std::int64_t>({-2})},
            {"e", empty({0, 3})}};
}

const std::map<std::string, std::string> kOurMetadata{{"b", "\"q\""}, {"a", "1"}};

struct Bad {
    std::string bytes;
    std::string message;
};

void check_all(const std::vector<Bad>& cases) {
    const Scratch scratch;
    const auto path = scratch / "bad.safetensors";
    for (std::size_t i = 0; i < cases.size(); ++i) {
        INFO("case " << i);
        spill(path, cases[i].bytes);
        check_message<IoError>([&] { read_safetensors(path); }, cases[i].message);
        check_message<IoError>([&] { read_safetensors(path); }, "bad.safetensors'");
    }
}

}  // namespace

TEST_CASE("safetensors: a file of Python's") {
    const Scratch scratch;
    spill(scratch / "p", kFromPython);
    const SafetensorsFile file = read_safetensors(scratch / "p");
    CHECK_EQ(file.metadata,
             std::map<std::string, std::string>{{"format", "pt"}, {"note", "h\xC3\xA9"}});
    std::vector<std::string> names;
    for (const auto& [name, tensor] : file.tensors) names.push_back(name);
    CHECK_EQ(names, std::vector<std::string>{"first", "second", "mask", "none", "ids"});
    CHECK_EQ(find(file, "first").to_vector<float>(), std::vector<float>{1.5f, -2.0f});
    CHECK_EQ(find(file, "second").item(), 0.1);
    CHECK_EQ(find(file, "second").rank(), 0);
    CHECK(find(file, "mask").to_vector<bool>() == std::vector<bool>{true, false, true});
    CHECK_EQ(find(file, "ids").shape(), Shape{1, 2});
    CHECK_EQ(find(file, "ids").to_vector<std::int64_t>(),
             std::vector<std::int64_t>{-1, std::int64_t{1} << 40});
    CHECK_EQ(find(file, "none").shape(), Shape{0, 4});
}

TEST_CASE("safetensors: the bytes we write") {
    const Scratch scratch;
    write_safetensors(scratch / "a", our_tensors(), kOurMetadata);
    CHECK_EQ(slurp(scratch / "a"), kOurs);
    write_safetensors(scratch / "a", our_tensors(), kOurMetadata);  // overwrites itself
    CHECK_EQ(slurp(scratch / "a"), kOurs);
    const SafetensorsFile file = read_safetensors(scratch / "a");
    write_safetensors(scratch / "b", file.tensors, file.metadata);
    CHECK_EQ(slurp(scratch / "b"), kOurs);
    CHECK_EQ(scratch.names().size(), 2);
}

TEST_CASE("safetensors: round trips of every dtype, NaN and infinity included") {
    const Scratch scratch;
    const double inf = std::numeric_limits<double>::infinity();
    const float inf_f = std::numeric_limits<float>::infinity();
    const NamedTensors tensors{
        {"f32", tensor<float>({0.0f, -0.0f, 1e-45f, 3.4e38f, inf_f, -inf_f, std::nanf("7")})},
        {"f64", tensor<double>({0.0, -0.0, 5e-324, 1.7e308, inf, -inf, std::nan("7")})},
        {"i64", tensor<std::int64_t>({0, -1, INT64_MAX, INT64_MIN})},
        {"bool", tensor<bool>({true, false})},
        {"scalar f32", scalar(3)},
        {"scalar i64", scalar(-5, DType::i64)},
        {"scalar bool", scalar(1, DType::boolean)},
        {"empty", empty({0})},
        {"empty deep", empty({3, 0, 2}, DType::i64)},
        {"ones", ones({1, 1, 1, 1, 1, 1, 1, 1}, DType::f64)},
        {"", ones({2})},
        {"\xE4\xB8\xAD \" \\ \n \x01", ones({3})}};
    write_safetensors(scratch / "a", tensors);
    const SafetensorsFile file = read_safetensors(scratch / "a");
    CHECK(file.metadata.empty());
    REQUIRE_EQ(file.tensors.size(), tensors.size());
    for (const auto& wanted : tensors) {
        INFO(wanted.first);
        CHECK(same_bits(find(file, wanted.first), wanted.second));
        CHECK(find(file, wanted.first).is_contiguous());
    }
}

TEST_CASE("safetensors: strided tensors are written densely") {
    const Scratch scratch;
    const Tensor x = views::reshape(arange(24, DType::f32), {2, 3, 4});
    const Tensor row = tensor<std::int64_t>({7, 8});
    const NamedTensors tensors{{"transposed", views::transpose(x, 0, 2)},
                               {"sliced", views::slice(x, 2, 1, 4, 2)},
                               {"offset", views::slice(x, 0, 1, 2)},
                               {"nothing", views::slice(x, 1, 3, 3)},
                               {"expanded", views::expand(row, {3, 2})}};
    write_safetensors(scratch / "a", tensors);
    const SafetensorsFile file = read_safetensors(scratch / "a");
    for (const auto& wanted : tensors) {
        INFO(wanted.first);
        CHECK(same_bits(find(file, wanted.first), wanted.second));
    }
    CHECK_EQ(find(file, "sliced").to_vector<int>(),
             std::vector<int>{1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23});
}

TEST_CASE("safetensors: nothing to write is a file, too") {
    const Scratch scratch;
    write_safetensors(scratch / "a", {});
    CHECK_EQ(slurp(scratch / "a"), file_of("{}      "));
    CHECK(read_safetensors(scratch / "a").tensors.empty());
    write_safetensors(scratch / "a", {}, {{"", ""}});
    CHECK_EQ(read_safetensors(scratch / "a").metadata.size(), 1);
    spill(scratch / "a", file_of("{}"));
    CHECK(read_safetensors(scratch / "a").tensors.empty());
}

TEST_CASE("safetensors: every half precision number becomes the f32 it is") {
    const Scratch scratch;
    std::string data;
    for (int bits = 0; bits < 65536; ++bits) {
        data.push_back(static_cast<char>(bits & 255));
        data.push_back(static_cast<char>(bits >> 8));
    }
    spill(scratch / "a", file_of(std::string("{") + entry("h", "F16", "[65536]", "[0,131072]") +
                                     "," + entry("b", "BF16", "[65536]", "[131072,262144]") + "}",
                                 data + data));
    const SafetensorsFile file = read_safetensors(scratch / "a");
    const auto halves = find(file, "h").to_vector<float>();
    const auto uppers = find(file, "b").to_vector<float>();
    int wrong = 0;
    for (int bits = 0; bits < 65536; ++bits) {
        const auto i = static_cast<std::size_t>(bits);
        const int exponent = bits >> 10 & 31;
        const int fraction = bits & 1023;
        // The definition, by arithmetic: (-1)^s 2^(e - 15) (1 + f / 1024).
        double value =
            exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
        if (exponent == 31) value = fraction == 0 ? HUGE_VAL : std::nan("");
        if (bits >> 15 != 0) value = -value;
        const bool both_nan = std::isnan(value) && std::isnan(halves[i]);
        const bool same =
            both_nan || (halves[i] == value && std::signbit(halves[i]) == std::signbit(value));
        std::uint32_t upper = 0;
        std::memcpy(&upper, &uppers[i], 4);
        if (!same || upper != static_cast<std::uint32_t>(bits) << 16) ++wrong;
    }
    CHECK_EQ(wrong, 0);
}

TEST_CASE("safetensors: what is unusual and allowed") {
    const Scratch scratch;
    const auto path = scratch / "a";
    const std::vector<std::string> files{
        file_of(" \n\t{" + entry("w", "F32", "[1]", "[0,4]") + "}  \r\n", zeros_of(4)),
        file_of("{\"__metadata__\":null," + entry("w", "F32", "[1]", "[0,4]") + "}", zeros_of(4)),
        file_of("{\"__metadata__\":{}," + entry("w", "F32", "[]", "[0,4]") + "}", zeros_of(4)),
        file_of(
            std::string("{") + entry("w", "F32", "[]", "[0,4]") + ",\"__metadata__\":{\"a\":\"\"}}",
            zeros_of(4)),
        file_of(R"({"w":{"data_offsets":[0,4],"shape":[1,1],"dtype":"F32"}})", zeros_of(4)),
        file_of(R"({"\u0077":{"dtype":"F\u0033\u0032","shape":[1],"data_offsets":[0,4]}})",
                zeros_of(4)),
        // Empty tensors share the offsets of their neighbours.
        file_of(std::string("{") + entry("z", "F32", "[0]", "[4,4]") + "," +
                    entry("y", "I64", "[0]", "[0,0]") + "," + entry("w", "F32", "[1]", "[0,4]") +
                    "}",
                zeros_of(4)),
    };
    for (const std::string& bytes : files) {
        INFO(bytes.substr(8));
        spill(path, bytes);
        CHECK_EQ(find(read_safetensors(path), "w").numel(), 1);
    }
}

TEST_CASE("safetensors: bad lengths") {
    const std::string good = file_with("F32", "[1]", "[0,4]", 4);
    check_all({
        {"", "0 bytes; a safetensors file has at least 8"},
        {"{}", "2 bytes; a safetensors file has at least 8"},
        {zeros_of(7), "7 bytes; a safetensors file has at least 8"},
        {zeros_of(8), "the header is not JSON, byte 1"},
        {zeros_of(100), "the header is not JSON, byte 1"},
        {length_prefix(1) + "", "truncated: a header of 1 bytes in a file of 8"},
        {length_prefix(3) + "{}", "truncated: a header of 3 bytes in a file of 10"},
        {length_prefix(100'000'000) + "{}", "truncated: a header of 100000000 bytes in a file of"},
        {length_prefix(100'000'001) + "{}", "a header of 100000001 bytes; at most 100000000"},
        {length_prefix(~std::uint64_t{0}) + "{}", "a header of 18446744073709551615 bytes; at"},
        {length_prefix(~std::uint64_t{0} - 7) + "{}", "a header of 18446744073709551608 bytes;"},
        {length_prefix(std::uint64_t{1} << 63) + "{}", "a header of 9223372036854775808 bytes;"},
        {"{\"w\":{}}        ", "bytes; at most 100000000 are allowed"},  // JSON without its length
        {good.substr(0, good.size() - 1),
         "truncated: the tensors take 4 bytes, the file has 3 for them"},
        {good + "x", "1 trailing bytes: the tensors take 4, the file has 5 for them"},
        {file_of("{}", "x"), "1 trailing bytes: the tensors take 0, the file has 1"},
        {file_of("{}", zeros_of(5000)), "5000 trailing bytes"},
    });
}

TEST_CASE("safetensors: headers that are not JSON of the right form") {
    const std::string w = entry("w", "F32", "[1]", "[0,4]");
    const auto with_w = [&](const std::string& header) { return file_of(header, zeros_of(4)); };
    check_all({
        {file_of(""), "the header is not JSON, byte 1"},
        {file_of("        "), "the header is not JSON"},
        {file_of("{"), "the header is not JSON, byte 2"},
        {file_of("{}}"), "the header is not JSON, byte 3"},
        {file_of("{} {}"), "the header is not JSON"},
        {file_of("{,}"), "the header is not JSON"},
        {file_of("{'w':1}"), "the header is not JSON"},
        {file_of("// x\n{}"), "the header is not JSON"},
        {with_w(std::string("{") + w + ",}"), "the header is not JSON"},
        {with_w(std::string("{") + w), "the header is not JSON"},
        {with_w(std::string("{") + w + "} x"), "the header is not JSON"},
        {with_w(std::string("{") + w + "}" + zeros_of(1)), "byte 54 of the header is 0"},
        {with_w(std::string("{") + w + "}" + zeros_of(1) + "{\"other\":1}"), "of the header is 0"},
        {file_of("\xEF\xBB\xBF{}"), "the header begins with a byte order mark"},
        {file_of("{\"\xFF\":1}"),
         "the header is not UTF-8, byte 2: byte 0xFF cannot begin a character"},
        {file_of("{\"\xC0\x80\":1}"), "the header is not UTF-8, byte 2: byte 0xC0 begins an over"},
        {file_of("{\"\xED\xA0\x80\":1}"), "the header is not UTF-8, byte 2"},
        {file_of("{\"\\ud800\":1}"), "the header is not JSON"},
        {file_of("{\"a\nb\":1}"), "the header is not JSON"},
        {file_of("[]"), "the header is a list, not an object"},
        {file_of("null"), "the header is null, not an object"},
        {file_of("true"), "the header is true, not an object"},
        {file_of("5"), "the header is 5, not an object"},
        {file_of("-5"), "the header is -5, not an object"},
        {file_of("\"{}\""), "the header is '{}', not an object"},
        {file_of(R"({"w":1})"), "'w' is 1, not an object"},
        {file_of(R"({"w":null})"), "'w' is null, not an object"},
        {file_of(R"({"w":[]})"), "'w' is a list, not an object"},
        {file_of(R"({"w":"F32"})"), "'w' is 'F32', not an object"},
        {file_of(R"({"w":{}})"), "tensor 'w': no dtype"},
        {file_of(R"({"w":{"dtype":"F32"}})"), "tensor 'w': no shape"},
        {file_of(R"({"w":{"dtype":"F32","shape":[]}})"), "tensor 'w': no data_offsets"},
        {file_of(R"({"w":{"dtype":"F32","data_offsets":[0,4]}})"), "tensor 'w': no shape"},
        {file_of(R"({"w":{"shape":[],"data_offsets":[0,4]}})"), "tensor 'w': no dtype"},
        {file_of(R"({"w":{"dtype":"F32","dtype":"F32"}})"), "tensor 'w': dtype appears twice"},
        {file_of(R"({"w":{"shape":[],"shape":[]}})"), "tensor 'w': shape appears twice"},
        {file_of(R"({"w":{"data_offsets":[0,0],"data_offsets":[0,4]}})"),
         "tensor 'w': data_offsets appears twice"},
        {file_of(R"({"w":{"strides":[1]}})"), "tensor 'w': unknown key 'strides'"},
        {file_of(R"({"w":{"DTYPE":"F32"}})"), "tensor 'w': unknown key 'DTYPE'"},
        {with_w(std::string("{") + w + "," + w + "}"), "the name 'w' appears twice"},
        {with_w(std::string("{") + w + R"(,"\u0077":{}})"), "the name 'w' appears twice"},
        {file_of(R"({"a\u0000b":{}})"), "a tensor's name 'a\\u{0}b' holds a NUL"},
        {file_of("{\"\xEF\xBB\xBFw\":{}}"), "a tensor's name '\\u{FEFF}w' holds a byte order mark"},
        {file_of(R"({"\ufeffw":{}})"), "holds a byte order mark"},
        {file_of(R"({"a\nb\u001b[2J":1})"), "'a\\nb\\u{1B}[2J' is 1, not an object"},
        {file_of("{\"" + std::string(5000, 'x') + "\":1}"), "xxx...' is 1, not an object"},
        {file_of(R"({"w":)" + std::string(100'000, '[')), "'w' is a list, not an object"},
        {file_of(std::string(100'000, '{')), "the header is not JSON"},
        {file_of(R"({"w":{"dtype":"F32","shape":)" + std::string(100'000, '[')),
         "tensor 'w': shape holds a list, not a whole number"},
    });
}

TEST_CASE("safetensors: bad metadata") {
    check_all({
        {file_of(R"({"__metadata__":1})"), "'__metadata__' is 1, not an object"},
        {file_of(R"({"__metadata__":[]})"), "'__metadata__' is a list, not an object"},
        {file_of(R"({"__metadata__":"x"})"), "'__metadata__' is 'x', not an object"},
        {file_of(R"({"__metadata__":{"a":1}})"), "'a' in __metadata__ is 1, not a string"},
        {file_of(R"({"__metadata__":{"a":1.5}})"), "'a' in __metadata__ is 1.5, not a string"},
        {file_of(R"({"__metadata__":{"a":null}})"), "'a' in __metadata__ is null, not a string"},
        {file_of(R"({"__metadata__":{"a":true}})"), "'a' in __metadata__ is true, not a string"},
        {file_of(R"({"__metadata__":{"a":{}}})"), "'a' in __metadata__ is an object, not a string"},
        {file_of(R"({"__metadata__":{"a":["b"]}})"), "'a' in __metadata__ is a list, not a"},
        {file_of(R"({"__metadata__":{"a":"x","a":"y"}})"), "duplicate key 'a' in __metadata__"},
        {file_of(R"({"__metadata__":{},"__metadata__":{}})"), "'__metadata__' appears twice"},
        {file_of(R"({"__metadata__":null,"__metadata__":{}})"), "'__metadata__' appears twice"},
        {file_of(fmt::format("{{{}}}", entry("__metadata__", "F32", "[1]", "[0,4]")), zeros_of(4)),
         "'shape' in __metadata__ is a list, not a string"},
    });
}

TEST_CASE("safetensors: bad dtypes, shapes and offsets") {
    const auto one = [](std::string_view dtype, std::string_view shape, std::string_view offsets) {
        return file_with(dtype, shape, offsets, 8);
    };
    const std::string mask = std::string("{") + entry("w", "BOOL", "[8]", "[0,8]") + "}";
    check_all({
        {one("F31", "[2]", "[0,8]"), "tensor 'w': unknown dtype 'F31'"},
        {one("f32", "[2]", "[0,8]"), "tensor 'w': unknown dtype 'f32'"},
        {one("", "[2]", "[0,8]"), "tensor 'w': unknown dtype ''"},
        {one("F32\\u0000", "[2]", "[0,8]"), "tensor 'w': unknown dtype 'F32\\u{0}'"},
        {one("I32", "[2]", "[0,8]"),
         "tensor 'w': dtype I32 is not supported (F32, F64, I64, BOOL, BF16, F16)"},
        {one("U8", "[8]", "[0,8]"), "dtype U8 is not supported"},
        {one("F8_E4M3", "[8]", "[0,8]"), "dtype F8_E4M3 is not supported"},
        {one("C64", "[1]", "[0,8]"), "dtype C64 is not supported"},
        {one("F4", "[16]", "[0,8]"), "dtype F4 is not supported"},
        {one("F4", "[15]", "[0,8]"), "tensor 'w': shape [15] of F4 ends inside a byte"},
        {one("F6_E2M3", "[3]", "[0,8]"), "shape [3] of F6_E2M3 ends inside a byte"},
        {file_of(R"({"w":{"dtype":1}})"), "tensor 'w': dtype is 1, not a string"},
        {file_of(R"({"w":{"dtype":["F32"]}})"), "tensor 'w': dtype is a list, not a string"},
        {file_of(R"({"w":{"dtype":null}})"), "tensor 'w': dtype is null, not a string"},
        {one("F32", "2", "[0,8]"), "tensor 'w': shape is 2, not a list of whole numbers"},
        {one("F32", "\"2\"", "[0,8]"), "tensor 'w': shape is '2', not a list of whole numbers"},
        {one("F32", "{}", "[0,8]"), "tensor 'w': shape is an object, not a list"},
        {one("F32", "null", "[0,8]"), "tensor 'w': shape is null, not a list"},
        {one("F32", "[-2]", "[0,8]"), "tensor 'w': shape holds -2, not a whole number"},
        {one("F32", "[-0]", "[0,8]"), "tensor 'w': shape holds -0, not a whole number"},
        {one("F32", "[2.0]", "[0,8]"), "tensor 'w': shape holds 2.0, not a whole number"},
        {one("F32", "[2e0]", "[0,8]"), "tensor 'w': shape holds 2e0, not a whole number"},
        {one("F32", "[true]", "[0,8]"), "tensor 'w': shape holds true, not a whole number"},
        {one("F32", "[null]", "[0,8]"), "tensor 'w': shape holds null, not a whole number"},
        {one("F32", "[\"2\"]", "[0,8]"), "tensor 'w': shape holds '2', not a whole number"},
        {one("F32", "[[2]]", "[0,8]"), "tensor 'w': shape holds a list, not a whole number"},
        {one("F32", "[02]", "[0,8]"), "the header is not JSON"},
        {one("F32", "[0x2]", "[0,8]"), "the header is not JSON"},
        {one("F32", "[18446744073709551616]", "[0,8]"), "shape holds 18446744073709551616, not a"},
        {one("F32", "[1" + std::string(300, '0') + "]", "[0,8]"), "shape holds 1000"},
        {one("F32", "[1e999]", "[0,8]"), "the header is not JSON"},
        {one("F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]"), "tensor 'w': more than 8 axes"},
        // Products that wrap around to valid sizes: 2^62 * 4 = 0, (2^32 + 1)(2^32 - 1) ...
        {one("F32", "[4611686018427387904]", "[0,0]"),
         "tensor 'w': shape [4611686018427387904] of F32 has more bits than can be counted"},
        {one("F32", "[4611686018427387906]", "[0,8]"), "more bits than can be counted"},
        {one("F32", "[4294967296,4294967296]", "[0,0]"), "more bits than can be counted"},
        {one("BOOL", "[4294967297,4294967295,8]", "[0,8]"), "more bits than can be counted"},
        {one("F32", "[18446744073709551615]", "[0,8]"), "more bits than can be counted"},
        {one("F64", "[1152921504606846977]", "[0,8]"), "more bits than can be counted"},
        {one("BOOL", "[1152921504606846976]", "[0,8]"), "more bits than can be counted"},
        {one("F32", "[0,4294967296,4294967296]", "[0,0]"), "more bits than can be counted"},
        {one("F32", "[4294967296,4294967296,0]", "[0,0]"), "more bits than can be counted"},
        {one("F32", "[1099511627776]", "[0,8]"), "but shape [1099511627776] of F32 has 4398046511"},
        {one("F32", "[2]", "8"), "tensor 'w': data_offsets is 8, not a list of whole numbers"},
        {one("F32", "[2]", "{}"), "tensor 'w': data_offsets is an object, not a list"},
        {one("F32", "[2]", "[]"), "tensor 'w': data_offsets holds 0 numbers, not two"},
        {one("F32", "[2]", "[8]"), "tensor 'w': data_offsets holds 1 numbers, not two"},
        {one("F32", "[2]", "[0,8,8]"), "tensor 'w': data_offsets holds more than two numbers"},
        {one("F32", "[2]", "[0,-8]"), "tensor 'w': data_offsets holds -8, not a whole number"},
        {one("F32", "[2]", "[0,8.0]"), "tensor 'w': data_offsets holds 8.0, not a whole number"},
        {one("F32", "[2]", "[8,0]"), "tensor 'w': data_offsets [8, 0] end before they begin"},
        {one("F32", "[2]", "[18446744073709551608,0]"), "end before they begin"},
        {one("F32", "[2]", "[0,4]"),
         "tensor 'w': data_offsets [0, 4] are 4 bytes, but shape [2] of F32 has 8"},
        {one("F32", "[1]", "[0,8]"), "are 8 bytes, but shape [1] of F32 has 4"},
        {one("F32", "[]", "[0,8]"), "are 8 bytes, but shape [] of F32 has 4"},
        {one("F32", "[0]", "[0,8]"), "are 8 bytes, but shape [0] of F32 has 0"},
        {one("F64", "[2]", "[0,8]"), "are 8 bytes, but shape [2] of F64 has 16"},
        {one("F32", "[2]", "[18446744073709551607,18446744073709551615]"),
         "tensor 'w' begins at byte 18446744073709551607 of the data, but the one before ends at "
         "0 (a hole)"},
        {one("F32", "[1]", "[0,4]"), "4 trailing bytes"},
        {one("F32", "[4]", "[0,16]"), "truncated: the tensors take 16 bytes, the file has 8"},
        {one("F32", "[1]", "[4,8]"), "tensor 'w' begins at byte 4 of the data, but"},
        {file_of(mask, std::string("\1\0\1\0\0\2\0\0", 8)),
         "tensor 'w': element 5 of BOOL is byte 2, neither 0 nor 1"},
        {file_of(mask, std::string("\xFF\0\1\0\0\2\0\0", 8)),
         "tensor 'w': element 0 of BOOL is byte 255, neither 0 nor 1"},
    });
}

TEST_CASE("safetensors: tensors that overlap or leave holes") {
    const auto two = [](std::string_view a, std::string_view b, std::size_t data) {
        return file_of(
            fmt::format("{{{},{}}}", entry("a", "F32", "[2]", a), entry("b", "F32", "[2]", b)),
            zeros_of(data));
    };
    check_all({
        {two("[0,8]", "[0,8]", 8),
         "'b' begins at byte 0 of the data, but the one before ends at 8 "
         "(they overlap)"},
        {two("[0,8]", "[4,12]", 12),
         "'b' begins at byte 4 of the data, but the one before ends at "
         "8 (they overlap)"},
        {two("[4,12]", "[0,8]", 12),
         "'a' begins at byte 4 of the data, but the one before ends at "
         "8 (they overlap)"},
        {two("[0,8]", "[12,20]", 20),
         "'b' begins at byte 12 of the data, but the one before ends "
         "at 8 (a hole)"},
        {two("[8,16]", "[16,24]", 24),
         "'a' begins at byte 8 of the data, but the one before ends "
         "at 0 (a hole)"},
        {two("[0,8]", "[8,16]", 12), "truncated: the tensors take 16 bytes, the file has 12"},
        {two("[0,8]", "[8,16]", 17), "1 trailing bytes"},
        // An empty tensor in the middle of another one, and after the end.
        {file_of(std::string("{") + entry("a", "F32", "[2]", "[0,8]") + "," +
                     entry("z", "F32", "[0]", "[4,4]") + "}",
                 zeros_of(8)),
         "'z' begins at byte 4 of the data, but the one before ends at 8 (they overlap)"},
        {file_of(std::string("{") + entry("a", "F32", "[2]", "[0,8]") + "," +
                     entry("z", "F32", "[0]", "[12,12]") + "}",
                 zeros_of(8)),
         "'z' begins at byte 12 of the data, but the one before ends at 8 (a hole)"},
    });
}

TEST_CASE("safetensors: invalid files") {
    const Scratch scratch;
    check_message<IoError>([&] { read_safetensors(scratch / "none"); },
                           "none': No such file or directory");
    check_message<IoError>([&] { read_safetensors(scratch.path()); }, "it is a directory");
    // Claims 16 TB, in a sparse file of that size.
    const std::uint64_t huge = std::uint64_t{1} << 43;
    const std::string header =
        entry("w", "F32", fmt::format("[{}]", huge / 4), fmt::format("[0,{}]", huge));
    spill(scratch / "sparse", file_of(std::string("{") + header + "}"));
    std::error_code refused;
    std::filesystem::resize_file(scratch / "sparse", huge + header.size() + 10, refused);
    if (refused) return test::skip("no sparse file of 8 TB here: " + refused.message());
    check_message<MemoryError>([&] { read_safetensors(scratch / "sparse"); },
                               "the tensors take 8796093022208 bytes, the machine has");
}

// Every prefix of a file, and every file one bit away from it: an IoError, or valid tensors; under
// the sanitizers no invalid access, overflow or leak.
TEST_CASE("safetensors: truncated at every byte, every bit flipped") {
    const Scratch scratch;
    const auto path = scratch / "a";
    NamedTensors tensors = our_tensors();
    tensors.emplace_back("mask", ones({301}, DType::boolean));
    tensors.emplace_back("transformer.h.0.attn.c_attn.weight", ones({4, 64}));
    write_safetensors(path, tensors, {{"step", "100"}});
    const std::string good = slurp(path);
    CHECK_GE(good.size(), 1800);

    int accepted = 0;
    int refused = 0;
    const auto attempt = [&] {
        try {
            for (const auto& [name, tensor] : read_safetensors(path).tensors) {
                CHECK_LE(tensor.bytes(), good.size());
                CHECK_EQ(tensor.to_vector<double>().size(),
                         static_cast<std::size_t>(tensor.numel()));
            }
            ++accepted;
        } catch (const IoError&) {
            ++refused;
        }
    };
    for (std::size_t size = good.size(); size-- > 0;) {
        std::filesystem::resize_file(path, size);
        attempt();
    }
    CHECK_EQ(refused, static_cast<int>(good.size()));
    CHECK_EQ(accepted, 0);

    spill(path, good);
    const int file = ::open(path.c_str(), O_WRONLY);
    REQUIRE_GE(file, 0);
    // The numbers follow the header and its length.
    std::uint64_t header = 0;
    std::memcpy(&header, good.data(), sizeof header);
    const std::size_t numbers = sizeof header + header;
    for (std::size_t at = 0; at < good.size(); at += test::is_short() && at >= numbers ? 16 : 1) {
        for (int bit = 0; bit < 8; ++bit) {
            const char flipped = static_cast<char>(good[at] ^ (1 << bit));
            REQUIRE_EQ(::pwrite(file, &flipped, 1, static_cast<off_t>(at)), 1);
            attempt();
        }
        REQUIRE_EQ(::pwrite(file, &good[at], 1, static_cast<off_t>(at)), 1);
    }
    ::close(file);
    CHECK_EQ(slurp(path), good);
    CHECK_GE(refused, static_cast<int>(good.size()) + 2000);
    if (test::is_short()) return;
    CHECK_EQ(accepted + refused, static_cast<int>(good.size() * 9));
    CHECK_GE(accepted, 8000);  // at least all bits of the numbers
}

TEST_CASE("safetensors: what cannot be written") {
    const Scratch scratch;
    const auto path = scratch / "a";
    const Tensor x = ones({2});
    const auto check = [&](const NamedTensors& tensors, std::string_view part) {
        check_message<ValueError>([&] { write_safetensors(path, tensors); }, part);
    };
    check({{"w", x}, {"w", x}}, "write_safetensors: the name 'w' appears twice");
    check({{"__metadata__", x}}, "write_safetensors: the name '__metadata__' is reserved");
    check({{"a\xFF", x}}, "write_safetensors: name 'a\\xFF' is not UTF-8, byte 1: byte 0xFF");
    check({{std::string("a\0", 2), x}}, "write_safetensors: name 'a\\u{0}' holds a NUL");
    check({{"\xEF\xBB\xBF", x}}, "holds a byte order mark");
    check({{"w", Tensor()}}, "write_safetensors: tensor 'w' is undefined");
    check_message<ValueError>(
        [&] {
            write_safetensors(path, {}, {{"k", "\xFF"}});
        },
        "metadata '\\xFF' is not UTF-8, byte 0");
    check_message<ValueError>([&] { write_safetensors(path, {}, {{"\xFF", "v"}}); }, "not UTF-8");
    if (!test::is_short()) {
        const std::string quotes(50'000'001, '"');  // written as \"
        check_message<ValueError>(
            [&] {
                write_safetensors(path, {}, {{"k", quotes}});
            },
            "bytes; at most 100000000 are allowed");
    }
    CHECK(scratch.names().empty());
    std::filesystem::create_directory(scratch / "dir");
    check_message<IoError>([&] { write_safetensors(scratch / "dir", {}); }, "it is a directory");
    check_message<IoError>([&] { write_safetensors(scratch / "no" / "a", {}); }, "No such file or");
}

TEST_CASE("safetensors: a full disk keeps the previous model") {
    const Scratch scratch;
    write_safetensors(scratch / "a", our_tensors(), kOurMetadata);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    std::vector<std::string> messages;
    for (const rlim_t bytes :
         {0u, 4u, 100u, 1000u, 5000u}) {  // in the length, header, first, later
        const rlimit limit{bytes, before.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        messages.push_back(test::message_of<IoError>([&] {
            write_safetensors(scratch / "a", {{"x", ones({500})}, {"y", ones({500, 3})}});
        }));
        ::setrlimit(RLIMIT_FSIZE, &before);
    }
    std::signal(SIGXFSZ, handler);
    for (const std::string& message : messages) {
        CHECK_EQ(message, "cannot write '" + (scratch / "a").native() + "': File too large");
    }
    CHECK_EQ(scratch.names(), std::vector<std::string>{"a"});
    CHECK_EQ(slurp(scratch / "a"), kOurs);
}

TEST_CASE("safetensors: tensors that are not wanted may be of any type, but must fit") {
    const Scratch scratch;
    const auto read = [&](const std::string& file) {
        spill(scratch / "a", file);
        return read_safetensors(scratch / "a", [](const std::string& name) { return name != "w"; });
    };
    const std::string header =
        fmt::format("{{{},{},{}}}", entry("a", "F32", "[1]", "[0,4]"),
                    entry("w", "U8", "[3]", "[4,7]"), entry("b", "F32", "[2]", "[7,15]"));
    const std::string data(
        "\0\0\x80\x3F"
        "xyz"
        "\0\0\0\x40"
        "\0\0\x40\x40",
        15);
    const SafetensorsFile file = read(file_of(header, data));
    REQUIRE_EQ(file.tensors.size(), 2);
    CHECK_EQ(find(file, "a").to_vector<float>(), std::vector<float>{1});
    CHECK_EQ(find(file, "b").to_vector<float>(), std::vector<float>{2, 3});
    check_message<IoError>([&] { read_safetensors(scratch / "a"); }, "dtype U8 is not supported");
    CHECK(read(file_with("C64", "[1]", "[0,8]", 8)).tensors.empty());
    check_message<IoError>([&] { read(file_with("U8", "[2]", "[0,1]", 1)); },
                           "but shape [2] of U8");
    check_message<IoError>([&] { read(file_with("U7", "[1]", "[0,1]", 1)); }, "unknown dtype 'U7'");
}
