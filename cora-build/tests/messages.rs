//! Small programs with messages: what each path sends, from whom the flows of a message hear, and
//! whether the program is settled.
#![cfg(feature = "script")]
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use cora_build::script::{self, source::cfg::Cfg};
use cora_plan::graph::{Cause, Order, Settled, Under};
use cora_plan::picture::text;
use cora_plan::{Graph, Plan};

/// The graph of a program and its plan.
fn read(source: &str, plan: Option<&str>) -> (Graph, Plan) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(directory.path().join("src")).unwrap();
    std::fs::write(directory.path().join("src/main.rs"), source).unwrap();
    let reading = script::read(directory.path(), "case", &Cfg::default(), plan);
    reading.result.unwrap_or_else(|faults| panic!("{faults}"))
}

/// Each send of the program: handler, message, label.
fn sends(graph: &Graph) -> Vec<String> {
    graph
        .sendings()
        .iter()
        .map(|it| format!("{} {} {}", it.handler, it.label(), it.message))
        .collect()
}

/// The order of messages of this type.
fn order<'a>(graph: &'a Graph, message: &str) -> Order<'a> {
    graph.hearings().into_iter().find(|it| it.message.name == message).unwrap().order
}

#[test]
fn what_is_only_answered_is_settled() {
    let (graph, _) = read(
        "#[message(udp)] struct Ask { #[key] row: u64 }
         #[message(udp)] struct Vote { value: u64 }
         #[state(key = u64, capacity = 16, idle = \"1h\")] struct Row { value: u64 }
         #[flow_handler]
         fn answer(ask: Ask, rows: &mut Table<Row>, votes: &mut Outbox<Vote>) -> Verdict {
             let row = rows.get_or_insert(ask.row, Row { value: 0 })?;
             votes.reply(Vote { value: row.value })?;
             Done
         }
         cora::app!(answer);",
        None,
    );
    assert_eq!(sends(&graph), ["answer replies 1 Vote"]);
    assert_eq!(order(&graph, "Ask"), Order::Wire);
    assert_eq!(graph.settled(None), Some(Settled::Always));
    let vote = graph.message("Vote").unwrap();
    assert!(graph.goes_out(vote) && !graph.comes_in(vote));
}

#[test]
fn an_answer_that_is_written_in_place_is_one() {
    let (graph, _) = read(
        "#[message(udp, parse)] struct Ask { #[key] row: u64 }
         #[state(key = u64, capacity = 16, idle = \"1h\")] struct Row { value: u64 }
         #[flow_handler]
         fn answer(ask: &Ask, rows: &mut Table<Row>, answers: &mut Outbox<Ask>) -> Verdict {
             let Some(row) = rows.get(&ask.row) else { return Pass };
             answers.reply_with(|out| _ = out.number(row.value))?;
             Done
         }
         cora::app!(answer);",
        None,
    );
    assert_eq!(sends(&graph), ["answer replies 0 to 1 Ask"]);
    assert_eq!(order(&graph, "Ask"), Order::Wire);
    assert_eq!(graph.settled(None), Some(Settled::Always));
}

const WORK: &str = "#[message(udp)] struct Work { #[key] job: u64, left: u32 }
     #[state(key = u64, capacity = 16, idle = \"1h\")] struct Job { done: u64 }
     #[flow_handler]
     fn work(work: Work, jobs: &mut Table<Job>, again: &mut Outbox<Work>) -> Verdict {
         jobs.get_or_insert(work.job, Job { done: 0 })?.done += 1;
         if work.left > 0 {
             again.send(Work { job: KEY, left: work.left - 1 })?;
         }
         Done
     }
     cora::app!(work);";

#[test]
fn a_flow_that_sends_to_itself_hears_from_the_wire_alone() {
    let (graph, _) = read(&WORK.replace("KEY", "work.job"), None);
    assert_eq!(sends(&graph), ["work sends 0 to 1 Work"]);
    assert_eq!(order(&graph, "Work"), Order::Wire);
    assert_eq!(graph.settled(None), Some(Settled::Always));
}

#[test]
fn a_handler_that_sends_to_other_flows_of_its_own_is_one_of_several() {
    for key in ["work.job + 1", "u64::from(work.left)"] {
        let (graph, _) = read(&WORK.replace("KEY", key), None);
        assert_eq!(order(&graph, "Work"), Order::Several(Cause::Sources), "{key}");
        let Some(settled @ Settled::Not(_)) = graph.settled(None) else { panic!("{key}") };
        assert_eq!(settled.reasons(), ["Work: a flow may hear from the wire and `work`"]);
    }
}

const TWO: &str = "#[message(udp, port = 1)] struct In { #[key] name: u64 }
     #[message(udp, port = 2)] struct Out { #[key] name: u64 }
     #[message(key = One)] struct Sum { by: u64 }
     STATE
     #[flow_handler]
     fn inward(it: In, sums: &mut Outbox<Sum>) -> Verdict {
         for by in 0..it.name {
             sums.send(Sum { by })?;
         }
         Done
     }
     #[flow_handler]
     fn outward(it: Out, sums: &mut Outbox<Sum>) -> Verdict {
         sums.send(Sum { by: it.name })?;
         sums.send(Sum { by: 1 })?;
         Done
     }
     #[flow_handler]
     fn sum(sum: Sum, SUMS) -> Verdict {
         BODY
         Done
     }
     cora::app!(inward, outward, sum);";

fn two(state: &str, parameter: &str, body: &str) -> String {
    TWO.replace("STATE", state).replace("SUMS", parameter).replace("BODY", body)
}

const TOTAL: (&str, &str, &str) = (
    "#[state(key = One, capacity = 1, idle = \"1h\")] struct Total { sum: u64 }",
    "totals: &mut Table<Total>",
    "totals.get_or_insert(One, Total { sum: 0 })?.sum += sum.by;",
);

#[test]
fn two_senders_are_several() {
    let (graph, plan) = read(&two(TOTAL.0, TOTAL.1, TOTAL.2), Some("split"));
    assert_eq!(sends(&graph), ["inward sends 0 or more Sum", "outward sends 2 Sum"]);
    assert_eq!(order(&graph, "Sum"), Order::Several(Cause::Sources));
    assert_eq!((order(&graph, "In"), order(&graph, "Out")), (Order::Wire, Order::Wire));
    let told = text::draw(&graph, Some(&plan));
    for line in [
        "  not settled: results are those of some run one by one",
        "  Sum: a flow may hear from `inward` and `outward`",
        "    inward sends 0 or more a run",
        "    outward sends 2 a run",
    ] {
        assert!(told.contains(line), "no `{line}` in:\n{told}");
    }
    for (sides, side) in [("host-only", "the host"), ("nic-only", "the NIC")] {
        let (graph, plan) = read(&two(TOTAL.0, TOTAL.1, TOTAL.2), Some(sides));
        let under = Under::from(&plan.placement);
        assert_eq!(graph.settled(Some(&under)), Some(Settled::OneSide(side)));
    }
}

#[test]
fn what_sits_at_the_host_is_settled_if_messages_cross_one_way() {
    let (graph, plan) = read(&two(TOTAL.0, TOTAL.1, TOTAL.2), Some("split"));
    let mut placement = plan.placement;
    placement.host_handlers = vec!["sum".to_owned()];
    let settled = |placement: &cora_plan::placement::Placement| {
        graph.settled(Some(&Under::from(placement))).unwrap().verdict()
    };
    placement.host_ordered = false;
    assert!(settled(&placement).starts_with("not settled"), "arrivals may pass each other");
    placement.host_ordered = true;
    assert!(settled(&placement).starts_with("settled under this plan: messages cross"));
    placement.host_handlers.clear();
    assert!(settled(&placement).starts_with("not settled"), "messages go both ways");
}

#[test]
fn what_is_commutative_may_hear_from_several() {
    let state = "#[state(commutative)] struct Total { sum: Sums<1> }";
    let source = two(state, "total: &mut Total", "total.sum.add(0, sum.by);");
    let (graph, _) = read(&source, None);
    assert_eq!(order(&graph, "Sum"), Order::AnyOrder);
    assert_eq!(graph.settled(None), Some(Settled::Always));
}

#[test]
fn an_outbox_that_is_handed_to_a_helper_is_followed() {
    let source = "#[message(udp)] struct Text { length: u32 }
         #[message] struct Word { #[key] word: u64 }
         fn emit(words: &mut Outbox<Word>, word: u64) -> Result<(), Reason> {
             words.send(Word { word })
         }
         #[flow_handler]
         fn split(text: Text, words: &mut Outbox<Word>) -> Verdict {
             emit(words, 1)?;
             if text.length > 1 { emit(words, 2)?; }
             Done
         }
         #[flow_handler]
         fn take(word: Word) -> Verdict { Done }
         cora::app!(split, take);";
    let (graph, _) = read(source, None);
    assert_eq!(sends(&graph), ["split sends 1 to 2 Word"]);
    let (graph, _) = read(&source.replace("emit(words, 1)?;", "elsewhere(words);"), None);
    let told = sends(&graph);
    assert!(told.contains(&"split may send 0 or more Word".to_owned()), "{told:?}");
    assert_eq!(order(&graph, "Word"), Order::AnyOrder, "it has no state");
}
