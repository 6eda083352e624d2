//! Checks transparent handlers, including the functions that they call.

use super::Parts;
use crate::analyse::{Routine, Surroundings};
use crate::check::transparent::{Callee, Callees, escapes, tell};
use crate::diag::findings::{Findings, Texts as _};
use crate::script::source::Source;

/// All functions of the program.
struct Program<'a>(&'a Surroundings);

impl Callees for Program<'_> {
    fn function(&self, path: &[String], module: &[String]) -> Option<Callee<'_>> {
        self.0.routine(path, module).map(|number| callee(number, &self.0.routines[number]))
    }

    fn methods(&self, name: &str) -> Vec<Callee<'_>> {
        let all = self.0.routines.iter().enumerate();
        let named = all.filter(|(_, it)| it.owner.is_some() && it.signature.ident == name);
        named.map(|(number, routine)| callee(number, routine)).collect()
    }

    fn all_known(&self) -> bool {
        true
    }
}

fn callee(number: usize, routine: &Routine) -> Callee<'_> {
    let Routine { file, module, signature, block, .. } = routine;
    Callee { number, signature, block, module, file: *file }
}

pub(super) fn run(source: &Source, parts: &Parts, findings: &mut Findings) {
    let program = Program(&source.surroundings);
    for handler in parts.handlers.iter().filter(|handler| handler.decl.transparent) {
        let here = (handler.file, handler.module.as_slice());
        for escape in escapes(&handler.decl, here, &program) {
            let cause = &escape.cause;
            let line = cause.span.start().line;
            let at = source.text(cause.file).map(|(name, _)| (name, line));
            tell(&handler.decl, &escape, at, findings.at(handler.file));
        }
    }
}
