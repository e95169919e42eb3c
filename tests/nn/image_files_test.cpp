// PNG and JPEG files against what Pillow reads from them (tests/fixtures/make_image_fixtures.py),
// damaged ones, and transforms of images.
#include <tapestry/core/create.h>
#include <tapestry/core/file.h>
#include <tapestry/nn/data/image_files.h>
#include <tapestry/nn/data/image_transforms.h>
#include <tapestry/nn/data/images.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/subscript.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>
#include <tapestry/tests/skip.h>
#include <tapestry/tests/source_dir.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>

using namespace tapestry;
using doctest::Approx;
using test::check_message;

namespace {

using Pixels = std::vector<std::uint8_t>;

std::string fixture(const std::string& name) {
    return read_file(test::source_dir() / "tests/fixtures/images" / name);
}

DecodedImage expected(const std::string& name) { return decode_netpbm(fixture(name), name); }

constexpr std::array kPng{"grey",  "colours",    "one_bit", "palette",    "palette_transparent",
                          "alpha", "grey_alpha", "turned",  "interlaced", "sixteen_bits"};
constexpr std::array kJpeg{"photo", "photo_grey", "progressive", "photo_turned"};

// A build without libpng or libjpeg, such as the one for WebAssembly, refuses such files; the rest
// of a test is then skipped.
bool can_decode(const std::string& file) {
    try {
        decode_image(fixture(file), file);
        return true;
    } catch (const IoError& error) {
        const std::string what = error.what();
        if (what.find("and this build has no lib") == what.npos) throw;
        MESSAGE(what);
        return false;
    }
}

bool has_png() { return can_decode("grey.png"); }
bool has_jpeg() { return can_decode("photo.jpg"); }

void refused(const std::string& bytes, const char* message) {
    check_message<IoError>([&] { decode_image(bytes, "a"); }, message);
}

std::string name_of_pixels(const std::string& name) {
    const bool is_grey = name == "grey" || name == "one_bit" || name == "grey_alpha" ||
                         name == "sixteen_bits" || name == "photo_grey";
    return name + (is_grey ? ".pgm" : ".ppm");
}

}  // namespace

TEST_CASE("image files: PNG of every kind has Pillow's pixels, upright and over white") {
    if (!has_png()) return test::skip("this build has no libpng");
    for (const std::string name : kPng) {
        CAPTURE(name);
        const DecodedImage found = decode_image(fixture(name + ".png"), name);
        const DecodedImage right = expected(name_of_pixels(name));
        CHECK(found.size == right.size);
        CHECK(found.pixels == right.pixels);
    }
    CHECK(decode_image(fixture("turned.png"), "t").size == ImageSize{21, 14, 3});
}

TEST_CASE("image files: JPEG, grey, coloured, progressive and turned, has Pillow's pixels") {
    if (!has_jpeg()) return test::skip("this build has no libjpeg");
    for (const std::string name : kJpeg) {
        CAPTURE(name);
        const DecodedImage found = decode_image(fixture(name + ".jpg"), name);
        const DecodedImage right = expected(name_of_pixels(name));
        REQUIRE(found.size == right.size);
        int worst = 0;  // other libjpegs than Pillow's may round differently
        for (std::size_t i = 0; i < right.pixels.size(); ++i) {
            worst = std::max(worst, std::abs(found.pixels[i] - right.pixels[i]));
        }
        CHECK_LE(worst, 2);
    }
    CHECK(decode_image(fixture("photo_turned.jpg"), "t").size == ImageSize{21, 14, 3});
    std::string arithmetic = fixture("photo.jpg");
    arithmetic[arithmetic.find("\xFF\xC0") + 1] = '\xC9';
    refused(arithmetic, "a: arithmetic coding, whose damage goes unnoticed");
    refused(fixture("cmyk.jpg"), "a: has 4 channels (CMYK); expected a grey or coloured JPEG");
}

TEST_CASE("image files: the eight orientations of EXIF") {
    const DecodedImage stored{{2, 3, 1}, {1, 2, 3, 4, 5, 6}};
    const std::array<Pixels, 8> upright{{{1, 2, 3, 4, 5, 6},
                                         {3, 2, 1, 6, 5, 4},
                                         {6, 5, 4, 3, 2, 1},
                                         {4, 5, 6, 1, 2, 3},
                                         {1, 4, 2, 5, 3, 6},
                                         {4, 1, 5, 2, 6, 3},
                                         {6, 3, 5, 2, 4, 1},
                                         {3, 6, 2, 5, 1, 4}}};
    for (int orientation = 1; orientation <= 8; ++orientation) {
        CAPTURE(orientation);
        DecodedImage image = stored;
        orient(image, orientation);
        CHECK(image.pixels == upright[static_cast<std::size_t>(orientation - 1)]);
        CHECK(image.size == (orientation < 5 ? ImageSize{2, 3, 1} : ImageSize{3, 2, 1}));
    }
    using namespace std::string_literals;
    const std::string entry = "\x12\x01\x03\0\x01\0\0\0\x06\0\0\0"s;
    const std::string little = "II*\0\x08\0\0\0\x01\0"s + entry;
    CHECK_EQ(exif_orientation(little), 6);
    CHECK_EQ(exif_orientation(little.substr(0, little.size() - 1)), 1);
    CHECK_EQ(exif_orientation("II*\0\xFF\xFF\xFF\xFF\x01\0"s + entry), 1);
    CHECK_EQ(exif_orientation("II*\0\x08\0\0\0\xFF\xFF"s + std::string(12, '\0') + entry), 6);
    CHECK_EQ(exif_orientation(""), 1);
}

TEST_CASE("image files: truncated, false and huge ones are one message, before memory is asked") {
    if (has_png()) {
        const std::string png = fixture("colours.png");
        refused(png.substr(0, 20), "a: damaged PNG: ends within its header");
        refused(png.substr(0, 60), "a: damaged PNG: the file ends early");
        refused(png.substr(0, png.size() - 4), "a: damaged PNG: the file ends early");
        std::string changed = png;
        changed[100] = static_cast<char>(changed[100] + 1);
        refused(changed, "a: damaged PNG: ");
        for (const int at : {16, 20}) {  // 2^31 - 1 pixels in a file of 200 bytes
            std::string huge = png;
            huge.replace(static_cast<std::size_t>(at), 4, "\x7F\xFF\xFF\xFF");
            refused(huge, at == 16 ? "a: the width must be in [1, 16384], got 2147483647"
                                   : "a: the height must be in [1, 16384], got 2147483647");
        }
        std::string large = png;
        large.replace(16, 8, std::string("\0\0\x40\0\0\0\x40\0", 8));
        refused(large, "a: 16384 x 16384 pixels are more than 67108864; make the image smaller");
        std::string empty = png;
        empty.replace(16, 4, std::string(4, '\0'));
        refused(empty, "a: the width must be in [1, 16384], got 0");
    }
    if (has_jpeg()) {
        const std::string jpeg = fixture("photo.jpg");
        refused(jpeg.substr(0, 30), "a: damaged JPEG: ");
        refused(jpeg.substr(0, jpeg.size() - 60), "a: damaged JPEG: Premature end of JPEG file");
        const std::size_t sizes = jpeg.find("\xFF\xC0") + 5;  // height and width, 2 bytes each
        std::string huge = jpeg;
        huge.replace(sizes, 4, "\xFD\xE8\xFD\xE8");
        refused(huge, "a: the width must be in [1, 16384], got 65000");
        refused(jpeg.substr(0, sizes), "a: damaged JPEG: ");
    }
    refused("GIF89a", "a: not a PNG, JPEG, PGM or PPM image; it begins with 'GIF89a'");
}

TEST_CASE("image files: mutated ones are read, or refused by an IoError of one line") {
    Generator random(46);
    std::int64_t read = 0, not_read = 0;
    const int rounds = test::is_long() ? 20000 : 150;
    const auto mutate = [&](std::string bytes) {
        const std::uint64_t changes = 1 + random.below(4);
        for (std::uint64_t i = 0; i < changes && !bytes.empty(); ++i) {
            const auto at = static_cast<std::size_t>(random.below(bytes.size()));
            switch (random.below(5)) {
                case 0: bytes[at] = static_cast<char>(random.below(256)); break;
                case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8))); break;
                case 2: bytes.resize(at); break;
                case 3: bytes.insert(at, bytes.substr(at / 2, random.below(20))); break;
                default: bytes.erase(at, random.below(20));
            }
        }
        try {
            const DecodedImage image = decode_image(bytes, "mutated");
            CHECK_EQ(std::ssize(image.pixels), image.size.numbers());
            ++read;
        } catch (const IoError& error) {
            CHECK(std::string(error.what()).find('\n') == std::string::npos);
            ++not_read;
        }
    };
    std::vector<std::string> files;
    for (const char* name : kPng) files.push_back(fixture(std::string(name) + ".png"));
    for (const char* name : kJpeg) files.push_back(fixture(std::string(name) + ".jpg"));
    for (const std::string& file : files) {
        for (int round = 0; round < rounds; ++round) mutate(file);
    }
    CHECK_GT(not_read, rounds);
    CHECK((read > 0 || !has_jpeg()));
}

TEST_CASE("image files: folders of PNG and JPEG, as they are and scaled to one size") {
    if (!has_png() || !has_jpeg()) return test::skip("this build has no libpng or no libjpeg");
    const test::Scratch scratch;
    const auto put = [&](const std::string& to, const std::string& from) {
        std::filesystem::create_directories((scratch / to).parent_path());
        test::spill(scratch / to, fixture(from));
    };
    put("d/a/1.PNG", "grey.png");
    put("d/b/1.pgm", "grey.pgm");
    const ImagesByClass same = read_images_by_class(scratch / "d");
    CHECK(same.images.size == ImageSize{14, 21, 1});
    CHECK(std::equal(same.images.image(0).begin(), same.images.image(0).end(),
                     same.images.image(1).begin()));
    put("d/b/2.jpeg", "photo_turned.jpg");
    put("d/b/3.jpg", "colours.png");  // what it is counts, not its name
    check_message<IoError>([&] { read_images_by_class(scratch / "d"); },
                           "and all images need one size; --image-size N scales image files");
    const ImagesByClass scaled = read_images_by_class(scratch / "d", {.side = 5});
    CHECK_EQ(scaled.images.count(), 4);
    CHECK(scaled.images.size == ImageSize{5, 5, 3});
    const auto grey = scaled.images.image(0);  // in colours, because others are
    CHECK(std::equal(grey.begin(), grey.begin() + 25, grey.begin() + 50));
    const auto last = scaled.images.image(3);
    const DecodedImage right = expected("central_square.ppm");
    CHECK(Pixels(last.begin(), last.end()) == right.pixels);
    // A model of grey images reads coloured ones, scaled as it was trained.
    CHECK(read_images(scratch / "d/b", {5, 5, 1}, true).size == ImageSize{5, 5, 1});
    check_message<ValueError>(
        [&] {
            read_images(scratch / "d/b", {5, 6, 1}, true);
        },
        "read_images: images are scaled to squares, not to 5 x 6 pixels");
    test::spill(scratch / "c.csv", "a,1,2,3,4\nb,1,2,3,4\n");
    check_message<IoError>([&] { read_images_by_class(scratch / "c.csv", {.side = 5}); },
                           "c.csv: has images of one size; only image files in a directory are "
                           "scaled (--image-size)");
}

TEST_CASE("image transforms: scaling has Pillow's pixels, also on tensors") {
    for (const auto& [name, side] : {std::pair{"central_square.ppm", 5}, {"enlarged.ppm", 31}}) {
        DecodedImage image = expected("colours.ppm");
        const DecodedImage right = expected(name);
        const Tensor whole = image_tensor({image.size, image.pixels, {"colours"}});
        scale_to_square(image, side);
        CHECK(image.size == right.size);
        CHECK(image.pixels == right.pixels);
        const Tensor scaled = resize_images(center_crop(whole, 14), side);
        const Tensor wanted = image_tensor({right.size, right.pixels, {"right"}});
        CHECK_LT((scaled - wanted).abs().max().item<double>(),
                 1.2 / 255);  // bytes are rounded twice
    }
    const Tensor x = arange(12, DType::f64).reshape(3, 4);
    CHECK(allclose(resize_images(x, {3, 4}), x));
    CHECK(allclose(resize_images(ones({2, 7, 9}), {3, 20}), ones({2, 3, 20})));
    check_message<ShapeError>([&] { resize_images(x, 0); },
                              "resize_images: the size must be positive, got 0");
    DecodedImage colours{{1, 1, 3}, {100, 50, 200}};
    remove_colours(colours);
    CHECK_EQ(colours.pixels, Pixels{82});  // 29.9 + 29.35 + 22.8
    add_colours(colours);
    CHECK_EQ(colours.pixels, Pixels{82, 82, 82});
}

TEST_CASE("image transforms: crops, flips and normalisation repeat with their seed") {
    const Tensor x = arange(2 * 3 * 4 * 5, DType::f32).reshape(2, 3, 4, 5);
    CHECK(allclose(center_crop(x, {1, 2})[{0, 0}], tensor({{6.0F, 7.0F}})));
    check_message<ShapeError>(
        [&] {
            center_crop(x, {5, 5});
        },
        "center_crop: 5 must be at least 1 and at most 4 x 5");
    Generator a(3), b(3);
    std::set<std::vector<double>> parts;
    for (int i = 0; i < 200; ++i) {
        const Tensor part = random_crop(x, {3, 3}, 1, a);
        CHECK(allclose(part, random_crop(x, {3, 3}, 1, b)));
        parts.insert(part[0].to_vector<double>());
        // Each value stays at its distance from the next, or is padding.
        const auto row = part[{0, 0, 1}].to_vector<double>();
        CHECK((row[1] == 0 || row[2] == 0 || row[2] == row[1] + 1));
    }
    CHECK_EQ(parts.size(), 4 * 5);  // every place: 4 + 2 - 3 + 1 rows, 5 + 2 - 3 + 1 columns
    CHECK(allclose(random_crop(x, {4, 5}), x));
    check_message<ShapeError>(
        [&] {
            random_crop(x, {7, 5}, 1, a);
        },
        "random_crop: 7 x 5 does not fit into 4 x 5 with padding 1");

    CHECK(allclose(random_flip(x, 0), x));
    const Tensor mirrored = random_flip(x, 1);
    CHECK_EQ(mirrored[{1, 2, 3}].to_vector<double>(), std::vector<double>{119, 118, 117, 116, 115});
    int flipped = 0;
    for (int i = 0; i < 400; ++i) {
        const Tensor one = random_flip(x, 0.25, a);
        flipped += one.at({0, 0, 0, 0}) != 0 ? 1 : 0;
    }
    CHECK_LT(std::abs(flipped - 100), 35);

    const Tensor normal = normalize_channels(x, {1, 2, 3}, {1, 2, 4});
    CHECK_EQ(normal.at({1, 2, 0, 1}), Approx((101.0 - 3) / 4));
    check_message<ShapeError>(
        [&] {
            normalize_channels(x, {1}, {1, 2, 3});
        },
        "normalize_channels: 1 mean and 3 deviations for 3 channels");
    check_message<ValueError>(
        [&] {
            normalize_channels(x, {1, 2, 3}, {1, 0, 1});
        },
        "normalize_channels: a deviation must be positive, got 0");
    check_message<ValueError>([] { image_tensor({}); }, "image_tensor: there are no images");
}
