#include <tapestry/nn/data/image_files.h>

#include <tapestry/core/error.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace tapestry {
namespace {

constexpr std::int64_t kMostSide = 1 << 14, kMostPixels = 1 << 26, kMostValue = 65535;

// A place in a netpbm file.
struct NetpbmReading {
    const std::string& name;
    std::string_view bytes;
    std::size_t at = 2;  // behind the magic number

    template <class... Args>
    [[noreturn]] void wrong(fmt::format_string<Args...> format, Args&&... args) const {
        fail<IoError>("{}: {}", name, fmt::format(format, std::forward<Args>(args)...));
    }

    static bool is_space(char c) {
        return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
    }

    // White space and comments, which begin with # and end with the line.
    void skip_space() {
        while (at < bytes.size() && (is_space(bytes[at]) || bytes[at] == '#')) {
            if (bytes[at] == '#') at = std::min(bytes.find('\n', at), bytes.size());
            at = std::min(at + 1, bytes.size());
        }
    }

    std::int64_t number(const char* what, std::int64_t low, std::int64_t high) {
        skip_space();
        std::int64_t value = 0;
        const std::size_t begin = at;
        for (; at < bytes.size() && bytes[at] >= '0' && bytes[at] <= '9' && value <= high; ++at) {
            value = 10 * value + (bytes[at] - '0');
        }
        if (begin == at) {
            wrong(
                "expected {}, found {}", what,
                at == bytes.size() ? "the end of the file" : utf8::quoted(bytes.substr(at, 8), 8));
        }
        if (value < low || value > high) {
            wrong("{} must be in [{}, {}], got {}{}", what, low, high, value,
                  value > high ? " or more" : "");
        }
        return value;
    }
};

std::uint8_t scaled(std::int64_t value, std::int64_t most) {
    return static_cast<std::uint8_t>((value * 255 + most / 2) / most);
}

// Values as in the file: pixel by pixel, of each its channels.
std::vector<std::uint8_t> plain_values(NetpbmReading& from, std::size_t count, std::int64_t most) {
    std::vector<std::uint8_t> values;
    for (std::size_t i = 0; i < count; ++i) {
        values.push_back(scaled(from.number("a pixel", 0, most), most));
    }
    from.skip_space();
    if (from.at < from.bytes.size()) from.wrong("more follows after its {} numbers", count);
    return values;
}

std::vector<std::uint8_t> raw_values(NetpbmReading& from, std::size_t count, std::int64_t most) {
    if (from.at >= from.bytes.size() || !NetpbmReading::is_space(from.bytes[from.at])) {
        from.wrong("expected white space after the largest value");
    }
    const std::string_view rest = from.bytes.substr(from.at + 1);
    const std::size_t width = most > 255 ? 2 : 1;  // bytes of a value, the higher first
    if (rest.size() != count * width) {
        from.wrong("has {} bytes of pixels, expected {}", rest.size(), count * width);
    }
    std::vector<std::uint8_t> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        std::int64_t value = 0;
        for (std::size_t b = 0; b < width; ++b) {
            value = 256 * value + static_cast<unsigned char>(rest[i * width + b]);
        }
        if (value > most) from.wrong("a pixel is {}, the largest value {}", value, most);
        values[i] = scaled(value, most);
    }
    return values;
}

}  // namespace

std::string to_text(const ImageSize& size) {
    return fmt::format("{} x {} pixels, {}", size.height, size.width,
                       pluralize(size.channels, "channel"));
}

bool is_image_name(const std::filesystem::path& file) {
    std::string end = file.extension().string();
    for (char& c : end) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return end == ".pgm" || end == ".ppm" || end == ".pnm" || end == ".png" || end == ".jpg" ||
           end == ".jpeg";
}

void check_image_size(std::int64_t height, std::int64_t width, const std::string& name) {
    for (const auto& [side, what] : {std::pair{width, "width"}, std::pair{height, "height"}}) {
        if (side >= 1 && side <= kMostSide) continue;
        fail<IoError>("{}: the {} must be in [1, {}], got {}", name, what, kMostSide, side);
    }
    if (height * width > kMostPixels) {
        fail<IoError>("{}: {} x {} pixels are more than {}; make the image smaller", name, height,
                      width, kMostPixels);
    }
}

DecodedImage decode_image(std::string_view bytes, const std::string& name) {
    if (bytes.starts_with("\x89PNG\r\n")) return decode_png(bytes, name);
    if (bytes.starts_with("\xFF\xD8\xFF")) return decode_jpeg(bytes, name);
    return decode_netpbm(bytes, name);
}

DecodedImage decode_netpbm(std::string_view bytes, const std::string& name) {
    NetpbmReading from{.name = name, .bytes = bytes};
    const char kind = bytes.size() > 2 && bytes[0] == 'P' ? bytes[1] : ' ';
    if (kind != '2' && kind != '3' && kind != '5' && kind != '6') {
        from.wrong("not a PNG, JPEG, PGM or PPM image; it begins with {}",
                   utf8::quoted(bytes.substr(0, 8), 8));
    }
    DecodedImage image;
    image.size.width = from.number("the width", 1, kMostSide);
    image.size.height = from.number("the height", 1, kMostSide);
    check_image_size(image.size.height, image.size.width, name);
    image.size.channels = kind == '3' || kind == '6' ? 3 : 1;
    const std::int64_t most = from.number("the largest value", 1, kMostValue);
    const auto count = static_cast<std::size_t>(image.size.numbers());
    std::vector<std::uint8_t> values =
        kind < '5' ? plain_values(from, count, most) : raw_values(from, count, most);
    const auto channels = static_cast<std::size_t>(image.size.channels);
    if (channels == 1) {
        image.pixels = std::move(values);
        return image;
    }
    image.pixels.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        image.pixels[i % channels * (count / channels) + i / channels] = values[i];
    }
    return image;
}

// The same size as the others, if the collector scales; else as it is.
void ImageCollector::add(DecodedImage image, std::string name) {
    if (side_ == 0) return add(image.size, image.pixels, std::move(name));
    scale_to_square(image, side_);
    const std::int64_t wanted = wanted_ ? wanted_->channels : all_.size.channels;
    const bool is_known = wanted_ || !all_.names.empty();
    if (is_known && image.size.channels < wanted) add_colours(image);
    if (wanted_ && image.size.channels > wanted) remove_colours(image);
    if (!wanted_ && is_known && image.size.channels > wanted) {  // all others are grey
        ImageSet grey = std::exchange(all_, {});
        for (std::size_t i = 0; i < grey.names.size(); ++i) {
            const auto pixels = grey.image(i);
            DecodedImage one{grey.size, {pixels.begin(), pixels.end()}};
            add_colours(one);
            add(one.size, one.pixels, grey.names[i]);
        }
    }
    add(image.size, image.pixels, std::move(name));
}

void ImageCollector::add(const ImageSize& size, std::span<const std::uint8_t> pixels,
                         std::string name) {
    const char* const advice = "; --image-size N scales image files to N x N pixels";
    if (wanted_ && size != *wanted_) {
        fail<IoError>("{}: {}; the model reads {}", name, to_text(size), to_text(*wanted_));
    }
    if (all_.names.empty()) all_.size = size;
    if (size != all_.size) {
        fail<IoError>("{}: {}; {} has {}, and all images need one size{}", name, to_text(size),
                      all_.names.front(), to_text(all_.size), side_ == 0 ? advice : "");
    }
    all_.pixels.insert(all_.pixels.end(), pixels.begin(), pixels.end());
    all_.names.push_back(std::move(name));
}

}  // namespace tapestry
