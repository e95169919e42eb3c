// The verdicts of docs/experiments.md. Implements page_verdicts.h. TAPESTRY_UPDATE=1
// test_experiments rewrites the list from docs/experiments.json.
#include <tapestry/examples/school/experiments/page_verdicts.h>

#include <tapestry/examples/school/experiments/registry.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <sstream>
#include <utility>

namespace tapestry::experiments {
namespace {

struct PageVerdicts {
    const char* experiment;
    std::array<const char*, 3> claims;  // that hold, that do not, that are not shown
};

// clang-format off
constexpr PageVerdicts kPage[] = {
    {"sqrt_dk",
     {"variance deviation_8 deviation_1 saturated divided_constant scores_vanish q_explodes "
      "w_q_explodes learns_less_16 learns_less_64 learns_less_256 learns_less_512 "
      "the_wider_the_more",
      "q_vanishes rescaled_is_as_good",
      ""}},
    {"by_hand",
     {"library_agrees paper_is_enough looks_at_the_robot",
      "",
      ""}},
    {"balanced_key",
     {"never_largest below_a_third one_head_fails two_heads_find_it",
      "two_heads_needed two_heads_find_any",
      "second_head_helps bend_helps"}},
    {"head_roles",
     {"orthogonal_heads_leak_nothing one_head_is_not_enough second_head_is_sooner "
      "two_heads_are_enough two_heads_divide_the_work four_heads_have_roles",
      "one_layer_is_not_enough four_heads_are_needed",
      ""}},
    {"rotary_filters",
     {"half_width comb near_is_learned wide_is_learned near_uses_higher_frequencies",
      "",
      ""}},
    {"head_dropout",
     {"n_eff formula_in_full less_dominance easier_to_miss shared_more_evenly",
      "n_eff_with_a_mean n_eff_correlated trained_are_independent",
      ""}},
    {"redundant_heads",
     {"copies_lower_the_rank effective_rank_sees_them outputs_become_orthogonal "
      "outputs_near_orthogonal writing_near_orthogonal",
      "rank_sees_near_copies trained_fill_less subspaces_near_orthogonal zeroing_overstates",
      "most_to_spare_zeroed most_to_spare_averaged"}},
    {"word_order",
     {"order_is_lost learned_tell sinusoids_tell rotations_tell shift_is_rotation",
      "",
      ""}},
    {"who_is_it",
     {"it_is_named a_head_looks it_is_not_led_astray one_head_is_missed "
      "heads_until_guessing",
      "almost_all_arrives one_head_misses_the_cause",
      "most_arrives one_head_misses_the_antecedent"}},
    {"how_far",
     {"rnn_fades gates_ease bias_eases attention_does_not_fade rnn_loses bias_outreaches "
      "bahdanau_reaches transformer_reaches",
      "rnn_learns_nothing lstm_outreaches",
      ""}},
    {"quadratic_cost",
     {"time_is_quadratic linear_forms_are_linear hashing_is_n_log_n kept_weights_take_n2 "
      "causal_halves softmax_copies linear_copies hashing_copies",
      "sparse_is_n_log_n attention_needs_n2_memory window_copies strided_copies "
      "performer_copies",
      "linformer_copies"}},
    {"heads_cost",
     {"same_parameters same_operations time_512 four_learn_better eight_learn_better",
      "time_64",
      ""}},
    {"checkpointing",
     {"keeps_inputs_alone peak_falls same_bits",
      "",
      "four_thirds_of_the_time"}},
    {"deep_gradients",
     {"vanishes residuals_norm_after residuals_norm_before last_layer_norm_after "
      "last_layer_norm_before",
      "norms_alone_do_not_help residuals_alone",
      ""}},
    {"layers_roles",
     {"first_is_local coreference_found",
      "last_is_spread syntax_in_the_middle coreference_after_syntax",
      "last_looks_furthest coreference_late"}},
    {"what_goes_wrong",
     {"rate_too_high cold_start_high_rate no_mask_cheats no_mask_cannot_write no_zero_grad",
      "",
      "cold_start_tuned norm_before_needs_none"}},
    {"dynamic_weights",
     {"weights_follow_the_sentence it_is_learnt made_anew_finds",
      "learnt_once_would_do",
      ""}},
    {"three_copies",
     {"three_learn query_is_no_key one_is_not_three none_is_not_three",
      "key_is_no_value query_is_no_value",
      ""}},
    {"kernel_regression",
     {"attention_is_the_estimate near_counts_more width_is_learnt rate_of_kernels",
      "",
      ""}},
    {"positions_unique",
     {"codes_differ neighbours_are_nearest sum_tells_both narrow_sum_tells_both",
      "one_wave_would_do noisy_sum_tells_both narrow_noisy_sum_tells_both",
      ""}},
    {"parallel_or_serial",
     {"rnn_is_serial lstm_is_serial transformer_is_parallel wide_machine more_at_once "
      "transformer_uses_threads learns_more_than_an_rnn_60 learns_more_than_an_lstm_16 "
      "learns_more_than_an_lstm_60 learns_more_than_an_lstm_per_step",
      "faster_per_token by_orders_of_magnitude learns_more_than_an_rnn_4 "
      "learns_more_than_an_rnn_per_step",
      "faster_per_token_128 lstm_uses_threads learns_more_than_an_rnn_16 "
      "learns_more_than_an_lstm_4"}},
    {"without_norm",
     {"bears_high_rates before_bears_more_than_after before_learns_more_than_after "
      "after_wants_a_warm_up",
      "helps_at_the_best_rate helps_shallow",
      ""}},
    {"scaling",
     {"falls_with_data falls_with_parameters falls_with_compute",
      "data_is_a_power_law compute_is_a_power_law",
      "falls_with_layers parameters_is_a_power_law"}},
    {"head_dropout_generalises",
     {"",
      "generalises mildly_generalises numbers_generalise",
      "numbers_do_as_well"}},
};
// clang-format on

bool names(const char* claims, std::string_view claim) {
    std::istringstream words(claims);
    return std::find(std::istream_iterator<std::string>(words), {}, claim) !=
           std::istream_iterator<std::string>();
}

}  // namespace

std::optional<Verdict> page_verdict(std::string_view experiment, std::string_view claim) {
    const auto* found = std::ranges::find(kPage, experiment, &PageVerdicts::experiment);
    if (found == std::end(kPage)) return {};
    constexpr Verdict kOrder[] = {Verdict::holds, Verdict::does_not_hold, Verdict::not_shown};
    for (std::size_t i = 0; i < found->claims.size(); ++i) {
        if (names(found->claims[i], claim)) return kOrder[i];
    }
    return {};
}

std::string against_page(const std::vector<Found>& quick) {
    std::size_t same = 0, reversed = 0, all = 0;
    Table table{"", {"claim", "here", "docs/experiments.md"}, {}};
    for (const Found& found : quick) {
        const Experiment& experiment = find_experiment(found.name);
        const std::vector<Judged> claims = judged(experiment, found.report);
        for (std::size_t i = 0; i < claims.size(); ++i) {
            const std::string& claim = experiment.claims[i].name;
            const auto there = page_verdict(found.name, claim);
            if (!there) continue;
            const Verdict here = claims[i].verdict();
            ++all;
            same += here == *there ? 1 : 0;
            if (here == *there) continue;
            const bool is_reversed = here != Verdict::not_shown && *there != Verdict::not_shown;
            const auto place =
                is_reversed ? static_cast<std::ptrdiff_t>(reversed++) : std::ssize(table.rows);
            table.rows.insert(table.rows.begin() + place,
                              {found.name + ": " + claim, text_of(here), text_of(*there)});
        }
    }
    if (all == 0) return "";
    const std::string text =
        fmt::format("{} of {} verdicts are those of docs/experiments.md, {} {} reversed\n", same,
                    all, reversed, reversed == 1 ? "is" : "are");
    if (same == all) return text;
    return text +
           "This is the short form: fewer steps, sizes and seeds, and no tuned learning rates, "
           "which "
           "leaves\nmost claims about trained models undecided. Times depend on the machine.\n\n" +
           to_text(table);
}

}  // namespace tapestry::experiments
