//! Compares the results of a program in many ways, on several shards if it runs there, with those
//! of the host alone on one.

use std::path::{Path, PathBuf};

use cora_tests::{tell, workshop};

use crate::chance::{Goal, ROUNDS};
use crate::comparer;
use crate::input::{Input, all_captures, refusal};
use crate::order::Group;
use crate::programs::{DEALT, deals, has_shards, in_time, program, splits};
use crate::table::{Row, Table};
use crate::way::{Feed, Left, Way};

/// Programs with flows that return now and then for a state at the host. A flow of `nat` or of
/// `carrier-nat` ends with its session, before a packet could ask for another one.
const PUNTING: [&str; 2] = ["nat64", "ledger"];

/// Captures with flows of many packets.
const LASTING: [&str; 2] = ["odd", "zipf"];

/// The oracle for one program.
pub(crate) struct Oracle {
    program: &'static str,
    plans: Vec<&'static str>,
    room: PathBuf,
    inputs: Vec<Input>,
}

impl Oracle {
    pub(crate) fn of(program: &'static str, others: &[&'static str]) -> Self {
        let alone = workshop::plan_of_host_alone();
        let others = in_time(program, others).into_iter().filter(|plan| *plan != alone);
        let plans = [alone].into_iter().chain(others).collect();
        let room = workshop::room(&format!("oracle/{program}"));
        let inputs: Vec<Input> =
            all_captures().iter().map(|capture| Input::prepare(program, capture, &room)).collect();
        if let Some(refusal) = refusal(program) {
            let refused = |input: &Input| input.expected.report["outcomes"][refusal].as_u64();
            assert!(inputs.iter().filter_map(refused).sum::<u64>() > 0, "{program}: no {refusal}");
        }
        Self { program, plans, room, inputs }
    }

    /// Runs every plan, every kind of NIC and every capture, and then random moves.
    pub(crate) fn ask(&self) {
        let mut nics = vec!["native"];
        match workshop::emulator() {
            Ok(_) => nics.push("emulated"),
            Err(skipped) => tell(&skipped),
        }
        let mut table = Table::default();
        let splitting: Vec<&'static str> =
            self.plans.iter().copied().filter(|plan| self.splits(plan)).collect();
        for plan in &self.plans {
            for nic in ["off"].iter().chain(&nics) {
                // The random moves below also run with pauses.
                let moves = splitting.contains(plan) && *nic != "off";
                let paced = moves && workshop::is_full();
                let feeds: &[Feed] = if paced { &Feed::BOTH } else { &[Feed::Whole] };
                for feed in feeds {
                    let way = Way { plan, nic, feed: *feed, moves: None, shards: 1 };
                    table.add(self.program, way, &self.ask_about(way));
                }
            }
        }
        for plan in self.plans.iter().filter(|plan| has_shards(program(plan, self.program))) {
            let all = [("off", 2), ("native", 4), ("off", 4), ("native", 2)];
            let ways = if workshop::is_full() { &all[..] } else { &all[..2] };
            for &(nic, shards) in ways {
                let way = Way { plan, nic, feed: Feed::Whole, moves: None, shards };
                table.add(self.program, way, &self.ask_about(way));
            }
        }
        for nic in nics {
            self.ask_by_chance(&splitting, nic, &mut table);
        }
        if self.plans.contains(&DEALT) {
            self.ask_with_moving_buckets(&mut table);
        }
        if workshop::FIRST.contains(&self.program) {
            self.ask_on_a_card(&mut table);
        }
        tell(&table.text);
    }

    /// The NIC half runs on a card with a kernel of its own. It takes seconds to boot.
    fn ask_on_a_card(&self, table: &mut Table) {
        if let Err(skipped) = workshop::card(self.program) {
            return tell(&skipped);
        }
        // An emulated card is slow: captures in which flows last until they have moved there.
        let inputs: Vec<&Input> = self
            .inputs
            .iter()
            .filter(|it| workshop::is_full() || LASTING.contains(&&*it.name))
            .collect();
        for nic in ["card:window", "card:ethernet"] {
            let way = Way { plan: "split", nic, feed: Feed::Whole, moves: None, shards: 1 };
            let mut row = Row::default();
            for input in &inputs {
                self.run(way, input, &mut row);
            }
            self.is_not_vacuous(way, &row);
            table.add(self.program, way, &row);
        }
    }

    fn splits(&self, plan: &str) -> bool {
        splits(program(plan, self.program))
    }

    fn ask_about(&self, way: Way) -> Row {
        let mut row = Row::default();
        for input in &self.inputs {
            self.run(way, input, &mut row);
        }
        self.is_not_vacuous(way, &row);
        row
    }

    /// Runs rounds over all captures, each with another seed, until enough packets came and enough
    /// flows moved.
    fn ask_by_chance(&self, plans: &[&'static str], nic: &'static str, table: &mut Table) {
        let goal = Goal::stated();
        let mut all = Row::default();
        let feeds: &[Feed] = if goal.whole { &Feed::BOTH } else { &[Feed::Paced] };
        let ways = plans.iter().flat_map(|plan| feeds.iter().map(move |feed| (*plan, *feed)));
        let mut rows: Vec<(Way, Row)> = ways
            .map(|(plan, feed)| {
                (Way { plan, nic, feed, moves: Some(0), shards: 1 }, Row::default())
            })
            .collect();
        for round in 0..ROUNDS {
            for (way, row) in &mut rows {
                for (number, input) in self.inputs.iter().enumerate() {
                    let many = has_shards(program(way.plan, self.program));
                    let shards = if many { [1, 2, 4][(number + round as usize) % 3] } else { 1 };
                    let way = Way { moves: Some(1 + round), shards, ..*way };
                    let left = self.run(way, input, row);
                    all.add(&left);
                }
            }
            if goal.is_reached(&all) {
                break;
            }
        }
        for (way, row) in &rows {
            let of = format!("{}, {way}", self.program);
            assert!(row.held > 0, "{of}: no packet waited for its flow");
            // A punt that waits punts again at its turn, so there may be more punts than flows that
            // return by them.
            assert!(row.moves > row.punts, "{of}: {} moves, {} punts", row.moves, row.punts);
            table.add(self.program, *way, row);
        }
        assert!(
            goal.is_reached(&all),
            "{}, NIC {nic}: {} packets, {} moves",
            self.program,
            all.packets,
            all.moves
        );
    }

    /// Buckets move by chance between all shards.
    fn ask_with_moving_buckets(&self, table: &mut Table) {
        let has_emulator = workshop::emulator().is_ok();
        let all = [("emulated", 1), ("native", 2), ("native", 1), ("native", 4), ("emulated", 2)];
        let ways = if workshop::is_full() { &all[..] } else { &all[..2] };
        for (seed, &(nic, shards)) in (1..).zip(ways) {
            if nic == "emulated" && !has_emulator {
                continue;
            }
            let way = Way { plan: DEALT, nic, feed: Feed::Paced, moves: Some(seed), shards };
            let mut row = Row::default();
            for input in &self.inputs {
                let left = self.run(way, input, &mut row);
                let moves = left.number("/buckets/moves");
                assert!(moves > 0, "{}, {way}: no bucket moved", self.program);
            }
            self.is_not_vacuous(way, &row);
            table.add(self.program, way, &row);
        }
    }

    /// Runs the program, and compares the results.
    fn run(&self, way: Way, input: &Input, row: &mut Row) -> Left {
        let output = self.room.join("out.pcap");
        let left = way.run(self.program, &input.capture, &input.configurations, output);
        self.compare(way, input, &left);
        row.add(&left);
        left
    }

    fn compare(&self, way: Way, input: &Input, left: &Left) {
        let of = format!("{}, {way}, capture {}", self.program, input.capture.display());
        assert_eq!(
            left.report["outcomes"], input.expected.report["outcomes"],
            "{of}: other outcomes"
        );
        left.accounts_for_all(&of);
        self.compare_order(&of, &input.comparable, &input.comparable(left));
        assert!(
            left.state == input.expected.state,
            "{of}: other final state: diff {} {}",
            input.expected.output.with_extension("json").display(),
            left.output.with_extension("json").display()
        );
    }

    fn compare_order(&self, of: &str, expected: &Path, found: &Path) {
        if let Some(group) = Group::of(self.program) {
            return group.compare(of, expected, found);
        }
        comparer::compare(of, expected, found);
    }

    /// Asserts that the run follows its plan at all.
    fn is_not_vacuous(&self, way: Way, row: &Row) {
        let of = format!("{}, {way}", self.program);
        match (way.plan, way.nic) {
            (_, "off") => assert_eq!(row.nic, 0, "{of}: the NIC is off"),
            ("host-only", _) => assert_eq!(row.nic, 0, "{of}: the NIC handled packets"),
            (plan, _) if deals(program(plan, self.program)) => {
                assert!(row.nic > 0 && row.host > 0, "{of}: a side handled nothing");
            }
            (plan, _) if !self.splits(plan) => {
                assert_eq!(row.host, 0, "{of}: the host handled packets");
            }
            _ => {
                assert!(row.nic > 0, "{of}: the NIC handled nothing");
                assert!(row.host > 0, "{of}: the host handled nothing");
                assert!(row.moves > 0, "{of}: nothing moved");
                assert!(
                    row.punts > 0 || !PUNTING.contains(&self.program),
                    "{of}: nothing was punted"
                );
            }
        }
    }
}
