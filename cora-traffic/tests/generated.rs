//! Generated captures: the same everywhere, sound where intended, and of the stated shape.

#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use cora_traffic::pcap::{Frame, Reader};
use cora_traffic::{Generated, Generator, Profile, Summary, generate, is_inside};

mod sound;

fn capture(profile: Profile, seed: u64, packets: u64, flows: u64) -> (Vec<u8>, Summary) {
    let mut bytes = Vec::new();
    let summary = generate(profile, seed, packets, flows, &mut bytes).unwrap();
    (bytes, summary)
}

/// Returns the FNV-1a hash of 64 bits.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &octet| {
        (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[test]
fn the_same_seed_makes_the_same_octets_everywhere() {
    let hashes: Vec<String> = Profile::ALL
        .into_iter()
        .map(|profile| format!("{profile} {:016x}", hash(&capture(profile, 1, 5_000, 400).0)))
        .collect();
    assert_eq!(hashes, GOLDEN);
}

const GOLDEN: [&str; 6] = [
    "mix 261d3ae7194afece",
    "churn db287c14dc495969",
    "zipf 7ce1a3eff25b1d35",
    "odd 16e8762f3b33fb14",
    "closing 9f80db4788587059",
    "flood ef6a63f41d8855cc",
];

#[test]
fn another_seed_makes_another_capture() {
    let hashes: std::collections::BTreeSet<u64> =
        (0..20).map(|seed| hash(&capture(Profile::Mix, seed, 300, 30).0)).collect();
    assert_eq!(hashes.len(), 20);
}

#[test]
fn sound_frames_are_sound() {
    for profile in Profile::ALL {
        for seed in [1, 2] {
            for (number, frame) in Generator::new(profile, seed, 10_000, 900).enumerate() {
                if frame.sound
                    && let Err(why) = sound::check(&frame.bytes)
                {
                    panic!("{profile}, seed {seed}, frame {number}: {why}: {:02x?}", frame.bytes);
                }
            }
        }
    }
}

#[test]
fn broken_frames_are_broken() {
    let frames = || Generator::new(Profile::Odd, 3, 20_000, 2_000).filter(|frame| !frame.sound);
    assert!(frames().count() > 500);
    for frame in frames() {
        assert!(sound::check(&frame.bytes).is_err(), "{:02x?}", frame.bytes);
    }
}

#[test]
fn captures_have_as_many_packets_and_flows_as_asked_for() {
    let profiles = [Profile::Mix, Profile::Churn, Profile::Odd, Profile::Flood];
    let small =
        profiles.into_iter().flat_map(|profile| [(profile, 1_000, 100), (profile, 20_000, 500)]);
    for (profile, packets, flows) in small.chain([(Profile::Mix, 100_000, 10_000)]) {
        let (_, summary) = capture(profile, 1, packets, flows);
        assert_eq!(summary.packets, packets);
        assert!(summary.flows >= flows, "{profile}: {summary}");
    }
}

#[test]
fn the_mixture_has_all_of_it() {
    let (_, summary) = capture(Profile::Mix, 1, 50_000, 4_000);
    let percent = |count: u64| count * 100 / summary.packets;
    assert!((25..45).contains(&percent(summary.v6)), "{summary}");
    assert!((45..75).contains(&percent(summary.tcp)), "{summary}");
    assert!((15..40).contains(&percent(summary.udp)), "{summary}");
    assert!(percent(summary.icmp) >= 3 && summary.fragments > 500, "{summary}");
    assert!(summary.broken > 50 && summary.packets > summary.v4 + summary.v6, "{summary}");
    assert!((40..60).contains(&percent(summary.from_inside)), "{summary}");
    assert!(summary.longest <= 1_522, "{summary}");
}

#[test]
fn zipf_is_skewed() {
    let mut counts = std::collections::BTreeMap::<Vec<u8>, u64>::new();
    for frame in Generator::new(Profile::Zipf, 1, 50_000, 1_000) {
        if let Some(flow) = ends(&frame) {
            *counts.entry(flow).or_default() += 1;
        }
    }
    let most = counts.values().max().copied().unwrap_or(0);
    // Rank 1 of 1,000 has 17.9 percent at exponent 1.1.
    assert!((8_000..10_000).contains(&most), "{most}");
    assert!(counts.len() > 900, "{}", counts.len());
}

/// Returns the inside end, which no two flows of this profile share.
fn ends(frame: &Generated) -> Option<Vec<u8>> {
    let bytes = &frame.bytes;
    let ip = bytes.windows(2).position(|pair| pair == [8, 0] || pair == [0x86, 0xdd])? + 2;
    let (address, length, ports) = if bytes[ip] >> 4 == 4 {
        (ip + 12, 4, ip + usize::from(bytes[ip] & 15) * 4)
    } else {
        return None;
    };
    let from = &bytes[address..address + length];
    let to = &bytes[address + length..address + 2 * length];
    let inside_is_first = is_inside(<[u8; 4]>::try_from(from).ok()?.into());
    let (host, port) = if inside_is_first { (from, ports) } else { (to, ports + 2) };
    Some([host, &bytes[port..port + 2]].concat())
}

#[test]
fn the_same_ends_open_again_and_again() {
    let (bytes, summary) = capture(Profile::Closing, 1, 20_000, 2_000);
    let opened = Reader::new(&bytes[..])
        .unwrap()
        .map(Result::unwrap)
        .filter(|frame| sound::tcp_flags(&frame.bytes) == Some(2))
        .count() as u64;
    assert!(opened > 3 * summary.flows, "{opened} openings on {} pairs of ends", summary.flows);
}

#[test]
fn time_rises_with_the_flaws_of_real_clocks() {
    let (bytes, _) = capture(Profile::Mix, 1, 20_000, 2_000);
    let frames: Vec<Frame> = Reader::new(&bytes[..]).unwrap().map(Result::unwrap).collect();
    let steps =
        || frames.windows(2).map(|pair| pair[1].time.cast_signed() - pair[0].time.cast_signed());
    assert!(steps().filter(|&step| step == 0).count() > 50);
    assert!((20..400).contains(&steps().filter(|&step| step < 0).count()));
    assert!(steps().all(|step| step > -50_000));
    let span = frames.last().unwrap().time - frames[0].time;
    assert!(span > 700 * 1_000_000_000, "long enough for entries to expire: {span} ns");
}

#[test]
fn names_are_read_back() {
    for profile in Profile::ALL {
        assert_eq!(profile.name().parse::<Profile>().unwrap(), profile);
    }
    let error = "mixed".parse::<Profile>().unwrap_err().to_string();
    assert!(error.contains("`mixed`") && error.contains("closing"), "{error}");
}
