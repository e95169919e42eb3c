// Saving and loading any module: what is restored, and errors, which must change nothing.
#include <tapestry/nn/attention/linear_attention.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/layers/sequential.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>

using namespace tapestry;
using test::message_of;
using test::Scratch;
using Names = std::vector<std::string>;

namespace {

// A custom module: a tie, buffers of every dtype, f64 parameters.
class Own : public Module {
    Generator generator_;

public:
    Linear first, second;
    PerformerAttention form;
    Tensor scale, seen, mask;

    explicit Own(std::uint64_t seed, bool tied = true)
        : Module("Own"),
          generator_(seed),
          first(3, 3, generator_),
          second(3, 3, generator_),
          form(4, 6, generator_) {
        scale = randn({2}, generator_, DType::f64);
        seen = tensor<std::int64_t>({static_cast<std::int64_t>(seed), -1});
        mask = bernoulli({5}, 0.5, generator_);
        register_parameter("scale", scale);
        register_buffer("seen", seen);
        register_buffer("mask", mask);
        register_module("first", first);
        register_module("second", second);
        register_module("form", form);
        if (tied) second.weight = first.weight;
    }
};

std::vector<std::vector<double>> numbers_of(const Module& module) {
    std::vector<std::vector<double>> numbers;
    for (const auto& [name, tensor] : saved_tensors(module)) {
        numbers.push_back(tensor.to_vector<double>());
    }
    return numbers;
}

}  // namespace

TEST_CASE("module file: parameters and buffers come back, into the tensors that are there") {
    const Scratch scratch;
    const Own saved(1);
    Own loaded(2);
    const Tensor handle = loaded.first.weight;
    CHECK(numbers_of(saved) != numbers_of(loaded));
    save(scratch / "own.safetensors", saved);
    const Unmatched unmatched = load(scratch / "own.safetensors", loaded);
    CHECK(unmatched.missing.empty());
    CHECK(unmatched.unknown.empty());
    CHECK_EQ(numbers_of(saved), numbers_of(loaded));
    CHECK_EQ(handle.to_vector<float>(), saved.second.weight.to_vector<float>());
    CHECK(loaded.first.weight.requires_grad());
    Names names;
    for (const auto& [name, tensor] : read_safetensors(scratch / "own.safetensors").tensors) {
        names.push_back(name);
    }
    CHECK_EQ(names, Names{"scale", "first.weight", "first.bias", "second.bias", "seen", "mask",
                          "form.projection"});
}

TEST_CASE("module file: what does not fit is named, all in one line, and nothing changes") {
    const Scratch scratch;
    const auto path = scratch / "own.safetensors";
    save(path, Own(1));
    NamedTensors tensors = read_safetensors(path).tensors;
    tensors[0].first = "scales";                // scale
    tensors[1].second = ones({3, 4});           // first.weight
    tensors[4].second = ones({2}, DType::f64);  // seen
    write_safetensors(path, tensors);
    Own own(2);
    const auto before = numbers_of(own);
    CHECK_EQ(message_of<IoError>([&] { load(path, own); }),
             fmt::format("'{}': the tensors do not fit the Own: missing: scale; unknown: scales; "
                         "different: first.weight (f32 [3, 4] in the file, f32 [3, 3] in the "
                         "module), seen (f64 [2] in the file, i64 [2] in the module)",
                         path.native()));
    CHECK_EQ(numbers_of(own), before);

    Own untied(2, false);
    CHECK_EQ(
        message_of<IoError>([&] { save(path, Own(1)), load(path, untied); }),
        fmt::format("'{}': the tensors do not fit the Own: missing: second.weight", path.native()));
    Linear other(2, 2);
    CHECK_EQ(message_of<IoError>([&] { load(path, other); }),
             fmt::format("'{}': the tensors do not fit the Linear: missing: weight, bias; unknown: "
                         "first.bias, first.weight, form.projection, mask, scale and 2 more",
                         path.native()));
    const std::string whole = test::slurp(path);
    test::spill(path, std::string_view(whole).substr(0, whole.size() - 1));
    CHECK(message_of<IoError>([&] { load(path, own); }).find("own.safetensors") !=
          std::string::npos);
    CHECK_EQ(numbers_of(own), before);
}

TEST_CASE("module file: not strict, what fits is loaded and the rest reported") {
    const Scratch scratch;
    Sequential small, large;
    small.add<Linear>(2, 2);
    large.add<Linear>(2, 2);
    large.add<Linear>(2, 1);
    save(scratch / "small", small);
    save(scratch / "large", large);
    Unmatched unmatched = load(scratch / "small", large, {.strict = false});
    CHECK_EQ(unmatched.missing, Names{"1.weight", "1.bias"});
    CHECK(unmatched.unknown.empty());
    CHECK_EQ(large.parameters()[0].to_vector<float>(), small.parameters()[0].to_vector<float>());
    unmatched = load(scratch / "large", small, {.strict = false});
    CHECK_EQ(unmatched.unknown, Names{"1.bias", "1.weight"});
    Sequential wide;
    wide.add<Linear>(3, 2);
    CHECK_THROWS_AS(load(scratch / "small", wide, {.strict = false}), IoError);
}

TEST_CASE("module file: buffers are part of a model directory's weights") {
    class Counting : public GPT {
    public:
        Tensor seen;
        explicit Counting(double value) : GPT({.vocab = 5, .layers = 1, .heads = 1, .dim = 4}) {
            seen = full({2}, value);
            register_buffer("seen", seen);
        }
    };
    const Scratch scratch;
    save_weights(scratch.path(), Counting(3));
    Counting loaded(0);
    load(scratch / "model.safetensors", loaded);
    CHECK_EQ(loaded.seen.to_vector<double>(), std::vector<double>{3, 3});
}
