// Command lines declared by typed calls: the values read, the options reported as given, the exit
// codes. tests/cli/usage_test.cpp tests error messages and help through the command.
#include <doctest/doctest.h>
#include <tapestry/examples/options/config_options.h>
#include <tapestry/examples/options/options.h>

#include <stdexcept>

using namespace tapestry::cli;

namespace {

// Arguments like main()'s: writable and null-terminated.
int run(Options& options, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "program");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    return options.main(static_cast<int>(arguments.size()), argv.data());
}

const OptionValue& value_of(const std::vector<OptionValue>& values, const std::string& name) {
    for (const OptionValue& value : values) {
        if (value.name == name) return value;
    }
    throw std::invalid_argument(name);
}

}  // namespace

TEST_CASE("options: what was given, and what the rest is by default") {
    std::int64_t steps = 5;
    int height = 10;
    double rate = 0.5;
    bool loud = false, quiet = false;
    std::uint64_t seed = 1;
    std::string out = "page.html", dtype = "f32";
    std::optional<std::string> target;
    std::vector<std::string> names;
    Options o("program", "");
    o.count("--steps", steps, "Steps");
    o.count("--height", height, "Rows", {4, 100}).without_default();
    o.number("--rate", rate, 0, 1, "Rate");
    o.flag("--loud", loud, "Noise");
    o.flag("--quiet", quiet, "No noise");
    o.seed(seed, "Of all");
    o.text("--out", out, "File");
    o.text("--target", target, "Text");
    o.choice("--dtype", dtype, {"f32", "f64"}, "Type");
    o.texts("names", names, "Which");
    bool ran = false;
    o.run([&] {
        ran = true;
        return 7;
    });
    CHECK_EQ(run(o, {"--steps=12", "--loud", "--rate", "0.25", "--seed", "18446744073709551615",
                     "--target", "", "a", "b"}),
             7);
    CHECK(ran);
    CHECK_EQ(steps, 12);
    CHECK_EQ(rate, 0.25);
    CHECK(loud);
    CHECK_EQ(seed, 18446744073709551615u);
    CHECK_EQ(target, std::string());
    CHECK_EQ(names, std::vector<std::string>{"a", "b"});
    CHECK(o.given("--steps"));
    CHECK_FALSE(o.given("--out"));
    CHECK_THROWS_AS(o.given("--nosuch"), std::invalid_argument);

    const std::vector<OptionValue> values = o.values();
    CHECK_EQ(values.size(), 10);
    CHECK_EQ(values.front().name, "--steps");
    CHECK_EQ(values.front().value, "12");
    CHECK_EQ(values.front().description, "Steps");
    CHECK(values.front().given);
    CHECK_EQ(value_of(values, "--out").value, "page.html");
    CHECK_EQ(value_of(values, "--height").value, "");
    CHECK_EQ(value_of(values, "--loud").value, "yes");
    CHECK_EQ(value_of(values, "--quiet").value, "no");
    CHECK(value_of(values, "--quiet").is_flag);
}

TEST_CASE("options: a whole number may begin with zeros, as those that seq -w prints") {
    std::int64_t steps = 1, shift = 0;
    std::optional<std::int64_t> after;
    std::vector<std::int64_t> sizes;
    std::uint64_t seed = 1, sample = 0;
    Options o("program", "");
    o.count("--steps", steps, "", {0, 1000});
    o.count("--shift", shift, "", {-100, 100});
    o.count("--after", after, "", {0, 1000});
    o.counts("--sizes", sizes, "");
    o.seed(seed, "");
    o.bytes("--sample", sample, "");
    o.run([] { return kSuccess; });
    CHECK_EQ(run(o, {"--steps", "010", "--shift=-08", "--after", "0099", "--sizes", "08", "100",
                     "--seed", "010", "--sample", "010MB"}),
             kSuccess);
    CHECK_EQ(steps, 10);
    CHECK_EQ(shift, -8);
    CHECK_EQ(after, 99);
    CHECK_EQ(sizes, std::vector<std::int64_t>{8, 100});
    CHECK_EQ(seed, 10u);
    CHECK_EQ(sample, 10'000'000u);
    CHECK_EQ(value_of(o.values(), "--seed").value, "10");
    CHECK_EQ(run(o, {"--steps", "000"}), kSuccess);
    CHECK_EQ(steps, 0);
    CHECK_EQ(run(o, {"--steps", "01001"}), kBadInput);
    CHECK_EQ(run(o, {"--seed", "08x"}), kBadInput);
}

TEST_CASE("options: the chosen subcommand runs, at any depth") {
    Options o("program", "");
    int first = 0, second = 0;
    o.subcommand("first", "").run([&] { return ++first; });
    Options& group = o.subcommand("group", "");
    Options& inner = group.subcommand("second", "");
    std::int64_t n = 0;
    inner.count("-n", n, "", {0, 9});
    inner.run([&] {
        second = static_cast<int>(n);
        return kSuccess;
    });
    CHECK_EQ(inner.name(), "second");
    CHECK_EQ(run(o, {"group", "second", "-n", "3"}), kSuccess);
    CHECK_EQ(first, 0);
    CHECK_EQ(second, 3);
}

namespace {

enum class Colour { red, green };

struct Painting {
    std::int64_t layers = 2;
    double gloss = 0.5;
    std::string title = "untitled";
    Colour colour = Colour::red;
    std::int64_t hidden = 7;
};

}  // namespace

template <>
struct tapestry::NamesOf<Colour> {
    static constexpr EnumNames<Colour, 2> list{{{Colour::red, "red"}, {Colour::green, "green"}}};
};

template <>
struct tapestry::FieldsOf<Painting> {
    using Enums = Types<Colour>;
    template <class Visitor>
    static constexpr void list(const Visitor& field) {
        field("layers", &Painting::layers, "Coats", {.low = 1, .high = 9});
        field("gloss", &Painting::gloss, "Shine", {.low = 0, .high = 1});
        field("title", &Painting::title, "Its name", {.option = "--name"});
        field("colour", &Painting::colour, "Of the paint");
        field("hidden", &Painting::hidden, "No option");
    }
};

TEST_CASE("options: a configuration's fields, as its list describes them") {
    Painting painting;
    Options o("program", "");
    add_fields(o, painting, {"colour", "title", "layers", "gloss"});
    o.run([] { return kSuccess; });
    CHECK_FALSE(o.declares("--hidden"));
    CHECK_EQ(value_of(o.values(), "--colour").value, "red");
    CHECK_EQ(run(o, {"--layers", "3", "--name", "Sunday", "--colour", "green"}), kSuccess);
    CHECK_EQ(painting.layers, 3);
    CHECK_EQ(painting.gloss, 0.5);
    CHECK_EQ(painting.title, "Sunday");
    CHECK(painting.colour == Colour::green);
    CHECK_EQ(given_fields<Painting>(o), std::vector<std::string>{"layers", "title", "colour"});
    CHECK_EQ(run(o, {"--layers", "10"}), kBadInput);
    CHECK_EQ(run(o, {"--gloss", "1.5"}), kBadInput);
    CHECK_EQ(run(o, {"--colour", "blue"}), kBadInput);
}
