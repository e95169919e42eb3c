// A run's numbers for other programs: event files byte for byte, and CSV.
#include <tapestry/nn/train/run_export.h>
#include <tapestry/tests/core/scratch.h>

#include <fmt/core.h>

#include <cmath>

using namespace tapestry;
using test::check_message;
using test::slurp;
using test::spill;

namespace {

// Printed by tests/fixtures/make_event_file.py.
const std::string kEventFile =
    "1a00000000000000129bd82d0900000040fc54d94110001a0d627261696e2e4576656e743a32e6773e1a3700"
    "000000000000e7e8ca590900002040fc54d94110012a2a0a0b0a046c6f737315000090400a090a026c72156f"
    "12833a0a100a09677261645f6e6f726d1500001040fae9149e490000000000000036250ea30900006040fc54"
    "d94110ac022a3b0a0b0a046c6f737315000050400a090a026c72156f12033a0a100a09677261645f6e6f726d"
    "150000403f0a0f0a0876616c5f6c6f73731500006040a5307e62";

std::string hex(const std::string& bytes) {
    std::string text;
    for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
    return text;
}

}  // namespace

TEST_CASE("run export: CRC-32C as in RFC 3720, appendix B.4, and of the usual check") {
    CHECK_EQ(crc32c("123456789"), 0xe3069283U);
    CHECK_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
    CHECK_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
    CHECK_EQ(crc32c(""), 0U);
}

TEST_CASE("run export: an event file has the bytes that Python computes") {
    const std::vector<StepMetrics> steps{
        {.step = 1, .loss = 4.5, .lr = 1e-3, .grad_norm = 2.25, .seconds = 0.5},
        {.step = 300,
         .loss = 3.25,
         .val_loss = 3.5,
         .lr = 5e-4,
         .grad_norm = 0.75,
         .seconds = 1.5}};
    CHECK_EQ(hex(to_event_file(steps, 1700000000.0)), kEventFile);
}

TEST_CASE("run export: steps as CSV, what is not finite or not there as an empty field") {
    const test::Scratch scratch;
    for (const char* name : {"a", "b,c"}) std::filesystem::create_directory(scratch / name);
    spill(scratch / "a" / "metrics.jsonl",
          "{\"event\":\"start\",\"config\":{}}\n"
          "{\"step\":1,\"loss\":4.5,\"lr\":0.001,\"grad_norm\":null,\"tokens_per_s\":1000,"
          "\"seconds\":0.25}\n"
          "{\"step\":2,\"loss\":4,\"lr\":1e-05,\"grad_norm\":2,\"tokens_per_s\":1500.5,"
          "\"seconds\":0.5,\"val_loss\":3.75}\n");
    spill(scratch / "b,c" / "metrics.jsonl",
          "{\"step\":1,\"loss\":1,\"lr\":1,\"grad_norm\":1,\"tokens_per_s\":1,\"seconds\":1}\n");
    const std::string a = (scratch / "a").string(), b = (scratch / "b,c").string();
    CHECK_EQ(steps_to_csv({a, b}), "run,step,loss,lr,grad_norm,tokens_per_s,seconds,val_loss\n" +
                                       a + ",1,4.5,0.001,,1000,0.25,\n" + a +
                                       ",2,4,1e-05,2,1500.5,0.5,3.75\n\"" + b +
                                       "\",1,1,1,1,1,1,\n");
    CHECK_EQ(csv_line({"a", "say \"x\"", "two\nlines", ""}),
             "a,\"say \"\"x\"\"\",\"two\nlines\",\n");
}

TEST_CASE("run export: an event file for each run, in folders of different names") {
    const test::Scratch scratch;
    const std::string line =
        "{\"step\":1,\"loss\":1,\"lr\":1,\"grad_norm\":1,\"tokens_per_s\":1,\"seconds\":1}\n";
    for (const char* name : {"x/m", "y/m", "y/n"}) {
        std::filesystem::create_directories(scratch / name);
        spill(scratch / name / "metrics.jsonl", line);
    }
    const auto different = write_event_files({scratch / "x/m", scratch / "y/n"}, scratch / "tb");
    REQUIRE_EQ(different.size(), 2);
    CHECK_EQ(different[0].parent_path(), scratch / "tb/m");
    CHECK_EQ(different[1].parent_path(), scratch / "tb/n");
    CHECK_EQ(different[0].filename(), "events.out.tfevents.tapestry");
    CHECK(slurp(different[0]).find("brain.Event:2") != std::string::npos);
    const auto same = write_event_files({scratch / "x/m", scratch / "y/m"}, scratch / "two");
    CHECK_NE(same[0].parent_path(), same[1].parent_path());
    CHECK(same[0].parent_path().string().ends_with("/x/m"));
    CHECK(same[1].parent_path().string().ends_with("/y/m"));
    // Runs of names that would be equal with another separator; and the directory above.
    for (const char* name : {"x_a/b/m", "x/a_b/m"}) {
        std::filesystem::create_directories(scratch / name);
        spill(scratch / name / "metrics.jsonl", line);
    }
    const auto apart =
        write_event_files({scratch / "x_a/b/m", scratch / "x/a_b/m"}, scratch / "three");
    CHECK_NE(apart[0], apart[1]);
    const auto above = write_event_files({scratch / "x/m/../m/."}, scratch / "four");
    CHECK_EQ(above[0].parent_path(), scratch / "four/m");
    // Exported again after another step: one file, with both.
    spill(scratch / "y/n/metrics.jsonl", line + line);
    CHECK_EQ(write_event_files({scratch / "y/n"}, scratch / "tb"), std::vector{different[1]});
    // A run without steps has none.
    std::filesystem::create_directories(scratch / "none");
    spill(scratch / "none/metrics.jsonl", "{\"event\":\"start\",\"config\":{}}\n");
    CHECK(write_event_files({scratch / "none"}, scratch / "tb").empty());
    CHECK_EQ(steps_to_csv({scratch / "none"}),
             "run,step,loss,lr,grad_norm,tokens_per_s,seconds,val_loss\n");
    check_message<IoError>([&] { write_event_files({scratch / "z"}, scratch / "tb"); },
                           "no such directory");
}
