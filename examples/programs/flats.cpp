// A CSV: prices of flats, from columns of numbers, dates and categories with gaps. The flats sold
// last are held out, because a random part would know next month's prices. A model that is read
// from its directory predicts them, and the predictions are written as another CSV.
#include <tapestry/nn/train/table/table_task.h>
#include <tapestry/tapestry.h>

#include <cmath>
#include <filesystem>

#include <unistd.h>

using namespace tapestry;

namespace {

// As another program would have written it: addresses with commas, unknown balconies and areas.
Table draw_flats(std::int64_t rows, Generator& generator) {
    const std::vector<std::string> districts{"Altstadt", "Hafen", "Nordend", "Westend"};
    const std::vector<double> factors{1.3, 0.9, 1.0, 1.15};
    TableColumn address{.name = "address", .is_number = false}, area{.name = "area"},
        rooms{.name = "rooms"}, district{.name = "district", .is_number = false},
        balcony{.name = "balcony", .is_number = false}, sold{.name = "sold", .is_date = true},
        price{.name = "price"};
    const auto noise = randn({rows}, generator).to_vector<double>();
    Table table;
    for (std::int64_t i = 0; i < rows; ++i) {
        const auto where = static_cast<std::size_t>(generator.below(4));
        const double size = std::round(30 + 90 * generator.uniform());
        const double day =
            std::round(days_of_date("2024-01-01").value() + 900 * generator.uniform());
        const bool has_balcony = generator.uniform() < 0.4, is_known = generator.uniform() < 0.9;
        address.texts.push_back(fmt::format("{} Main Street, {}", i + 1, districts[where]));
        area.numbers.push_back(generator.uniform() < 0.95 ? size : std::nan(""));
        rooms.numbers.push_back(std::round(size / 28 + generator.uniform()));
        district.texts.push_back(districts[where]);
        balcony.texts.push_back(!is_known ? "" : has_balcony ? "yes" : "no");
        sold.numbers.push_back(day);
        price.numbers.push_back(std::round(
            2600 * size * factors[where] * (has_balcony ? 1.08 : 1.0) *
            std::exp(2e-4 * (day - sold.numbers[0]) + 0.05 * noise[static_cast<std::size_t>(i)])));
        table.lines.push_back(i + 2);
    }
    table.columns = {address, area, rooms, district, balcony, sold, price};
    return table;
}

}  // namespace

int main() {
    Generator generator(5);
    const auto place = std::filesystem::temp_directory_path() / fmt::format("flats-{}", getpid());
    make_directories(place);
    const Table flats = draw_flats(4000, generator);
    const Tensor days = tensor(flats.find("sold")->numbers, {flats.rows()});
    const HeldOut parts = split_by_time(days, 0.2);
    write_table(place / "earlier.csv", select_rows(flats, parts.train));
    write_table(place / "later.csv", select_rows(flats, parts.held_out));

    TrainingConfig config{.task = "table", .text = (place / "earlier.csv").string()};
    config.set_model(TableConfig{.target = "price", .ignore = {"address"}, .dim = 32});
    config.batch = 64;
    config.steps = 600;
    config.warmup = 20;
    config.lr = 5e-3;
    config.eval_every = 300;
    Session session(config);
    fmt::print("{}\n", session.task().amounts());
    TrainingRun(session, {.out = place / "run", .report = false}).to_the_end();

    const auto task = load_table_task(place / "run");
    const Table later = task->read(place / "later.csv", true);
    const RegressionScores scores = task->regression_scores(later);
    fmt::print("{}", to_text(scores, "later flats"));
    Table found = read_table(place / "later.csv");
    TableColumn& predicted = found.columns.emplace_back(TableColumn{.name = "predicted"});
    for (const RowPrediction& row : task->predict(later, 1)) {
        predicted.numbers.push_back(std::round(row.number));
    }
    write_table(place / "predicted.csv", found);
    const std::string text = read_file(place / "predicted.csv");
    fmt::print("{}...\n", text.substr(0, text.find('\n', text.find('\n') + 1) + 1));
    std::filesystem::remove_all(place);
    return scores.r2() > 0.9 ? 0 : 1;
}
