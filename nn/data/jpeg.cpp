// JPEG images, by libjpeg (Debian's is libjpeg-turbo). The size that a file states is checked
// before memory of that size is asked for.
#include <tapestry/nn/data/image_files.h>

#include <tapestry/core/error.h>

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>  // before jpeglib.h, which needs FILE
#include <utility>

#ifdef TAPESTRY_WITH_JPEG
#include <jerror.h>
#include <jpeglib.h>

#include <csetjmp>
#endif

namespace tapestry {

#ifndef TAPESTRY_WITH_JPEG

DecodedImage decode_jpeg(std::string_view, const std::string& name) {
    fail<IoError>(
        "{}: is a JPEG image, and this build has no libjpeg (Debian: libjpeg-dev, then configure "
        "again); djpeg FILE.jpg > FILE.pnm converts it",
        name);
}

#else

namespace {

// libjpeg reports an error by a function that must not return: it jumps back to guarded().
class JpegReading {
public:
    JpegReading(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {
        info_.err = jpeg_std_error(&errors_);
        errors_.error_exit = on_error;
        errors_.emit_message = on_message;
        info_.client_data = this;
        guarded([&] { jpeg_create_decompress(&info_); });
        progress_.progress_monitor = on_progress;
        info_.progress = &progress_;
    }
    ~JpegReading() { jpeg_destroy_decompress(&info_); }
    JpegReading(const JpegReading&) = delete;
    JpegReading& operator=(const JpegReading&) = delete;

    void read_header() {
        constexpr unsigned kMostInMarker = 0xFFFF;
        guarded([&] {
            jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes_.data()),
                         bytes_.size());
            jpeg_save_markers(&info_, JPEG_APP0 + 1, kMostInMarker);
            jpeg_read_header(&info_, TRUE);
        });
        if (info_.arith_code) {
            fail<IoError>(
                "{}: arithmetic coding, whose damage goes unnoticed; jpegtran {} > OUT "
                "makes it an ordinary JPEG",
                name_, name_);
        }
        check_image_size(info_.image_height, info_.image_width, name_);
        const bool is_grey = info_.jpeg_color_space == JCS_GRAYSCALE;
        if (!is_grey && info_.num_components != 3) {
            fail<IoError>("{}: has {} channels (CMYK); expected a grey or coloured JPEG", name_,
                          info_.num_components);
        }
        info_.out_color_space = is_grey ? JCS_GRAYSCALE : JCS_RGB;
        info_.dct_method = JDCT_ISLOW;  // the same bits on every processor
    }

    std::size_t channels() const { return info_.out_color_space == JCS_RGB ? 3 : 1; }
    std::size_t height() const { return info_.image_height; }
    std::size_t width() const { return info_.image_width; }

    // All rows, pixel by pixel; the space is for all of them.
    void read_rows(std::vector<std::uint8_t>& space) {
        std::uint8_t* const to = space.data();
        guarded([&] {
            jpeg_start_decompress(&info_);
            while (info_.output_scanline < info_.output_height) {
                JSAMPROW row =
                    to + static_cast<std::size_t>(info_.output_scanline) * width() * channels();
                jpeg_read_scanlines(&info_, &row, 1);
            }
            jpeg_finish_decompress(&info_);
        });
    }

    // EXIF's bytes, if there are any.
    std::string_view exif() const {
        constexpr std::string_view kBeginning{"Exif\0\0", 6};
        for (auto* marker = info_.marker_list; marker != nullptr; marker = marker->next) {
            const std::string_view data(reinterpret_cast<const char*>(marker->data),
                                        marker->data_length);
            if (data.starts_with(kBeginning)) return data.substr(kBeginning.size());
        }
        return {};
    }

private:
    // Calls f, which must not own anything: an error leaves it by a jump.
    template <class F>
    void guarded(const F& f) {
        if (setjmp(back_) == 0) {
            f();
            return;
        }
        fail<IoError>("{}: damaged JPEG: {}", name_, message_);
    }

    [[noreturn]] static void on_error(j_common_ptr info) {
        auto* const self = static_cast<JpegReading*>(info->client_data);
        if (self->message_[0] == 0) (*info->err->format_message)(info, self->message_);
        std::longjmp(self->back_, 1);
    }
    // libjpeg fills up what is missing or damaged, and only warns; harmless warnings are others.
    static void on_message(j_common_ptr info, int level) {
        if (level >= 0) return;
        switch (info->err->msg_code) {
            case JWRN_JPEG_EOF:
            case JWRN_HIT_MARKER:
            case JWRN_HUFF_BAD_CODE:
            case JWRN_MUST_RESYNC:
            case JWRN_BOGUS_PROGRESSION: on_error(info);
            default: return;
        }
    }
    // A small file may have any number of scans, each of which goes through the whole image.
    static void on_progress(j_common_ptr info) {
        constexpr int kMostScans = 500;
        if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMostScans) return;
        auto* const self = static_cast<JpegReading*>(info->client_data);
        fmt::format_to_n(self->message_, sizeof(self->message_) - 1, "more than {} scans",
                         kMostScans);
        on_error(info);
    }

    std::string_view bytes_;
    const std::string& name_;
    char message_[JMSG_LENGTH_MAX] = {};
    std::jmp_buf back_;
    jpeg_error_mgr errors_{};
    jpeg_progress_mgr progress_{};
    jpeg_decompress_struct info_{};
};

}  // namespace

DecodedImage decode_jpeg(std::string_view bytes, const std::string& name) {
    JpegReading from(bytes, name);
    from.read_header();
    const std::size_t channels = from.channels(), area = from.height() * from.width();
    const int orientation = exif_orientation(from.exif());  // which read_rows() releases
    std::vector<std::uint8_t> all(area * channels);
    from.read_rows(all);
    DecodedImage image{.size = {.height = static_cast<std::int64_t>(from.height()),
                                .width = static_cast<std::int64_t>(from.width()),
                                .channels = static_cast<std::int64_t>(channels)},
                       .pixels = std::vector<std::uint8_t>(area * channels)};
    for (std::size_t c = 0; c < channels; ++c) {
        for (std::size_t i = 0; i < area; ++i) image.pixels[c * area + i] = all[i * channels + c];
    }
    orient(image, orientation);
    return image;
}

#endif

}  // namespace tapestry
