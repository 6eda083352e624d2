//! A traffic profile as TOML.

use std::fmt::Write as _;

use super::{Class, Traffic};

impl Traffic {
    /// As TOML; [`Traffic::parse`] reads it back unchanged.
    pub fn to_toml(&self) -> String {
        let mut text = format!(
            "name = {}\ntitle = {}\nmean-bytes = {}\n{}",
            string(&self.name),
            string(&self.title),
            self.mean_bytes,
            line("mpps", self.mpps)
        );
        for (key, classes) in &self.by_key {
            for class in classes {
                write_class(&mut text, key, class);
            }
        }
        text
    }
}

fn write_class(text: &mut String, key: &str, class: &Class) {
    let Class { name, flows, share, opens, seconds, mean_bytes, head_bytes, bins } = class;
    let bins: Vec<String> =
        bins.iter().map(|bin| format!("    [{}, {}],\n", bin.flows, bin.share)).collect();
    // Writing to a string never fails.
    let _written = write!(
        text,
        "\n[[by-key.{key}]]\nname = {}\nflows = {flows}\nshare = {share}\nopens = {opens}\n{}mean-bytes = \
         {mean_bytes}\nhead-bytes = {head_bytes}\nbins = [\n{}]\n",
        string(name),
        line("seconds", *seconds),
        bins.concat()
    );
}

/// A key that may be left out.
fn line(key: &str, number: Option<f64>) -> String {
    number.map_or_else(String::new, |number| format!("{key} = {number}\n"))
}

fn string(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
