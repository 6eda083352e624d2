//! Control flow: blocks and statements, branches, and exits from them.

use syn::{Block, Expr, ExprIf, ExprMatch, Item, Stmt, UseTree};

use super::expression::valued;
use super::reader::{Callable, Reader, Target};
use super::value::Value;
use super::way::{Names, Way, Ways};
use super::written;

impl<'a> Reader<'a> {
    /// Reads a control-flow expression.
    pub(super) fn control(&mut self, expression: &'a Expr, ways: Ways) -> Ways {
        match expression {
            Expr::Block(block) => match &block.label {
                Some(label) => self.labelled(&label.name, &block.block, ways),
                None => self.block(&block.block, ways),
            },
            Expr::Unsafe(block) => self.block(&block.block, ways),
            Expr::If(branch) => self.if_else(branch, ways),
            Expr::Match(matched) => self.arms(matched, ways),
            Expr::Try(tried) => self.question(tried, ways),
            Expr::Return(left) => {
                let ways = self.left_value(left.expr.as_deref(), ways);
                self.end(ways)
            }
            Expr::Break(left) => {
                let ways = self.left_value(left.expr.as_deref(), ways);
                self.leave(left.label.as_ref(), true, ways)
            }
            Expr::Continue(next) => self.leave(next.label.as_ref(), false, ways),
            Expr::Loop(it) => self.forever(it, ways),
            Expr::While(it) => self.while_true(it, ways),
            Expr::ForLoop(it) => self.for_each(it, ways),
            _ => ways,
        }
    }

    /// Reads a block in its own scope.
    pub(super) fn block(&mut self, block: &'a Block, mut ways: Ways) -> Ways {
        ways.iter_mut().for_each(Way::enter);
        ways = self.items(block, ways);
        ways = valued(ways, &Value::Unknown);
        for statement in &block.stmts {
            if ways.is_empty() {
                return ways;
            }
            let skipped = is_conditional(statement).then(|| ways.clone());
            ways = self.statement(statement, ways);
            ways.extend(skipped.into_iter().flatten());
            ways = self.tidy(ways);
        }
        ways.iter_mut().for_each(Way::leave);
        self.tidy(ways)
    }

    /// The items of a block are visible from its start.
    fn items(&mut self, block: &'a Block, mut ways: Ways) -> Ways {
        for statement in &block.stmts {
            match statement {
                Stmt::Item(Item::Fn(item)) => {
                    let value = Value::Function(self.local(item));
                    let name = written::name(&item.sig.ident);
                    for way in &mut ways {
                        way.bind(&name, value.clone(), false);
                    }
                }
                // An import in a block hides the module's item of the same name.
                Stmt::Item(Item::Use(item)) => {
                    let mut names = Vec::new();
                    brought_in(&item.tree, &mut names);
                    for way in &mut ways {
                        for name in &names {
                            way.bind(name, Value::Unknown, true);
                        }
                    }
                }
                _ => {}
            }
        }
        ways
    }

    /// Index of a function inside a body.
    fn local(&mut self, item: &'a syn::ItemFn) -> usize {
        let known =
            self.callable.iter().position(|it| std::ptr::eq(it.signature, &raw const item.sig));
        known.unwrap_or_else(|| {
            let (file, module) = (self.frame().file, self.frame().module);
            let (signature, block) = (&item.sig, &*item.block);
            self.callable.push(Callable { signature, block, file, module });
            self.callable.len() - 1
        })
    }

    fn statement(&mut self, statement: &'a Stmt, ways: Ways) -> Ways {
        match statement {
            Stmt::Item(_) => ways,
            Stmt::Local(local) => self.local_variable(local, ways),
            Stmt::Expr(expression, None) => self.expr(expression, ways),
            Stmt::Expr(expression, Some(_)) => {
                let ways = self.expr(expression, ways);
                valued(ways, &Value::Unknown)
            }
            Stmt::Macro(called) => self.macro_call(&called.mac, ways),
        }
    }

    fn local_variable(&mut self, local: &'a syn::Local, ways: Ways) -> Ways {
        let Some(init) = &local.init else {
            let ways = valued(ways, &Value::Unknown);
            return ways.into_iter().map(|way| self.bind(&local.pat, way)).collect();
        };
        let mut ways = self.scrutinee(&init.expr, [&local.pat], ways);
        let subject = written::variable(&init.expr);
        let Some((_, otherwise)) = &init.diverge else {
            if let Some(name) = &subject {
                for way in &mut ways {
                    way.forget(name);
                }
            }
            let ways: Ways = ways.into_iter().map(|way| self.bind(&local.pat, way)).collect();
            return valued(ways, &Value::Unknown);
        };
        let (fits, misses) = self.select(&local.pat, subject.as_deref(), ways, true);
        // The ways end here, because rustc refuses an `else` that continues.
        self.expr(otherwise, misses);
        valued(fits, &Value::Unknown)
    }

    fn labelled(&mut self, label: &syn::Lifetime, block: &'a Block, ways: Ways) -> Ways {
        self.open(Some(label), false, &ways);
        let mut live = self.block(block, ways);
        live.extend(self.close().breaks);
        self.tidy(live)
    }

    fn if_else(&mut self, branch: &'a ExprIf, mut ways: Ways) -> Ways {
        ways.iter_mut().for_each(Way::enter);
        let (holds, mut fails) = self.branch(&branch.cond, ways);
        let mut live = self.block(&branch.then_branch, holds);
        live.iter_mut().for_each(Way::leave);
        fails.iter_mut().for_each(Way::leave);
        live.extend(match &branch.else_branch {
            Some((_, otherwise)) => self.expr(otherwise, fails),
            None => valued(fails, &Value::Unknown),
        });
        self.tidy(live)
    }

    fn arms(&mut self, matched: &'a ExprMatch, ways: Ways) -> Ways {
        let subject = written::variable(&matched.expr);
        let patterns = matched.arms.iter().map(|arm| &arm.pat);
        let mut rest = self.scrutinee(&matched.expr, patterns, ways);
        rest.iter_mut().for_each(Way::enter);
        let mut live = Vec::new();
        for (at, arm) in matched.arms.iter().enumerate() {
            let skipped = has_condition(&arm.attrs).then(|| rest.clone());
            let last = at + 1 == matched.arms.len();
            let (fits, misses) = self.select(&arm.pat, subject.as_deref(), rest, last);
            let mut ended = self.expr(&arm.body, fits);
            ended.iter_mut().for_each(Way::leave);
            live.extend(ended);
            rest =
                misses.into_iter().map(fresh_scope).chain(skipped.into_iter().flatten()).collect();
        }
        self.tidy(live)
    }

    fn question(&mut self, tried: &'a syn::ExprTry, ways: Ways) -> Ways {
        let name = written::variable(&tried.expr);
        let ways = self.expr(&tried.expr, ways);
        let (known, others): (Ways, Ways) =
            ways.into_iter().partition(|way| way.value.is_learned());
        let mut ways = known;
        ways.extend(self.consume(others, written::begin(&tried.expr)));
        let (mut live, mut failed) = (Vec::new(), Vec::new());
        for way in ways {
            if way.value != Value::Fails {
                let mut good = way.clone().with(Value::Unknown);
                if let Some(name) = &name
                    && way.value == Value::Unknown
                {
                    good.learn(name, Value::Succeeds(None));
                }
                live.push(good);
            }
            if !matches!(way.value, Value::Succeeds(_)) {
                failed.push(way.with(Value::Fails));
            }
        }
        self.end(failed);
        self.tidy(live)
    }

    fn left_value(&mut self, value: Option<&'a Expr>, ways: Ways) -> Ways {
        match value {
            Some(value) => self.expr(value, ways),
            None => valued(ways, &Value::Unknown),
        }
    }

    /// Ends the current body with the current value. No way continues.
    pub(super) fn end(&mut self, ways: Ways) -> Ways {
        let frame = self.frame();
        let operands = frame.operands;
        frame.returns.extend(ways.into_iter().map(|mut way| {
            way.env = Names::default();
            way.stack.truncate(operands);
            way
        }));
        Vec::new()
    }

    /// Opens a target of `break`.
    pub(super) fn open(&mut self, label: Option<&syn::Lifetime>, is_loop: bool, ways: &Ways) {
        let (depth, operands) = ways.first().map_or((0, 0), |way| (way.depth(), way.stack.len()));
        let label = label.map(|label| label.ident.to_string());
        let (breaks, continues) = (Vec::new(), Vec::new());
        let target = Target { label, is_loop, depth, operands, breaks, continues };
        self.frame().targets.push(target);
    }

    /// Closes the last opened target.
    pub(super) fn close(&mut self) -> Target {
        let nothing = || Target {
            label: None,
            is_loop: false,
            depth: 0,
            operands: 0,
            breaks: Vec::new(),
            continues: Vec::new(),
        };
        self.frame().targets.pop().unwrap_or_else(nothing)
    }

    /// `break` or `continue`. No way continues here.
    pub(super) fn leave(
        &mut self,
        label: Option<&syn::Lifetime>,
        breaks: bool,
        ways: Ways,
    ) -> Ways {
        let label = label.map(|label| label.ident.to_string());
        let targets = self.frame().targets.iter_mut().rev();
        let target = targets.into_iter().find(|target| match &label {
            Some(_) => target.label == label,
            None => target.is_loop,
        });
        if let Some(target) = target {
            let (depth, operands) = (target.depth, target.operands);
            let gone = ways.into_iter().map(|mut way| {
                way.leave_to(depth);
                way.stack.truncate(operands);
                way
            });
            if breaks { target.breaks.extend(gone) } else { target.continues.extend(gone) }
        }
        Vec::new()
    }
}

/// Restarts the innermost scope, without the names of a pattern that did not match.
fn fresh_scope(mut way: Way) -> Way {
    way.leave();
    way.enter();
    way
}

/// Whether a statement is compiled conditionally.
fn is_conditional(statement: &Stmt) -> bool {
    match statement {
        Stmt::Local(local) => has_condition(&local.attrs),
        Stmt::Macro(called) => has_condition(&called.attrs),
        Stmt::Expr(expression, _) => has_condition(written::attributes(expression)),
        Stmt::Item(_) => false,
    }
}

fn has_condition(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("cfg"))
}

/// Names that a `use` imports.
fn brought_in(tree: &UseTree, names: &mut Vec<String>) {
    match tree {
        UseTree::Path(path) => brought_in(&path.tree, names),
        UseTree::Name(name) => names.push(written::name(&name.ident)),
        UseTree::Rename(name) => names.push(written::name(&name.rename)),
        UseTree::Group(group) => group.items.iter().for_each(|it| brought_in(it, names)),
        UseTree::Glob(_) => {}
    }
}
