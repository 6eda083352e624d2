//! Checks transparent handlers, including the functions that they call.

use super::Parts;
use crate::analyse::{Routine, Surroundings, library_of};
use crate::check::transparent::{Callee, Callees, escapes, tell};
use crate::diag::findings::{Findings, Texts as _};
use crate::script::source::Source;

/// All functions of the program, for a handler of it or of a library.
struct Program<'a> {
    around: &'a Surroundings,
    home: Option<&'a str>,
}

impl Callees for Program<'_> {
    fn function(&self, path: &[String], module: &[String]) -> Option<Callee<'_>> {
        let found = self.around.routine(path, module);
        found.map(|number| callee(number, &self.around.routines[number]))
    }

    fn methods(&self, name: &str) -> Vec<Callee<'_>> {
        let all = self.around.routines.iter().enumerate();
        let named = all.filter(|(_, it)| it.owner.is_some() && it.signature.ident == name);
        // A library calls no methods of the program, or of the other libraries here.
        let is_near = |it: &Routine| library_of(&it.module) == self.home;
        let named = named.filter(|(_, it)| self.home.is_none() || is_near(it));
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
    for handler in parts.handlers.iter().filter(|handler| handler.decl.transparent) {
        let home = library_of(&handler.module);
        let program = Program { around: &source.surroundings, home };
        let here = (handler.file, handler.module.as_slice());
        for escape in escapes(&handler.decl, here, &program) {
            let cause = &escape.cause;
            let line = cause.span.start().line;
            let at = source.text(cause.file).map(|(name, _)| (name, line));
            tell(&handler.decl, &escape, at, findings.at(handler.file));
        }
    }
}
