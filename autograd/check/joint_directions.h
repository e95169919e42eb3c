// Directions along which the entries of all classes of sizes move at once, each by a random part of
// its own size. Internal to autograd/check. Read next: compare_directions.cpp, which looks at each
// class by itself where these do not settle it.
//
// Along u the claim is off by <e, u>. With u_i = c_i s_i, c_i even between -1 and 1, and all but
// c_i given, <e, u> is within a span of 2 b with probability at most b / |e_i s_i|. So k directions
// that agree to b_1 to b_k miss an error of e_i s_i with probability at most the product of b_j /
// |e_i s_i|: three that agree to b find an error of 10 b as surely as ten random signs, of
// probability 1/2 each. The rounding of f, which does not follow one c_i, only widens the span of
// <e, u>, so it needs no measuring for that.
//
// Up to eight entries take signs from the rows of a Hadamard matrix H of order m instead: m e_i s_i
// = sum over k of H_ki <e, u_k>, so none is off by more than the worst of the m sums.
#pragma once

#include <tapestry/autograd/check/compare.h>
#include <tapestry/autograd/check/size_classes.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tapestry::checker {

/// What directions of all classes show of one class of a claim.
struct ClassSeen {
    bool is_right = false;  ///< up to `resolution` of its smallest entry; otherwise it is open
    double resolution = 0;
};

class JointDirections {
    using Values = std::vector<double>;

public:
    /// How f is made and judged; all of it must outlive the directions.
    struct Setting {
        Subject& subject;
        std::size_t which;  ///< leaf
        const Neighbourhood& around;
        const Examination& examination;
        int directions;  ///< random signs that the wanted certainty takes
        std::uint64_t seed;
    };
    /// `claims` and their `classes` must outlive it; `only`: entries of this class
    /// of the only claim move; otherwise all do.
    JointDirections(const Setting& setting, std::span<const ClaimedGradient> claims,
                    std::span<const EntryClasses> classes, std::optional<std::size_t> only = {});

    /// What is known of the rounding of one value of a claim: at least this.
    void expect_rounding(std::size_t claim, double rounding) {
        seen_[claim].noise = seen_[claim].rounding = rounding;
        seen_[claim].is_noisy = rounding > 0;
    }

    /// Takes as many directions as it needs; false if they show nothing: a claim is off along one
    /// of them, or f is not smooth enough.
    bool run();

    /// How many were taken.
    int taken() const { return taken_; }
    ClassSeen seen(std::size_t claim, std::size_t entries) const;
    /// Whether a claim was off, or f not smooth enough for it.
    bool is_off(std::size_t claim) const { return seen_[claim].is_open; }
    /// Whether it is open only because no step shows enough of all entries together.
    bool is_dull(std::size_t claim) const { return seen_[claim].is_dull; }
    /// Of `only`: whether rounding hides its entries by so much that more values would not show
    /// them.
    bool is_lost() const { return seen_[0].is_lost; }
    /// The rounding of one value, as many values next to one another show it; 0: as its last bits
    /// do.
    double rounding(std::size_t claim) const { return seen_[claim].rounding; }
    /// The last judgement of a claim, as a passing slope.
    SlopeReport slope(std::size_t claim) const;

private:
    struct Seen {
        bool is_open = false;   // not seen, or off
        bool is_lost = false;   // in rounding
        bool is_dull = false;   // no step shows enough of all classes together
        bool is_noisy = false;  // the noise has been looked for
        Values beyond = {};     // how far the claimed slope may be off along each direction
        double noise = 0;       // of one value, as quotients that did not settle show it
        double rounding = 0;    // the same, as fits show it
        double nothing = 0;     // the resolution of entries claimed 0
        bool nothing_is_open = false;
        double usual = 0;   // the size of f
        Values least = {};  // of each class: the smallest contribution
        Judgement last = {};
        double claimed = 0;
    };
    // Entries that no earlier claim depends on, but this one does; the last: none does.
    struct Group {
        std::size_t count = 0;
        std::vector<std::size_t> of_claim = {};  // how many of them a claim depends on
        double step = 0;                         // the largest of three quotients
        bool is_fitted = false;                  // to many values: quotients are too noisy
    };

    void group_entries();
    void set_steps();
    std::shared_ptr<Values> drawn() const;
    bool look_along(Line& line, const Values& u, std::size_t group);
    void look_at(Line& line, Quotients& quotients, const Claim& along, std::size_t claim,
                 Group& group);
    void look_at_zeros(std::size_t claim, const Attempt& found, double allowed);
    static bool notes_noise(Line& line, const Quotients& quotients, Seen& seen, double step);
    double step_for(Line& line, Quotients& quotients, const Claim& along, std::size_t claim);
    std::optional<Attempt> attempt_agreeing(Line& line, Quotients& quotients, const Claim& along,
                                            Seen& seen, double step);
    void look_closer(Line& line, Quotients& quotients, const Claim& along, Group& group,
                     std::optional<Attempt>& found);
    static std::optional<Attempt> attempt(Quotients& quotients, double step, Seen& seen);
    double off_by(const Attempt& found, const Claim& along) const;
    double factor(int taken) const;
    double missed(Values beyond) const;
    double enough_of(const Seen& one, std::size_t entries) const;
    bool is_sharp() const;

    Setting in_;
    std::span<const ClaimedGradient> claims_;
    std::span<const EntryClasses> classes_;
    std::optional<std::size_t> only_;
    std::vector<Group> groups_ = {};
    std::vector<std::uint8_t> group_of_ = {};  // empty: there is one
    Values steps_ = {};                        // how far each entry may move
    std::vector<Seen> seen_;
    int taken_ = 0, most_ = 0;
    bool is_few_ = false;  // as many signs as these entries tell each of them
};

}  // namespace tapestry::checker
