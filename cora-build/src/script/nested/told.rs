//! The output of the second cargo, forwarded line by line except for warnings that Cora causes.
//!
//! The compiler warns once for each crate that the feature `strict-align` is unstable. Cora sets it
//! (`flags`), so users can't avoid the warning.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::process::{Child, Command};
use std::thread;

/// Runs a command with piped outputs; returns whether it succeeded, and its standard output.
pub(super) fn run(command: &mut Command) -> std::io::Result<(bool, String)> {
    let mut child: Child = command.spawn()?;
    let stderr = child.stderr.take();
    let telling = thread::spawn(move || {
        stderr.map_or(Ok(()), |stderr| hand_on(BufReader::new(stderr), &mut std::io::stderr()))
    });
    let mut messages = Vec::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_end(&mut messages)?;
    }
    let status = child.wait()?;
    // A failure to forward loses only output.
    let _told = telling.join();
    Ok((status.success(), String::from_utf8_lossy(&messages).into_owned()))
}

/// Forwards lines, without paragraphs that warn of the feature.
fn hand_on(from: BufReader<impl Read>, to: &mut impl Write) -> std::io::Result<()> {
    let mut left_out = false;
    for line in from.split(b'\n') {
        let line = line?;
        let text = String::from_utf8_lossy(&line);
        if text.starts_with("warning") && text.contains("strict-align") {
            left_out = true;
        } else if left_out && (text.trim().is_empty() || begins_another(&text)) {
            left_out = false;
            if text.trim().is_empty() {
                continue;
            }
        }
        if !left_out {
            to.write_all(&line)?;
            to.write_all(b"\n")?;
        }
    }
    Ok(())
}

/// Whether a line begins another message, because continuations are indented.
fn begins_another(line: &str) -> bool {
    !line.starts_with(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_of_our_own_making_are_left_out() {
        let told = "   Compiling a v0.1.0\n\
                    warning: unknown and unstable feature specified for `-Ctarget-feature`: `strict-align`\n  \
                    |\n  = note: it is still passed through\n\n\
                    warning: unknown and unstable feature specified for `-Ctarget-feature`: `strict-align`\n  \
                    = note: it is still passed through\nerror[E0433]: cannot find `std`\n\nhelp: do so\n";
        let mut handed_on = Vec::new();
        hand_on(BufReader::new(told.as_bytes()), &mut handed_on).unwrap();
        assert_eq!(
            String::from_utf8(handed_on).unwrap(),
            "   Compiling a v0.1.0\nerror[E0433]: cannot find `std`\n\nhelp: do so\n"
        );
    }

    #[test]
    fn a_command_tells_how_it_ended_and_what_it_said() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo said; exit 3"]);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        assert_eq!(run(&mut command).unwrap(), (false, "said\n".to_owned()));
    }
}
