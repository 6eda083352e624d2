#![expect(clippy::float_cmp, reason = "what is read back, or has few digits, is the same")]

use super::{BUILTIN, Class, KEYS, Traffic};

fn load(name: &str) -> Traffic {
    Traffic::load(name).unwrap_or_else(|error| panic!("{error}"))
}

fn five_tuples(name: &str) -> Vec<Class> {
    load(name).by_key["FiveTuple"].clone()
}

/// Share of all packets in the flows up to a rank: by bins, and linear within the last.
fn share_of(classes: &[Class], rank: f64) -> f64 {
    let mut left = rank;
    let mut share = 0.0;
    for bin in classes.iter().flat_map(|class| &class.bins) {
        share += bin.share * (left / bin.flows).clamp(0.0, 1.0);
        left -= bin.flows;
    }
    share
}

/// Shares of packets by rank from the law: flows, exponent, and the shares in percent of the first
/// flow, of ten, of a hundredth and of a tenth of all flows.
#[test]
fn zipf_has_the_shares_of_the_law() {
    let table: [(u32, &str, [f64; 4]); 8] = [
        (1_000, "0.99", [12.9, 38.2, 38.2, 68.5]),
        (1_000, "1.26", [26.3, 61.9, 61.9, 86.3]),
        (10_000, "1.1", [15.1, 40.6, 64.8, 84.4]),
        (100_000, "1.1", [13.5, 36.1, 75.1, 89.0]),
        (100_000, "1.26", [23.5, 55.4, 89.5, 96.3]),
        (1_000_000, "0.9", [3.3, 10.6, 51.6, 73.0]),
        (1_000_000, "0.99", [6.5, 19.2, 66.4, 83.0]),
        (1_000_000, "1.26", [23.1, 54.3, 94.4, 98.0]),
    ];
    for (flows, exponent, shares) in table {
        let classes = five_tuples(&format!("zipf:flows={flows},s={exponent}"));
        let flows = f64::from(flows);
        for (rank, wanted) in [1.0, 10.0, flows / 100.0, flows / 10.0].into_iter().zip(shares) {
            let share = 100.0 * share_of(&classes, rank);
            assert!(
                (share - wanted).abs() < 0.051,
                "{flows} {exponent} {rank}: {share}, not {wanted}"
            );
        }
    }
}

#[test]
fn a_million_flows_have_six_classes() {
    let classes = five_tuples("zipf:flows=1000000,s=0.99");
    let names: Vec<&str> = classes.iter().map(|class| class.name.as_str()).collect();
    let wanted = [
        "the top 10",
        "the next 90",
        "the next 900",
        "the next 9,000",
        "the next 90,000",
        "the rest",
    ];
    assert_eq!(names, wanted);
    assert_eq!(classes[5].flows, 900_000.0);
}

#[test]
fn uniform_flows_are_one_class() {
    for name in ["uniform", "uniform:flows=32000", "uniform:flows=1", "zipf:s=0"] {
        let classes = five_tuples(name);
        assert_eq!((classes.len(), classes[0].bins.len()), (1, 1), "{name}");
        assert_eq!((classes[0].name.as_str(), classes[0].opens), ("all flows", 0.0), "{name}");
    }
    assert_eq!(five_tuples("uniform")[0].flows, 40_000.0);
}

#[test]
fn campus_is_that_of_the_publication() {
    let campus = load("campus");
    assert_eq!(campus.mean_bytes, 870.6);
    let classes = &campus.by_key["FiveTuple"];
    let first: f64 = classes.iter().map(|class| class.share * class.opens).sum();
    assert!((first - 0.0127).abs() < 0.00005, "first packets: {first}");
    let flows: f64 = classes.iter().map(|class| class.flows).sum();
    assert!((flows / 274_000.0 - 1.0).abs() < 0.005, "flows within 15 s at 10 Gbit/s: {flows}");
    // 47.9 % of the flows have one packet, 17.3 % have two.
    let lighter_half = 1.0 - share_of(classes, flows * 0.5);
    assert!((lighter_half * 78.58 - 0.53).abs() < 0.015, "{lighter_half}");
    let faster: f64 = five_tuples("campus:gbps=100").iter().map(|class| class.flows).sum();
    assert!((faster / 2_740_000.0 - 1.0).abs() < 0.005, "at 100 Gbit/s: {faster}");
}

#[test]
fn churn_opens_flows_and_light_ones_most_often() {
    let classes = five_tuples("zipf:flows=100000,s=1.1,churn=0.01");
    let opens: Vec<f64> = classes.iter().map(|class| class.opens).collect();
    assert!(opens.is_sorted_by(|a, b| a < b), "{opens:?}");
    // A flow that is replaced twice between two packets opens only once.
    let all: f64 = classes.iter().map(|class| class.share * class.opens).sum();
    assert!((0.005..0.01).contains(&all), "{all}");
    let even = five_tuples("uniform:flows=1000,churn=0.01");
    assert!((even[0].opens - 0.01 / 1.01).abs() < 1e-9, "{}", even[0].opens);
}

#[test]
fn every_builtin_profile_is_whole_and_reads_back_the_same() {
    let more = ["zipf:flows=1000000,s=1.26,bytes=1500", "zipf:flows=3,s=1", "uniform:flows=7"];
    for name in BUILTIN.into_iter().chain(more) {
        let traffic = load(name);
        assert_eq!(traffic.by_key.keys().map(String::as_str).collect::<Vec<_>>(), KEYS, "{name}");
        for (key, classes) in &traffic.by_key {
            assert!((1..=8).contains(&classes.len()), "{name} {key}");
            let bins = classes.iter().flat_map(|class| &class.bins);
            assert!(bins.clone().count() <= 64, "{name} {key}");
            let share: f64 = bins.clone().map(|bin| bin.share).sum();
            assert!((share - 1.0).abs() < 1e-7, "{name} {key}: {share}");
            let rates: Vec<f64> = bins.map(|bin| bin.share / bin.flows).collect();
            assert!(rates.is_sorted_by(|a, b| *b <= a * (1.0 + 1e-6)), "{name} {key}: {rates:?}");
        }
        let text = traffic.to_toml();
        assert_eq!(Traffic::parse(&text).as_ref(), Ok(&traffic), "{text}");
        assert_eq!(load(name).to_toml(), text);
    }
}

#[test]
fn addresses_have_the_packets_of_their_flows() {
    let traffic = load("zipf:flows=1000,s=0.99");
    let hosts = &traffic.by_key["InsideAddress"];
    let flows: f64 = hosts.iter().map(|class| class.flows).sum();
    assert!((flows - 125.0).abs() < 1e-6);
    // Host 1 has the flows of ranks 1, 126, 251, … 876.
    let weight = |rank: u32| f64::powf(f64::from(rank), -0.99);
    let all: f64 = (1..=1000).map(weight).sum();
    let first: f64 = (0..8).map(|round| weight(1 + round * 125)).sum::<f64>() / all;
    assert!(
        (hosts[0].bins[0].share / first - 1.0).abs() < 1e-6,
        "{} {first}",
        hosts[0].bins[0].share
    );
    let either: f64 = traffic.by_key["SourceAddress"].iter().map(|class| class.flows).sum();
    assert!((either - 157.0).abs() < 1e-6, "125 hosts and 32 servers: {either}");
    assert_eq!(traffic.by_key["SourceAddress"], traffic.by_key["DestinationAddress"]);
}

/// The bytes of one profile are the same on every machine, because sums, products and `libm` are.
#[test]
fn the_bytes_are_these() {
    assert_eq!(
        five_tuples("zipf:flows=20,s=1.26")[0].bins.iter().map(|bin| bin.share).collect::<Vec<_>>(),
        [0.371_987_347, 0.155_321_07, 0.158_040_387, 0.146_987_962, 0.043_786_619_3]
    );
}

fn refusal(name: &str) -> String {
    Traffic::load(name).expect_err("a refusal").to_string()
}

#[test]
fn names_that_mean_nothing_are_refused_with_what_would_be_right() {
    assert_eq!(
        refusal("zipff"),
        "there is no traffic profile `zipff`, nor a file of that name; did you mean `zipf`?"
    );
    assert!(refusal("zipff:s=0.99").ends_with("did you mean `zipf`?"));
    assert!(refusal("frogs").contains("`campus`, `imix`, `kv`, `shift`, `uniform`, `zipf`"));
    assert!(
        refusal("nowhere/mine.toml").starts_with("the traffic profile `nowhere/mine.toml` can't")
    );
    assert_eq!(
        refusal("zipf:flow=3,s=9,bytes,flows=1.5,churn=0,churn=0"),
        "traffic profile `zipf:flow=3,s=9,bytes,flows=1.5,churn=0,churn=0`: there is no parameter `flow`; did you \
         mean `flows`?; `s=9` is out of range; write a number from 0 to 3; `bytes` is not a parameter; write it like \
         `name=number`; `flows=1.5` is out of range; write a whole number from 1 to 100000000; `churn` is given \
         twice; once is enough"
    );
    assert!(
        refusal("kv:flows=3").ends_with("there is no parameter `flows`; this profile takes none")
    );
}

#[test]
fn all_faults_of_a_file_are_told_at_once_with_their_lines() {
    let text = "nme = \"a\"\ntitle = \"b\"\nmean-bytes = 0\n\n[[by-key.FiveTuple]]\nname = \"x\"\nflows = 10\n\
                share = 0.5\nopens = 2\nmean-bytes = 64\nbins = [[10, 0.5]]\n\n[[by-key.FiveTuple]]\nname = \"x\"\n\
                flows = 10\nshare = 0.4\nopens = 0\nmean-bytes = 64\nbins = [\n  [4, 0.4],\n  [5],\n]\n\n\
                [[by-key.SourceAddress]]\nname = \"y\"\nflows = 9\nshare = 0.9\nopens = 0\nmean-bytes = 64\nbins = \
                [[4, 0.9]]\n";
    let faults = Traffic::parse(text).expect_err("faults");
    let told: Vec<String> =
        faults.iter().map(|fault| format!("{}: {fault}; {}", fault.line(), fault.cure())).collect();
    assert_eq!(
        told,
        [
            "1: unknown key `nme` in a traffic profile; did you mean `name`?",
            "1: `name` is missing in a traffic profile; write `name = …`, its name",
            "3: `mean-bytes = 0` is out of range; write a number above 0",
            "9: `opens = 2` is out of range; write a number from 0.0 to 1.0",
            "21: a bin has 1 numbers; write two: `[flows, share]`",
            "24: the shares of the classes of `SourceAddress` make 0.9; make them 1, to a millionth",
            "30: the flows of the bins of `y` make 4; make them 9, to a millionth",
        ]
    );
}

#[test]
fn builtin_profiles_know_what_crosses_of_their_long_frames() {
    let crossing = |name: &str| {
        let classes = five_tuples(name);
        classes.iter().map(|class| (class.mean_bytes, class.head_bytes)).collect::<Vec<_>>()
    };
    assert!(crossing("uniform").iter().all(|bytes| *bytes == (64.0, 64.0)));
    assert!(crossing("zipf:bytes=1514").iter().all(|bytes| *bytes == (1514.0, 128.0)));
    assert!(crossing("kv").iter().all(|bytes| *bytes == (195.9, 195.9)));
    assert!(crossing("campus").iter().all(|bytes| *bytes == (870.6, 128.0)));
    // Seven of 60 bytes, and five with 128 bytes that cross.
    let wanted = (357.833_333, 88.333_333_3);
    assert!(crossing("shift").iter().all(|bytes| *bytes == wanted), "{:?}", crossing("shift"));
}

#[test]
fn what_crosses_follows_from_the_mean_unless_it_is_said() {
    let of = |mean: &str, said: &str| {
        let text = format!(
            "name = \"a\"\ntitle = \"b\"\nmean-bytes = {mean}\n\n[[by-key.FiveTuple]]\nname = \"x\"\nflows = 10\n\
             share = 1\nopens = 0\nmean-bytes = {mean}\n{said}bins = [[10, 1]]\n"
        );
        Traffic::parse(&text).map(|traffic| traffic.by_key["FiveTuple"][0].head_bytes)
    };
    assert_eq!(of("300", ""), Ok(300.0));
    assert_eq!(of("870.6", ""), Ok(128.0));
    assert_eq!(of("300", "head-bytes = 71.4\n"), Ok(71.4));
    let faults = of("300", "head-bytes = 301\n").expect_err("more than there are");
    let told: Vec<String> =
        faults.iter().map(|fault| format!("{}: {fault}; {}", fault.line(), fault.cure())).collect();
    assert_eq!(
        told,
        ["11: `head-bytes = 301` is out of range; write a number above 0, at most `mean-bytes`"]
    );
}

#[test]
fn classes_that_do_not_make_a_whole_are_refused() {
    let text = load("zipf:flows=100").to_toml();
    let twice = text.replacen("name = \"the rest\"", "name = \"the top 10\"", 1);
    let faults = Traffic::parse(&twice).expect_err("one name twice");
    assert_eq!(faults.len(), 1);
    assert!(faults[0].to_string().contains("two classes `the top 10`"), "{}", faults[0]);
    let without = text.replace("by-key.FiveTuple", "by-key.Five-Tuple");
    let faults = Traffic::parse(&without).expect_err("no type");
    let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert!(told.iter().any(|fault| fault == "`Five-Tuple` is not the name of a type"), "{told:?}");
    assert!(told.iter().any(|fault| fault == "`FiveTuple` is missing in `[by-key]`"), "{told:?}");
}
