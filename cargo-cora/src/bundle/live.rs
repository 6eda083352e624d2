//! The answers of a live run at its control socket.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::Part;
use crate::control;

/// A run answers between two bursts.
const PATIENCE: Duration = Duration::from_secs(10);

/// Each question, with its file and a description.
const QUESTIONS: [(&str, &str, &str); 4] = [
    ("status", "run/status.json", "the live run, and whether both halves work"),
    ("outcomes", "run/outcomes.json", "its packets and messages by outcome, and its ports"),
    ("tables", "run/tables.json", "how full its tables are"),
    ("snapshot", "run/snapshot.json", "all of its counters at one moment"),
];

/// Asks each question. Behind one that got no answer none is asked: a run that hangs would take
/// the patience for each.
pub(super) fn ask_all(socket: &Path) -> Vec<Part> {
    let mut unanswered: Option<String> = None;
    let ask = |(command, name, what): (&str, &'static str, &'static str)| {
        let content = match &unanswered {
            Some(why) => Err(why.clone()),
            None => control::ask(socket, &json!({ "command": command }), PATIENCE)
                .map(|answer| format!("{answer:#}\n"))
                .map_err(|why| why.to_string()),
        };
        if let (Err(why), None) = (&content, &unanswered) {
            unanswered = Some(format!("`{command}` had no answer: {why}"));
        }
        Part { name, what, content }
    };
    QUESTIONS.into_iter().map(ask).collect()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::os::unix::net::UnixListener;

    use super::*;

    /// Asks one that answers so many questions, and then hears none any more.
    fn asked(answers: usize) -> Vec<Part> {
        let room = tempfile::tempdir().expect("a directory");
        let socket = room.path().join("socket");
        let listener = UnixListener::bind(&socket).expect("a socket");
        std::thread::scope(|scope| {
            let server = scope.spawn(move || {
                for connection in listener.incoming().take(answers) {
                    let mut connection = connection.expect("a client");
                    let mut line = String::new();
                    BufReader::new(&connection).read_line(&mut line).expect("a question");
                    connection.write_all(line.as_bytes()).expect("an answer");
                }
            });
            let parts = ask_all(&socket);
            server.join().expect("it answers");
            parts
        })
    }

    #[test]
    fn each_question_has_its_answer() {
        let parts = asked(QUESTIONS.len());
        for (part, (command, name, _)) in parts.iter().zip(QUESTIONS) {
            let answer = part.content.as_deref().unwrap_or_else(|why| panic!("{name}: {why}"));
            assert_eq!(part.name, name);
            assert!(answer.contains(&format!("\"{command}\"")), "{answer}");
        }
    }

    #[test]
    fn behind_a_question_without_an_answer_none_is_asked() {
        let parts = asked(1);
        assert!(parts[0].content.is_ok());
        assert!(parts[1].content.is_err());
        for part in &parts[2..] {
            let told = |why: &String| why.starts_with("`outcomes` had no answer: ");
            assert!(part.content.as_ref().is_err_and(told), "{:?}", part.content);
        }
    }
}
