// The list of experiments. A new experiment needs its file, a declaration and a line in the list.
// Each has its own namespace, because most use the same names for helpers: trials, report.
#include <tapestry/examples/school/experiments/registry.h>

#include <tapestry/core/error.h>

#include <algorithm>

namespace tapestry::experiments {

// clang-format off
namespace sqrt_dk { Experiment experiment(); }
namespace by_hand { Experiment experiment(); }
namespace balanced_key { Experiment experiment(); }
namespace head_roles { Experiment experiment(); }
namespace rotary_filters { Experiment experiment(); }
namespace head_dropout { Experiment experiment(); }
namespace redundant_heads { Experiment experiment(); }
namespace word_order { Experiment experiment(); }
namespace who_is_it { Experiment experiment(); }
namespace how_far { Experiment experiment(); }
namespace quadratic_cost { Experiment experiment(); }
namespace heads_cost { Experiment experiment(); }
namespace checkpointing { Experiment experiment(); }
namespace deep_gradients { Experiment experiment(); }
namespace layers_roles { Experiment experiment(); }
namespace what_goes_wrong { Experiment experiment(); }
namespace dynamic_weights { Experiment experiment(); }
namespace three_copies { Experiment experiment(); }
namespace kernel_regression { Experiment experiment(); }
namespace positions_unique { Experiment experiment(); }
namespace parallel_or_serial { Experiment experiment(); }
namespace without_norm { Experiment experiment(); }
namespace scaling { Experiment experiment(); }
namespace head_dropout_generalises { Experiment experiment(); }
namespace speedrun { Experiment experiment(); }
// clang-format on

const std::vector<Experiment>& all_experiments() {
    static const std::vector<Experiment> all{
        sqrt_dk::experiment(),
        by_hand::experiment(),
        balanced_key::experiment(),
        head_roles::experiment(),
        rotary_filters::experiment(),
        head_dropout::experiment(),
        redundant_heads::experiment(),
        word_order::experiment(),
        who_is_it::experiment(),
        how_far::experiment(),
        quadratic_cost::experiment(),
        heads_cost::experiment(),
        checkpointing::experiment(),
        deep_gradients::experiment(),
        layers_roles::experiment(),
        what_goes_wrong::experiment(),
        dynamic_weights::experiment(),
        three_copies::experiment(),
        kernel_regression::experiment(),
        positions_unique::experiment(),
        parallel_or_serial::experiment(),
        without_norm::experiment(),
        scaling::experiment(),
        head_dropout_generalises::experiment(),
    };
    return all;
}

const std::vector<Experiment>& experiments_apart() {
    static const std::vector<Experiment> apart{speedrun::experiment()};
    return apart;
}

const Experiment& find_experiment(std::string_view name) {
    std::string names;
    for (const auto* list : {&all_experiments(), &experiments_apart()}) {
        for (const Experiment& e : *list) {
            if (e.name == name) return e;
            names += (names.empty() ? "" : ", ") + e.name;
        }
    }
    throw ValueError(fmt::format("no experiment is called '{}'; there are {}", name, names));
}

std::string list_of_experiments() {
    const auto lists = {&all_experiments(), &experiments_apart()};
    std::size_t widest = 0;
    for (const auto* list : lists) {
        for (const Experiment& e : *list) widest = std::max(widest, e.name.size());
    }
    std::string text;
    for (const auto* list : lists) {
        for (const Experiment& e : *list) {
            text += fmt::format("{:{}}  {}\n", e.name, widest, e.question);
        }
    }
    return text;
}

}  // namespace tapestry::experiments
