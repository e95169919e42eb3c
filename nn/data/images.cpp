#include <tapestry/nn/data/images.h>

#include <tapestry/core/checksum.h>
#include <tapestry/core/directory.h>
#include <tapestry/core/file.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/delimited.h>
#include <tapestry/nn/data/documents.h>
#include <tapestry/nn/data/file_kind.h>
#include <tapestry/nn/data/image_files.h>
#include <tapestry/nn/data/text.h>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

// Images, and the class of each, which is empty if they are read without classes.
struct ImageReading {
    ImageCollector images;
    std::vector<std::string> classes = {};
    bool has_classes = true;
    std::optional<ImageSize> wanted = {};
    std::int64_t side = 0;  // to which image files are scaled
};

std::string shown_name(const fs::path& path) { return utf8::printable(path.string()); }

// ---- a directory --------------------------------------------------------------------------------

// The entries that do not begin with a dot, sorted.
std::vector<fs::path> visible_entries(const fs::path& directory) {
    std::error_code error;
    std::vector<std::string> names = names_in(directory, error);
    require<IoError>(!error, "{}: {}", shown_name(directory), error.message());
    std::erase_if(names, [](const std::string& name) { return name.starts_with('.'); });
    std::sort(names.begin(), names.end());
    std::vector<fs::path> paths;
    for (const std::string& name : names) paths.push_back(directory / name);
    return paths;
}

void read_image_file(const fs::path& file, const std::string& label, ImageReading& to) {
    const std::string name = shown_name(file);
    if (!is_image_name(file)) {
        fail<IoError>("{}: expected a .png, .jpg, .jpeg, .pgm, .ppm or .pnm image", name);
    }
    to.images.add(decode_image(read_file(file), name), name);
    if (to.has_classes) to.classes.push_back(label);
}

void read_folder(const fs::path& folder, const std::string& label, ImageReading& to) {
    const std::vector<fs::path> files = visible_entries(folder);
    require<IoError>(!files.empty(), "{}: has no images", shown_name(folder));
    for (const fs::path& file : files) read_image_file(file, label, to);
}

void read_folders(const fs::path& directory, ImageReading& to) {
    for (const fs::path& folder : visible_entries(directory)) {
        std::error_code unknown;
        require<IoError>(fs::is_directory(folder, unknown),
                         "{}: is not a folder; a directory of images has a folder per class",
                         shown_name(folder));
        const std::string label = folder.filename().string();
        require<IoError>(!utf8::find_flaw(label), "{}: the folder's name is not UTF-8",
                         shown_name(folder));
        read_folder(folder, label, to);
    }
}

// ---- columns ------------------------------------------------------------------------------------

using PixelFields = std::vector<std::string_view>;

std::string_view bare_field(std::string_view field) {
    constexpr std::string_view kBlanks = " \r\"";  // and quotes
    const std::size_t begin = field.find_first_not_of(kBlanks);
    if (begin == field.npos) return {};
    return field.substr(begin, field.find_last_not_of(kBlanks) + 1 - begin);
}

void split_line(std::string_view line, char separator, PixelFields& fields) {
    fields.clear();
    for (;;) {
        const std::size_t end = line.find(separator);
        fields.push_back(bare_field(line.substr(0, end)));
        if (end == line.npos) return;
        line.remove_prefix(end + 1);
    }
}

std::optional<std::uint8_t> pixel_of(std::string_view field) {
    std::uint8_t value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc{} || end != field.data() + field.size()) return std::nullopt;
    return value;
}

// The size of images with this many pixels: a square, unless one is wanted.
ImageSize size_of_row(std::int64_t pixels, const ImageReading& to, const std::string& place) {
    if (to.wanted && to.wanted->numbers() == pixels) return *to.wanted;
    const auto side = std::llround(std::sqrt(static_cast<double>(pixels)));
    if (side >= 1 && side * side == pixels) return {side, side, 1};
    fail<IoError>(
        "{}: has {}, which are no square image; write others as PGM or PPM files in a folder per "
        "class",
        place, pluralize(pixels, "pixel"));
}

// Which field of a row has the label.
struct ImageColumns {
    std::optional<std::size_t> label;
    std::size_t count = 0;  // fields of every row
    ImageSize size;
};

// From the first row with pixels; `named` is the label's column if a line with names has said so.
ImageColumns image_columns(const PixelFields& fields, std::optional<std::size_t> named,
                           const ImageReading& to, const std::string& place) {
    ImageColumns columns{.label = named, .count = fields.size(), .size = {}};
    const auto count = std::ssize(fields);
    if (named && *named >= fields.size()) {
        fail<IoError>("{}: has {}; the first line has the label's name in column {}", place,
                      pluralize(count, "field"), *named + 1);
    }
    const bool has_label = to.has_classes || named || !to.wanted || count != to.wanted->numbers();
    if (has_label && !columns.label) columns.label = 0;
    columns.size = size_of_row(count - (has_label ? 1 : 0), to, place);
    return columns;
}

// A first line with names has no pixels.
bool is_header(const PixelFields& fields) {
    return fields.size() > 1 &&
           std::none_of(fields.begin() + 1, fields.end(),
                        [](const auto& field) { return pixel_of(field).has_value(); });
}

// The label's column is called "label", "class" or "target", or is the first, unless that is called
// as a pixel is: "pixel0".
std::optional<std::size_t> named_label(const PixelFields& fields, const ImageReading& to,
                                       const std::string& place) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const std::string name = column_name(std::string(fields[i]));
        if (name == "label" || name == "class" || name == "target") return i;
    }
    const std::string first = column_name(std::string(fields[0]));
    const bool is_pixel = !first.empty() && first.back() >= '0' && first.back() <= '9';
    require<IoError>(!to.has_classes || !is_pixel,
                     "{}: no column is called \"label\", \"class\" or \"target\"", place);
    return std::nullopt;
}

void read_row(const PixelFields& fields, const ImageColumns& columns, const std::string& place,
              ImageReading& to) {
    if (fields.size() != columns.count) {
        fail<IoError>("{}: has {}, expected {} as in the first row", place,
                      pluralize(std::ssize(fields), "field"), columns.count);
    }
    std::vector<std::uint8_t> pixels;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        if (columns.label == i) continue;
        const auto pixel = pixel_of(fields[i]);
        if (!pixel) {
            fail<IoError>("{}: field {} is {}; a pixel is a whole number in [0, 255]", place, i + 1,
                          utf8::quoted(fields[i], 20));
        }
        pixels.push_back(*pixel);
    }
    if (to.has_classes) {
        require<IoError>(!fields[*columns.label].empty(), "{}: the label is empty", place);
        to.classes.emplace_back(fields[*columns.label]);
    }
    to.images.add(columns.size, pixels, place);
}

void read_pixel_columns(const fs::path& file, ImageReading& to) {
    const std::string whole = read_text(file), name = shown_name(file);
    const char separator = file.extension() == ".csv" ? ',' : '\t';
    std::optional<ImageColumns> columns;
    std::optional<std::size_t> named;
    PixelFields fields;
    std::vector<std::string> unquoted;
    std::int64_t line = 0;
    for (std::string_view rest = whole; !rest.empty();) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view text = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        const std::string place = fmt::format("{}:{}", name, ++line);
        if (bare_field(text).empty()) continue;
        if (separator == ',' && text.find('"') != text.npos) {  // a label may have commas
            unquoted = DelimitedText(name, text, line).next_record(separator, true);
            fields.assign(unquoted.begin(), unquoted.end());
            for (std::string_view& field : fields) field = bare_field(field);
        } else {
            split_line(text, separator, fields);
        }
        if (line == 1 && is_header(fields)) {
            named = named_label(fields, to, place);
            continue;
        }
        if (!columns) columns = image_columns(fields, named, to, place);
        read_row(fields, *columns, place, to);
    }
}

// ---- IDX ----------------------------------------------------------------------------------------

// A file of IDX, https://yann.lecun.com/exdb/mnist: two zeros, the type of the elements (8: bytes),
// the number of sizes, these as 32 bits each, the highest byte first, and the elements.
struct IdxFile {
    std::string bytes;
    std::vector<std::int64_t> sizes;
    std::size_t begin = 0;  // of the elements

    std::uint8_t element(std::size_t i) const {
        return static_cast<std::uint8_t>(bytes[begin + i]);
    }
};

bool is_idx(std::string_view bytes) {
    return bytes.size() >= 4 && bytes[0] == 0 && bytes[1] == 0 && bytes[3] >= 1 && bytes[3] <= 4;
}

IdxFile read_idx(const fs::path& file, std::size_t dimensions, const char* what) {
    IdxFile idx{.bytes = read_file(file), .sizes = {}, .begin = 4 + 4 * dimensions};
    const std::string name = shown_name(file);
    require<IoError>(is_idx(idx.bytes), "{}: not an IDX file of {}", name, what);
    const auto found = static_cast<unsigned char>(idx.bytes[3]);
    require<IoError>(idx.bytes[2] == 8 && found == dimensions,
                     "{}: has elements of type {} in {} dimensions; {} are bytes (8) in {}", name,
                     static_cast<int>(idx.bytes[2]), found, what, dimensions);
    require<IoError>(idx.bytes.size() >= idx.begin, "{}: ends within its sizes", name);
    double needed = 1;
    for (std::size_t at = 4; at < idx.begin; at += 4) {
        std::int64_t size = 0;
        for (std::size_t i = at; i < at + 4; ++i) {
            size = 256 * size + static_cast<unsigned char>(idx.bytes[i]);
        }
        require<IoError>(size <= 1 << 30, "{}: a size is {}", name, size);
        idx.sizes.push_back(size);
        needed *= static_cast<double>(size);
    }
    require<IoError>(static_cast<double>(idx.bytes.size() - idx.begin) == needed,
                     "{}: has {} bytes of {}, its sizes need {:.0f}", name,
                     idx.bytes.size() - idx.begin, what, needed);
    return idx;
}

// The file of labels: "train-images-idx3-ubyte" becomes "train-labels-idx1-ubyte".
fs::path labels_beside(const fs::path& images) {
    std::string name = images.filename().string();
    for (const auto& [from, to] : {std::pair{"images", "labels"}, std::pair{"idx3", "idx1"}}) {
        const std::size_t at = name.rfind(from);
        if (at != name.npos) name.replace(at, std::string_view(from).size(), to);
    }
    const fs::path labels = images.parent_path() / name;
    require<IoError>(labels != images && is_there(labels),
                     "{}: the file of its labels is missing{}", shown_name(images),
                     labels == images ? "; expected \"images\" in the name, and another file with "
                                        "\"labels\" instead"
                                      : ", expected " + shown_name(labels));
    return labels;
}

void read_idx_images(const fs::path& file, ImageReading& to) {
    const IdxFile images = read_idx(file, 3, "images");
    const ImageSize size{images.sizes[1], images.sizes[2], 1};
    const std::string name = shown_name(file);
    require<IoError>(size.numbers() > 0, "{}: images of {}", name, to_text(size));
    if (to.has_classes) {
        const fs::path beside = labels_beside(file);
        const IdxFile labels = read_idx(beside, 1, "labels");
        require<IoError>(labels.sizes[0] == images.sizes[0], "{}: {} images, but {} has {} labels",
                         name, images.sizes[0], shown_name(beside), labels.sizes[0]);
        for (std::size_t i = 0; i < static_cast<std::size_t>(labels.sizes[0]); ++i) {
            to.classes.push_back(fmt::format("{}", labels.element(i)));
        }
    }
    const auto* pixels = reinterpret_cast<const std::uint8_t*>(images.bytes.data()) + images.begin;
    const auto length = static_cast<std::size_t>(size.numbers());
    for (std::size_t i = 0; i < static_cast<std::size_t>(images.sizes[0]); ++i) {
        to.images.add(size, {pixels + i * length, length}, fmt::format("{}:{}", name, i + 1));
    }
}

// ---- any of them --------------------------------------------------------------------------------

// Columns and IDX have images of one size, which must be that of the model.
void refuse_scaling(const fs::path& path, const ImageReading& to) {
    if (to.side == 0 || to.wanted) return;
    fail<IoError>(
        "{}: has images of one size; only image files in a directory are scaled "
        "(--image-size)",
        shown_name(path));
}

void read_any(const fs::path& path, ImageReading& to) {
    std::error_code unknown;
    if (fs::is_directory(path, unknown)) {
        return to.has_classes ? read_folders(path, to) : read_folder(path, {}, to);
    }
    if (path.extension() == ".csv" || path.extension() == ".tsv") {
        refuse_scaling(path, to);
        return read_pixel_columns(path, to);
    }
    if (is_image_name(path)) {
        require<IoError>(!to.has_classes,
                         "{}: is one image; expected a directory with a folder per class, a .csv, "
                         "a .tsv, or an IDX file",
                         shown_name(path));
        return read_image_file(path, {}, to);
    }
    static_cast<void>(InputFile(path));  // is it there?
    const std::string beginning = beginning_of(path);
    if (is_idx(beginning)) {
        refuse_scaling(path, to);
        return read_idx_images(path, to);
    }
    const std::string_view kind = kind_of_file(beginning, false);
    fail<IoError>(
        "{}: {}; images are a directory, a .csv, a .tsv, a .png, .jpg, .pgm or .ppm, or "
        "an IDX file",
        shown_name(path), kind.empty() ? "of an unknown kind" : fmt::format("is {}", kind));
}

std::string hash_of_images(const ImagesByClass& all) {
    Checksum sum;
    sum.add(to_text(all.images.size));
    for (const std::int64_t target : all.targets) {
        sum.add(all.labels[static_cast<std::size_t>(target)]);
        sum.add(std::string_view("\0", 1));
    }
    sum.add(std::as_bytes(std::span(all.images.pixels)));
    return sum.hex();
}

}  // namespace

ImagesByClass read_images_by_class(const fs::path& path, const WantedImages& wanted) {
    require(wanted.side >= 0, "read_images_by_class: side must be >= 0, got {}", wanted.side);
    ImageReading reading{.images = ImageCollector(wanted.size, wanted.side),
                         .wanted = wanted.size,
                         .side = wanted.side};
    read_any(path, reading);
    ImagesByClass all{
        .labels = wanted.labels, .images = reading.images.take(), .targets = {}, .hash = {}};
    std::map<std::string, std::int64_t> ids;
    if (wanted.labels.empty()) {
        for (const std::string& label : reading.classes) ids[label];
        for (const auto& [label, id] : ids) all.labels.push_back(label);
    }
    for (std::size_t i = 0; i < all.labels.size(); ++i) {
        ids[all.labels[i]] = static_cast<std::int64_t>(i);
    }
    for (std::size_t i = 0; i < reading.classes.size(); ++i) {
        const auto found = ids.find(reading.classes[i]);
        if (found == ids.end()) {
            fail<IoError>("{}: class {} is not one of the model's {}", all.images.names[i],
                          utf8::quoted(reading.classes[i]), ids.size());
        }
        all.targets.push_back(found->second);
    }
    require<IoError>(!all.targets.empty(), "{}: has no images", shown_name(path));
    require<IoError>(all.labels.size() >= 2,
                     "{}: a classifier needs at least 2 classes, and these images have {}",
                     shown_name(path), all.labels.size());
    all.hash = hash_of_images(all);
    return all;
}

ImageSet read_images(const fs::path& path, const ImageSize& size, bool is_scaled) {
    require(!is_scaled || size.height == size.width,
            "read_images: images are scaled to squares, not to {}", to_text(size));
    ImageReading reading{.images = ImageCollector(size, is_scaled ? size.height : 0),
                         .has_classes = false,
                         .wanted = size};
    read_any(path, reading);
    ImageSet images = reading.images.take();
    require<IoError>(images.count() > 0, "{}: has no images", shown_name(path));
    return images;
}

}  // namespace tapestry
