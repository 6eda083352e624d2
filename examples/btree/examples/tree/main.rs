//! Loads the tree of the example `btree`, and looks keys up in it.

mod client;
mod nodes;

use std::io::{Error, Result};
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::process::ExitCode;
use std::time::Instant;

use client::{Answer, ask_all, find, load};

const USAGE: &str = "tree: loads a B-tree, and looks keys up in it

usage: tree ADDRESS:PORT load FILE    load the pairs of a file: a line is KEY,VALUE
       tree ADDRESS:PORT check FILE   look all keys of the file up, and compare
       tree ADDRESS:PORT find KEY…    look keys up
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        [server, "load", file] => address(server).and_then(|server| load_file(server, file)),
        [server, "check", file] => address(server).and_then(|server| check(server, file)),
        [server, "find", ref keys @ ..] if !keys.is_empty() => {
            address(server).and_then(|server| find_all(server, keys))
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("tree: {error}");
            ExitCode::FAILURE
        }
    }
}

fn address(text: &str) -> Result<SocketAddr> {
    let wrong = || Error::other(format!("`{text}` is no ADDRESS:PORT"));
    text.to_socket_addrs().map_err(|_| wrong())?.next().ok_or_else(wrong)
}

/// The pairs of a file, sorted by their keys.
fn pairs(file: &str) -> Result<Vec<(u64, u64)>> {
    let text =
        std::fs::read_to_string(file).map_err(|why| Error::other(format!("{file}: {why}")))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let pair = |(number, line): (usize, &str)| {
        let (key, value) = line.split_once(',')?;
        Some((key.trim().parse().ok()?, value.trim().parse().ok()?)).ok_or(number).ok()
    };
    let mut all = Vec::new();
    for (number, line) in lines {
        let wrong =
            || Error::other(format!("{file}:{}: a line is KEY,VALUE, two numbers", number + 1));
        all.push(pair((number, line)).ok_or_else(wrong)?);
    }
    all.sort_unstable();
    Ok(all)
}

/// Loads all nodes but the root, and then the root: until then look-ups find what was there.
fn load_file(server: SocketAddr, file: &str) -> Result<bool> {
    let pairs = pairs(file)?;
    let nodes = nodes::nodes(&pairs).map_err(Error::other)?;
    let all: Vec<Vec<u8>> = (0..).zip(&nodes).map(|(number, node)| load(number, node)).collect();
    let begun = Instant::now();
    let (root, others) = all.split_at(1);
    for (from, part) in [(1, others), (0, root)] {
        ask_all(server, part, |number, answer| match answer {
            Answer::Loaded(loaded) if loaded as usize == from + number => Ok(()),
            Answer::Refused => {
                Err(Error::other("the program lets nobody load from here: configure its `Loader`"))
            }
            other => Err(Error::other(format!("node {}: {other:?}", from + number))),
        })?;
    }
    let (keys, nodes, seconds) = (pairs.len(), nodes.len(), begun.elapsed().as_secs_f64());
    println!("{keys} keys loaded, in {nodes} nodes, in {seconds:.1} s");
    Ok(true)
}

/// Looks all keys of a file up.
fn check(server: SocketAddr, file: &str) -> Result<bool> {
    let pairs = pairs(file)?;
    let questions: Vec<Vec<u8>> = pairs.iter().map(|(key, _)| find(*key)).collect();
    let (begun, mut wrong) = (Instant::now(), 0);
    ask_all(server, &questions, |number, answer| {
        wrong += u64::from(answer != Answer::Is(pairs[number].1));
        Ok(())
    })?;
    let rate = pairs.len() as f64 / begun.elapsed().as_secs_f64();
    println!(
        "{} keys looked up, {rate:.0} a second; {wrong} were not found, or had another value",
        pairs.len()
    );
    Ok(wrong == 0)
}

fn find_all(server: SocketAddr, keys: &[&str]) -> Result<bool> {
    let wrong = |key: &str| Error::other(format!("`{key}` is no key: a key is a number"));
    let parsed: Vec<u64> =
        keys.iter().map(|key| key.parse().map_err(|_| wrong(key))).collect::<Result<_>>()?;
    let questions: Vec<Vec<u8>> = parsed.iter().map(|key| find(*key)).collect();
    let mut found = vec![None; keys.len()];
    ask_all(server, &questions, |number, answer| {
        found[number] = match answer {
            Answer::Is(value) => Some(value),
            _ => None,
        };
        Ok(())
    })?;
    for (key, value) in keys.iter().zip(&found) {
        match value {
            Some(value) => println!("{key},{value}"),
            None => println!("{key} is not there"),
        }
    }
    Ok(found.iter().all(Option::is_some))
}
