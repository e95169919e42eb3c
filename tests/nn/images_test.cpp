// Images from files: netpbm's formats, folders, columns, IDX, and what is wrong in them; and an
// image classifier: the pixels it sees, a run that learns, its directory.
#include <tapestry/nn/data/image_files.h>
#include <tapestry/nn/data/images.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/train/image/image_task.h>
#include <tapestry/nn/train/session.h>
#include <tapestry/nn/train/training_run.h>
#include <tapestry/tests/nn/small_run.h>

#include <cmath>

using namespace tapestry;
using doctest::Approx;
using test::check_message;
using namespace std::string_literals;

namespace {

using Pixels = std::vector<std::uint8_t>;

std::string with(const std::string& header, std::initializer_list<int> bytes) {
    std::string all = header;
    for (const int byte : bytes) all += static_cast<char>(byte);
    return all;
}

void refused_image(const std::string& bytes, const char* message) {
    check_message<IoError>([&] { decode_netpbm(bytes, "a.pgm"); }, message);
}

void spill_in(const std::filesystem::path& file, const std::string& text) {
    std::filesystem::create_directories(file.parent_path());
    test::spill(file, text);
}

// An IDX file of bytes.
std::string idx(std::initializer_list<int> sizes, const std::string& elements) {
    std::string all = with("", {0, 0, 8, static_cast<int>(sizes.size())});
    for (const int size : sizes) all += with("", {0, 0, size / 256, size % 256});
    return all + elements;
}

// The message for a file of images by class.
void refused(const std::filesystem::path& path, const std::string& message,
             const WantedImages& wanted = {}) {
    check_message<IoError>([&] { read_images_by_class(path, wanted); }, message.c_str());
}

}  // namespace

TEST_CASE("images: P2, P3, P5 and P6 are decoded to 8 bits, colours channel by channel") {
    const DecodedImage plain = decode_netpbm("P2 # grey\n3 2\n15\n0 1 2 # more\n 3 14 15\n", "a");
    CHECK(plain.size == ImageSize{2, 3, 1});
    CHECK_EQ(plain.pixels, Pixels{0, 17, 34, 51, 238, 255});
    const DecodedImage raw = decode_netpbm(with("P5\n2 1 255\n", {200, 10}), "a");
    CHECK_EQ(raw.pixels, Pixels{200, 10});
    const DecodedImage wide = decode_netpbm(with("P5 2 1 65535\n", {255, 255, 128, 0}), "a");
    CHECK_EQ(wide.pixels, Pixels{255, 128});
    const Pixels colours{1, 4, 2, 5, 3, 6};
    CHECK_EQ(decode_netpbm("P3 2 1 255  1 2 3  4 5 6", "a").pixels, colours);
    const DecodedImage coloured = decode_netpbm(with("P6 2 1 255 ", {1, 2, 3, 4, 5, 6}), "a");
    CHECK_EQ(coloured.pixels, colours);
    CHECK_EQ(to_text(coloured.size), "1 x 2 pixels, 3 channels");
    refused_image("", "a.pgm: not a PNG, JPEG, PGM or PPM image; it begins with ''");
    refused_image("P4 1 1 ", "it begins with 'P4 1 1 '");
    refused_image("P2 x", "a.pgm: expected the width, found 'x'");
    refused_image("P2 3", "a.pgm: expected the height, found the end of the file");
    refused_image("P2 99999999999999999999 1 1", "the width must be in [1, 16384], got");
    refused_image("P5 1 1 0 ", "the largest value must be in [1, 65535], got 0");
    refused_image("P2 2 1 9 1", "expected a pixel, found the end of the file");
    refused_image("P2 2 1 9 1 10", "a pixel must be in [0, 9], got 10 or more");
    refused_image("P2 2 1 9 1 2 3", "more follows after its 2 numbers");
    refused_image("P5 2 1 9 a", "has 1 bytes of pixels, expected 2");
    refused_image(with("P5 2 1 9 ", {1, 10}), "a pixel is 10, the largest value 9");
}

TEST_CASE("images: a folder per class, and what is wrong there") {
    const test::Scratch scratch;
    const auto at = scratch / "d";
    spill_in(at / "cat" / "2.pgm", "P2 2 1 255 1 2");
    spill_in(at / "cat" / "10.pgm", "P2 2 1 255 3 4");
    spill_in(at / "cat" / ".hidden", "x");
    spill_in(at / "bird" / "a.pnm", "P2 2 1 255 5 6");
    const ImagesByClass all = read_images_by_class(at);
    CHECK_EQ(all.labels, std::vector<std::string>{"bird", "cat"});
    CHECK_EQ(all.targets, std::vector<std::int64_t>{0, 1, 1});
    CHECK_EQ(all.images.pixels, Pixels{5, 6, 3, 4, 1, 2});
    CHECK_EQ(all.images.names[1], (at / "cat" / "10.pgm").string());
    CHECK(read_images_by_class(at, {.labels = {"cat", "bird"}}).targets ==
          std::vector<std::int64_t>{1, 0, 0});
    refused(at, "bird/a.pnm: 1 x 2 pixels, 1 channel; the model reads 2 x 2 pixels, 1 channel",
            {.size = ImageSize{2, 2, 1}});
    refused(at, "bird/a.pnm: class 'bird' is not one of the model's 2", {.labels = {"cat", "dog"}});
    spill_in(at / "cat" / "3.ppm", "P3 2 1 255 1 2 3 4 5 6");
    refused(at, "cat/3.ppm: 1 x 2 pixels, 3 channels; " + (at / "bird/a.pnm").string() +
                    " has 1 x 2 pixels, 1 channel, and all images need one size");
    spill_in(at / "cat" / "1.gif", "x");
    refused(at, "cat/1.gif: expected a .png, .jpg, .jpeg, .pgm, .ppm or .pnm image");
    std::filesystem::remove_all(at / "cat");
    refused(at, ": a classifier needs at least 2 classes, and these images have 1");
    std::filesystem::create_directories(at / "cat");
    refused(at, "cat: has no images");
    test::spill(at / "a.pgm", "P2 2 1 255 1 2");
    refused(at, "a.pgm: is not a folder; a directory of images has a folder per class");
    refused(at / "a.pgm", "a.pgm: is one image; expected a directory with a folder per class");
    refused(scratch / "absent", "absent");
    test::spill(scratch / "z", "\x1F\x8B\x08");
    refused(scratch / "z", "z: is a gzip archive (gunzip unpacks it); images are a directory");

    const ImageSet one = read_images(at / "a.pgm", {1, 2, 1});
    CHECK_EQ(one.pixels, Pixels{1, 2});
    CHECK_EQ(read_images(at / "bird", {1, 2, 1}).count(), 1);
    check_message<IoError>(
        [&] {
            read_images(at / "a.pgm", {2, 1, 1});
        },
        "a.pgm: 1 x 2 pixels, 1 channel; the model reads 2 x 1 pixels");
}

TEST_CASE("images: rows of a label and pixels") {
    const test::Scratch scratch;
    const auto csv = scratch / "a.csv", tsv = scratch / "a.tsv";
    test::spill(csv, "label,1x1,1x2,2x1,2x2\n\"b, c\",\"0\",1,2,\" 255\"\r\n\"d\",1,2,3,4\n");
    const ImagesByClass quoted = read_images_by_class(csv);
    CHECK_EQ(quoted.labels, std::vector<std::string>{"b, c", "d"});
    CHECK_EQ(quoted.images.image(0)[3], 255);
    test::spill(csv, "1,2,3,4,5\n\"b,2,3,4,5\n");
    refused(csv, csv.string() + ":2: a quote is not closed");
    test::spill(csv, "label,1x1,1x2,2x1,2x2\n7,0,1,2,255\r\n\n\"b\",3,4,5,6\n");
    const ImagesByClass all = read_images_by_class(csv);
    CHECK(all.images.size == ImageSize{2, 2, 1});
    CHECK_EQ(all.labels, std::vector<std::string>{"7", "b"});
    CHECK_EQ(all.images.pixels, Pixels{0, 1, 2, 255, 3, 4, 5, 6});
    CHECK_EQ(all.images.names[1], csv.string() + ":4");
    test::spill(tsv, "p\tp\tp\tp\tLabel\n0\t1\t2\t255\t7\n3\t4\t5\t6\tb\n");
    CHECK_EQ(read_images_by_class(tsv).hash, all.hash);
    CHECK(read_images_by_class(csv, {.size = ImageSize{1, 4, 1}}).hash != all.hash);
    CHECK_EQ(read_images(csv, {2, 2, 1}).pixels, all.images.pixels);
    test::spill(tsv, "0\t1\t2\t255\n");
    CHECK_EQ(read_images(tsv, {2, 2, 1}).pixels, Pixels{0, 1, 2, 255});

    const auto wrong = [&](const std::string& text, const std::string& message) {
        test::spill(csv, text);
        refused(csv, csv.string() + message);
    };
    wrong("a,0,1,2,3\nb,1,2,3\n", ":2: has 4 fields, expected 5 as in the first row");
    wrong("a,0,1,2,3\nb,1,2,3,256\n",
          ":2: field 5 is '256'; a pixel is a whole number in [0, 255]");
    wrong("a,0,1,2,3\nb,1,2,3.0,4\n", ":2: field 4 is '3.0'; a pixel is");
    wrong("a,0,1,2,3\n,1,2,3,4\n", ":2: the label is empty");
    wrong("a,0,1,2\n", ":1: has 3 pixels, which are no square image; write others as PGM or PPM");
    wrong("a\n", ":1: has 0 pixels, which are no square image");
    wrong("a,0\na,1\n", ": a classifier needs at least 2 classes, and these images have 1");
    wrong("\n", ": has no images");
    // A first row with a pixel is no header; one that names only pixels has no label.
    wrong("a,-1,1,2,3\nb,1,2,3,4\n", ":1: field 2 is '-1'; a pixel is");
    wrong("pixel0,pixel1,pixel2,pixel3,digit\n0,1,2,255,7\n",
          ":1: no column is called \"label\", \"class\" or \"target\"");
    const char* const short_rows = "p0,p1,p2,p3,p4,label\n1,2,3,4,5\n6,7,8,9,0\n";
    wrong(short_rows, ":2: has 5 fields; the first line has the label's name in column 6");
    check_message<IoError>([&] { read_images(csv, {2, 2, 1}); }, ":2: has 5 fields; the first");
    test::spill(csv, "pixel0,pixel1,pixel2,pixel3,Class\n0,1,2,255,7\n3,4,5,6,b\n");
    CHECK_EQ(read_images_by_class(csv).hash, all.hash);
    test::spill(csv, "pixel0,pixel1,pixel2,pixel3\n");
    check_message<IoError>([&] { read_images(csv, {2, 2, 1}); }, ": has no images");
}

TEST_CASE("images: IDX, with the labels in the file beside") {
    const test::Scratch scratch;
    const auto images = scratch / "t-images-idx3-ubyte", labels = scratch / "t-labels-idx1-ubyte";
    test::spill(images, idx({2, 1, 2}, "\x01\x02\x03\xFF"));
    refused(images,
            "t-images-idx3-ubyte: the file of its labels is missing, expected " + labels.string());
    test::spill(labels, idx({2}, "\x07\x03"));
    const ImagesByClass all = read_images_by_class(images);
    CHECK_EQ(all.labels, std::vector<std::string>{"3", "7"});
    CHECK_EQ(all.targets, std::vector<std::int64_t>{1, 0});
    CHECK(all.images.size == ImageSize{1, 2, 1});
    CHECK_EQ(all.images.pixels, Pixels{1, 2, 3, 255});
    CHECK_EQ(read_images(images, {1, 2, 1}).names[1], images.string() + ":2");
    test::spill(labels, idx({3}, "\x07\x03\x01"));
    refused(images, ": 2 images, but " + labels.string() + " has 3 labels");
    test::spill(labels, idx({3}, "\x07\x03"));
    refused(images, labels.string() + ": has 2 bytes of labels, its sizes need 3");
    test::spill(labels, "label");
    refused(images, labels.string() + ": not an IDX file of labels");
    refused(labels, "of an unknown kind; images are");
    test::spill(images, idx({2, 1, 2}, "\x01\x02\x03"));
    refused(images, ": has 3 bytes of images, its sizes need 4");
    test::spill(images, idx({2, 2}, "\x01\x02\x03\x04"));
    refused(images, "has elements of type 8 in 2 dimensions; images are bytes (8) in 3");
    test::spill(images, idx({0, 0, 9}, ""));
    refused(images, ": images of 0 x 9 pixels");
    test::spill(scratch / "x", idx({2, 1, 2}, "\x01\x02\x03\xFF"));
    refused(scratch / "x", "x: the file of its labels is missing; expected \"images\" in the name");
}

// ---- the task -----------------------------------------------------------------------------------

namespace {

// Is the bright pixel on the left or on the right?
TrainingConfig sides(const test::RunPlace& place) {
    std::string rows;
    for (int i = 0; i < 200; ++i) {
        const bool left = i % 2 == 0;
        const int at = i / 2 % 4 * 4 + (left ? 0 : 2) + i % 3 % 2;
        rows += left ? "left" : "right";
        for (int pixel = 0; pixel < 16; ++pixel) {
            rows += fmt::format(",{}", pixel == at ? 200 : pixel * i % 20);
        }
        rows += '\n';
    }
    test::spill(place.scratch / "t.csv", rows);
    TrainingConfig config{.task = "image", .text = (place.scratch / "t.csv").string()};
    config.set_model(VisionTransformerConfig{.patch = 2, .dim = 16, .heads = 2, .layers = 1});
    config.batch = 16;
    config.steps = 60;
    config.warmup = 5;
    config.lr = 0.01;
    config.eval_every = 30;
    return config;
}

}  // namespace

TEST_CASE("image: a run learns, its directory classifies, scores and keeps the normalisation") {
    const test::RunPlace place;
    Session session(sides(place));
    const double before = session.evaluate();
    TrainingRun(session, {.out = place.out, .report = false}).to_the_end();
    CHECK_LT(session.evaluate(), 0.3 * before);
    CHECK(session.task().data_text().find(
              "200 images of 4 x 4 pixels, 1 channel, 2 classes; training on 180, validating on "
              "20, of each class its share") != std::string::npos);
    CHECK(model_kind(place.out) == ModelKind::image_classifier);
    const auto task = load_image_task(place.out);
    CHECK_EQ(task->labels(), std::vector<std::string>{"left", "right"});
    const ImagesByClass all = read_images_by_class(place.scratch / "t.csv");
    const ClassificationScores scores = task->score(all);
    CHECK_GT(scores.accuracy(), 0.95);
    const auto found = task->classify(all.images, 5);
    REQUIRE_EQ(found.size(), 200);
    REQUIRE_EQ(found[1].size(), 2);
    CHECK_EQ(found[1][0].probability + found[1][1].probability, Approx(1));

    // Mean and deviation of the training part, not of all.
    double sum = 0, squares = 0;
    for (const std::size_t i : split_by_label(all.targets, 2).train) {
        for (const double x : all.images.image(i)) {
            sum += x;
            squares += x * x;
        }
    }
    const ImageClasses kept = load_image_classes(place.out);
    CHECK_EQ(kept.mean[0], Approx(sum / (180 * 16)).epsilon(1e-12));
    CHECK_EQ(kept.deviation[0],
             Approx(std::sqrt(squares / (180 * 16) - kept.mean[0] * kept.mean[0])).epsilon(1e-9));
    // What a page shows: the image as the model sees it, and names for its patches.
    const Batch batch = task->batch_of(all.images, "right");
    CHECK_EQ(batch.targets.item<std::int64_t>(), 1);
    const auto image = task->page_image(batch, 0);
    REQUIRE(image.has_value());
    CHECK_EQ(image->patch, 2);
    CHECK_EQ(image->pixels.shape(), Shape{1, 4, 4});
    CHECK_EQ(image->pixels.at({0, 0, 0}),
             Approx((all.images.image(0)[0] - kept.mean[0]) / kept.deviation[0]));
    CHECK_EQ(task->page_texts(batch, 0)[0].queries,
             std::vector<std::string>{"[class]", "r0c0", "r0c1", "r1c0", "r1c1"});
    CHECK_EQ(session.task().texts(batch, 0)[0], all.images.names[0]);
    check_message<IoError>([&] { load_model(place.out); },
                           "the model is a Vision Transformer, expected a GPT or a Llama");
    std::filesystem::copy(place.out, place.scratch / "absurd");
    std::filesystem::remove(place.scratch / "absurd" / "tapestry-manifest.json");
    std::string absurd = test::slurp(place.scratch / "absurd" / "config.json");
    absurd.insert(absurd.find('{') + 1, "\"image_size\": 1000000000000,");
    test::spill(place.scratch / "absurd" / "config.json", absurd);
    check_message<IoError>([&] { load_image_task(place.scratch / "absurd"); },
                           "config.json: images scaled to 1000000000000 pixels for a model of 4 x "
                           "4");

    // A model to begin with keeps its classes and its normalisation.
    TrainingConfig again = sides(place);
    std::string rows = "label,p\n";
    for (int i = 0; i < 20; ++i) rows += fmt::format("{},{}\n", i % 2 == 0 ? "right" : "left", i);
    again.start = place.out.string();
    test::spill(place.scratch / "t.csv", rows);
    check_message<IoError>([&] { Session{again}; },
                           "t.csv:2: 1 x 1 pixels, 1 channel; the model reads 4 x 4 pixels");
    rows.clear();
    for (int i = 0; i < 20; ++i) {
        rows += i % 2 == 0 ? "right" : "left";
        for (int pixel = 0; pixel < 16; ++pixel) rows += ",100";
        rows += '\n';
    }
    test::spill(place.scratch / "t.csv", rows);
    Session tuned(again);
    TrainingRun(tuned, {.out = place.scratch / "tuned", .report = false}).to_the_end();
    CHECK_EQ(load_image_classes(place.scratch / "tuned").mean, kept.mean);
    for (Tensor p : task->model().parameters()) p.fill_(NAN);
    check_message<DivergedError>([&] { task->classify(all.images, 1); },
                                 "the model's outputs contain nan: it has diverged");
}

TEST_CASE("image: what cannot be trained on, and classes with one image") {
    const test::RunPlace place;
    TrainingConfig config = sides(place);
    const auto refused_session = [&](const std::string& text, const char* words) {
        test::spill(place.scratch / "t.csv", text);
        check_message<ValueError>([&] { Session{config}; }, words);
    };
    const std::string a = "a,1,2,3,4\n", b = "b,1,2,3,4\n";
    refused_session(a + b, "every class has one image, so none can be held out");
    test::spill(place.scratch / "t.csv", a + a + b);
    CHECK(Session(config).task().data_text().find("1 class has only one image") !=
          std::string::npos);
    config.set_model(VisionTransformerConfig{.patch = 3});
    refused_session(a + a + b, "patches of 3 do not divide images of 2 x 2 pixels, 1 channel");
    config.test_fraction = 0.1;
    refused_session(a + a + b, "--test-fraction is for a text");
}

TEST_CASE("image: a patch that nobody chose leaves at least 16, if it can") {
    CHECK_EQ(default_patch(28, 28), 7);
    CHECK_EQ(default_patch(8, 8), 2);
    CHECK_EQ(default_patch(224, 224), 16);
    CHECK_EQ(default_patch(32, 48), 8);
    CHECK_EQ(default_patch(7, 11), 1);
    CHECK_EQ(default_patch(2, 2), 1);
}

TEST_CASE("image: parameters are counted from the configuration") {
    const VisionTransformerConfig config{.height = 4,
                                         .width = 6,
                                         .patch = 2,
                                         .channels = 3,
                                         .classes = 5,
                                         .dim = 8,
                                         .heads = 2,
                                         .layers = 3,
                                         .hidden = 20};
    CHECK_EQ(parameter_count(config),
             static_cast<double>(VisionTransformer(config).parameter_count()));
    CHECK(training_bytes(config, 2, 1, 2) > 16 * parameter_count(config));
    CHECK(step_flops(config, 2) == 2 * step_flops(config, 1));
}
