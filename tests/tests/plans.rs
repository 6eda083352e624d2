//! Reports on the plans of the examples: standalone pages, and the same bytes twice.

use cora_build::script::reading;
use cora_plan::Statement;
use cora_plan::model::Steering;
use cora_plan::nic::NicProfile;
use cora_plan::optimise::Planned;
use cora_plan::report::{Outlook, Report, html, json, text};
use cora_plan::statement::Ask;
use cora_plan::traffic::Traffic;
use cora_plan::what_if::{Case, Engine, Planner as _, curve, sensitivity};
use cora_tests::well_formed::well_formed;
use cora_tests::workshop::{EXAMPLES, root};

fn case(example: &str) -> Case {
    let program =
        reading::read(&root().join("examples").join(example), Some("best")).expect("a program");
    Case {
        graph: program.graph,
        nic: NicProfile::builtin("bluefield2").expect("a built-in profile"),
        traffic: Traffic::load("kv").expect("a built-in profile"),
        measurement: None,
        statement: Statement::best(),
        steering: Steering::Cores,
        ask: Ask::Rate(0.5),
    }
}

/// Returns the plan, without its time of computation.
fn planned(case: &Case) -> Planned {
    Planned { ms: 0.0, ..Engine.plan(case).unwrap_or_else(|refusal| panic!("{refusal}")) }
}

fn report<'a>(case: &'a Case, planned: &'a Planned) -> Report<'a> {
    Report {
        graph: &case.graph,
        nic: &case.nic,
        traffic: &case.traffic,
        statement: &case.statement,
        planned,
        hash: "0123456789abcdef",
        baselines: true,
        measured: "",
    }
}

fn page(case: &Case, planned: &Planned) -> String {
    let outlook = Outlook {
        curves: curve::run(&Engine, case),
        sensitivity: sensitivity::run(&Engine, case, planned),
    };
    html::write(&report(case, planned), &outlook)
}

#[test]
fn pages_are_well_formed_and_fetch_nothing() {
    for example in EXAMPLES {
        let case = case(example);
        let page = page(&case, &planned(&case));
        let document = page.strip_prefix("<!DOCTYPE html>\n").expect("a page of HTML");
        let elements = well_formed(document);
        assert!(matches!(elements, Ok(200..)), "{example}: {elements:?}");
        let own = page.replace("http://www.w3.org/2000/svg", "");
        for word in ["http:", "https:", "src=", "href", "@import", "<script", "<link"] {
            assert!(!own.contains(word), "{example}: {word}");
        }
    }
}

#[test]
fn reports_come_out_the_same_twice() {
    for example in EXAMPLES {
        let tell = || {
            let case = case(example);
            let planned = planned(&case);
            let report = report(&case, &planned);
            // A page plans many times; one page is enough.
            let page = (example == "nat").then(|| page(&case, &planned));
            (text::write(&report), json::write(&report), page)
        };
        assert_eq!(tell(), tell(), "{example}");
    }
}
