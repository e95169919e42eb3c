// Images from the command: a run, what its model says of other images, its scores, and bad input.
#include <tapestry/tests/cli/command.h>
#include <tapestry/tests/skip.h>
#include <tapestry/tests/source_dir.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

using namespace tapestry::test;
using Json = nlohmann::json;

namespace {

const Arguments kSmall{"--out",     "m", "--steps",      "6",  "--batch",  "4", "--layers", "1",
                       "--heads",   "2", "--dim",        "16", "--warmup", "2", "--lr",     "0.02",
                       "--threads", "1", "--eval-every", "3"};

// Bright at the top or at the bottom.
std::string row(const std::string& label, int i, bool top) {
    std::string line = label;
    for (int pixel = 0; pixel < 16; ++pixel) {
        line += fmt::format("{}{}", line.empty() ? "" : ",", (pixel < 8) == top ? 200 + i : i);
    }
    return line + "\n";
}

struct ImagesPlace : Place {
    ImagesPlace() {
        std::string rows;
        for (int i = 0; i < 40; ++i) rows += row(i % 2 == 0 ? "top" : "bottom", i, i % 2 == 0);
        spill(*this / "i.csv", rows);
        spill(*this / "new.csv", row("", 5, true) + row("", 6, false));
        spill(*this / "a.pgm", "P2 4 4 255 9 9 9 9 9 9 9 9 1 1 1 1 1 1 1 1");
        spill(*this / "b.pgm", "P2 2 2 255 9 9 9 9");
    }
    Outcome train(const Arguments& more) const { return run(Arguments{"train"} + more + kSmall); }
};

}  // namespace

TEST_CASE("cli image: trained on images by class, asked, measured, inspected") {
    const ImagesPlace place;
    const Outcome trained = place.train({"--images", "i.csv"});
    check_done(trained);
    CHECK(trained.out.find("i.csv: 40 images of 4 x 4 pixels, 1 channel, 2 classes; training on "
                           "36, validating on 4, of each class its share") != std::string::npos);
    CHECK(trained.out.find("1 layer, 2 heads, dim 16, 16 patches of 1 x 1 pixels") !=
          std::string::npos);
    CHECK(trained.out.find("images/s") != std::string::npos);

    const Outcome some =
        place.run({"classify", "--model", "m", "--images", "new.csv", "--top-k", "2"});
    check_done(some);
    CHECK(some.out.starts_with("new.csv:1\t"));
    CHECK(some.out.find("\nnew.csv:2\t") != std::string::npos);
    CHECK_EQ(std::count(some.out.begin(), some.out.end(), '\t'), 2 * 4);
    const Outcome one = place.run({"classify", "--model", "m", "--images", "a.pgm"});
    check_done(one);
    CHECK(one.out.starts_with("a.pgm\t"));

    const Outcome measured = place.run({"eval", "--model", "m", "--images", "i.csv", "--json"});
    check_done(measured);
    const Json scores = Json::parse(measured.out);
    CHECK_EQ(scores["images"], 40);
    CHECK_EQ(scores["labels"], Json({"bottom", "top"}));
    const Outcome text = place.run({"eval", "--model", "m", "--images", "i.csv"});
    check_done(text);
    CHECK(text.out.find(" over 40 images of i.csv\nright \\ predicted  bottom  top") !=
          std::string::npos);

    check_done(place.run({"inspect", "--model", "m", "--prompt", "a.pgm", "--target", "top"}));
    check_done(place.run({"rewind", "m", "--all"}));
    check_done(place.run({"gradcheck", "--model", "m", "--text", "i.csv", "--certainty", "0.5"}));
    check_done(place.run({"profile", "--model", "m", "--text", "i.csv", "--steps", "1"}));
    check_done(place.train({"--resume"}));
}

TEST_CASE("cli image: PNG and JPEG files of any size, scaled to one") {
    const Place place;
    const auto put = [&](const char* to, const char* from) {
        std::filesystem::create_directories((place / to).parent_path());
        std::filesystem::copy_file(source_dir() / "tests/fixtures/images" / from, place / to);
    };
    const Arguments train{"train", "--images", "d", "--image-size", "8"};
    put("d/flat/1.png", "colours.png");
    put("d/flat/2.jpg", "photo.jpg");
    put("d/flat/3.png", "grey.png");
    put("d/turned/1.jpeg", "photo_turned.jpg");
    put("d/turned/2.png", "turned.png");
    const Outcome trained = place.run(train + kSmall);
    if (trained.err.find("and this build has no lib") != std::string::npos) {
        return skip("this build has no libpng or no libjpeg");
    }
    check_done(trained);
    CHECK(trained.out.find("d: 5 images of 8 x 8 pixels, 3 channels, 2 classes") !=
          std::string::npos);
    const Outcome found = place.run({"classify", "--model", "m", "--images", "d/flat"});
    check_done(found);
    CHECK_EQ(lines_of(found.out).size(), 3);
    const Outcome measured = place.run({"eval", "--model", "m", "--images", "d", "--json"});
    check_done(measured);
    CHECK_EQ(Json::parse(measured.out)["images"], 5);
    check_done(
        place.run({"inspect", "--model", "m", "--prompt", "d/flat/2.jpg", "--target", "flat"}));
    check_done(place.run(Arguments{"train", "--resume"} + kSmall));
    check_refused(
        place.run({"train", "--images", "d", "--out", "n"}),
        "and all images need one size; --image-size N scales image files to N x N pixels");
    const std::string whole = slurp(place / "d/flat/2.jpg");
    spill(place / "d/flat/2.jpg", whole.substr(0, whole.size() - 80));
    check_refused(place.run({"classify", "--model", "m", "--images", "d/flat"}),
                  "d/flat/2.jpg: damaged JPEG: ");
    spill(place / "i.csv", row("top", 1, true) + row("bottom", 2, false));
    check_refused(place.run({"train", "--images", "i.csv", "--image-size", "8", "--out", "n"}),
                  "i.csv: has images of one size; only image files in a directory are scaled");
}

TEST_CASE("cli image: bad input is one line that says where and what to do") {
    const ImagesPlace place;
    spill(place / "odd.csv", "a,1,2,3,4\nb,1,2,3\n");
    check_refused(place.train({"--images", "odd.csv"}), "odd.csv:2: has 4 fields, expected 5");
    spill(place / "once.csv", "a,1,2,3,4\nb,1,2,3,4\n");
    check_refused(place.train({"--images", "once.csv"}),
                  "every class has one image, so none can be held out");
    check_refused(place.train({"--images", "a.pgm"}), "a.pgm: is one image; expected a directory");
    check_refused(place.train({"--images", "i.csv", "--task", "text"}),
                  "train: --images is for --task image, got text");
    check_refused(place.train({"--images", "i.csv", "--patch", "3"}),
                  "patches of 3 do not divide images of 4 x 4 pixels");
    check_refused(place.train({"--images", "i.csv", "--kind", "gpt"}),
                  "the task is image, but a GPT is for text");
    check_refused(place.train({"--images", "i.csv", "--text", "i.csv"}), "--text");
    check_refused(place.train({"--images", "i.csv", "--eval-batches", "2"}),
                  "train: --task image does not read --eval-batches; its examples are those of "
                  "--images, a directory or file of images by class");
    check_done(place.train({"--images", "i.csv"}));
    check_refused(place.run({"classify", "--model", "m", "--images", "b.pgm"}),
                  "b.pgm: 2 x 2 pixels, 1 channel; the model reads 4 x 4 pixels, 1 channel");
    check_refused(place.run({"classify", "--model", "m"}),
                  "m is an image classifier; it needs --images");
    check_refused(place.run({"eval", "--model", "m", "--text", "i.csv"}),
                  "eval: m is an image classifier, measured on --images; --text does not apply");
    check_refused(place.run({"eval", "--model", "m"}),
                  "eval: m is an image classifier; it needs --images");
    check_refused(place.run({"eval", "--model", "m", "--images", "i.csv", "--batches", "2"}),
                  "eval: m is an image classifier, measured on --images; --batches does not apply");
    check_refused(place.run({"train", "--task", "image", "--out", "n"}), "--images is required");
    check_refused(place.run({"sample", "--model", "m"}), "the model is a Vision Transformer");
    check_refused(place.run({"inspect", "--model", "m", "--prompt", "a.pgm"}),
                  "m' is an image classifier; it needs --target, the class");
    check_refused(place.run({"inspect", "--model", "m", "--prompt", "a.pgm", "--target", "left"}),
                  "class 'left' is not one of the model's 2");
    check_refused(place.run({"inspect", "--model", "m", "--prompt", "new.csv", "--target", "top"}),
                  "new.csv' has 2 images; --prompt names a file with one");
    spill(place / "more.csv", row("middle", 1, true) + row("top", 1, true));
    check_refused(place.run({"eval", "--model", "m", "--images", "more.csv"}),
                  "more.csv:1: class 'middle' is not one of the model's 2");
    spill(place / "l.csv", "label,text\na,x\na,y\nb,x\nb,y\n");
    check_done(place.run({"train", "--task", "classify", "--text", "l.csv", "--steps", "2", "--out",
                          "c", "--threads", "1"}));
    check_refused(place.run({"classify", "--model", "c", "--images", "i.csv"}),
                  "classify: --images is for an image classifier; c is another model");
    check_refused(place.run({"eval", "--model", "c", "--images", "i.csv"}),
                  "eval: c is a text classifier, measured on --text; --images does not apply");
}
