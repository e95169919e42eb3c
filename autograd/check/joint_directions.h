// Directions along which the entries of all classes of sizes move at once, each by a random part of
// its own size. Internal to autograd/check. Read next: compare_directions.cpp, which looks at each
// class by itself where these do not settle it.
//
// Along u the claim is off by <e, u>. With u_i = c_i s_i, c_i even between -1 and 1, and all but
// c_i given, <e, u> is within a span of 2 b with probability at most b / |e_i s_i|. So k directions
// that all agree to b miss an error of e_i s_i with probability at most (b / |e_i s_i|)^k: ten
// signs, of probability 1/2 each, find no more than three such directions find of what is 10 b. The
// rounding of f, which does not follow one c_i, only widens the span of <e, u>, so it needs no
// measuring for that.
#pragma once

#include <tapestry/autograd/check/compare.h>
#include <tapestry/autograd/check/size_classes.h>

#include <cstdint>
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

    /// Takes as many directions as it needs; false if they show nothing: a claim is off along one
    /// of them, or f is not smooth enough.
    bool run();

    /// How many were taken.
    int taken() const { return taken_; }
    ClassSeen seen(std::size_t claim, std::size_t entries) const;
    /// Whether a claim was off, or f not smooth enough for it.
    bool is_off(std::size_t claim) const { return seen_[claim].is_open; }
    /// The last judgement of a claim, as a passing slope.
    SlopeReport slope(std::size_t claim) const;

private:
    struct Seen {
        bool is_open = false;  // not seen, or off
        double beyond = 0;     // how far the claimed slope may be off along a direction
        double noise = 0;      // of one value, as quotients that did not settle show it
        double nothing = 0;    // the resolution of entries claimed 0
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
    };

    void group_entries();
    void set_steps();
    bool look_along(Line& line, const Values& u, std::size_t group);
    void look_at(Quotients& quotients, const Claim& along, std::size_t claim, const Group& group);
    void look_at_zeros(std::size_t claim, const Attempt& found, double allowed);
    double step_for(Quotients& quotients, const Claim& along, std::size_t claim);
    static std::optional<Attempt> attempt(Quotients& quotients, double step, Seen& seen);
    double factor(int taken) const;
    bool is_sharp() const;

    Setting in_;
    std::span<const ClaimedGradient> claims_;
    std::span<const EntryClasses> classes_;
    std::optional<std::size_t> only_;
    std::vector<Group> groups_ = {};
    std::vector<std::uint8_t> group_of_ = {};  // empty: there is one
    Values steps_ = {};                        // how far each entry may move
    std::vector<Seen> seen_;
    int taken_ = 0;
};

}  // namespace tapestry::checker
