#include <tapestry/examples/school/tasks/shapes_csv.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tapestry::examples {
namespace {

// The number at `place` in a line, counted from 1; errors name the file and line.
double number_in_line(std::string_view text, const std::string& line_name, std::size_t place) {
    while (!text.empty() && (text.front() == ' ')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    require(error == std::errc{} && end == text.data() + text.size() && std::isfinite(value),
            "{}: value {}, '{}', is not a number (64 pixels and the digit are expected, and no "
            "line with names)",
            line_name, place, text.substr(0, 20));
    return value;
}

// The 65 numbers in a line.
std::vector<double> numbers_in_line(std::string_view line, const std::string& line_name) {
    std::vector<double> numbers;
    for (std::size_t begin = 0; begin <= line.size();) {
        const std::size_t end = std::min(line.find(',', begin), line.size());
        numbers.push_back(
            number_in_line(line.substr(begin, end - begin), line_name, numbers.size() + 1));
        begin = end + 1;
    }
    require(numbers.size() == 65, "{}: {} values; 64 pixels and the digit are expected", line_name,
            numbers.size());
    const double label = numbers.back();
    require(label >= 0 && label <= 9 && label == std::floor(label),
            "{}: {} is not a digit from 0 to 9", line_name, label);
    return numbers;
}

LabelledImages as_images(const std::vector<std::vector<double>>& rows, double brightest) {
    std::vector<float> pixels;
    std::vector<std::int64_t> labels;
    for (const std::vector<double>& row : rows) {
        for (std::size_t i = 0; i < 64; ++i)
            pixels.push_back(static_cast<float>(row[i] / brightest));
        labels.push_back(static_cast<std::int64_t>(row[64]));
    }
    const auto count = static_cast<std::int64_t>(rows.size());
    return {tensor(pixels, {count, 1, 8, 8}), tensor(labels, {count})};
}

// A random rotation, scaling and shift of an 8 x 8 image.
struct Distortion {
    double xx, xy, yx, yy, x, y;

    explicit Distortion(Generator& generator) {
        const auto some = [&generator](double most) {
            return most * (2 * generator.uniform() - 1);
        };
        const double angle = some(0.2), width = 1 + some(0.15), height = 1 + some(0.15);
        xx = width * std::cos(angle);
        xy = some(0.1) - std::sin(angle);
        yx = std::sin(angle);
        yy = height * std::cos(angle);
        x = some(0.7);
        y = some(0.7);
    }

    /// The brightness at (row, column), interpolated between pixels, 0 outside the image.
    double at(const float* pixels, std::int64_t row, std::int64_t column) const {
        const double r = static_cast<double>(row) - 3.5, c = static_cast<double>(column) - 3.5;
        const double from_row = yx * c + yy * r + y + 3.5, from_column = xx * c + xy * r + x + 3.5;
        double light = 0;
        for (std::int64_t i = 0; i < 64; ++i) {
            const double down = std::abs(from_row - static_cast<double>(i / 8));
            const double across = std::abs(from_column - static_cast<double>(i % 8));
            if (down < 1 && across < 1) light += pixels[i] * (1 - down) * (1 - across);
        }
        return light;
    }
};

}  // namespace

DigitFile read_digits(const std::filesystem::path& path) {
    const std::string text = read_text(path);
    std::vector<std::vector<double>> train, test;
    double brightest = 0;
    std::size_t number = 0;
    for (std::size_t begin = 0; begin < text.size(); ++number) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string_view line = std::string_view(text).substr(begin, end - begin);
        begin = end + 1;
        if (line.find_first_not_of(" \r") == std::string_view::npos) continue;
        const std::string line_name = fmt::format("{}: line {}", path.string(), number + 1);
        const std::vector<double> row = numbers_in_line(line, line_name);
        const auto [low, high] = std::minmax_element(row.begin(), row.end() - 1);
        require(*low >= 0, "{}: pixel must be >= 0, got {}", line_name, *low);
        brightest = std::max(brightest, *high);
        (held_out(line, 5) ? test : train).push_back(row);
    }
    require(brightest > 0, "{}: all pixels are 0", path.string());
    require(!train.empty() && !test.empty(),
            "{}: {} lines to learn from and {} held out; more lines are needed", path.string(),
            train.size(), test.size());
    return {as_images(train, brightest), as_images(test, brightest)};
}

Tensor distorted(const Tensor& images, Generator& generator) {
    const Tensor all = contiguous(images);
    Tensor result(all.shape(), DType::f32);
    float* to = result.mutable_data<float>();
    for (std::int64_t image = 0; image < all.size(0); ++image) {
        const Distortion distortion(generator);
        const float* const from = all.data<float>() + 64 * image;
        for (std::int64_t i = 0; i < 64; ++i) {
            *to++ = static_cast<float>(distortion.at(from, i / 8, i % 8));
        }
    }
    return result;
}

Score learn_digit_file(const std::filesystem::path& path, const TaskOptions& options,
                       ImageModel model) {
    const DigitFile file = read_digits(path);
    if (options.print) {
        fmt::print("{} digits to learn from, {} held out\n", file.train.labels.size(0),
                   file.test.labels.size(0));
    }
    const auto draw = [&file](std::int64_t count, Generator& generator) -> LabelledImages {
        const Tensor rows = randint(0, file.train.labels.size(0), {count}, generator);
        return {distorted(index_select(file.train.images, 0, rows), generator),
                index_select(file.train.labels, 0, rows)};
    };
    return learn_images(model,
                        {.height = 8,
                         .width = 8,
                         .patch = 2,
                         .classes = 10,
                         .dim = 64,
                         .heads = 4,
                         .layers = 3,
                         .dropout = 0},
                        draw, file.test, options);
}

}  // namespace tapestry::examples
