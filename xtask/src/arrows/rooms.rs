//! The rooms of a crate, and the arrows between them.

use std::collections::BTreeMap;
use std::path::Path;

use super::graph::Graph;
use super::paths::mentioned;
use super::source::code;
use crate::words::files;

/// The files of a crate, by the modules that they are.
type Modules = BTreeMap<Vec<String>, File>;

/// A file: its room and its code.
struct File {
    room: Option<String>,
    code: String,
}

/// Draws the crate at this place.
pub(super) fn draw(home: &Path) -> Result<Graph, String> {
    let mut modules = Modules::new();
    read(&home.join("src"), &[], &mut modules)?;
    let mut graph = Graph::default();
    for file in modules.values() {
        file.room.iter().for_each(|room| graph.add_room(room));
    }
    for (module, file) in &modules {
        let Some(from) = &file.room else { continue };
        for it in mentioned(&file.code, module) {
            let Some(to) = room_of(&it.path, &modules) else { continue };
            let composes = it.is_export && to.starts_with(&format!("{from}/"));
            if to != from && !composes {
                graph.add_arrow(from, to);
            }
        }
    }
    Ok(graph)
}

/// The room that a path leads to: that of the module with most of its names.
fn room_of<'a>(path: &[String], modules: &'a Modules) -> Option<&'a String> {
    (1..=path.len()).rev().find_map(|names| modules.get(&path[..names]))?.room.as_ref()
}

/// Reads the files of a folder, which is this module.
fn read(folder: &Path, module: &[String], modules: &mut Modules) -> Result<(), String> {
    let failed = |error| format!("{}: {error}", folder.display());
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let mut paths: Vec<_> =
        entries.map(|entry| Ok(entry.map_err(failed)?.path())).collect::<Result<_, String>>()?;
    paths.sort();
    for path in paths {
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
        let inside = |name: &str| [module, &[name.to_owned()]].concat();
        if path.is_dir() {
            read(&path, &inside(name), modules)?;
            continue;
        }
        if path.extension().is_none_or(|it| it != "rs") || name == "tests" {
            continue;
        }
        let text = files::text(&path)?;
        let is_first = module.is_empty() && ["lib", "main"].contains(&name);
        let (module, room) = match name {
            _ if is_first => (Vec::new(), None),
            "mod" => (module.to_vec(), Some(module.join("/"))),
            _ if module.is_empty() => (inside(name), Some(name.to_owned())),
            _ => (inside(name), Some(module.join("/"))),
        };
        modules.insert(module, File { room, code: code(&text) });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::draw;

    #[test]
    fn files_beside_the_first_and_folders_are_rooms() {
        let home = std::env::temp_dir().join(format!("cora-arrows-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = home.join("src").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("lib.rs", "mod a; mod b; use crate::b::deep::Low;");
        write("a.rs", "use crate::b::Low;\n#[cfg(test)]\nmod tests { use crate::c::No; }");
        write("c.rs", "");
        write("b/mod.rs", "mod deep; mod flat; pub use deep::Low; use deep::Other;");
        write("b/flat.rs", "use super::deep::Low;");
        write("b/deep/mod.rs", "mod low; pub use low::Low;");
        write("b/deep/low.rs", "// crate::c\nuse crate::a::Up;");
        let graph = draw(&home);
        std::fs::remove_dir_all(&home).unwrap();
        let graph = graph.unwrap();
        let arrows: Vec<_> =
            graph.arrows().map(|(from, to, times)| format!("{from} {to} {times}")).collect();
        assert_eq!(arrows, ["a b 1", "b b/deep 2", "b/deep a 1"]);
        assert_eq!(graph.circles(), [["a", "b", "b/deep"]]);
    }
}
