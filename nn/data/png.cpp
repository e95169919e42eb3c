// PNG images, by libpng. The size that a file states is checked before memory of that size is asked
// for.
#include <tapestry/nn/data/image_files.h>

#include <tapestry/core/error.h>

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#ifdef TAPESTRY_WITH_PNG
#include <png.h>

#include <csetjmp>
#endif

namespace tapestry {

#ifndef TAPESTRY_WITH_PNG

DecodedImage decode_png(std::string_view, const std::string& name) {
    fail<IoError>(
        "{}: is a PNG image, and this build has no libpng (Debian: libpng-dev, then configure "
        "again); pngtopnm FILE.png > FILE.pnm converts it",
        name);
}

#else

namespace {

// The beginning of every PNG: a signature of 8 bytes, and the chunk IHDR with width and height.
// Source: https://www.w3.org/TR/png, section 11.2.
void check_header(std::string_view bytes, const std::string& name) {
    constexpr std::size_t kLength = 33;
    if (bytes.size() < kLength) fail<IoError>("{}: damaged PNG: ends within its header", name);
    const auto number = [bytes](std::size_t at) {
        std::int64_t value = 0;
        for (std::size_t i = at; i < at + 4; ++i) {
            value = 256 * value + static_cast<unsigned char>(bytes[i]);
        }
        return value;
    };
    if (bytes.substr(12, 4) != "IHDR") fail<IoError>("{}: damaged PNG: it has no header", name);
    check_image_size(number(20), number(16), name);
}

// libpng reports an error by a function that must not return: it jumps back to guarded().
class PngReading {
public:
    PngReading(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {
        png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
        if (png_ != nullptr) info_ = png_create_info_struct(png_);
        if (info_ == nullptr) {
            png_destroy_read_struct(&png_, nullptr, nullptr);
            fail<IoError>("{}: libpng has no memory to begin", name_);
        }
    }
    ~PngReading() { png_destroy_read_struct(&png_, &info_, nullptr); }
    PngReading(const PngReading&) = delete;
    PngReading& operator=(const PngReading&) = delete;

    // Reads up to the pixels, and asks for 8 bits per channel: grey or colours, with or without
    // alpha.
    void read_header() {
        constexpr png_alloc_size_t kMostInChunk = 8 << 20;  // what is compressed may be long
        // Texts, profiles and palettes that are suggested: a file may hold hundreds.
        static constexpr png_byte kUnused[] = "tEXt\0zTXt\0iTXt\0iCCP\0sPLT";
        constexpr int kUnusedCount = sizeof(kUnused) / 5;
        guarded([&] {
            png_set_read_fn(png_, this, on_read);
            png_set_chunk_malloc_max(png_, kMostInChunk);
            png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, kUnused, kUnusedCount);
            png_read_info(png_, info_);
            png_set_expand(png_);  // palettes, 1 to 4 bits, a transparent colour
            png_set_scale_16(png_);
            png_set_interlace_handling(png_);
            png_read_update_info(png_, info_);
        });
    }

    std::size_t channels() const { return png_get_channels(png_, info_); }
    std::size_t height() const { return png_get_image_height(png_, info_); }
    std::size_t width() const { return png_get_image_width(png_, info_); }
    std::size_t row_bytes() const { return png_get_rowbytes(png_, info_); }

    // All rows, pixel by pixel, and the chunks behind them.
    void read_rows(std::vector<png_bytep>& rows) {
        png_bytepp const to = rows.data();
        guarded([&] {
            png_read_image(png_, to);
            png_read_end(png_, info_);
        });
    }

    // EXIF's bytes, if there are any.
    std::string_view exif() {
        png_uint_32 length = 0;
        png_bytep data = nullptr;
        guarded([&] { png_get_eXIf_1(png_, info_, &length, &data); });
        if (data == nullptr) return {};
        return {reinterpret_cast<const char*>(data), length};
    }

private:
    // Calls f, which must not own anything: an error leaves it by a jump.
    template <class F>
    void guarded(const F& f) {
        if (setjmp(png_jmpbuf(png_)) == 0) {
            f();
            return;
        }
        fail<IoError>("{}: damaged PNG: {}", name_, message_);
    }

    [[noreturn]] static void on_error(png_structp png, png_const_charp what) {
        auto* const self = static_cast<PngReading*>(png_get_error_ptr(png));
        std::strncpy(self->message_, what, sizeof(self->message_) - 1);
        png_longjmp(png, 1);
    }
    static void on_warning(png_structp, png_const_charp) {}
    static void on_read(png_structp png, png_bytep to, std::size_t length) {
        auto* const self = static_cast<PngReading*>(png_get_io_ptr(png));
        if (length > self->bytes_.size() - self->at_) png_error(png, "the file ends early");
        std::memcpy(to, self->bytes_.data() + self->at_, length);
        self->at_ += length;
    }

    std::string_view bytes_;
    const std::string& name_;
    std::size_t at_ = 0;
    char message_[100] = {};
    png_structp png_ = nullptr;
    png_infop info_ = nullptr;
};

// Over white: what is transparent looks as it does in a browser.
std::uint8_t over_white(std::uint8_t value, std::uint8_t alpha) {
    return static_cast<std::uint8_t>((value * alpha + 255 * (255 - alpha) + 127) / 255);
}

}  // namespace

DecodedImage decode_png(std::string_view bytes, const std::string& name) {
    check_header(bytes, name);
    PngReading from(bytes, name);
    from.read_header();
    const std::size_t height = from.height(), width = from.width(), stored = from.channels();
    const bool has_alpha = stored % 2 == 0;
    const std::size_t channels = stored - (has_alpha ? 1 : 0), area = height * width;
    require<IoError>(from.row_bytes() == width * stored, "{}: damaged PNG: rows of {} bytes", name,
                     from.row_bytes());
    std::vector<std::uint8_t> all(area * stored);
    std::vector<png_bytep> rows;
    for (std::size_t y = 0; y < height; ++y) rows.push_back(all.data() + y * width * stored);
    from.read_rows(rows);
    DecodedImage image{.size = {.height = static_cast<std::int64_t>(height),
                                .width = static_cast<std::int64_t>(width),
                                .channels = static_cast<std::int64_t>(channels)},
                       .pixels = std::vector<std::uint8_t>(area * channels)};
    for (std::size_t c = 0; c < channels; ++c) {
        for (std::size_t i = 0; i < area; ++i) {
            const std::uint8_t value = all[i * stored + c];
            image.pixels[c * area + i] =
                has_alpha ? over_white(value, all[i * stored + channels]) : value;
        }
    }
    orient(image, exif_orientation(from.exif()));
    return image;
}

#endif

}  // namespace tapestry
