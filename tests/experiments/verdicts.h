// The verdicts expected from the short form of each experiment.
#pragma once

namespace tapestry::experiments {

/// Names of claims, separated by spaces; each claim of an experiment is in one of the two lists.
struct Verdicts {
    const char* name;  ///< of the experiment
    const char* holds = "";
    const char* fails = "";
    const char* open = "";       ///< not shown
    const char* unchecked = "";  ///< a clock decides: on the machine, and on who else works there
};

inline constexpr Verdicts kVerdicts[] = {
    {.name = "by_hand", .holds = "library_agrees paper_is_enough looks_at_the_robot"},
    // Twenty steps of a narrow model show little of what 150 of a wide one do; wide heads are not
    // in the short form.
    {.name = "sqrt_dk",
     .holds =
         "variance deviation_8 deviation_1 saturated divided_constant scores_vanish q_explodes "
         "w_q_explodes",
     .fails = "q_vanishes",
     .open = "learns_less_256 learns_less_512 the_wider_the_more",
     .unchecked = "learns_less_16 learns_less_64 rescaled_is_as_good"},
    // Three seeds are too few for an exponent; ten are enough (docs/experiments.md).
    {.name = "kernel_regression",
     .holds = "attention_is_the_estimate near_counts_more width_is_learnt",
     .open = "rate_of_kernels"},
    {.name = "dynamic_weights",
     .holds = "weights_follow_the_sentence it_is_learnt made_anew_finds",
     .fails = "learnt_once_would_do"},
    {.name = "three_copies",
     .holds = "three_learn query_is_no_key one_is_not_three none_is_not_three",
     .fails = "key_is_no_value query_is_no_value"},
    {.name = "balanced_key",
     .holds = "never_largest below_a_third one_head_fails two_heads_find_it",
     .fails = "two_heads_find_any",
     .open = "two_heads_needed second_head_helps bend_helps"},
    // Three models of three are too few to say more than 44 %. In 500 steps one head in a whole
    // layer has not learnt yet what it knows after 3000.
    {.name = "head_roles",
     .holds = "orthogonal_heads_leak_nothing one_head_is_not_enough one_layer_is_not_enough "
              "second_head_is_sooner two_heads_are_enough four_heads_have_roles",
     .open = "two_heads_divide_the_work four_heads_are_needed"},
    {.name = "head_dropout",
     .holds = "n_eff formula_in_full easier_to_miss",
     .fails = "n_eff_with_a_mean n_eff_correlated trained_are_independent",
     .open = "less_dominance shared_more_evenly"},
    {.name = "heads_cost",
     .holds = "same_parameters same_operations",
     .open = "four_learn_better eight_learn_better",
     .unchecked = "time_512 time_64"},
    // After 120 steps no head does much yet: most are to spare, which six hundred steps change.
    {.name = "redundant_heads",
     .holds = "copies_lower_the_rank effective_rank_sees_them most_to_spare_zeroed "
              "most_to_spare_averaged",
     .fails = "rank_sees_near_copies",
     .open = "zeroing_overstates",
     .unchecked = "trained_fill_less outputs_become_orthogonal outputs_near_orthogonal "
                  "writing_near_orthogonal subspaces_near_orthogonal"},
    // After eighty steps all layers are still alike.
    {.name = "layers_roles",
     .fails = "first_is_local last_is_spread",
     .open = "syntax_in_the_middle last_looks_furthest coreference_found coreference_late "
             "coreference_after_syntax"},
    {.name = "who_is_it",
     .holds = "a_head_looks",
     .fails = "almost_all_arrives",
     .open = "it_is_named it_is_not_led_astray most_arrives one_head_is_missed "
             "heads_until_guessing one_head_misses_the_antecedent",
     .unchecked = "one_head_misses_the_cause"},  // near its bound after sixty steps
    {.name = "word_order",
     .holds = "order_is_lost learned_tell sinusoids_tell rotations_tell shift_is_rotation"},
    {.name = "positions_unique",
     .holds = "codes_differ neighbours_are_nearest sum_tells_both narrow_sum_tells_both",
     .fails = "one_wave_would_do narrow_noisy_sum_tells_both",
     .open = "noisy_sum_tells_both"},  // three seeds are too few
    {.name = "rotary_filters",
     .holds = "half_width comb near_is_learned wide_is_learned near_uses_higher_frequencies"},
    // Not shown: the forms that the short run leaves out.
    {.name = "quadratic_cost",
     .holds = "softmax_copies hashing_is_n_log_n",
     .fails = "sparse_is_n_log_n window_copies",
     .open = "strided_copies linformer_copies linear_copies performer_copies hashing_copies",
     .unchecked = "time_is_quadratic linear_forms_are_linear kept_weights_take_n2 "
                  "attention_needs_n2_memory causal_halves"},
    {.name = "checkpointing",
     .holds = "keeps_inputs_alone peak_falls same_bits",
     .unchecked = "four_thirds_of_the_time"},
    {.name = "how_far",
     .holds = "rnn_fades gates_ease bias_eases attention_does_not_fade rnn_loses bias_outreaches "
              "bahdanau_reaches transformer_reaches",
     .fails = "rnn_learns_nothing lstm_outreaches"},
    {.name = "deep_gradients",
     .holds = "vanishes residuals_norm_after residuals_norm_before last_layer_norm_before",
     .fails = "norms_alone_do_not_help residuals_alone",
     .open = "last_layer_norm_after"},
    // Sixty steps; the short form has neither the shallow stacks nor the one without a warm-up.
    {.name = "without_norm",
     .holds = "before_learns_more_than_after",
     .fails = "helps_at_the_best_rate",
     .open = "helps_shallow bears_high_rates before_bears_more_than_after after_wants_a_warm_up"},
    // Clocks decide the rest; the short form trains for a second.
    {.name = "parallel_or_serial",
     .holds = "rnn_is_serial lstm_is_serial transformer_is_parallel wide_machine more_at_once",
     .open = "learns_more_than_an_rnn_4 learns_more_than_an_rnn_16 learns_more_than_an_rnn_60 "
             "learns_more_than_an_rnn_per_step learns_more_than_an_lstm_4 "
             "learns_more_than_an_lstm_16 learns_more_than_an_lstm_60 "
             "learns_more_than_an_lstm_per_step",
     .unchecked = "faster_per_token faster_per_token_128 by_orders_of_magnitude "
                  "transformer_uses_threads lstm_uses_threads"},
    // Eighty small steps are too few to find out that the answer is there to be copied.
    {.name = "what_goes_wrong",
     .holds = "rate_too_high no_zero_grad",
     .fails = "no_mask_cheats no_mask_cannot_write",
     .unchecked = "cold_start_high_rate cold_start_tuned norm_before_needs_none"},
};

}  // namespace tapestry::experiments
