//! Source at the nesting limit fits on the real stacks: the compiler's, for macros, and a build
//! script's.
#![cfg(feature = "script")]

use cora_build::syntax::Mark;
use cora_build::{expand, script};
use proc_macro2::TokenStream;

/// Minimum stack that rustc leaves for a macro: half of its 8 MiB.
const OF_A_MACRO: usize = 4 << 20;

/// Bodies with nesting close to the limit.
fn bodies() -> Vec<String> {
    let nested = |before: &str, times: usize, inner: &str, behind: &str| {
        format!("let _it = {}{inner}{};", before.repeat(times), behind.repeat(times))
    };
    vec![
        nested("(", 150, "1", ")"),
        nested("{ if a ", 60, "{}", "}"),
        nested("match a { _ => ", 45, "1", "}"),
        nested("loop { break ", 45, "1", "}"),
        nested("[Some((", 45, "1", "))]"),
        nested("!", 480, "a", ""),
        nested("a = ", 240, "1", ""),
        nested("a + ", 480, "1", ""),
        nested("a || ", 240, "b", ""),
        nested("|| ", 240, "1", ""),
        nested("&", 480, "a", ""),
        nested("a", 1, "", &"?".repeat(480)),
        nested("a.b().", 95, "c()", ""),
        nested("a", 1, "", &"[0]".repeat(150)),
        nested("if a { 1 } else ", 50, "{ 2 }", ""),
        nested("return ", 240, "1", ""),
        format!("let _it: {}u8{};", "Box<".repeat(54), ">".repeat(54)),
        format!("let {}x{} = a;", "Some(".repeat(160), ")".repeat(160)),
        format!("let {}x = a;", "&".repeat(480)),
    ]
}

#[test]
fn what_is_let_through_is_read() {
    for body in bodies() {
        let start: String = body.chars().take(30).collect();
        let handler =
            format!("fn f(packet: &mut Packet, u: &mut U) -> Verdict {{ {body} Transmit }}");
        let told = on_a_stack(OF_A_MACRO, {
            let handler = handler.clone();
            move || {
                let tokens: TokenStream = handler.parse().expect("tokens");
                expand::function(Mark::Handler, TokenStream::new(), tokens).to_string()
            }
        });
        assert!(!told.contains("CORA0130"), "{start}");
        let room = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(room.path().join("src")).expect("it is ours");
        let files = [
            ("Cargo.toml", "[package]\nname = \"case\"\n".to_owned()),
            (
                "src/main.rs",
                format!(
                    "#[state(singleton)] struct U {{ n: u8 }}\n#[flow_handler] {handler}\ncora::app!(f);"
                ),
            ),
        ];
        for (name, text) in files {
            std::fs::write(room.path().join(name), text).expect("it is ours");
        }
        let read = script::graph_of(room.path(), None);
        assert!(read.is_ok(), "{start}: {read:?}");
    }
}

fn on_a_stack<T: Send + 'static>(bytes: usize, run: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(bytes).spawn(run);
    thread.expect("a thread").join().expect("it comes back")
}
