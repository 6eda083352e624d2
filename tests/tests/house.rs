//! The house rules: packages and sources agree with ARCHITECTURE.md.
//!
//! | rules about | from |
//! | --- | --- |
//! | packages: dependencies between them, linked crates | `packages`, which asks cargo |
//! | packages from outside | `foreign`, which asks cargo, too |
//! | sources: unsafe code, sizes, names, leftovers | `source`, which reads every file |

#[path = "house/foreign.rs"]
mod foreign;
#[path = "house/packages.rs"]
mod packages;
#[path = "house/source.rs"]
mod source;

use std::collections::BTreeSet;

use cora_tests::workshop::linked;
use foreign::{Policy, foreign, several};
use packages::{Arrow, Package, arrows, packages};
use source::{File, files, rust};

const NIC: &str = "aarch64-unknown-none";
const READS_RUST: [&str; 3] = ["syn", "quote", "proc-macro2"];

/// Fails with all findings at once.
#[track_caller]
fn none(found: &[String], rule: &str) {
    assert!(found.is_empty(), "{rule}:\n  {}", found.join("\n  "));
}

fn package(name: &str) -> Package {
    packages().into_iter().find(|package| package.name == name).expect("a package of this name")
}

#[test]
fn the_arrows_are_those_of_the_page() {
    let mut drawn = arrows();
    let there: BTreeSet<Arrow> = packages().iter().flat_map(Package::arrows).collect();
    let missing = drawn.difference(&there).map(|arrow| format!("drawn, but not there: {arrow:?}"));
    let mut wrong: Vec<String> = missing.collect();
    // Tests may depend on everything.
    drawn.extend(there.iter().filter(|arrow| arrow.from == "cora-tests").cloned());
    wrong.extend(there.difference(&drawn).map(|arrow| format!("not drawn: {arrow:?}")));
    none(&wrong, "ARCHITECTURE.md draws all arrows there are, and no others");
}

#[test]
fn core_stands_alone_and_the_two_halves_are_strangers() {
    let ours: BTreeSet<String> = packages().into_iter().map(|package| package.name).collect();
    for (name, may) in [
        ("cora-core", &["cora-core"][..]),
        ("cora-runtime", &["cora-core", "cora-runtime"]),
        ("cora-nic", &["cora-core", "cora-nic", "cora-runtime"]),
        ("cora-control", &["cora-control", "cora-core", "cora-runtime"]),
        (
            "cora-host",
            &[
                "cora-card",
                "cora-control",
                "cora-core",
                "cora-host",
                "cora-link",
                "cora-port",
                "cora-runtime",
                "cora-switch",
            ],
        ),
        ("cora-card", &["cora-card"]),
        ("cora-link", &["cora-core", "cora-link", "cora-runtime"]),
        ("cora-switch", &["cora-core", "cora-runtime", "cora-switch"]),
        ("cora-port", &["cora-port"]),
        ("cora-plan", &["cora-plan"]),
        ("cora-traffic", &["cora-traffic"]),
    ] {
        let linked: BTreeSet<String> = linked(name, None, "normal,build");
        let linked: Vec<&String> = linked.intersection(&ours).collect();
        assert_eq!(linked, may, "what of Cora is linked into {name}");
    }
}

#[test]
fn nothing_that_reads_rust_is_linked_into_a_program() {
    let examples = packages().into_iter().filter(|package| package.is_example);
    let examples: Vec<String> = examples.map(|package| package.name).collect();
    let programs = examples.iter().flat_map(|name| [(name.as_str(), None), (name, Some(NIC))]);
    let runtimes =
        [("cora-core", None), ("cora-runtime", None), ("cora-nic", None), ("cora-host", None)];
    for (name, target) in runtimes.into_iter().chain(programs) {
        // A proc macro runs in the compiler: it and its dependencies are not linked.
        let linked = linked(name, target, "normal,no-proc-macro");
        assert!(linked.contains("cora-core"), "{name} is built on cora-core");
        for reader in READS_RUST {
            assert!(!linked.contains(reader), "{reader} is linked into {name} for {target:?}");
        }
    }
}

#[test]
fn the_nic_runtime_is_built_without_anything_that_reads_rust() {
    for name in ["cora-core", "cora-runtime", "cora-nic"] {
        let built = linked(name, Some(NIC), "normal,build");
        for reader in READS_RUST {
            assert!(!built.contains(reader), "building {name} needs {reader}: of {built:?}");
        }
    }
}

#[test]
fn macros_use_the_front_end_alone() {
    let macros = package("cora-macros");
    let front = macros.dependencies.iter().find(|dependency| dependency.name == "cora-build");
    let front = front.expect("cora-macros is a shell over cora-build");
    assert!(!front.default_features && front.features.is_empty(), "macros don't plan: {front:?}");
    let built = linked("cora-macros", None, "normal");
    assert!(!built.contains("cora-plan"), "macros know no plan: {built:?}");
}

#[test]
fn an_example_needs_cora_alone_and_can_be_copied() {
    let examples: Vec<Package> = packages().into_iter().filter(|it| it.is_example).collect();
    assert!(examples.len() >= 4, "the examples are there");
    // Those that show a program of several crates take the handlers of others.
    let offered: BTreeSet<&str> = examples.iter().map(|it| it.name.as_str()).collect();
    for example in &examples {
        let mut needs: BTreeSet<&str> =
            example.dependencies.iter().map(|it| it.name.as_str()).collect();
        needs.retain(|name| !offered.contains(name));
        // It shows a library of `std` in a handler of the host.
        if example.name == "replicated-kv" {
            assert!(needs.remove("fjall"), "it has its sorted tables by fjall");
        }
        // It shows libraries without `std` in a handler of both sides.
        if example.name == "token" {
            for library in ["base64ct", "hmac", "sha2", "subtle"] {
                assert!(needs.remove(library), "it checks signatures by {library}");
            }
        }
        assert_eq!(needs, BTreeSet::from(["cora"]), "what {} depends on", example.name);
        assert!(!example.manifest.contains("workspace"), "{} leans on the workspace", example.name);
    }
}

#[test]
fn every_package_keeps_the_ledger_and_every_exemption_has_a_reason() {
    let members = packages().into_iter().filter(|package| !package.is_example);
    let without = members.filter(|package| !package.manifest.contains("[lints]\nworkspace = true"));
    let without: Vec<String> = without.map(|package| package.name).collect();
    none(&without, "every package takes the workspace's lints");

    let ledger = package("cora").manifest;
    for held in ["unsafe_code", "undocumented_unsafe_blocks", "missing_safety_doc", "todo"] {
        assert!(ledger.contains(&format!("\n{held} = \"deny\"")), "the ledger denies {held}");
    }
    let exempt = ledger.lines().filter(|line| line.ends_with("= \"allow\""));
    none(&exempt.map(str::to_owned).collect::<Vec<_>>(), "an allowed lint says why, on its line");

    let exceptions = rust().flat_map(|file| {
        let code: String = file.code.split_whitespace().collect();
        let starts = ["[allow(", "[expect("].map(|start| code.match_indices(start));
        let attributes = starts.into_iter().flatten().map(|(at, _)| &code[at..]);
        let attributes = attributes.map(|rest| rest.split(")]").next().unwrap_or(rest));
        let bare = attributes.filter(|attribute| !attribute.contains("reason="));
        bare.map(|attribute| format!("{}: {attribute}", file.path)).collect::<Vec<_>>()
    });
    none(&exceptions.collect::<Vec<_>>(), "an exception in the source says why");
}

#[test]
fn expansions_name_cora_alone() {
    let goldens: Vec<File> =
        rust().filter(|file| file.path.starts_with("cora-build/tests/expand/")).collect();
    assert!(goldens.len() >= 10, "the goldens are there");
    let expansions = goldens.iter().filter(|file| file.path.ends_with(".out.rs"));
    let wrong = expansions.flat_map(|file| {
        let global = file.code.match_indices("::").filter(|(at, _)| {
            let before = file.code[..*at].chars().next_back().unwrap_or(' ');
            !(before.is_alphanumeric() || "_>}]".contains(before))
        });
        let named = global.map(|(at, _)| file.code[at..].lines().next().unwrap_or_default());
        let allowed =
            |path: &str| path.starts_with("::cora::__private::") || path.starts_with("::core::");
        named
            .filter(|path| !allowed(path))
            .map(|path| format!("{}: {path}", file.path))
            .collect::<Vec<_>>()
    });
    let ours = goldens.iter().filter(|file| file.code.contains("cora_core"));
    let wrong: Vec<String> = wrong.chain(ours.map(|file| file.path.clone())).collect();
    none(&wrong, "generated code goes through `::cora::__private` (or `::core`)");
}

#[test]
fn an_expansion_is_a_function_of_its_tokens() {
    let outside = [
        "std::fs",
        "std::env",
        "std::net",
        "std::process",
        "env!(",
        "include_str!(",
        "include_bytes!(",
        "include!(",
        "static mut",
        "thread_local!",
        "Mutex",
        "OnceLock",
        "Atomic",
    ];
    let front = rust().filter(|file| {
        file.path.starts_with("cora-macros/src/")
            || (file.path.starts_with("cora-build/src/") && !file.path.contains("/script/"))
    });
    none(
        &uses(front, &outside),
        "macros read no file, no environment, and keep nothing in between",
    );
}

#[test]
fn every_map_is_ordered_where_bytes_are_made() {
    let makers = ["cora-build/src/", "cora-plan/src/", "cora-macros/src/", "src/"];
    let makers = rust().filter(|file| makers.iter().any(|start| file.path.starts_with(start)));
    none(&uses(makers, &["HashMap", "HashSet"]), "same source, same bytes");
}

#[test]
fn unsafe_code_is_argued() {
    let crates = ["cora-macros", "cora-build", "cora-plan", "cora-control", "cora-switch"];
    for root in crates.map(|name| format!("{name}/src")).into_iter().chain(["src".to_owned()]) {
        let root = File::read(&format!("{root}/lib.rs"));
        assert!(root.code.contains("#![forbid(unsafe_code)]"), "{} forbids unsafe code", root.path);
    }
    let wrong = rust().filter(|file| !file.words("unsafe").is_empty()).flat_map(|file| {
        let code: String = file.code.split_whitespace().collect();
        let opened = code.contains("#![expect(unsafe_code,reason=");
        let head = (!opened).then(|| format!("{} doesn't say at its head why", file.path));
        let bare = file.words("unsafe").into_iter().filter(|line| !is_argued(&file, *line));
        let bare = bare.map(|line| format!("{}:{} has no proof", file.path, line + 1));
        head.into_iter().chain(bare).collect::<Vec<_>>()
    });
    none(&wrong.collect::<Vec<_>>(), "unsafe code says why, and each block has its proof");
}

/// Returns whether the comment right above a line with an unsafe block or impl is a proof.
fn is_argued(file: &File, line: usize) -> bool {
    let code = file.code.lines().nth(line).unwrap_or_default();
    let needs_proof = ["unsafe {", "unsafe impl"].iter().any(|it| code.contains(it));
    let lines: Vec<&str> = file.text.lines().collect();
    let above = lines[..=line].iter().rev().take(8);
    !needs_proof || above.clone().any(|line| line.contains("SAFETY:"))
}

#[test]
fn bare_metal_has_no_std_no_allocator_and_no_lock() {
    for root in ["cora-core/src/lib.rs", "cora-runtime/src/lib.rs", "cora-nic/src/lib.rs"] {
        let root = File::read(root);
        assert!(root.code.contains("#![cfg_attr(not(test), no_std)]"), "{} is no_std", root.path);
    }
    let rooms = ["cora-core/src/", "cora-runtime/src/", "cora-nic/src/"];
    let sides = rust().filter(|file| rooms.iter().any(|room| file.path.starts_with(room)));
    let sides = sides.filter(|file| !file.is_test()).map(File::without_tests);
    let heavy = ["std::", "alloc::", "extern crate", "Mutex", "thread::", "Box<", "Vec::with"];
    let sides = sides.filter(|file| !is_built_at_host(file)).map(|mut file| {
        if file.path == "cora-core/src/lib.rs" {
            // For those modules; its condition is checked with theirs.
            file.code = file.code.replace("extern crate alloc;", "");
        }
        file
    });
    none(&uses(sides, &heavy), "core and NIC are no_std, without allocator, lock or thread");
}

/// The modules that build the indices of configured tables.
const AT_HOST: [&str; 2] = ["acl", "longest"];

fn is_built_at_host(file: &File) -> bool {
    AT_HOST.iter().any(|table| file.path == format!("{CONFIGURED}/{table}/build.rs"))
}

const CONFIGURED: &str = "cora-core/src/state/configured";

/// The host builds the indices of configured tables. On bare metal neither these modules are there
/// nor the crate that they allocate by.
#[test]
fn modules_that_allocate_are_the_hosts_alone() {
    let at_host = "#[cfg(not(target_os = \"none\"))]\n";
    for table in AT_HOST {
        let parent = File::read(&format!("{CONFIGURED}/{table}/mod.rs"));
        let declared = ["mod build;", "pub(super) mod build;"].map(|it| format!("{at_host}{it}"));
        assert!(declared.iter().any(|it| parent.text.contains(it)), "{}", parent.path);
    }
    let root = File::read("cora-core/src/lib.rs");
    assert!(root.text.contains(&format!("{at_host}extern crate alloc;")), "{}", root.path);
}

#[test]
fn features_add_and_bare_metal_is_not_one() {
    let sources = rust().filter(|file| file.path.contains("src/"));
    none(&uses(sources, &["not(feature"]), "no feature removes anything");
}

#[test]
fn files_and_functions_are_short() {
    let sources: Vec<File> = rust().filter(|it| !it.is_test()).map(File::without_tests).collect();
    let long = sources.iter().filter(|file| file.code.lines().count() > 500);
    let long = long.map(|file| format!("{}: {} lines", file.path, file.code.lines().count()));
    none(&long.collect::<Vec<_>>(), "a file has at most 500 lines without its tests");

    let functions = sources.iter().flat_map(|file| {
        let long = file.functions().into_iter().filter(|function| function.lines > 80);
        long.map(|it| format!("{}: {} has {} lines", file.path, it.name, it.lines))
            .collect::<Vec<_>>()
    });
    none(&functions.collect::<Vec<_>>(), "a function has at most 80 lines");
}

#[test]
fn names_say_what_is_inside() {
    let empty = ["util", "utils", "misc", "helper", "helpers", "manager", "common", "stuff"];
    let named = rust().filter(|file| {
        file.path.trim_end_matches(".rs").split('/').any(|part| empty.contains(&part))
    });
    none(&named.map(|file| file.path).collect::<Vec<_>>(), "no drawer for everything");
}

#[test]
fn nothing_is_left_over() {
    let leftovers = ["todo!", "unimplemented!", "dbg!"];
    none(&uses(rust(), &leftovers), "what lands is done");
    // A test may be left to the long runs only.
    let (ignored, long) = ("#[ignore", "#[ignore = \"minutes: cargo xtask test --all\"]");
    let count = |file: &File, what: &str| file.text.matches(what).count();
    let left =
        rust().filter(|file| count(file, concat!("\n", "#[ign", "ore")) != count(file, long));
    none(&left.map(|file| file.path).collect::<Vec<_>>(), ignored);
    let marks = [concat!("TO", "DO"), concat!("XX", "X:")];
    let marked = rust().filter(|file| marks.iter().any(|mark| file.text.contains(mark)));
    none(&marked.map(|file| file.path).collect::<Vec<_>>(), "what lands is done");
}

#[test]
fn every_crate_says_what_it_is() {
    for package in packages() {
        for root in &package.roots {
            let root = File::read(root);
            let says = root.text.lines().take_while(|line| line.starts_with("//!"));
            let says = says.collect::<Vec<_>>().join("\n");
            assert!(!says.is_empty(), "{} opens with what it is", root.path);
            let shows = says.contains("```") || says.contains("| --- |");
            let is_shell = package.name == "cora-macros";
            let is_library = root.path.ends_with("lib.rs") && !is_shell;
            assert!(shows || !is_library, "{} has an example or a map", root.path);
        }
    }
}

#[test]
fn no_machine_of_ours_is_named() {
    let ours = [
        concat!("/wo", "rk/"),
        concat!("/ho", "me/"),
        concat!("/ro", "ot/"),
        concat!("/Us", "ers/"),
        concat!("../sha", "red"),
        concat!(".lib", "rary"),
    ];
    let named = files().into_iter().flat_map(|file| {
        let names = ours.iter().filter(|name| file.text.contains(**name));
        names.map(|name| format!("{}: {name}", file.path)).collect::<Vec<_>>()
    });
    none(&named.collect::<Vec<_>>(), "no path of a developer's machine");

    let lock = File::read("Cargo.lock");
    let sources = lock.text.lines().filter(|line| line.starts_with("source = "));
    let others: Vec<String> = sources
        .filter(|line| !line.contains("\"registry+https://github.com/rust-lang/crates.io-index\""))
        .map(str::to_owned)
        .collect();
    none(&others, "crates come from crates.io");
    let settings = files().into_iter().filter(|file| file.is_of("toml"));
    let settings = settings.filter(|file| file.path != "deny.toml");
    none(&uses(settings, &["[source", "[registr", "registry ="]), "no registry is configured");
}

#[test]
fn links_lead_somewhere() {
    const HOSTS: [&str; 12] = [
        "github.com",
        "docs.rs",
        "doc.rust-lang.org",
        "crates.io",
        "rustup.rs",
        "www.apache.org",
        "www.iana.org",
        "www.ietf.org",
        "www.isthe.com",
        "www.rfc-editor.org",
        "www.tcpdump.org",
        "www.w3.org",
    ];
    let hosts = files().into_iter().flat_map(|file| {
        let urls = file.text.split("://").skip(1);
        let is_host = |letter: char| letter.is_ascii_alphanumeric() || ".-:".contains(letter);
        let hosts = urls.map(|url| url.split(|letter| !is_host(letter)).next().unwrap_or_default());
        let strange = hosts.filter(|host| host.contains('.') && !HOSTS.contains(host));
        strange.map(|host| format!("{}: {host}", file.path)).collect::<Vec<_>>()
    });
    none(&hosts.collect::<Vec<_>>(), "only public places are linked to");

    let pages = files().into_iter().filter(|file| file.is_of("md"));
    let broken = pages.flat_map(|page| {
        let links = page.text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let files = links.filter(|link| !link.contains("://") && !link.starts_with('#'));
        let there = |link: &str| {
            let link = link.split('#').next().unwrap_or(link);
            source::root().join(&page.path).parent().is_some_and(|near| near.join(link).exists())
        };
        let broken = files.filter(|link| !there(link));
        broken.map(|link| format!("{}: {link}", page.path)).collect::<Vec<_>>()
    });
    none(&broken.collect::<Vec<_>>(), "a page links to files that are there");
}

/// Returns the files with one of the words in their code.
fn uses(files: impl Iterator<Item = File>, words: &[&str]) -> Vec<String> {
    let found = files.flat_map(|file| {
        let found = words.iter().filter(|word| file.code.contains(**word));
        found.map(|word| format!("{}: {word}", file.path)).collect::<Vec<_>>()
    });
    found.collect()
}

#[test]
fn what_comes_from_outside_comes_under_terms_that_deny_toml_allows() {
    let (policy, packages) = (Policy::read(), foreign("all"));
    assert!(packages.len() > 50, "the tree has libraries: {packages:?}");
    let wrong = packages.iter().filter(|package| !package.is_allowed(&policy.licences));
    let wrong: Vec<String> = wrong.map(|package| format!("{package:?}")).collect();
    none(&wrong, "deny.toml lists the licences that may be used");
}

#[test]
fn nothing_from_outside_is_built_twice() {
    let (policy, packages) = (Policy::read(), foreign("no-dev"));
    let twice = several(&packages).into_iter().filter(|(name, _)| !policy.twice.contains(*name));
    let twice: Vec<String> = twice.map(|(name, versions)| format!("{name} {versions:?}")).collect();
    none(&twice, "what users build has one version of each library");
}
