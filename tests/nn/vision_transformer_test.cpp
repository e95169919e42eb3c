// Patches, and the Vision Transformer.
#include <tapestry/tapestry.h>
#include <tapestry/tests/nn/module_gradients.h>

#include <cmath>

using namespace tapestry;
using doctest::Approx;
using test::check_throws;

namespace {

const VisionTransformerConfig kTiny{.height = 4,
                                    .width = 6,
                                    .patch = 2,
                                    .channels = 3,
                                    .classes = 5,
                                    .dim = 4,
                                    .heads = 2,
                                    .layers = 2,
                                    .hidden = 6};

}  // namespace

TEST_CASE("image_patches: which pixel goes where") {
    // Every pixel encodes its position: 1000 b + 100 channel + 10 y + x.
    Tensor images = zeros({2, 3, 4, 6});
    const auto place = [](std::int64_t b, std::int64_t c, std::int64_t y, std::int64_t x) {
        return static_cast<double>(1000 * b + 100 * c + 10 * y + x);
    };
    float* to = images.mutable_data<float>();
    for (std::int64_t b = 0; b < 2; ++b) {
        for (std::int64_t c = 0; c < 3; ++c) {
            for (std::int64_t y = 0; y < 4; ++y) {
                for (std::int64_t x = 0; x < 6; ++x) *to++ = static_cast<float>(place(b, c, y, x));
            }
        }
    }
    const Tensor patches = image_patches(images, 2);
    REQUIRE_EQ(patches.shape(), Shape{2, 6, 12});
    for (std::int64_t b = 0; b < 2; ++b) {
        for (std::int64_t n = 0; n < 6; ++n) {
            for (std::int64_t i = 0; i < 12; ++i) {
                const std::int64_t y = n / 3 * 2 + i % 4 / 2, x = n % 3 * 2 + i % 2;
                CHECK_EQ(patches.at({b, n, i}), place(b, i / 4, y, x));
            }
        }
    }
    // One patch is the image; patches of one pixel are its pixels with their channels together.
    CHECK_EQ(image_patches(slice(images, 3, 0, 4), 4).shape(), Shape{2, 1, 48});
    CHECK_EQ(image_patches(images, 1).at({1, 7, 2}), place(1, 2, 1, 1));

    check_throws<ShapeError>([&] { image_patches(images, 4); },
                             "image_patches: patches of 4 x 4 do not divide images of 4 x 6");
    check_throws<ValueError>([&] { image_patches(images, 0); },
                             "image_patches: patch must be positive, got 0");
    check_throws<ShapeError>(
        [] {
            image_patches(ones({4, 6}), 2);
        },
        "image_patches: needs images [B, channels, H, W], got [4, 6]");
    CHECK_THROWS_AS(image_patches(Tensor(), 2), Error);
}

TEST_CASE("VisionTransformer: every gradient, the image's too") {
    VisionTransformer model(kTiny);
    test::randomise(model);
    Tensor images = test::random({2, 3, 4, 6});
    images.set_requires_grad();
    test::check_module_gradients(model, [&] { return model(images); }, {images});
}

TEST_CASE("VisionTransformer: the logits are the formula's") {
    VisionTransformer model(kTiny);
    test::randomise(model);
    const Tensor images = test::random({2, 3, 4, 6});
    const Tensor words =
        linear(image_patches(images, 2), model.patch_embedding.weight, model.patch_embedding.bias);
    const Tensor first = reshape(model.class_token, {1, 1, 4});
    const Tensor x =
        concat({concat({first, first}, 0), words}, 1) + model.position_embedding.weight;
    const Tensor y = model.encoder(x);  // has its own tests
    const Tensor logits =
        linear(reshape(slice(y, 1, 0, 1), {2, 4}), model.head.weight, model.head.bias);
    CHECK(max(abs(model(images) - logits)).item() < 1e-12);
    CHECK(model.encoder.norm.has_value());
    for (const auto& layer : model.encoder.layers) CHECK_EQ(layer->settings(), "norm first");

    const Tensor labels = tensor<std::int64_t>({4, 0});
    CHECK_EQ(model.loss(images, labels).item(),
             Approx(cross_entropy(logits, labels).item()).epsilon(1e-12));
}

TEST_CASE("VisionTransformer: patches in another order are another image, thanks to positions") {
    VisionTransformer model(kTiny);
    test::randomise(model);
    const Tensor image = test::random({1, 3, 4, 6});
    const Tensors columns = split(image, 2, 3);
    const Tensor other = concat({columns[2], columns[0], columns[1]}, 3);
    CHECK(max(abs(model(image) - model(other))).item() > 1e-3);
    model.position_embedding.weight.fill_(0);
    CHECK(max(abs(model(image) - model(other))).item() < 1e-12);
}

TEST_CASE("VisionTransformer: parameters, their names and their start") {
    const VisionTransformer model({.height = 16,
                                   .width = 8,
                                   .patch = 4,
                                   .channels = 3,
                                   .classes = 10,
                                   .dim = 32,
                                   .heads = 4,
                                   .layers = 2});
    const std::int64_t c = 32;
    CHECK_EQ(model.parameter_count(),
             48 * c + c + c + 9 * c + 2 * (12 * c * c + 13 * c) + 2 * c + 10 * c + 10);
    CHECK_EQ(model.settings(), "16 x 8 in patches of 4, 2 layers");
    CHECK_EQ(model.named_parameters()[0].first, "class_token");
    for (const double w : model.class_token.to_vector<double>()) CHECK_EQ(w, 0);
    const double bound = std::sqrt(6.0 / (48 + 32));
    const double widest = max(abs(model.patch_embedding.weight)).item();
    CHECK(widest <= bound);
    CHECK(widest > 0.95 * bound);
    const auto positions = model.position_embedding.weight.to_vector<double>();
    double squares = 0;
    for (const double w : positions) squares += w * w;
    CHECK_EQ(std::sqrt(squares / static_cast<double>(positions.size())),
             Approx(0.02).epsilon(0.15));
    std::vector<AttentionRecord> records;
    CHECK_EQ(model(test::random({2, 3, 16, 8}, 1, DType::f32), &records).shape(), Shape{2, 10});
    REQUIRE_EQ(records.size(), 2);
    CHECK_EQ(records[1].weights.shape(), Shape{2, 4, 9, 9});
}

TEST_CASE("VisionTransformer: what it refuses") {
    using Config = VisionTransformerConfig;
    const auto with = [](auto change) {
        return [change] {
            Config config = kTiny;
            change(config);
            VisionTransformer model(config);
        };
    };
    check_throws<ValueError>(with([](Config& c) { c.patch = 3; }),
                             "VisionTransformer: patches of 3 x 3 do not divide images of 4 x 6");
    check_throws<ValueError>(with([](Config& c) { c.patch = 0; }),
                             "VisionTransformer: patch must be positive, got 0");
    check_throws<ValueError>(with([](Config& c) { c.classes = 0; }),
                             "VisionTransformer: classes must be positive, got 0");
    check_throws<ValueError>(
        with([](Config& c) { c.channels = std::int64_t{1} << 40; }),
        "VisionTransformer: channels must be at most 1048576, got 1099511627776");
    check_throws<ValueError>(with([](Config& c) { c.heads = 3; }),
                             "VisionTransformer: 3 heads do not divide dim 4 (remainder 1)");
    CHECK_THROWS_AS(with([](Config& c) { c.height = -4; })(), ValueError);
    CHECK_THROWS_AS(with([](Config& c) { c.dropout = -1; })(), ValueError);
    const VisionTransformer model(kTiny);
    const auto given = [&](const Tensor& x) { return [&model, x] { model(x); }; };
    check_throws<ShapeError>(given(ones({2, 1, 4, 6})),
                             "VisionTransformer: needs images [B, 3, 4, 6], got [2, 1, 4, 6]");
    check_throws<ShapeError>(given(ones({2, 3, 6, 4})),
                             "VisionTransformer: needs images [B, 3, 4, 6], got [2, 3, 6, 4]");
    CHECK_THROWS_AS(given(ones({3, 4, 6}))(), ShapeError);
    check_throws<ShapeError>(given(ones({0, 3, 4, 6})),
                             "VisionTransformer: images [0, 3, 4, 6] are an empty batch");
    CHECK_THROWS_AS(given(ones({2, 3, 4, 6}, DType::i64))(), DTypeError);
    CHECK_THROWS_AS(given(Tensor())(), Error);
    const Tensor images = ones({2, 3, 4, 6});
    CHECK_THROWS_AS(model.loss(images, tensor<std::int64_t>({1, 5})), IndexError);
    CHECK_THROWS_AS(model.loss(images, tensor<std::int64_t>({1})), ShapeError);
    CHECK_THROWS_AS(model.loss(images, ones({2})), DTypeError);
}

TEST_CASE("VisionTransformer: the same bits with one and two threads, after three steps") {
    const auto parameters_after = [](int threads) {
        const ThreadsGuard some(threads);
        Generator generator(1);
        VisionTransformer model({.height = 16,
                                 .width = 16,
                                 .patch = 4,
                                 .classes = 4,
                                 .dim = 32,
                                 .layers = 2,
                                 .dropout = 0.1},
                                generator);
        AdamW optimizer(decay_groups(model, 0.1), {.lr = 1e-3});
        for (int step = 0; step < 3; ++step) {
            const Tensor images = randn({16, 1, 16, 16}, generator);
            const Tensor labels = randint(0, 4, {16}, generator);
            optimizer.zero_grad();
            Tape tape;
            tape.backward(model.loss(images, labels));
            optimizer.step();
        }
        return test::numbers_of<float>(model);
    };
    CHECK(parameters_after(1) == parameters_after(2));
}
