//! Profiles: read, refused, written, and the contents of the built-in ones.

use super::{NicProfile, ProfileError, Tier};

fn builtin() -> impl Iterator<Item = NicProfile> {
    NicProfile::names().map(|name| NicProfile::builtin(name).expect("it is built in"))
}

/// Refusals of a changed built-in profile.
fn refusals(change: impl Fn(String) -> String) -> Vec<String> {
    let text = change(NicProfile::builtin("bluefield2").expect("it is built in").to_toml());
    let told = |e: &ProfileError| format!("{}: {e}; {}", e.line().unwrap_or(0), e.cure());
    NicProfile::parse(&text).expect_err("a refusal").iter().map(told).collect()
}

#[test]
fn every_profile_comes_back_from_its_own_words() {
    for profile in builtin() {
        assert_eq!(NicProfile::parse(&profile.to_toml()), Ok(profile));
    }
}

#[test]
fn strings_survive_writing() {
    let mut profile = builtin().next().expect("one");
    profile.title = "a \"title\" with \\ and\ttabs, µs and\nlines".to_owned();
    assert_eq!(NicProfile::parse(&profile.to_toml()), Ok(profile));
}

#[test]
fn every_number_of_a_built_in_profile_says_enough_of_its_source() {
    for profile in builtin() {
        let figures = profile.figures();
        assert!(figures.len() >= 30, "{}", profile.name);
        for figure in figures {
            assert!(figure.source.text().len() >= 8, "{}: {figure}", profile.name);
        }
    }
}

#[test]
fn built_in_profiles_are_sane() {
    let hosts: Vec<Tier> = builtin().map(|profile| profile.host).collect();
    assert!(hosts.windows(2).all(|pair| pair[0] == pair[1]), "one host, so that NICs compare");
    for (name, profile) in NicProfile::names().zip(builtin()) {
        assert_eq!(profile.name, name);
        let (nic, host) = (&profile.nic, &profile.host);
        assert!(
            nic.instruction_ns.value > host.instruction_ns.value,
            "{name}: a NIC's core is slower"
        );
        for tier in [nic, host] {
            assert!(tier.memory_ns.value < 1000.0, "{name}: {}", tier.memory_ns);
            assert!(tier.caches.iter().all(|it| it.shared_by.value <= tier.cores.value), "{name}");
        }
        assert!(profile.flow_table.is_some_and(|table| table.entries.value > 1e5), "{name}");
    }
}

#[test]
fn all_faults_are_told_at_once_with_their_lines() {
    let told = refusals(|text| {
        let change = |line: &str| -> String {
            let key = line.split(' ').next().unwrap_or_default();
            match key {
                "title" => "titel = \"x\"".to_owned(),
                "busy" => "busy = { value = 1.5, assumed = \"x\" }".to_owned(),
                "packet_ns" => "packet_ns = 100".to_owned(),
                "exposed" => "exposed = { value = 0.2, guessed = \"x\" }".to_owned(),
                "insert_ns" => {
                    "insert_ns = { value = 1, assumed = \"x\", derived = \"y\" }".to_owned()
                }
                "remove_ns" => "remove_ns = { value = \"1\", assumed = \" \" }".to_owned(),
                "state_bytes" => String::new(),
                _ => line.to_owned(),
            }
        };
        // Only the NIC's table changes.
        let (nic, rest) = text.split_once("[[nic.cache]]").expect("caches");
        let nic: Vec<String> = nic.lines().map(change).collect();
        format!("{}\n[[nic.cache]]{}", nic.join("\n"), rest)
    });
    assert_eq!(
        told,
        [
            "1: `title` is missing in the NIC profile; write `title = …`, a title of one line",
            "2: unknown key `titel` in the NIC profile; did you mean `title`?",
            "4: `state_bytes` is missing in `[nic]`; write `state_bytes = …`, as in \
             `{ value = 1.5, measured = \"how\" }`",
            "7: `busy = 1.5` is out of range; write a number above 0.0, at most 1.0",
            "10: `packet_ns` has no source; say where the number is from: `{ value = …, measured = \"how\" }`, or \
             `published`, `derived`, `assumed`",
            "13: unknown key `guessed` in `exposed`; write one of `value`, `published`, `measured`, `derived`, \
             `assumed`",
            "13: `exposed` has no source; say where the number is from: `{ value = …, measured = \"how\" }`, or \
             `published`, `derived`, `assumed`",
            "14: `insert_ns` has 2 sources; keep the one that the number is from",
            "15: `remove_ns` is a string, where a number that is 0 or more is wanted; write a number that is 0 or \
             more",
            "15: `remove_ns` has no source; say where the number is from: `{ value = …, measured = \"how\" }`, or \
             `published`, `derived`, `assumed`",
        ]
    );
}

#[test]
fn caches_must_rise_and_be_there() {
    let told = refusals(|text| text.replacen("value = 1048576,", "value = 1024,", 1));
    assert_eq!(
        told,
        [
            "23: `bytes = 1024` is not above the 32768 of the cache before it; write the caches in order, the nearest \
          first: sizes and latencies rise"
        ]
    );
    let told =
        refusals(|text| text.replacen("memory_ns = { value = 120,", "memory_ns = { value = 3,", 1));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("12: `memory_ns = 3` is not above the 35 "), "{told:?}");
    let told = refusals(|text| {
        let (nic, rest) = text.split_once("[[nic.cache]]").expect("caches");
        let (_, rest) = rest.split_once("[host]").expect("a host");
        format!("{nic}[host]{rest}")
    });
    assert_eq!(
        told,
        [
            "4: `[nic]` has no cache; write at least one `[[nic.cache]]` with `bytes`, `latency_ns` and `shared_by`"
        ]
    );
}

#[test]
fn what_a_rule_can_do_is_one_of_four_words() {
    let told = refusals(|text| text.replace("\"steer\"", "\"ster\""));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].ends_with("`ster` is not a value of `expresses`; did you mean `steer`?"),
        "{told:?}"
    );
}

#[test]
fn what_is_no_profile_is_refused_by_name() {
    let told = |name: &str| {
        let faults = NicProfile::load(name).expect_err("a refusal");
        faults.iter().map(|e| format!("{e}; {}", e.cure())).collect::<Vec<_>>()
    };
    assert_eq!(
        told("bluefeld2"),
        [
            "there is no NIC profile `bluefeld2`; did you mean `bluefield2`? (a file's path has a `/`, or ends in `.toml`)"
        ]
    );
    assert!(told("nowhere/x.toml")[0].starts_with("`nowhere/x.toml` can't be read: "));
    assert!(NicProfile::load("bluefield3").is_ok());
}
