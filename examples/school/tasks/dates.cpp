#include <tapestry/examples/school/tasks/dates.h>

namespace tapestry::examples {
namespace {

std::string write_part(char letter, Date date) {
    constexpr std::string_view kMonths[] = {"january",   "february", "march",    "april",
                                            "may",       "june",     "july",     "august",
                                            "september", "october",  "november", "december"};
    constexpr std::string_view kDays[] = {"sunday",   "monday", "tuesday", "wednesday",
                                          "thursday", "friday", "saturday"};
    const std::chrono::year_month_day d(date);
    const auto day = static_cast<unsigned>(d.day());
    const auto month = static_cast<unsigned>(d.month());
    const int year = static_cast<int>(d.year());
    const std::string_view weekday = kDays[std::chrono::weekday(date).c_encoding()];
    switch (letter) {
        case 'W': return std::string(weekday);
        case 'w': return std::string(weekday.substr(0, 3));
        case 'D': return fmt::format("{:02}", day);
        case 'd': return fmt::format("{}", day);
        case 'o': return ordinal(day);
        case 'N': return std::string(kMonths[month - 1]);
        case 'n': return std::string(kMonths[month - 1].substr(0, 3));
        case 'M': return fmt::format("{:02}", month);
        case 'm': return fmt::format("{}", month);
        case 'Y': return fmt::format("{}", year);
        case 'y': return fmt::format("{:02}", year % 100);
        default: return std::string(1, letter);
    }
}

// Lower case, Title Case or UPPER CASE.
std::string in_case(std::string text, std::uint64_t which) {
    const auto is_small = [](char c) { return c >= 'a' && c <= 'z'; };
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool front = i == 0 || text[i - 1] == ' ' || text[i - 1] == '-';
        if (is_small(text[i]) && (which == 2 || (which == 1 && front))) {
            text[i] = static_cast<char>(text[i] - 'a' + 'A');
        }
    }
    return text;
}

}  // namespace

std::string ordinal(unsigned n) {
    const bool teens = n / 10 % 10 == 1;
    const char* ends[] = {"th", "st", "nd", "rd"};
    return fmt::format("{}{}", n, teens || n % 10 > 3 ? "th" : ends[n % 10]);
}

std::string iso(Date date) {
    const std::chrono::year_month_day d(date);
    return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(d.year()),
                       static_cast<unsigned>(d.month()), static_cast<unsigned>(d.day()));
}

std::string write_date(Date date, std::string_view pattern, std::uint64_t letter_case) {
    std::string text;
    // "of" is literal text, not a pattern: its letters must not be replaced.
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern.substr(i, 2) == "of") {
            text += "of";
            ++i;
        } else {
            text += write_part(pattern[i], date);
        }
    }
    return in_case(text, letter_case);
}

Pair draw_date(bool for_test, Generator& generator) {
    using namespace std::chrono;
    const Date first = sys_days(year(1969) / January / 1);
    const Date end = sys_days(year(2069) / January / 1);
    for (;;) {
        const auto days_on = generator.below(static_cast<std::uint64_t>((end - first).count()));
        const Date date = first + days(static_cast<int>(days_on));
        if (held_out(iso(date), 10) != for_test) continue;
        const auto pattern = kDatePatterns[generator.below(std::size(kDatePatterns))];
        return {write_date(date, pattern, generator.below(3)), iso(date)};
    }
}

}  // namespace tapestry::examples
