// Shapes and digits from files: the images, bad files, and that a Vision Transformer and a
// convolutional network start to classify them.
#include <doctest/doctest.h>
#include <tapestry/examples/school/tasks/shapes_csv.h>
#include <tapestry/tests/core/scratch.h>

using namespace tapestry;
using namespace tapestry::examples;
using test::check_message;

namespace {

// A digit as seven segments, some pixels with another brightness: a line of a file.
std::string digit_line(std::int64_t digit, Generator& generator) {
    constexpr std::string_view kSegments[] = {"abcdef", "bc",     "abged", "abgcd",   "fgbc",
                                              "afgcd",  "afgedc", "abc",   "abcdefg", "abcdfg"};
    const std::string_view lit = kSegments[digit];
    std::string line;
    for (int y = 0; y < 8; ++y) {
        for (int x = 0; x < 8; ++x) {
            const bool middle = x >= 2 && x <= 5, upper = y <= 3;
            char segment = ' ';
            if (middle && (y == 0 || y == 3 || y == 7)) segment = y == 0 ? 'a' : y == 3 ? 'g' : 'd';
            if (x == 6) segment = upper ? 'b' : 'c';
            if (x == 1) segment = upper ? 'f' : 'e';
            const bool on = lit.find(segment) != std::string_view::npos;
            line += fmt::format("{},", (on ? 10 : 0) + generator.below(7));
        }
    }
    return line + fmt::format("{}\n", digit);
}

std::string digit_lines(int count) {
    Generator generator(1);
    std::string text;
    for (int i = 0; i < count; ++i) text += digit_line(i % 10, generator);
    return text;
}

std::filesystem::path written(const test::Scratch& scratch, std::string_view text) {
    test::spill(scratch / "digits.csv", text);
    return scratch / "digits.csv";
}

std::string zeros_but(std::string_view last) {
    std::string line;
    for (int i = 0; i < 64; ++i) line += "0,";
    return line + std::string(last) + "\n";
}

}  // namespace

TEST_CASE("shapes: which points are inside") {
    CHECK(inside_shape(0, 0, 0));
    CHECK(!inside_shape(1, 0, 0));  // a ring is open
    CHECK(inside_shape(1, 0, 0.9));
    CHECK((inside_shape(2, 0.85, 0.85) && !inside_shape(0, 0.85, 0.85)));  // a square has corners
    CHECK((inside_shape(3, 0.9, 0.75) && !inside_shape(3, 0.9, -0.75)));
    CHECK((inside_shape(4, 0.9, 0.1) && inside_shape(4, 0.1, -0.9) && !inside_shape(4, 0.7, 0.7)));
    for (std::int64_t shape = 0; shape < kShapes; ++shape) CHECK(!inside_shape(shape, 1.1, 1.1));
}

TEST_CASE("shapes: the same seed draws the same, all kinds, light in the dark") {
    Generator a(1), b(1), c(2);
    const LabelledImages one = draw_shapes(200, a);
    CHECK_EQ(one.images.shape(), Shape{200, 1, 16, 16});
    CHECK_EQ(one.images.to_vector<float>(), draw_shapes(200, b).images.to_vector<float>());
    CHECK(one.images.to_vector<float>() != draw_shapes(200, c).images.to_vector<float>());
    std::vector<int> kinds(5, 0);
    for (const auto label : one.labels.to_vector<std::int64_t>()) {
        ++kinds[static_cast<std::size_t>(label)];
    }
    for (const int count : kinds) CHECK(count > 20);
    const auto brightest = max(one.images, {1, 2, 3}).to_vector<double>();
    for (const double pixel : brightest) CHECK(pixel > 0.5);
    CHECK(std::abs(mean(slice(slice(one.images, 2, 0, 1), 3, 0, 1)).item()) < 0.05);  // a corner
    const std::string text = picture(squeeze(slice(one.images, 0, 0, 1), 0));
    CHECK_EQ(text.size(), 16 * (2 + 32 + 1));
}

TEST_CASE("shapes: most are distinguished after 200 steps") {
    TaskOptions options = kShapesOptions;
    options.steps = 200;
    options.batch = 32;
    options.print = false;
    const Score score = learn_shapes(options);
    MESSAGE("shapes: " << score.right << " of " << score.of);
    CHECK_EQ(score.of, 1000);
    CHECK(score.share() > 0.5);  // by chance 0.2
}

TEST_CASE("shapes: a page after 2 steps, patches by row and column") {
    const test::Scratch scratch;
    const TaskOptions options{
        .steps = 2, .batch = 4, .print = false, .page = (scratch / "page.html").native()};
    learn_shapes(options);
    const std::string page = test::slurp(options.page);
    CHECK(page.find("\"title\":\"an image: ") != std::string::npos);
    CHECK(page.find("\"queryTexts\":[\"[class]\",\"r0c0\",\"r0c1\"") != std::string::npos);
    CHECK(page.find("\"r3c3\"]") != std::string::npos);
}

TEST_CASE("digits of a file: read, scaled, split, with any line ends") {
    const test::Scratch scratch;
    const DigitFile file = read_digits(written(scratch, digit_lines(300)));
    CHECK_EQ(file.train.labels.size(0) + file.test.labels.size(0), 300);
    CHECK(std::abs(file.test.labels.size(0) - 60) < 25);
    CHECK_EQ(max(file.train.images).item(), 1);
    CHECK_EQ(min(file.train.images).item(), 0);
    CHECK_EQ(file.train.images.shape()[2], 8);
    std::string other;
    for (const char c : digit_lines(300)) other += c == '\n' ? "\r\n\r\n" : std::string(1, c);
    const DigitFile same = read_digits(written(scratch, other));
    CHECK_EQ(same.train.labels.size(0) + same.test.labels.size(0), 300);
}

TEST_CASE("digits of a file: distortion moves light a little and makes none") {
    Generator generator(1);
    const Tensor even = distorted(ones({50, 1, 8, 8}), generator);
    CHECK(max(even).item() == doctest::Approx(1).epsilon(1e-6));
    Tensor dot = zeros({50, 1, 8, 8});
    for (std::int64_t i = 0; i < 50; ++i) {
        CHECK(even.at({i, 0, 4, 4}) == doctest::Approx(1).epsilon(1e-6));
        dot.mutable_data<float>()[64 * i + 8 * 4 + 4] = 1;
    }
    const Tensor moved = distorted(dot, generator);
    const Tensor near = slice(slice(moved, 2, 2, 7), 3, 2, 7);
    CHECK(sum(near).item() == doctest::Approx(sum(moved).item()).epsilon(1e-6));
    CHECK(std::abs(sum(moved).item() / 50 - 1) < 0.1);  // wider and higher as often as not
    CHECK(moved.to_vector<float>() != dot.to_vector<float>());
}

TEST_CASE("digits of a file: learned in 300 steps") {
    const test::Scratch scratch;
    TaskOptions options{.steps = 300, .batch = 32, .rate = 3e-3, .print = false};
    const Score score = learn_digit_file(written(scratch, digit_lines(400)), options);
    MESSAGE("digits: " << score.right << " of " << score.of);
    CHECK(score.share() > 0.6);
}

TEST_CASE("digits of a file: learned by convolutions in 60 steps") {
    const test::Scratch scratch;
    TaskOptions options{.steps = 60, .batch = 32, .rate = 3e-3, .print = false};
    options.page = (scratch / "page.html").native();
    const Score score =
        learn_digit_file(written(scratch, digit_lines(400)), options, ImageModel::convolutional);
    MESSAGE("digits: " << score.right << " of " << score.of);
    CHECK(score.share() > 0.6);
    CHECK(test::slurp(options.page).find("conv2d") != std::string::npos);
}

TEST_CASE("digits of a file: what is refused") {
    const test::Scratch scratch;
    const auto reading = [&](const std::string& text) {
        return [&scratch, text] { read_digits(written(scratch, text)); };
    };
    const std::string name = (scratch / "digits.csv").native() + ": ";
    check_message<ValueError>(reading(digit_lines(2) + "1,2,3\n"),
                              name + "line 3: 3 values; 64 pixels and the digit are expected");
    check_message<ValueError>(reading("pixel_0_0,pixel_0_1\n" + digit_lines(2)),
                              name + "line 1: value 1, 'pixel_0_0', is not a number");
    check_message<ValueError>(reading("1,,3\n"), name + "line 1: value 2, '', is not a number");
    check_message<ValueError>(reading("1,nan,3\n"),
                              name + "line 1: value 2, 'nan', is not a number");
    check_message<ValueError>(reading(zeros_but("10")), name + "line 1: 10 is not a digit");
    check_message<ValueError>(reading(zeros_but("2.5")), name + "line 1: 2.5 is not a digit");
    check_message<ValueError>(reading("-3,1" + digit_lines(1).substr(digit_lines(1).find(',', 3))),
                              name + "line 1: pixel must be >= 0, got -3");
    check_message<ValueError>(reading(zeros_but("3")), name + "all pixels are 0");
    check_message<ValueError>(reading(digit_lines(1)), "more lines are needed");
    CHECK_THROWS_AS(reading("")(), IoError);
    CHECK_THROWS_AS(read_digits("/no/such/file.csv"), IoError);
}
