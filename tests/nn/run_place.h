// A text and a small model of it, for runs that take a moment.
#pragma once

#include <tapestry/nn/train/training_config.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>

#include <filesystem>
#include <string>

namespace tapestry::test {

// Lines of metrics.jsonl without clock values.
inline std::string without_times(std::string lines) {
    for (const char* name : {"tokens_per_s", "seconds", "of_peak", "report_seconds"}) {
        const std::string member = fmt::format(",\"{}\":", name);
        for (auto at = lines.find(member); at != lines.npos; at = lines.find(member, at)) {
            lines.erase(at, lines.find_first_of(",}", at + 1) - at);
        }
    }
    return lines;
}

struct RunPlace {
    RunPlace() {
        std::string written;
        for (int i = 0; i < 60; ++i) written += "abc def " + std::to_string(i * i % 13) + "\n";
        spill(text, written);
    }
    TrainingConfig config() const {
        return {.text = text.string(),
                .model = {.context = 8, .layers = 1, .heads = 2, .dim = 16},
                .batch = 4,
                .eval_batches = 1};
    }

    Scratch scratch;
    std::filesystem::path text = scratch / "t.txt";
    std::filesystem::path out = scratch / "m";
};

}  // namespace tapestry::test
